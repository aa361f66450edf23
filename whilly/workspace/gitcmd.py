"""The one way Whilly runs git: argument lists, an environment built from nothing, and nobody's code but git's own.

A repository that an agent has touched is hostile: its configuration names commands (hooks, filters, file monitors,
merge drivers, pagers, transports), and git would run them. So no command here has an agent's `.git` as its GIT_DIR. It
is read as data, through a git directory that Whilly made itself; what remains is switched off below, one by one.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whilly.workspace.children import Command, Ended, TookTooLong, run_commands
from whilly.workspace.errors import GitFailed, NoSpace, WorkspaceFailed
from whilly.workspace.owner import Owner

AUTHOR = ("Whilly", "whilly@localhost")

LIMIT_SECONDS = 300.0
"""A git command that takes longer is stopped."""

_NOTHING = os.devnull

_NEXT_TO_NOTHING = 2**20
"""Bytes free on a full disk."""

_SETTINGS = {
    "core.hooksPath": _NOTHING,
    "core.fsmonitor": "false",
    "core.attributesFile": _NOTHING,
    "core.excludesFile": _NOTHING,
    "core.alternateRefsCommand": "",
    "core.sshCommand": "false",
    "core.askPass": "",
    "core.pager": "cat",
    "core.editor": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    # A file that git would believe without a check, and that only saves time.
    "core.commitGraph": "false",
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "core.filesRefLockTimeout": "1000",
    "core.packedRefsTimeout": "1000",
    "credential.helper": "",
    "commit.gpgSign": "false",
    "merge.verifySignatures": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "protocol.allow": "never",
    "transfer.fsckObjects": "true",
    # Nothing that a repository's owner could have planted in it is run, so ownership decides nothing.
    "safe.directory": "*",
}

_PASSED_ON = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT")


def clean_environment() -> dict[str, str]:
    """What every trusted git command starts from. Nothing named GIT_* from outside gets in."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {
        "HOME": _NOTHING,
        "XDG_CONFIG_HOME": _NOTHING,
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": _NOTHING,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_AUTHOR_NAME": AUTHOR[0],
        "GIT_AUTHOR_EMAIL": AUTHOR[1],
        "GIT_COMMITTER_NAME": AUTHOR[0],
        "GIT_COMMITTER_EMAIL": AUTHOR[1],
    }


@dataclass(frozen=True, slots=True)
class Finished:
    """A git command that ended as it was allowed to."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The output without the line break at its end. Names that are no UTF-8 survive as in `os.fsdecode`."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def fields(self) -> list[str]:
        """The output of a command with `-z`."""
        return os.fsdecode(self.out).split("\0")[:-1]


@dataclass(frozen=True, slots=True)
class Git:
    """A repository as trusted commands see it. Without `directory`, git looks for one from `cwd` upwards."""

    directory: Path | None = None
    work_tree: Path | None = None
    index: Path | None = None
    borrowed: tuple[Path, ...] = ()
    """Further object folders to read from, as data."""
    cwd: Path | None = None
    owner: Owner | None = None
    """Whom the files that a command writes shall belong to; None: whoever runs Whilly."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the clean one, for dates."""
    inherit: tuple[int, ...] = ()
    """Locks that a command holds too, in case that Whilly ends before it does; and what else it may read."""
    settings: Mapping[str, str | None] = field(default_factory=dict)
    """Settings in place of the usual ones, and further ones; None: as the environment's configuration says."""

    @property
    def head_file(self) -> Path:
        """Where a repository of our own says what it has checked out."""
        if self.directory is None:
            raise WorkspaceFailed("A repository that is still to be found has no HEAD to write.")
        return self.directory / "HEAD"

    async def run(
        self,
        *arguments: str,
        feed: bytes = b"",
        accept: Sequence[int] = (0,),
        limit: float = LIMIT_SECONDS,
    ) -> Finished:
        """Run one git command. Raises GitFailed when its exit code is not accepted, NoSpace when the disk is full."""
        (ended,) = await self._ended([self._command(arguments)], feed, limit, arguments)
        return self._judged(arguments, ended, accept)

    async def pipe(self, *arguments: str, into: "Git", then: Sequence[str], feed: bytes = b"") -> Finished:
        """Run one command with its output as the input of another, whose result this is. Raises as `run` does."""
        commands = [self._command(arguments), into._command(then)]
        first, second = await self._ended(commands, feed, LIMIT_SECONDS, arguments)
        # A first command that was cut off because the second gave up is not the one to ask for the reason.
        if first.code > 0:
            self._judged(arguments, first, (0,))
        result = into._judged(then, second, (0,))
        self._judged(arguments, first, (0,))
        return result

    def _command(self, arguments: Sequence[str]) -> Command:
        environment = clean_environment()
        if self.directory is not None:
            environment["GIT_DIR"] = os.fspath(self.directory)
        if self.work_tree is not None:
            environment["GIT_WORK_TREE"] = os.fspath(self.work_tree)
        if self.index is not None:
            environment["GIT_INDEX_FILE"] = os.fspath(self.index)
        if self.borrowed:
            environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(map(quoted, self.borrowed))
        argv = [_program(), "--no-pager", "--no-optional-locks"]
        for name, value in {**_SETTINGS, **self.settings}.items():
            if value is not None:
                argv += ["-c", f"{name}={value}"]
        cwd = self.work_tree or self.cwd or self.directory
        return Command([*argv, *arguments], cwd, environment | dict(self.environment), self.owner, self.inherit)

    async def _ended(self, commands: list[Command], feed: bytes, limit: float, arguments: Sequence[str]) -> list[Ended]:
        try:
            return await run_commands(commands, feed, limit)
        except TookTooLong:
            raise GitFailed(
                f"git {arguments[0]} took longer than {limit:g} s for {self._place()} and was stopped.",
                command=arguments[0],
            ) from None
        except OSError as error:
            raise WorkspaceFailed(f"git could not be started for {self._place()}: {error.strerror}.") from error

    def _judged(self, arguments: Sequence[str], ended: Ended, accept: Sequence[int]) -> Finished:
        said = ended.err.decode("utf-8", "replace")
        if ended.code in accept:
            return Finished(ended.code, ended.out, said)
        if disk_is_full(said, self._place()):
            raise NoSpace(f"The disk is full: git {arguments[0]} could not write for {self._place()}.")
        raise GitFailed(
            f"git {arguments[0]} failed for {self._place()}: {_sentence(said, ended.code)}.",
            command=arguments[0],
            said=said,
        )

    def _place(self) -> Path | None:
        return self.work_tree or self.cwd or self.directory


def quoted(path: Path) -> str:
    """A path as git reads it in a list of object folders, whatever characters it has."""
    text = os.fspath(path)
    if not any(c in text for c in (os.pathsep, '"', "\n", "\t", "\r", "\\")) or os.name == "nt":
        return text
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


def disk_is_full(said: str, place: Path | None) -> bool:
    """Whether that is what git complains about. It does not always give the reason, so the disk is asked too."""
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return True
    return "unable to write" in said and place is not None and shutil.disk_usage(place).free < _NEXT_TO_NOTHING


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise WorkspaceFailed("git was not found on the PATH; install it, then run this again.")
    return found


def _sentence(said: str, code: int) -> str:
    """Git's own words: the last line that is an error, without the prefix."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("fatal:", "error:"))]
    if errors or lines:
        return (errors or lines)[-1].removeprefix("fatal: ").removeprefix("error: ").rstrip(".")
    return f"stopped by signal {-code}" if code < 0 else f"exit code {code} and no explanation"
