"""`whilly run`: work on a plan until nothing is left that can run."""

import os
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whilly.settings import Settings

if TYPE_CHECKING:
    from whilly.agents.runner import AgentRunner
    from whilly.cli.run_view import RunView
    from whilly.core.plan import Check
    from whilly.operations.read_progress import Progress
    from whilly.server.inprocess import ControlPlaneHere
    from whilly.store.database import Database
    from whilly.worker.allowance import Allowance
    from whilly.worker.equipment import Equipment
    from whilly.worker.loop import Worker
    from whilly.worker.repositories import Repositories
    from whilly.worker.stop import Stop

HEARTBEAT_SECONDS = 1.0
"""Cheap without a network, and it is how soon an agent learns that it was cancelled."""

REST = 10
"""How many times as long as a look at the plan took, no other one is taken: for 100,000 tasks it is 0.1 s."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for on the command line."""

    plan: str
    repository: Path
    workers: int
    agent: str
    checks: "tuple[Check, ...]"
    scripts: Path | None
    max_tasks: int | None
    watch: bool
    in_place: bool
    folders: Mapping[str, Path]


def run(
    plan: Annotated[
        str | None, typer.Option(metavar="PLAN", help="The plan's id (WHILLY_PLAN_ID).", show_default=False)
    ] = None,
    repo: Annotated[
        Path, typer.Option(metavar="PATH", help="The git repository of tasks that name no repo target.")
    ] = Path(),
    repo_target: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=PATH", help="A folder that stands for a repo target of the plan; may be repeated."),
    ] = None,
    workers: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Tasks at the same time.")] = 1,
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="For tasks that name no agent: claude, scripted.")
    ] = "claude",
    verify_command: Annotated[
        list[str] | None, typer.Option(metavar="NAME=COMMAND", help="A check that must pass; may be repeated.")
    ] = None,
    optional_verify_command: Annotated[
        list[str] | None, typer.Option(metavar="NAME=COMMAND", help="A check that only warns; may be repeated.")
    ] = None,
    script: Annotated[
        Path | None, typer.Option(metavar="PATH", help="What the scripted agent shall do (JSON).")
    ] = None,
    max_tasks: Annotated[int | None, typer.Option(metavar="N", min=1, help="End after so many attempts.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Stay for new work when nothing is left.")] = False,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Work in your own files, on your branch (refused when dirty).")
    ] = False,
) -> None:
    """Work on a plan until nothing is left that can run.

    Its tasks go to an agent, the results are proved by the checks and left as branches whilly/PLAN/TASK.
    """
    import asyncio

    from whilly.cli.repositories import folders_of

    settings = Settings.from_environment()
    plan = plan or settings.plan_id
    if not plan:
        raise typer.BadParameter("Name the plan with --plan; `whilly plan list` shows those that exist.")
    if in_place and workers > 1:
        raise typer.BadParameter("--in-place works on one task at a time: leave out --workers.")
    checks = (*_checks(verify_command, required=True), *_checks(optional_verify_command, required=False))
    folders = folders_of(repo_target)
    wanted = Wanted(plan, repo.absolute(), workers, agent, checks, script, max_tasks, watch, in_place, folders)
    raise typer.Exit(asyncio.run(_run(settings, wanted)))


def _checks(given: list[str] | None, *, required: bool) -> "tuple[Check, ...]":
    from whilly.core.plan import Check

    found = []
    for text in given or ():
        name, equals, command = (part.strip() for part in text.partition("="))
        if not (name and equals and command):
            raise typer.BadParameter(f"{text!r} is not NAME=COMMAND; write for instance unit='python -m pytest -q'.")
        found.append(Check(name, command, required=required, source="cli"))
    return tuple(found)


async def _run(settings: Settings, wanted: Wanted) -> int:
    from whilly.cli.database import open_database
    from whilly.cli.identity import worker_identity
    from whilly.cli.repositories import look_at_those_elsewhere, repositories_of_run
    from whilly.operations.read_progress import agents_of_plan
    from whilly.operations.read_targets import read_targets
    from whilly.operations.set_repository import set_repository

    _runners(settings, wanted, [])
    async with open_database(settings) as database:
        targets = await read_targets(database, wanted.plan)
        repositories, said = await repositories_of_run(
            settings, wanted.plan, targets, wanted.repository, wanted.folders, in_place=wanted.in_place
        )
        if "" in targets.used or not targets.used:
            await set_repository(database, wanted.plan, str(wanted.repository))
        runners = _runners(settings, wanted, await agents_of_plan(database, wanted.plan))
        with worker_identity(settings.data_dir, settings.worker_id) as (worker, folder):
            await look_at_those_elsewhere(repositories, targets, folder / "workspaces")
            for sentence in said:
                typer.echo(sentence, err=True)
            elsewhere = any(target.id not in repositories.local for target in targets.declared)
            return await _work(settings, wanted, database, worker, folder, runners, repositories, elsewhere)


