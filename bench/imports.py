"""Large plans as a person brings them in and looks at them: whole processes, start-up included."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.commands import WHILLY, run
from bench.plans import layered
from bench.postgres import Postgres, folder, postgres
from bench.series import Series, in_turn, number
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.planfile.canonical import export_plan

IMPORT_BARS = {10_000: Bar(at_most=2), 100_000: Bar(at_most=15)}
SHOW_BARS = {10_000: Bar(at_most=1)}
SLOW = 50_000
"""From so many tasks on, three rounds are enough."""

LIMITS = ("--max-tasks", "1000000", "--max-mb", "1000")

COPY = """
import asyncio, json, pathlib, sys
import asyncpg

async def main(file, url, table):
    plan = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    connection = await asyncpg.connect(url)
    await connection.execute(f"create table {table} (plan text, id text, spec jsonb, primary key (plan, id))")
    rows = [(table, task["id"], json.dumps(task)) for task in plan["tasks"]]
    await connection.copy_records_to_table(table, records=rows)
    await connection.close()

asyncio.run(main(*sys.argv[1:]))
"""
"""A script that reads the file and copies it into one table: no check, no dependency, no event."""

REFORMAT = (sys.executable, "-m", "json.tool")


@dataclass(frozen=True, slots=True)
class Took:
    """What one command took, all told."""

    seconds: float
    cpu: float
    postgres_cpu: float


async def measure(sizes: Sizes) -> Table:
    """Import and show a plan of each size, several times, each beside the least that could be done."""
    figures: list[Figure] = []
    with folder() as place:
        async with postgres() as server, server.database("plans") as database:
            for count in sizes.imports:
                rounds = sizes.rounds if count < SLOW else min(sizes.rounds, 3)
                figures += _figures(server, database.url, place, count, rounds)
    return Table(
        "imports: plans of thousands of tasks",
        tuple(figures),
        (
            "Seconds from the start of the process to its end, on a running database. COPY script: Python reads the "
            "JSON and copies it into one table, without a check, a dependency or an event. json.tool: Python's own "
            "module reads the plan file and prints it.",
        ),
    )


def _figures(server: Postgres, url: str, place: Path, count: int, rounds: int) -> list[Figure]:
    found: dict[str, list[Took]] = {"import": [], "again": [], "show": [], "COPY script": [], "json.tool": []}
    for number_of_round in range(rounds):
        name = f"plan_{count}_{number_of_round}"
        file = place / f"{name}.json"
        file.write_text(export_plan(layered(name, count)), encoding="utf-8")
        commands = [
            ("import", (*WHILLY, "plan", "import", str(file), *LIMITS)),
            ("COPY script", (sys.executable, "-c", COPY, str(file), url, name)),
        ]
        looks = [
            ("again", (*WHILLY, "plan", "import", str(file), *LIMITS)),
            ("show", (*WHILLY, "plan", "show", name)),
            ("json.tool", (*REFORMAT, str(file))),
        ]
        for what, command in (*in_turn(commands, number_of_round), *in_turn(looks, number_of_round)):
            before = server.cpu()
            ran = run(command, data=place, url=url)
            found[what].append(Took(ran.seconds, ran.cpu, server.cpu() - before))
        file.unlink()

    def seconds(what: str) -> Series:
        return Series.of(found[what], lambda took: took.seconds)

    def line(name: str, what: str, bar: Bar | None, rival: str) -> Figure:
        return Figure(f"{name}, {count:,} tasks, s", seconds(what), bar, rival, seconds(rival), _cpu(found[what]))

    return [
        line("plan import", "import", IMPORT_BARS.get(count), "COPY script"),
        line("plan import, nothing new", "again", None, "json.tool"),
        line("plan show", "show", SHOW_BARS.get(count), "json.tool"),
    ]


def _cpu(rounds: list[Took]) -> str:
    def median(pick: Callable[[Took], float]) -> str:
        return number(Series.of(rounds, pick).median)

    return f"{median(lambda took: took.cpu)} s Python, {median(lambda took: took.postgres_cpu)} s PostgreSQL"
