"""The same work with a long future or a long past behind it: it must cost what it costs in an empty system."""

from contextlib import AsyncExitStack

from bench.drain import Drained, drain
from bench.fill import fill_backlog, fill_history
from bench.plans import layered
from bench.postgres import Postgres, postgres
from bench.series import Series, in_turn, number, percentile
from bench.sizes import Sizes
from bench.table import Bar, Figure, Table
from whilly.operations.import_plan import import_plan
from whilly.operations.reset_plan import reset_plan
from whilly.store.database import Database

FLAT = 0.15
EMPTY = "1,000 pending"
KEPT = 1_000
"""Tasks that the small plan still has when a round is over."""


class Crowd:
    """A database in one of the conditions to be compared."""

    def __init__(self, server: Postgres, database: Database, tasks: int, plan: str | None = None) -> None:
        """`plan`: one that lasts for all rounds; without it each round gets a small new one."""
        self._server = server
        self._database = database
        self._tasks = tasks
        self._plan = plan
        self.rounds: list[Drained] = []

    async def round(self) -> None:
        """Work some tasks off."""
        plan = self._plan or f"round-{len(self.rounds)}"
        if self._plan is None:
            await import_plan(self._database, layered(plan, self._tasks + KEPT))
        self.rounds.append(await drain(self._server, self._database, plan, self._tasks))
        if self._plan is None:
            await reset_plan(self._database, plan, hard=True)


async def measure(sizes: Sizes) -> Table:
    """Fill the databases, then one round in each after the other, several times."""
    async with AsyncExitStack() as held:
        server = await held.enter_async_context(postgres())
        empty = Crowd(server, await held.enter_async_context(server.database("empty")), sizes.backlog)
        crowds = {EMPTY: empty}
        for pending in sizes.backlogs:
            database = await held.enter_async_context(server.database(f"pending_{pending}"))
            await fill_backlog(database, "long", pending)
            crowds[f"{pending:,} pending"] = Crowd(server, database, sizes.backlog, "long")
        old = await held.enter_async_context(server.database("old"))
        await fill_history(old, sizes.old_events)
        crowds[f"{sizes.old_events:,} old events"] = Crowd(server, old, sizes.backlog)
        for crowd in crowds.values():
            await crowd.round()  # The first after a fill reads from the disk and is not counted.
            crowd.rounds.clear()
        for number_of_round in range(sizes.rounds):
            for crowd in in_turn(list(crowds.values()), number_of_round):
                await crowd.round()
    return Table(
        "backlog: the queue with much to do, and with much done",
        tuple(figure for name, crowd in crowds.items() for figure in _figures(name, crowd.rounds, empty.rounds)),
        (
            f"{sizes.backlog:,} tasks per round, {sizes.rounds} rounds, 16 at a time; the contender is Whilly in an "
            f"empty system, with {EMPTY}.",
        ),
    )


def _figures(name: str, rounds: list[Drained], empty: list[Drained]) -> list[Figure]:
    def line(what: str, of: list[Drained]) -> Series:
        picks = {
            "tasks/s": lambda drained: drained.rate,
            "PostgreSQL CPU, ms per task": lambda drained: drained.postgres_ms,
            "claim, ms (p50)": lambda drained: percentile(drained.claims, 0.5) * 1e3,
        }
        return Series.of(of, picks[what])

    rate, cpu, claim = "tasks/s", "PostgreSQL CPU, ms per task", "claim, ms (p50)"
    if rounds is empty:
        return [Figure(f"{what}, {name}", line(what, rounds)) for what in (rate, cpu, claim)]
    at_least, at_most = Bar(at_least=1 - FLAT, ratio=True), Bar(at_most=1 + FLAT, ratio=True)
    own_ms = Series.of(rounds, lambda drained: drained.own_ms).median
    return [
        Figure(
            f"{rate}, {name}", line(rate, rounds), at_least, "empty", line(rate, empty), f"{number(own_ms)} ms Python"
        ),
        Figure(f"{cpu}, {name}", line(cpu, rounds), at_most, "empty", line(cpu, empty)),
        Figure(f"{claim}, {name}", line(claim, rounds), at_most, "empty", line(claim, empty)),
    ]
