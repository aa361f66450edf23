"""A worker's own bare copy of one repository elsewhere: fetched before each attempt, copied for it, never believed.

Agents run as the same user, so whatever git would take from its files as an order (configuration, borrowed objects,
grafts) is written anew or refused before each use. Nothing in it is needed twice, except for what attempts left.
"""

import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from whilly.workspace import mirror_folder
from whilly.workspace.errors import GitFailed, RemoteFailed, Trouble
from whilly.workspace.gitcmd import Git
from whilly.workspace.locks import held, lock_of
from whilly.workspace.refs import value_of
from whilly.workspace.remote import LENIENT, TRANSFER_SECONDS, Remote
from whilly.workspace.source import Source, committed_at

BRANCHES = "refs/remotes/origin"
RESULTS = "refs/results"
"""Where other workers' results are, as far as this one needed them."""

_MANY_PACKS = 50
_DAMAGE = re.compile(r"unable to read|bad object|corrupt|missing|did not send all|inflate|packfile|pack file|promisor")
_COMPLAINTS = ("error", "fatal", "missing", "broken", "bad ")
_CHECK_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A commit that an attempt needs beside the base: a result, or an earlier attempt's work."""

    plan: str
    task: str
    commit: str


@dataclass(frozen=True, slots=True)
class Fresh:
    """The copy as it is now."""

    source: Source
    missing: tuple[Wanted, ...] = ()
    """What the repository elsewhere does not have, or no longer."""


