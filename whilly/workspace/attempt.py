"""The folder of one attempt: what lies where in it, and what a later process has to know about it.

<root>/<plan>@<task>@e<epoch>/
    owner.json        the process that works here; written first
    workspace.json    this attempt; written when the agent may start, so without it there is nothing to lose
    collected.json    what the agent left; written before it goes into the user's repository
    work/             the agent's clone, with a `.git` of its own
    trusted.git/      Whilly's view of the same files; never writable for the agent
    aside/            what had to be taken out of the clone before trusted git looked at it
    busy              the lock of whoever collects
    checks-*/         clean checkouts

A repetition of an epoch (another control plane, an earlier life of the plan) gets `.2`, `.3` … at the end of its name.
"""

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from whilly.workspace.carry import Carried, How
from whilly.workspace.errors import WorkspaceFailed
from whilly.workspace.gitcmd import Git
from whilly.workspace.owner import owner_to_act_as

OWNER, RECORD, COLLECTED, BUSY = "owner.json", "workspace.json", "collected.json", "busy"
WORK, TRUSTED, ASIDE, BORROWED = "work", "trusted.git", "aside", "agent-objects"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The place where one attempt of one task works."""

    path: Path
    """Where the agent works; for `--in-place` the user's own folder."""
    plan: str
    task: str
    epoch: int
    title: str
    """The first line of the task's description, for the commit message."""
    base_commit: str
    """What the result is compared with: the user's commit, merged with the prerequisites' results."""
    start_commit: str
    """Where the agent starts: the base, or an earlier attempt's work on top of it."""
    branch: str
    """Where the result goes, as a short name: `whilly/<plan>/<task>`."""
    home: Path
    """The folder of the attempt."""
    repository: Path
    """The user's git directory: objects, refs and configuration."""
    object_format: str
    known: tuple[str, ...]
    """Commits that the user's repository had when the attempt started."""
    identity: tuple[int, int]
    """Device and inode of `path`: an agent may have put something else there."""
    created: float
    """Seconds since 1970."""
    gitlinks: tuple[str, ...] = ()
    """Submodules of the start commit, which are left alone."""
    carried: tuple[Carried, ...] = ()
    """Ignored things brought in from `source`."""
    source: Path | None = None
    """The user's folder; None for a bare repository."""
    in_place: bool = False
    notes: tuple[str, ...] = ()
    """Sentences for people: what was left out, what was found."""

    @property
    def ref(self) -> str:
        """Where the result goes, as a full name."""
        return f"refs/heads/{self.branch}"

    @property
    def kept_ref(self) -> str:
        """Where everything that the attempt leaves stays reachable in the user's repository."""
        return f"refs/whilly/{self.plan}/{self.task}/e{self.epoch}"

    @property
    def trusted(self) -> Path:
        """The git directory that the agent cannot write."""
        return self.home / TRUSTED

    def git(self, *borrowed: Path, index: Path | None = None, work_tree: Path | None = None) -> Git:
        """Trusted git on the files of this workspace."""
        return Git(
            directory=self.trusted,
            work_tree=work_tree or self.path,
            index=index or self.trusted / "index",
            borrowed=borrowed,
        )

    def users_git(self) -> Git:
        """Trusted git on the objects and refs of the user's repository."""
        return Git(directory=self.repository, cwd=self.repository, owner=owner_to_act_as(self.repository))


def save(workspace: Workspace) -> None:
    """Write the record by which another process can take over after a crash."""
    values = asdict(workspace)
    for name in ("path", "home", "repository", "source"):
        values[name] = None if values[name] is None else os.fspath(values[name])
    write_json(workspace.home / RECORD, values)


def load(home: Path) -> Workspace | None:
    """The attempt of which this is the folder; None when the agent cannot have started in it."""
    values = read_json(home / RECORD)
    if values is None:
        return None
    try:
        for name in ("path", "home", "repository"):
            values[name] = Path(values[name])
        for name in ("known", "gitlinks", "notes", "identity"):
            values[name] = tuple(values[name])
        values["carried"] = tuple(Carried(each["name"], How(each["how"])) for each in values["carried"])
        values["source"] = None if values["source"] is None else Path(values["source"])
        return Workspace(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise WorkspaceFailed(f"{home / RECORD} was not written by this version of Whilly: {error}.") from error


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Readers see the old content or the new, never half of it."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        # Names that are no UTF-8 are kept as escapes, which ASCII can hold.
        json.dump(values, file)
    Path(name).replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """What was written; None when it is not there or is no record."""
    try:
        values = json.loads(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None