def _runners(settings: Settings, wanted: Wanted, named: list[str]) -> "Mapping[str, AgentRunner]":
    """The agents of this run, its default first, then those that its tasks name. Raises for a default unheard of."""
    from whilly.agents.registry import AGENTS, AgentSettings, runner_named
    from whilly.agents.script import NO_SCRIPTS, load_scripts

    agents = AgentSettings(
        environ=os.environ,
        scripts=load_scripts(wanted.scripts) if wanted.scripts else NO_SCRIPTS,
        claude_bin=settings.claude_bin,
        claude_model=settings.claude_model,
        claude_proxy_url=settings.claude_proxy_url,
        claude_no_proxy=settings.claude_no_proxy,
    )
    names = dict.fromkeys((wanted.agent, *(name for name in named if name in AGENTS)))
    return {name: runner_named(name, agents) for name in names}


async def _work(
    settings: Settings,
    wanted: Wanted,
    database: "Database",
    worker: str,
    folder: Path,
    runners: "Mapping[str, AgentRunner]",
    repositories: "Repositories",
    elsewhere: bool,
) -> int:
    import platform

    from whilly.cli.mirror import mirror_of
    from whilly.cli.run_end import judge_run
    from whilly.cli.run_view import run_view
    from whilly.cli.session import no_terminal_after
    from whilly.operations.read_progress import read_progress
    from whilly.server.inprocess import control_plane_here
    from whilly.wire.work import Registration
    from whilly.worker.allowance import Allowance
    from whilly.worker.loop import Worker
    from whilly.worker.seclusion import hide_memory
    from whilly.worker.stop import Stop, stop_on_signals

    hide_memory()
    began = time.monotonic()
    stop = Stop()
    signals: list[str] = []

    def hear(name: str) -> None:
        signals.append(name)
        no_terminal_after(name)

    registration = Registration(platform.node(), tuple(runners))
    async with (
        run_view(database, wanted.plan, live=sys.stdout.isatty()) as view,
        control_plane_here(
            database, worker, registration, plan=wanted.plan, mirror=mirror_of(settings, database, view.say)
        ) as here,
    ):

        def tell(sentence: str) -> None:
            view.say(sentence)
            # What is told may decide whether the run is over: an agent that is missing, for instance.
            here.engine.live.touch(wanted.plan)

        allowance = Allowance(settings.run_budget, warn=view.say, used_up=lambda: workers.end())
        here.app.state.largest_bundle = settings.bundle_limit_mb * 2**20
        equipment = _equipment(settings, wanted, here, worker, folder, runners, repositories, allowance, tell)
        workers = Worker(equipment, slots=wanted.workers, max_tasks=wanted.max_tasks)
        with stop_on_signals(stop, hear):
            async with _until_over(database, here, wanted, workers, view, stop):
                worked = await workers.run(stop)
    progress = await read_progress(database, wanted.plan, workers.agents)
    end = judge_run(
        wanted.plan,
        progress,
        again=shlex.join(("whilly", *sys.argv[1:])),
        interrupted=bool(signals),
        missing=worked.missing,
        default_agent=wanted.agent,
        unusable=worked.unusable,
        elsewhere=elsewhere,
        spent_all=allowance.sentence if allowance.exhausted else "",
    )
    await view.conclude(end, worked, seconds=time.monotonic() - began)
    return end.code


def _equipment(
    settings: Settings,
    wanted: Wanted,
    here: "ControlPlaneHere",
    worker: str,
    folder: Path,
    runners: "Mapping[str, AgentRunner]",
    repositories: "Repositories",
    allowance: "Allowance",
    tell: Callable[[str], None],
) -> "Equipment":
    from whilly.client.control_plane import ControlPlane
    from whilly.worker.equipment import Equipment

    return Equipment(
        control_plane=ControlPlane(here.http),
        address=settings.database_url or str(settings.data_dir),
        worker=worker,
        plan=wanted.plan,
        runners=runners,
        workspaces=folder / "workspaces",
        state=folder,
        environment=os.environ,
        secrets=tuple(settings.git_tokens.values()),
        repositories=repositories,
        checks=wanted.checks,
        in_place=wanted.in_place,
        # The folder's lock says that no other process has this name here.
        take_over=True,
        heartbeat_seconds=HEARTBEAT_SECONDS,
        allowance=allowance,
        tell=tell,
    )


@asynccontextmanager
async def _until_over(
    database: "Database",
    here: "ControlPlaneHere",
    wanted: Wanted,
    workers: "Worker",
    view: "RunView",
    stop: "Stop",
) -> AsyncIterator[None]:
    """While open, show each change, and stop the worker when nothing is left that can run."""
    import asyncio

    from whilly.cli.database import patiently
    from whilly.operations.read_progress import read_progress

    async def look() -> "Progress":
        progress = await read_progress(database, wanted.plan, workers.agents)
        await view.refresh(progress)
        return progress

    async def watch() -> None:
        async for _ in here.engine.live.nudges(wanted.plan):
            began = time.monotonic()
            progress = await patiently(look)
            if progress.over and not wanted.watch:
                # Not a second time, which would be urgent: the budget of the run, or a person, may have been first.
                if not stop.is_set():
                    stop.set()
                return
            await asyncio.sleep(REST * (time.monotonic() - began))

    watching = asyncio.create_task(watch())
    watching.add_done_callback(lambda ended: stop.set() if not ended.cancelled() and ended.exception() else None)
    try:
        yield
    finally:
        if not watching.done():
            watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
