"""What the user's git would not commit, although no `.gitignore` in the repository says so."""

import os
from pathlib import Path

from whilly.workspace.gitcmd import Git
from whilly.workspace.source import Repository


async def users_excludes(repository: Repository) -> bytes:
    """Patterns from the repository's `info/exclude` and from the user's own list for all repositories."""
    patterns = [_content(repository.common_dir / "info" / "exclude")]
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    named = settings / "ignore"
    for file in (settings / "config", home / ".gitconfig"):
        if file.is_file():
            git = Git(cwd=repository.common_dir, environment={"HOME": os.fspath(home)})
            asked = ("config", "--file", os.fspath(file), "--includes", "--type=path", "--get", "core.excludesFile")
            answer = await git.run(*asked, accept=range(256))
            if answer.code == 0 and answer.text:
                named = home / answer.text
    patterns.append(_content(named))
    return b"".join(each if each.endswith(b"\n") else each + b"\n" for each in patterns if each)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""
