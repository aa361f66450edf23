"""Which repository an attempt works in, and how it comes to this machine."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whilly.client.bundles import get_bundle
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import ControlPlaneError
from whilly.core.assignment import Assignment, Prerequisite
from whilly.core.git_address import READS_ONLY, BadAddress, GitAddress, address_of
from whilly.core.names import branch_of, is_bundled
from whilly.core.plan import RepoTarget
from whilly.workspace.access import GitAccess
from whilly.workspace.bundle import refer, take_bundle
from whilly.workspace.errors import RemoteFailed, RepositoryUnusable, Trouble
from whilly.workspace.gitcmd import Git
from whilly.workspace.mirror import Mirror, Wanted
from whilly.workspace.mirror_folder import remove_unused
from whilly.workspace.remote import Remote
from whilly.workspace.source import Source, committed_at, look_at

WAITS = (30, 60, 120, 300, 600)
"""Seconds before a repository that failed is tried again, by how often it has failed in a row."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The repository of one attempt, ready to be cloned from."""

    source: Source
    prerequisites: tuple[Prerequisite, ...]
    """Those whose results are in it, and so are merged."""
    notes: tuple[str, ...] = ()
    mirror: Mirror | None = None
    """The copy of a repository elsewhere; None for one on this machine."""
    pushes: bool = False
    """Whether the result is to be pushed there."""


@dataclass(slots=True)
class _Fault:
    """Why a repository elsewhere is left alone for a while."""

    failure: RemoteFailed
    times: int
    until: float


@dataclass
class Repositories:
    """Those that one worker has to do with. Copies of those elsewhere are in `repositories` beside the workspaces."""

    local: Mapping[str, Path] = field(default_factory=dict)
    """Repositories on this machine, by the id of the repo target that they stand for."""
    access: GitAccess = field(default_factory=GitAccess)
    home: Path | None = None
    """The repository for plans that name none: the one that the worker was started in."""
    _mirrors: dict[tuple[str, str], Mirror] = field(default_factory=dict)
    _faults: dict[str, _Fault] = field(default_factory=dict)

    async def ground_for(self, assignment: Assignment, workspaces: Path, control_plane: ControlPlane) -> Ground:
        """Bring the repository up to date. Raises RepositoryUnusable, RemoteFailed, WorkspaceFailed, NoSpace."""
        target_id = assignment.spec.repo_target_id
        results = [each for each in assignment.prerequisites if each.commit]
        here = [each for each in results if self._together(assignment, each.repo_target_id, target_id)]
        there = [each.task for each in results if each not in here]
        notes = (_not_merged(assignment.spec.id, there),) if there else ()
        if target_id and target_id not in self.local:
            return await self._elsewhere(assignment, here, notes, workspaces, control_plane)
        path = self.local[target_id] if target_id else self._own(assignment)
        if path is None:
            raise RepositoryUnusable(
                f"Plan {assignment.plan} has no repository on this machine; start the worker inside one, "
                "name one with `whilly run --repo`, or give the plan's tasks a repo_target_id."
            )
        source = Source(path)
        if here and (target_id or any(is_bundled(each.branch) for each in here)):
            # Made on another machine, perhaps.
            git = (await look_at(source)).git()
            found = await committed_at(git, [each.commit for each in here])
            missing = [each for each in here if found[each.commit] is None]
            await _bring(git, workspaces, str(path), missing, assignment.plan, control_plane)
        return Ground(source, tuple(here), notes)

    async def look(self, target: RepoTarget, workspaces: Path) -> None:
        """Fetch a target's repository, to see whether it can be worked in. Raises as `ground_for`."""
        await self._mirror(target, workspaces).refresh()

    async def _elsewhere(
        self,
        assignment: Assignment,
        here: Sequence[Prerequisite],
        notes: tuple[str, ...],
        workspaces: Path,
        control_plane: ControlPlane,
    ) -> Ground:
        target, plan = assignment.repo_target, assignment.plan
        if target is None:
            raise RemoteFailed(
                f"Plan {plan} has no repo target {assignment.spec.repo_target_id!r} any more; import it again.",
                Trouble.ADDRESS,
                retry_seconds=WAITS[-1],
            )
        mirror = self._mirror(target, workspaces)
        url = mirror.remote.address.url
        self._refuse_early(url)
        wanted = [Wanted(plan, each.task, each.commit) for each in here]
        if assignment.earlier and assignment.earlier.head_commit:
            wanted.append(Wanted(plan, assignment.spec.id, assignment.earlier.head_commit))
        try:
            fresh = await mirror.refresh(wanted)
        except RemoteFailed as failure:
            raise self._noted(url, failure) from failure
        self._faults.pop(url, None)
        missing = {each.commit for each in fresh.missing}
        await _bring(
            mirror.git(), workspaces, url, [each for each in here if each.commit in missing], plan, control_plane
        )
        pushes = target.credential_policy.strip().lower() not in READS_ONLY
        return Ground(fresh.source, tuple(here), notes, mirror, pushes)

    def failed(self, mirror: Mirror, failure: RemoteFailed) -> RemoteFailed:
        """Remember that a push failed for which there was no other way either; gives the failure with its wait."""
        return self._noted(mirror.remote.address.url, failure)

    def _mirror(self, target: RepoTarget, workspaces: Path) -> Mirror:
        try:
            address = address_of(target)
        except BadAddress as bad:
            raise RemoteFailed(str(bad), Trouble.ADDRESS, retry_seconds=WAITS[-1]) from None
        key = address.url, target.default_branch
        if key not in self._mirrors:
            root = workspaces.with_name("repositories")
            if not self._mirrors:
                remove_unused(root)
            self._mirrors[key] = Mirror(Remote(address, self.access), target.default_branch, root, workspaces)
        return self._mirrors[key]

    def _together(self, assignment: Assignment, one: str, other: str) -> bool:
        return one == other or self._place(assignment, one) == self._place(assignment, other)

    def _place(self, assignment: Assignment, target_id: str) -> Path | str:
        if target_id and target_id not in self.local:
            return target_id
        path = self.local[target_id] if target_id else self._own(assignment)
        return "" if path is None else path.resolve()

    def _own(self, assignment: Assignment) -> Path | None:
        return Path(assignment.repository) if assignment.repository else self.home

    def _refuse_early(self, url: str) -> None:
        """Give a task back at once, rather than have each one of a plan wait for the same host to not answer."""
        fault = self._faults.get(url)
        if fault and (left := fault.until - time.monotonic()) > 0:
            raise RemoteFailed(str(fault.failure), fault.failure.trouble, retry_seconds=left)

    def _noted(self, url: str, failure: RemoteFailed) -> RemoteFailed:
        known = self._faults.get(url)
        times = known.times + 1 if known else 1
        wait = WAITS[min(times, len(WAITS)) - 1]
        self._faults[url] = _Fault(failure, times, time.monotonic() + wait)
        return RemoteFailed(str(failure), failure.trouble, retry_seconds=wait)


