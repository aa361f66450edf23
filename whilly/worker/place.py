"""Where an attempt works, from an empty folder to a branch in the user's repository."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from whilly.client.bundles import send_bundle
from whilly.client.errors import ControlPlaneError, LeaseLostRemotely
from whilly.core.assignment import Assignment
from whilly.core.names import bundled
from whilly.core.outcome import Outcome
from whilly.worker.equipment import Equipment
from whilly.worker.repositories import Ground, as_merged
from whilly.workspace.attempt import Workspace
from whilly.workspace.bundle import bundle_of
from whilly.workspace.checkout import clean_checkout
from whilly.workspace.clone import prepare
from whilly.workspace.errors import GitFailed, NoSpace, RemoteFailed, RepositoryUnusable, Trouble, WorkspaceFailed
from whilly.workspace.garbage import discard
from whilly.workspace.inplace import work_in_place
from whilly.workspace.mirror import Mirror
from whilly.workspace.pushing import push_result
from whilly.workspace.result import Collected, collect, publish
from whilly.workspace.source import Source

log = logging.getLogger(__name__)

NOTHING = Collected(None, 0, "", "")

PUSH_AGAIN_AFTER = (2.0, 5.0, 10.0)
"""Seconds: so often is a host asked that does not answer, before the result takes the other way."""


class Place:
    """One attempt's workspace: a private clone, or the user's own tree with `--in-place`."""

    def __init__(self, assignment: Assignment, equipment: Equipment, note: Callable[[str], None]) -> None:
        """`note` takes sentences about the workspace that a person may want to read."""
        self._assignment = assignment
        self._equipment = equipment
        self._note = note
        self._workspace: Workspace | None = None
        self._held = AsyncExitStack()
        self._collected = NOTHING
        self._ground: Ground | None = None

    @property
    def kept_ref(self) -> str:
        """A ref that keeps what was left; empty before `collect`."""
        return self._collected.kept_ref

    async def prepare(self) -> Workspace:
        """Make it, at the base merged with the prerequisites' results.

        Raises RepositoryUnusable, RemoteFailed, WorkspaceFailed, MergeConflict, NoSpace.
        """
        ground = await self._new_ground()
        try:
            self._workspace = await self._prepared(ground)
        except GitFailed:
            if ground.mirror is None or not await ground.mirror.mend():
                raise
            self._note(f"The copy of {ground.mirror.remote.address.url} was damaged and is made anew.")
            self._workspace = await self._prepared(await self._new_ground())
        for sentence in self._workspace.notes:
            self._note(sentence)
        return self._workspace

    async def _new_ground(self) -> Ground:
        equipment = self._equipment
        try:
            self._ground = await equipment.repositories.ground_for(
                self._assignment, equipment.workspaces, equipment.control_plane
            )
        except RemoteFailed as failure:
            self._note(f"{failure} Tasks of that repository wait.")
            raise
        for sentence in self._ground.notes:
            self._note(sentence)
        if self._ground.mirror and equipment.in_place:
            raise RepositoryUnusable(
                f"Task {self._assignment.spec.id} is about a repository elsewhere, and --in-place works in files of "
                "yours: leave out --in-place, or name a folder with --repo-target."
            )
        return self._ground

    async def _prepared(self, ground: Ground) -> Workspace:
        key, earlier = self._assignment.key, self._assignment.earlier
        resume = earlier.head_commit if earlier and earlier.outcome != Outcome.WORKSPACE_VIOLATED else ""
        make = self._users_folder if self._equipment.in_place else prepare
        return await make(
            ground.source,
            root=self._equipment.workspaces,
            plan=key.plan,
            task=key.task,
            epoch=key.epoch,
            prerequisites=[(each.task, each.commit) for each in ground.prerequisites],
            resume_from=resume or None,
            title=self._assignment.spec.description.strip().partition("\n")[0],
            floor=self._equipment.floor,
        )

    def as_prepared(self) -> Assignment:
        """The assignment as this workspace fulfils it: without the earlier attempt's commit if that is not in here."""
        earlier, made = self._assignment.earlier, self._made()
        merged = as_merged(self._assignment, self._ground) if self._ground else self._assignment
        if earlier is None or made.start_commit != made.base_commit:
            return merged
        return replace(merged, earlier=replace(earlier, head_commit=""))

    async def collect(self) -> Collected:
        """Commit and keep what the agent left. Raises WorkspaceFailed, NoSpace."""
        self._collected = await collect(self._made())
        for sentence in self._collected.notes:
            self._note(f"{self._assignment.spec.id}: {sentence}")
        return self._collected

    @asynccontextmanager
    async def clean_checkout(self, commit: str) -> AsyncIterator[Path]:
        """A folder with nothing but the commit, for the checks."""
        async with clean_checkout(self._made(), commit) as folder:
            yield folder

    async def publish(self, holds: Callable[[], bool]) -> tuple[str, str]:
        """Move the task's branch to the result; gives the branch, or where the result is instead and why.

        In a repository elsewhere the branch is pushed; what cannot be pushed goes to the control plane as a bundle.
        `holds`: whether the lease still does. Raises WorkspaceFailed, and RemoteFailed when neither way is open.
        """
        ground, head = self._ground, self._collected.head_commit
        if ground is None or ground.mirror is None or head is None:
            return await publish(self._made(), self._collected, self._tell_about), ""
        url = ground.mirror.remote.address.url
        refusal = f"The plan says that nothing is pushed to {url}."
        if ground.pushes:
            try:
                return await self._push(ground.mirror, head, holds), ""
            except RemoteFailed as failure:
                refusal = str(failure)
                self._tell_about(f"{failure} The result goes to the control plane as a bundle.")
        try:
            await self._send(head)
        except LeaseLostRemotely as lost:
            raise RemoteFailed(str(lost), Trouble.OTHER) from lost
        except ControlPlaneError as no:
            raise self._equipment.repositories.failed(ground.mirror, RemoteFailed(f"{refusal} {no}")) from no
        return bundled(self._collected.branch), refusal

    async def _push(self, mirror: Mirror, head: str, holds: Callable[[], bool]) -> str:
        for wait in (*PUSH_AGAIN_AFTER, None):
            try:
                return await push_result(self._made(), head, mirror.remote, still_ours=holds)
            except RemoteFailed as failure:
                if failure.trouble is not Trouble.UNREACHABLE or wait is None or not holds():
                    raise
                log.info("pushing the result of %s again in %g s: %s", self._assignment.spec.id, wait, failure)
                await asyncio.sleep(wait)
        raise AssertionError("the last try ends it")

    async def _send(self, head: str) -> None:
        seconds = self._assignment.lease_seconds
        async with bundle_of(self._made(), head) as file:
            await send_bundle(self._equipment.control_plane, self._assignment.key, head, file, within=seconds)

    def _tell_about(self, sentence: str) -> None:
        self._note(f"{self._assignment.spec.id}: {sentence}")

    async def leave(self) -> None:
        """Nothing more happens here: remove the clone once its work is provably kept, or free the user's folder."""
        await self.let_go()
        if self._workspace is None or self._workspace.in_place:
            return
        try:
            if not await discard(self._workspace):
                self._note(f"{self._workspace.home} stays: what is in it is not in the repository.")
        except (WorkspaceFailed, NoSpace) as failure:
            self._note(f"{self._workspace.home} stays: {failure}")

    async def let_go(self) -> None:
        """Free the user's folder; a clone stays, and the next worker's start saves and removes it."""
        await self._held.aclose()

    async def _users_folder(self, source: Source, **how: Any) -> Workspace:
        return await self._held.enter_async_context(work_in_place(source, **how))

    def _made(self) -> Workspace:
        if self._workspace is None:
            raise WorkspaceFailed("There is no workspace yet.")
        return self._workspace
