"""Claim, start and finish, with events, dependents and the log's sequencer, 16 at a time."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from bench.contenders import plain_sql, with_pgqueuer
from bench.contenders.plain_sql import PlainSql
from bench.contenders.with_pgqueuer import WithPgqueuer
from bench.drain import Drained, drain
from bench.plans import layered
from bench.postgres import Postgres, postgres
from bench.series import Series, in_turn, number
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.core.money import Micros
from whilly.operations.import_plan import import_plan
from whilly.operations.reset_plan import reset_plan
from whilly.store.database import Database

RATE = Bar(at_least=700)
POSTGRES_MS = Bar(at_most=0.8)
CENT: Micros = 10_000
BUDGET: Micros = 10_000_000_000

Round = Callable[[int], Awaitable[Drained]]


async def measure(sizes: Sizes) -> Table:
    """One round of each contender after the other, several times."""
    async with AsyncExitStack() as held:
        server = await held.enter_async_context(postgres())
        rounds = {
            "layers of 200, two prerequisites each": _whilly(
                server, await held.enter_async_context(server.database("bare")), sizes.queue
            ),
            "… with a cost per task and a budget": _whilly(
                server, await held.enter_async_context(server.database("paid")), sizes.queue, cost=CENT
            ),
            "… with two key files per task": _whilly(
                server, await held.enter_async_context(server.database("filed")), sizes.queue, files=2
            ),
        }
        contenders: dict[str, Round] = {}
        rival = PlainSql(server, await server.create("plain"))
        contenders[plain_sql.NAME] = lambda _: rival.drain(sizes.queue)
        if with_pgqueuer.is_installed():
            queue = WithPgqueuer(server, await server.create("pgqueuer"))
            await queue.install()
            contenders[with_pgqueuer.NAME] = lambda _: queue.drain(sizes.queue)
        found: dict[str, list[Drained]] = {name: [] for name in (*rounds, *contenders)}
        for number_of_round in range(sizes.rounds):
            for name, one in in_turn([*rounds.items(), *contenders.items()], number_of_round):
                found[name].append(await one(number_of_round))
    return _table(sizes, found, list(rounds), list(contenders))


def _whilly(server: Postgres, database: Database, tasks: int, *, cost: Micros = 0, files: int = 0) -> Round:
    async def one(number_of_round: int) -> Drained:
        name = f"plan-{number_of_round}"
        await import_plan(database, layered(name, tasks, files=files, budget=BUDGET if cost else None))
        drained = await drain(server, database, name, tasks, cost=cost)
        await reset_plan(database, name, hard=True)
        return drained

    return one


def _table(sizes: Sizes, found: dict[str, list[Drained]], ours: list[str], contenders: list[str]) -> Table:
    def rates(name: str) -> Series:
        return Series.of(found[name], lambda drained: drained.rate)

    def costs(name: str) -> Series:
        return Series.of(found[name], lambda drained: drained.postgres_ms)

    figures = [
        Figure(f"tasks/s, {name}", rates(name), RATE, plain_sql.NAME, rates(plain_sql.NAME), _cpu(found[name]))
        for name in ours
    ]
    figures += [
        Figure(f"PostgreSQL CPU, ms/task, {name}", costs(name), POSTGRES_MS, plain_sql.NAME, costs(plain_sql.NAME))
        for name in ours
    ]
    figures += [
        Figure(f"for comparison: jobs/s of {name}", rates(name), None, plain_sql.NAME, rates(plain_sql.NAME), cpu)
        for name, cpu in ((name, _cpu(found[name])) for name in contenders if name != plain_sql.NAME)
    ]
    notes = [
        f"{sizes.queue:,} tasks per round, {sizes.rounds} rounds. A task of Whilly is three transitions (claim, start, "
        "finish) with an event each, the release of its dependants, and a place in the hash-chained log for each "
        "event; a job of the contenders is taken and finished, and nothing else. "
        f"{plain_sql.NAME}: {_cpu(found[plain_sql.NAME])}."
    ]
    if with_pgqueuer.NAME not in contenders:
        notes.append("pgqueuer did not take part: it is not installed (`pip install -e '.[bench]'`).")
    return Table("queue: claim, start, finish, 16 at a time", tuple(figures), tuple(notes))


def _cpu(rounds: list[Drained]) -> str:
    postgres_ms = Series.of(rounds, lambda drained: drained.postgres_ms).median
    own_ms = Series.of(rounds, lambda drained: drained.own_ms).median
    return f"{number(postgres_ms)} ms PostgreSQL, {number(own_ms)} ms Python"