def as_merged(assignment: Assignment, ground: Ground) -> Assignment:
    """The assignment with its prerequisites as they are on this ground: those that are merged are of its target."""
    merged = {each.task for each in ground.prerequisites}
    target = assignment.spec.repo_target_id
    return replace(
        assignment,
        prerequisites=tuple(
            replace(each, repo_target_id=target) if each.task in merged else each for each in assignment.prerequisites
        ),
    )


def is_repository_of(address: GitAddress, target: RepoTarget) -> bool:
    """Whether the address leads to the target's repository."""
    try:
        return address.is_same_repository(address_of(target))
    except BadAddress:
        return False


async def _bring(
    git: Git,
    locks: Path,
    place: str,
    missing: Sequence[Prerequisite],
    plan: str,
    control_plane: ControlPlane,
) -> None:
    """Get results that are not in the repository from the control plane."""
    for each in missing:
        try:
            data = await get_bundle(control_plane, plan, each.task, each.commit)
        except ControlPlaneError as failure:
            raise RemoteFailed(
                f"The result of {each.task} could not be had: {failure}", Trouble.UNREACHABLE, retry_seconds=WAITS[0]
            ) from failure
        if data is None:
            raise RemoteFailed(
                f"The result of {each.task}, commit {each.commit}, is neither in {place} nor kept by the control "
                f"plane; push {branch_of(plan, each.task)} there from where it was made.",
                Trouble.UNKNOWN,
                retry_seconds=WAITS[-1],
            )
        await take_bundle(git, data, each.commit, place)
        await refer(git, locks, f"refs/whilly/{plan}/{each.task}/bundle", each.commit)


def _not_merged(task: str, prerequisites: Sequence[str]) -> str:
    named = ", ".join(prerequisites)
    many = len(prerequisites) > 1
    return (
        f"{task} needs {named}, whose result{'s are' if many else ' is'} in another repository: it starts from the "
        "base of its own."
    )
