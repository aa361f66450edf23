"""The play itself: database, control plane, page and worker, and somebody who tells what happens."""

import asyncio
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from whilly.agents.script import load_scripts
from whilly.agents.scripted import ScriptedAgent
from whilly.cli.database import open_database
from whilly.cli.examples import example
from whilly.cli.session import no_terminal_after, who
from whilly.client.control_plane import ControlPlane
from whilly.core.errors import Refused, WhillyError
from whilly.core.money import shown
from whilly.core.plan import FINISHED, Status
from whilly.core.terminal import one_line
from whilly.operations.apply_plan import apply_plan
from whilly.operations.log_in import issue_login
from whilly.operations.read_board import Board, read_board
from whilly.operations.read_events import StoredEvent, events_after
from whilly.operations.review_task import review_task
from whilly.operations.sequence_events import sequence_events
from whilly.operations.set_repository import set_repository
from whilly.planfile.reader import read_plan_file
from whilly.server.dashboard.sentences import sentence_for
from whilly.server.inprocess import ControlPlaneHere, control_plane_here
from whilly.server.serve import serving
from whilly.settings import Settings
from whilly.wire.work import Registration
from whilly.worker.equipment import Equipment
from whilly.worker.loop import Worker
from whilly.worker.stop import Stop, stop_on_signals
from whilly.workspace.gitcmd import clean_environment

if TYPE_CHECKING:
    from whilly.store.database import Database

PLAN = "demo"
SIDE_BY_SIDE = 2
WORTH_TELLING = frozenset(
    {
        "START",
        "COMPLETE",
        "FAIL",
        "RELEASE",
        "task.ready",
        "task.blocked",
        "task.skipped",
        "human_review.required",
        "human_review.approved",
        "human_review.rejected",
        "human_review.changes_requested",
        "repair.attempt.requested",
    }
)


async def play(folder: Path, *, port: int, exit_at_end: bool, kept: bool) -> int:
    """Play the plan and give the exit code. Everything that is started is gone when this returns."""
    settings = replace(Settings.from_environment(), data_dir=folder / "data", database_url=None)
    repository = folder / "repo"
    await asyncio.to_thread(_make_repository, repository)
    stop = Stop()
    with stop_on_signals(stop, no_terminal_after):
        async with open_database(settings) as database:
            await _import(database, repository)
            registration = Registration(platform.node(), ("scripted",))
            async with (
                control_plane_here(database, "demo-worker", registration, plan=PLAN) as here,
                serving(here.app, port=port) as address,
            ):
                await _introduce(database, address, folder)
                async with _working(here, folder, stop):
                    return await _Teller(database, here, stop, exit_at_end=exit_at_end, kept=kept).tell()