class Mirror:
    """The copy of one repository. Several processes and attempts may use it at once."""

    def __init__(self, remote: Remote, branch: str, root: Path, locks: Path) -> None:
        """`branch`: where work starts, as `main`; empty: what the repository itself offers. `locks`: as of `refs`."""
        self.remote = remote
        self._branch = branch
        self._folder = root / sha256(f"{remote.address.url}\0{branch}".encode()).hexdigest()[:24]
        self._locks = locks
        self._fetched_at = 0.0

    async def refresh(self, wanted: Sequence[Wanted] = ()) -> Fresh:
        """Bring it up to date, making it where it is not there or damaged. Raises RemoteFailed, WorkspaceFailed."""
        asked_at = time.monotonic()
        async with self._opened() as git:
            # Another attempt may have fetched while this one waited for the lock.
            if self._fetched_at < asked_at or await self._missing(git, wanted):
                fetched_at = time.monotonic()
                git = await self._fetched(git, wanted)
                self._fetched_at = fetched_at
            source = Source(_directory(git), branches=BRANCHES)
            return Fresh(source, tuple(await self._missing(git, wanted)))

    async def mend(self) -> bool:
        """After a failure: whether the copy was damaged. It is replaced then, and wants a `refresh`."""
        async with self._opened() as git:
            if await self._is_sound(git):
                return False
            self._begin_anew(git)
            self._fetched_at = 0.0
            return True

    def git(self) -> Git:
        """Trusted git on the copy as it is."""
        directory = mirror_folder.current(self._folder)
        return Git(directory=directory, cwd=directory)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Git]:
        """The copy, ready to be used, and nobody else fetching into it."""
        async with held(lock_of(self._locks, self._folder, "mirror"), patience=TRANSFER_SECONDS) as lock:
            directory = mirror_folder.current(self._folder)
            if not mirror_folder.is_whole(directory):
                directory = mirror_folder.make(self._folder, self.remote.address.url)
            mirror_folder.used(self._folder)
            mirror_folder.write_configuration(directory)
            async with held(lock_of(self._locks, directory, "refs")):
                mirror_folder.remove_dead(directory)
            # Children hold the lock too, in case that this process ends before they do. But a credential helper of the
            # operator's may leave a daemon behind, which would hold it for ever.
            inherit = () if self.remote.access.own_credentials else (lock,)
            yield Git(directory=directory, cwd=directory, inherit=inherit)

    async def _fetched(self, git: Git, wanted: Sequence[Wanted]) -> Git:
        """The repository after the fetch, which is another one when this one was damaged."""
        try:
            await self._fetch(git, wanted)
        except (RemoteFailed, GitFailed) as failure:
            if "mismatched algorithms" in str(failure):
                git = self._begin_anew(git, "sha256")
            elif not _may_be_damage(failure) or await self._is_sound(git):
                raise
            else:
                git = self._begin_anew(git)
            await self._fetch(git, wanted)
        return git

    async def _fetch(self, git: Git, wanted: Sequence[Wanted]) -> None:
        remote = self.remote
        branch = f"refs/heads/{self._branch}" if self._branch else await remote.default_branch(git)
        refspecs = (f"+refs/heads/*:{BRANCHES}/*", "^refs/heads/whilly/*", "+refs/tags/*:refs/tags/*")
        await remote.fetch(git, refspecs, prune=True)
        missing = await self._missing(git, wanted)
        for plan in sorted({each.plan for each in missing}):
            await remote.fetch(git, [f"+refs/heads/whilly/{plan}/*:{RESULTS}/{plan}/*"])
        for each in await self._missing(git, missing):
            # Many servers give a commit by its name, also when the branch is gone that had it.
            with suppress(RemoteFailed):
                await remote.fetch(git, [f"+{each.commit}:{RESULTS}/=/{each.commit}"])
        await self._point_head(git, branch.replace("refs/heads/", f"{BRANCHES}/", 1))
        if len(list((_directory(git) / "objects/pack").glob("pack-*.pack"))) > _MANY_PACKS:
            # Nothing is dropped: an attempt may be at work on what no branch has any more.
            await git.run("repack", "-a", "-d", "-k", "-q", limit=TRANSFER_SECONDS)

    async def _point_head(self, git: Git, branch: str) -> None:
        if branch and not await value_of(git, branch):
            name = branch.removeprefix(f"{BRANCHES}/")
            if (await git.run("for-each-ref", "--count=1", BRANCHES)).out:
                raise RemoteFailed(
                    f"{self.remote.address.url} has no branch {name!r}; correct the plan's default_branch.",
                    Trouble.UNKNOWN,
                )
        mirror_folder.put(_directory(git) / "HEAD", f"ref: {branch or 'refs/heads/none'}\n")

    async def _missing(self, git: Git, wanted: Sequence[Wanted]) -> list[Wanted]:
        found = await committed_at(git, [each.commit for each in wanted])
        return [each for each in wanted if found[each.commit] is None]

    async def _is_sound(self, git: Git) -> bool:
        """Whether git itself finds nothing wrong, faults that the original has left aside."""
        settings = {name.replace("fetch.", "", 1): value for name, value in LENIENT.items()}
        looking = replace(git, settings={**git.settings, **settings})
        try:
            answer = await looking.run(
                "fsck", "--no-dangling", "--no-progress", accept=range(-64, 256), limit=_CHECK_SECONDS
            )
        except GitFailed:
            return True
        # Git finds it strange that HEAD is a branch of `origin`, and says so as an error.
        said = [
            line for line in f"{answer.err}\n{answer.text}".splitlines() if "points to something strange" not in line
        ]
        return answer.code == 0 or not any(line.startswith(_COMPLAINTS) for line in said)

    def _begin_anew(self, git: Git, object_format: str = "sha1") -> Git:
        directory = mirror_folder.make(self._folder, self.remote.address.url, object_format)
        return replace(git, directory=directory, cwd=directory)


def _may_be_damage(failure: RemoteFailed | GitFailed) -> bool:
    """Whether the copy may be the reason; what the other side says about itself is none.

    A fetch that dies of what it finds here may also look as if the other side had hung up.
    """
    if not isinstance(failure, RemoteFailed) or failure.trouble is Trouble.OTHER:
        return True
    return failure.trouble is Trouble.UNREACHABLE and bool(_DAMAGE.search(str(failure)))


def _directory(git: Git) -> Path:
    return git.head_file.parent
