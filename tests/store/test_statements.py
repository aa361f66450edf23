"""Every statement fits the schema, and the hot ones keep their plans."""

import re

import pytest

from tests.builders import a_plan, a_task, done
from whilly.operations.import_plan import import_plan
from whilly.store.database import Database
from whilly.store.statements import names, statement


@pytest.mark.parametrize("name", names())
async def test_a_statement_fits_the_schema_and_says_what_it_answers(database: Database, name: str) -> None:
    assert statement(name).startswith("-- ")
    async with database.connection() as connection:
        await connection.prepare(statement(name))


@pytest.mark.parametrize("name", names())
def test_a_statement_uses_the_time_of_the_statement_and_locks_what_it_returns(name: str) -> None:
    text = re.sub(r"--.*", "", statement(name)).lower()
    assert not re.search(r"\bnow\(\)|current_timestamp", text), "inside a transaction that waited, now() is old"
    assert not re.search(r"in\s*\(\s*select[^)]*skip locked", text), "a join may run such a subquery more than once"
    if "skip locked" in text:
        assert "as materialized" in text


async def test_claiming_reads_the_ready_index_however_many_tasks_wait(database: Database) -> None:
    await import_plan(database, a_plan(*(a_task(f"T{n}") for n in range(600))))
    await done(database)
    async with database.connection() as connection:
        plan = await connection.fetch(
            f"explain (analyze, costs off, timing off, summary off) {statement('next_ready_tasks')}",
            "p",
            3,
            [""],
            [""],
            [],
            1,
        )
    drawn = "\n".join(line[0] for line in plan)

    assert "Index Scan using tasks_ready" in drawn
    assert "Seq Scan on tasks" not in drawn
    scanned = re.search(r"Index Scan using tasks_ready.*rows=(\d+)", drawn)
    assert scanned is not None
    assert int(scanned[1]) <= 3
