"""How long a person waits before anything happens: every `--help`, and `whilly run` until its first claim."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import typer

from bench.commands import NOTHING, WHILLY, WORKER, Ran, run
from bench.plans import layered
from bench.postgres import folder, postgres
from bench.repository import make_repository
from bench.series import Series, in_turn, number
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.cli.main import app
from whilly.operations.import_plan import import_plan
from whilly.store.database import Database

HELP_CPU = Bar(at_most=0.15)
FIRST_CLAIM = Bar(at_most=0.5)

BARE_CLAIM = """
import asyncio, sys
import asyncpg

async def main(url):
    connection = await asyncpg.connect(url)
    await connection.fetch("select id from tasks where unmet = 0 limit 1 for update skip locked")
    await connection.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def measure(sizes: Sizes) -> Table:
    """All helps, then runs of a plan with one task."""
    with folder() as place:
        figures = _helps(place, sizes.rounds)
        async with postgres() as server, server.database("start") as database:
            figures += await _first_claims(database, place, sizes.starts)
    return Table(
        "start: before anything happens",
        tuple(figures),
        (
            "First claim: seconds from the start of the process `whilly run` to the database's time of its CLAIM "
            "event. Bare claim: a script that connects with asyncpg, locks one row and ends.",
        ),
    )


def _helps(place: Path, rounds: int) -> list[Figure]:
    commands = {" ".join(("whilly", *words)): (*WHILLY, *words, "--help") for words in _commands()}
    commands["whilly-worker"] = (*WORKER, "--help")
    found: dict[str, list[Ran]] = {name: [] for name in (*commands, "python -c pass")}
    for number_of_round in range(rounds):
        for name, command in in_turn([*commands.items(), ("python -c pass", NOTHING)], number_of_round):
            found[name].append(run(command, data=place))

    def cpu(name: str) -> Series:
        return Series.of(found[name], lambda ran: ran.cpu)

    slowest = max((name for name in commands), key=lambda name: cpu(name).median)
    told = {"whilly": "", "whilly-worker": "", slowest: f", the slowest of {len(commands)}"}
    return [
        Figure(f"{name} --help{rank}, s of CPU", cpu(name), HELP_CPU, "python -c pass", cpu("python -c pass"))
        for name, rank in told.items()
    ]


def _commands() -> Iterator[tuple[str, ...]]:
    """The words of every command and group of `whilly`, the first one being none."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        yield words
        waiting += [((*words, name), each) for name, each in getattr(command, "commands", {}).items()]


async def _first_claims(database: Database, place: Path, rounds: int) -> list[Figure]:
    repository = make_repository(place)
    waits: list[float] = []
    ours: list[Ran] = []
    bare: list[Ran] = []
    for number_of_round in range(rounds):
        plan = f"start-{number_of_round}"
        await import_plan(database, layered(plan, 1))
        command = (*WHILLY, "run", "--plan", plan, "--repo", str(repository), "--agent", "scripted")
        began = time.time()
        ours.append(run(command, data=place, url=database.url))
        waits.append(await _claimed_at(database, plan) - began)
        bare.append(run((sys.executable, "-c", BARE_CLAIM, database.url), data=place))
    theirs = Series.of(bare, lambda ran: ran.seconds)
    cpu = number(Series.of(ours, lambda ran: ran.cpu).median)
    told = f"{cpu} s for the whole run of one task, agent and git included"
    return [Figure("whilly run to its first claim, s", Series(tuple(waits)), FIRST_CLAIM, "bare claim", theirs, told)]


async def _claimed_at(database: Database, plan: str) -> float:
    async with database.connection() as connection:
        at: float = await connection.fetchval(
            "select extract(epoch from min(at))::float8 from events where plan_id = $1 and type = 'CLAIM'", plan
        )
    return at