def _make_repository(repository: Path) -> None:
    shutil.copytree(example(PLAN) / "repo", repository)
    for command in (("init", "--initial-branch=main"), ("add", "."), ("commit", "--message", "A weather station")):
        done = subprocess.run(
            ("git", *command),
            cwd=repository,
            env=clean_environment(),
            check=False,
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode != 0:
            raise Refused(f"git could not make the scratch repository: {one_line(done.stderr)}")


async def _import(database: "Database", repository: Path) -> None:
    reading = read_plan_file(example(PLAN) / "tasks.json")
    if reading.plan is None:
        raise WhillyError("\n".join(map(str, reading.problems)))
    await apply_plan(database, reading.plan, strict=True)
    await set_repository(database, PLAN, str(repository))


async def _introduce(database: "Database", address: str, folder: Path) -> None:
    board = await read_board(database, PLAN, 1)
    summary = board.overview.summary
    typer.echo(f"{summary.project}: {summary.tasks} tasks for the scripted agent, in {folder / 'repo'}")
    typer.echo(f"\n    {address}/login/{await issue_login(database, who())}\n")
    typer.echo("Open it to watch and to decide; the link works once. Ctrl-C ends everything.")
    typer.echo(f"Commands such as `whilly plan show {PLAN}` see it with WHILLY_DATA_DIR={folder / 'data'}\n")


@asynccontextmanager
async def _working(here: ControlPlaneHere, folder: Path, stop: Stop) -> AsyncIterator[None]:
    """A worker that works until told to stop, or until this ends."""
    equipment = Equipment(
        control_plane=ControlPlane(here.http),
        address="demo",
        worker="demo-worker",
        plan=PLAN,
        runners={"scripted": ScriptedAgent(os.environ, load_scripts(example(PLAN) / "script.json"))},
        workspaces=folder / "workspaces",
        state=folder / "worker",
        environment={**os.environ, "PATH": _path_with_this_python()},
        heartbeat_seconds=1,
    )
    working = asyncio.create_task(Worker(equipment, slots=SIDE_BY_SIDE).run(stop))
    working.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        if not stop.is_set():
            stop.set()
        await working


def _path_with_this_python() -> str:
    """The PATH, with the Python that runs this first: the plan's checks call `python3`."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


class _Teller:
    """Says what happens, as it happens, and decides in the viewer's place when asked to."""

    def __init__(
        self, database: "Database", here: ControlPlaneHere, stop: Stop, *, exit_at_end: bool, kept: bool
    ) -> None:
        self._database = database
        self._here = here
        self._stop = stop
        self._exit_at_end = exit_at_end
        self._kept = kept
        self._position = 0
        self._began = time.monotonic()
        self._summed_up = False

    async def tell(self) -> int:
        """Until the end: 0, or 1 when something failed or is blocked."""
        stopped = asyncio.create_task(self._stop.wait())
        async with aclosing(self._here.engine.live.nudges(PLAN)) as nudges:
            while True:
                board = await self._look()
                if self._over(board) and not self._summed_up:
                    # What happened last may have no place in the log yet.
                    while await sequence_events(self._database):
                        pass
                    await self._say_what_is_new()
                    self._sum_up(board)
                if self._summed_up and self._exit_at_end:
                    break
                nudged = asyncio.ensure_future(anext(nudges, None))
                await asyncio.wait((nudged, stopped), return_when=asyncio.FIRST_COMPLETED)
                if stopped.done():
                    nudged.cancel()
                    with suppress(asyncio.CancelledError):
                        await nudged
                    typer.echo("\nStopping.")
                    break
        stopped.cancel()
        return self._code(board) if self._exit_at_end else 0

    async def _say_what_is_new(self) -> None:
        while events := await events_after(self._database, self._position, PLAN):
            self._position = events[-1].position
            for event in events:
                self._say(event)

    async def _look(self) -> Board:
        await self._say_what_is_new()
        board = await read_board(self._database, PLAN, 50)
        if self._exit_at_end:
            for waiting in board.people:
                if waiting.status is Status.HUMAN_LOOP:
                    await review_task(self._database, PLAN, waiting.id, "approved", "demo --exit")
                    self._here.engine.freed(PLAN)
        return board

    def _say(self, event: StoredEvent) -> None:
        if event.type in WORTH_TELLING:
            at = event.at.astimezone().strftime("%H:%M:%S")
            typer.echo(f"{at}  {event.task or '':<11} {one_line(sentence_for(event))}")

    def _over(self, board: Board) -> bool:
        """Whether nothing runs or waits any more; a decision that is open is for the viewer to make."""
        open_ones = set(board.overview.summary.counts) - FINISHED - {Status.BLOCKED}
        return not open_ones

    def _code(self, board: Board) -> int:
        return 0 if set(board.overview.summary.counts) <= {Status.DONE, Status.SKIPPED} else 1

    def _sum_up(self, board: Board) -> None:
        self._summed_up = True
        summary = board.overview.summary
        counts = ", ".join(f"{count} {status.value}" for status, count in sorted(summary.counts.items()))
        typer.echo(f"\n{counts}; {shown(summary.spent)} spent, {time.monotonic() - self._began:.0f} s.")
        for view in board.overview.tasks:
            if view.task.result_branch:
                typer.echo(f"    {view.task.result_branch:<24} {view.task.result_commit[:10]}")
        if self._kept:
            typer.echo(f"\ngit -C {summary.repository} log --graph --oneline --branches='whilly/*'")
        if not self._exit_at_end:
            gone = "." if self._kept else ", which removes the repository (`whilly demo --keep FOLDER` keeps it)."
            typer.echo(f"\nThe page stays up until Ctrl-C{gone}")
