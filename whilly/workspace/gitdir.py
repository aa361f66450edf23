"""Makes git directories by hand: for the agent, for the checks, and the trusted one that neither of them can write.

By hand, because `git clone` would configure a remote that an agent can push to, follow the user's templates, and cost
five processes.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from whilly.workspace.gitcmd import quoted


def make_git_dir(
    path: Path,
    *,
    object_format: str,
    head: str,
    packed_refs: bytes = b"",
    shallow: bytes | None = None,
    excludes: bytes = b"",
    borrow_from: Sequence[Path] = (),
    settings: str = "",
) -> None:
    """Make a git directory without objects. `head` is a commit, or the full name of a branch."""
    for folder in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
        (path / folder).mkdir(parents=True)
    (path / "config").write_text(_config(path, object_format) + settings, encoding="utf-8")
    (path / "HEAD").write_text(f"ref: {head}\n" if head.startswith("refs/") else f"{head}\n", encoding="utf-8")
    (path / "info/exclude").write_bytes(excludes)
    if packed_refs:
        (path / "packed-refs").write_bytes(packed_refs)
    if shallow is not None:
        (path / "shallow").write_bytes(shallow)
    if borrow_from:
        lines = b"".join(os.fsencode(quoted(folder)) + b"\n" for folder in borrow_from)
        (path / "objects/info/alternates").write_bytes(lines)


def write_ref(git_dir: Path, name: str, value: str) -> None:
    """Set a ref in a git directory that nobody else uses yet."""
    (git_dir / name).parent.mkdir(parents=True, exist_ok=True)
    (git_dir / name).write_bytes(os.fsencode(f"{value}\n"))


def _config(path: Path, object_format: str) -> str:
    lines = [
        "[core]",
        f"\trepositoryformatversion = {0 if object_format == 'sha1' else 1}",
        "\tbare = false",
        f"\tfilemode = {_word(os.name != 'nt')}",
        f"\tsymlinks = {_word(os.name != 'nt')}",
        # The same question that `git init` asks of the disk.
        f"\tignorecase = {_word((path / 'hEaD').exists() or (path / 'INFO').exists())}",
        "\tlogallrefupdates = true",
    ]
    if object_format != "sha1":
        lines += ["[extensions]", f"\tobjectformat = {object_format}"]
    return "\n".join(lines) + "\n"


def _word(value: bool) -> str:
    return "true" if value else "false"
