"""From a task that is DONE to the agent of the task that waited for it: in a real `whilly run`, by the log."""

import asyncio
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import asyncpg

from bench.plans import layered
from bench.postgres import folder, postgres
from bench.repository import make_repository
from bench.series import Series, number, percentile
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from bench.trail import Times, trail, work_off
from whilly.operations.import_plan import import_plan
from whilly.store.database import Database

BAR = Bar(at_most=250)
ROUNDS = 3
RIVAL = "NOTIFY + git clone"


async def measure(sizes: Sizes) -> Table:
    """A chain of tasks, each needing the one before, worked off by one worker and by two."""
    figures: list[Figure] = []
    notes: list[str] = []
    with folder() as place:
        repository = make_repository(place)
        async with postgres() as server, server.database("reaction") as database:
            for workers in (1, 2):
                rounds: list[list[tuple[Times, Times]]] = []
                rivals: list[list[float]] = []
                for number_of_round in range(min(sizes.rounds, ROUNDS)):
                    plan = f"chain-{workers}-{number_of_round}"
                    await import_plan(database, layered(plan, sizes.dependants + 1, width=1))
                    await work_off(database, place, repository, plan, workers)
                    rounds.append(list(pairwise((await trail(database, plan)).values())))
                    rivals.append([await _by_hand(database, repository, place) for _ in range(sizes.dependants)])
                figures += _figures(workers, rounds, rivals)
                notes.append(_where_it_goes(workers, [pair for pairs in rounds for pair in pairs]))
    about = (
        f"{sizes.dependants} dependants per round. From the COMPLETE event of the prerequisite to the START event of "
        "the dependant, which the worker waits for before it starts the agent. The contender sends a notification to "
        "another connection, which then clones the repository with `git clone --shared`."
    )
    return Table("reaction: prerequisite DONE → dependant's agent started", tuple(figures), (about, *notes))


async def _by_hand(database: Database, repository: Path, place: Path) -> float:
    """Milliseconds from a notification's commit to a clone of the repository."""
    listener = await asyncpg.connect(database.url)
    heard = asyncio.Event()
    target = place / "by-hand"
    try:
        await listener.add_listener("bench", lambda *_: heard.set())
        began = time.perf_counter()
        async with database.connection() as connection:
            await connection.execute("select pg_notify('bench', '')")
        await heard.wait()
        clone = ("git", "clone", "--quiet", "--shared", str(repository), str(target))
        await asyncio.to_thread(subprocess.run, clone, check=True, capture_output=True)
        took = time.perf_counter() - began
    finally:
        await listener.close()
    await asyncio.to_thread(subprocess.run, ("rm", "-rf", str(target)), check=True)
    return took * 1e3


def _figures(workers: int, rounds: list[list[tuple[Times, Times]]], rivals: list[list[float]]) -> list[Figure]:
    waits = [[(after["START"] - before["COMPLETE"]) * 1e3 for before, after in pairs] for pairs in rounds]
    told = f"{workers} worker{'s' if workers > 1 else ''}"

    def at(share: float, of: list[list[float]]) -> Series:
        return Series(tuple(percentile(values, share) for values in of))

    return [
        Figure(f"p50, ms, {told}", at(0.5, waits), None, RIVAL, at(0.5, rivals)),
        Figure(f"p95, ms, {told}", at(0.95, waits), BAR, RIVAL, at(0.95, rivals)),
    ]


def _where_it_goes(workers: int, pairs: list[tuple[Times, Times]]) -> str:
    def middle(parts: list[float]) -> str:
        return number(percentile(parts, 0.5) * 1e3)

    claim = middle([after["CLAIM"] - before["COMPLETE"] for before, after in pairs])
    workspace = middle([after["workspace.prepared"] - after["CLAIM"] for _, after in pairs])
    start = middle([after["START"] - after["workspace.prepared"] for _, after in pairs])
    return (
        f"Where it goes with {workers} (medians, ms): {claim} until the claim, {workspace} for the workspace, "
        f"{start} until the start is recorded."
    )
