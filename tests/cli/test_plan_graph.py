"""The plan as a graph of text."""

import pytest

from tests.builders import a_plan, a_task
from whilly.cli.plan_graph import plan_graph
from whilly.operations.import_plan import import_plan
from whilly.operations.read_plans import plan_overview
from whilly.store.database import Database

LONG = "Let the catalogue refuse a book whose number is not valid, and say which digit of it is wrong."


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_on_a_terminal_no_line_is_longer_than_that(database: Database, width: int) -> None:
    tasks = [a_task(f"T{number}", tuple(f"T{each}" for each in range(number)), description=LONG) for number in range(9)]
    await import_plan(database, a_plan(*tasks))

    lines = plan_graph(await plan_overview(database, "p"), colour=False, width=width).splitlines()

    assert max(map(len, lines)) <= width
    assert sum("T8" in line for line in lines) == 2


async def test_in_a_pipe_all_prerequisites_are_named(database: Database) -> None:
    names = [f"a-task-with-a-long-name-{number}" for number in range(6)]
    await import_plan(database, a_plan(*(a_task(name) for name in names), a_task("LAST", tuple(names))))

    assert f"← {', '.join(names)}  " in plan_graph(await plan_overview(database, "p"), colour=False)
