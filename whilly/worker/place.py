"""Where an attempt works, from an empty folder to a branch in the user's repository."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from whilly.core.assignment import Assignment
from whilly.core.outcome import Outcome
from whilly.worker.equipment import Equipment
from whilly.workspace.attempt import Workspace
from whilly.workspace.checkout import clean_checkout
from whilly.workspace.clone import prepare
from whilly.workspace.errors import NoSpace, RepositoryUnusable, WorkspaceFailed
from whilly.workspace.garbage import discard
from whilly.workspace.inplace import work_in_place
from whilly.workspace.result import Collected, collect, publish
from whilly.workspace.source import Source

NOTHING = Collected(None, 0, "", "")


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

    @property
    def kept_ref(self) -> str:
        """A ref that keeps what was left; empty before `collect`."""
        return self._collected.kept_ref

    async def prepare(self) -> Workspace:
        """Make it, at the base merged with the prerequisites' results.

        Raises RepositoryUnusable, WorkspaceFailed, MergeConflict, NoSpace.
        """
        assignment, key, earlier = self._assignment, self._assignment.key, self._assignment.earlier
        if not assignment.repository:
            raise RepositoryUnusable(f"Plan {key.plan} has no repository on this machine; name one with --repo.")
        resume = earlier.head_commit if earlier and earlier.outcome != Outcome.WORKSPACE_VIOLATED else ""
        make = self._users_folder if self._equipment.in_place else prepare
        self._workspace = await make(
            Source(Path(assignment.repository)),
            root=self._equipment.workspaces,
            plan=key.plan,
            task=key.task,
            epoch=key.epoch,
            prerequisites=[(each.task, each.commit) for each in assignment.prerequisites],
            resume_from=resume or None,
            title=assignment.spec.description.strip().partition("\n")[0],
            floor=self._equipment.floor,
        )
        for sentence in self._workspace.notes:
            self._note(sentence)
        return self._workspace

    def as_prepared(self) -> Assignment:
        """The assignment as this workspace fulfils it: without the earlier attempt's commit if that is not in here."""
        earlier, made = self._assignment.earlier, self._made()
        if earlier is None or made.start_commit != made.base_commit:
            return self._assignment
        return replace(self._assignment, earlier=replace(earlier, head_commit=""))

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

    async def publish(self) -> str:
        """Move the task's branch to the result; gives the branch, or the ref where the result is instead."""
        return await publish(
            self._made(), self._collected, lambda why: self._note(f"{self._assignment.spec.id}: {why}")
        )

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
