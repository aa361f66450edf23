"""All of a transaction is stored, or nothing; and the database refuses what goes around the state machine."""

import asyncpg
import pytest

from tests.builders import a_plan, a_task, running, statuses, told
from whilly.core.errors import IllegalTransition, SchemaMismatch
from whilly.core.events import Completed, Skipped
from whilly.operations.import_plan import import_plan
from whilly.operations.steer_task import locked_task
from whilly.store.database import Database
from whilly.store.transaction import Transaction


async def test_an_error_undoes_everything(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    before = await told(database)

    async def skip_one_and_do_the_impossible_to_the_other(tx: Transaction) -> None:
        tx.record(await locked_task(tx, "p", "A"), Skipped("not now"))
        tx.record(await locked_task(tx, "p", "B"), Completed("w", "c", "b", None))

    with pytest.raises(IllegalTransition):
        await database.transact(skip_one_and_do_the_impossible_to_the_other)

    assert await statuses(database) == {"A": "PENDING", "B": "PENDING"}
    assert await told(database) == before


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("status = 'DOING'", "a_status_is_one_of_eight"),
        ("status = 'CLAIMED'", "only_running_tasks_hold_a_lease"),
        ("unmet = -1", "unmet_prerequisites_are_not_negative"),
        ("reserved_micros = 5", "only_running_tasks_hold_a_reservation"),
        ("worker_id = 'w'", "a_lease_has_a_worker_and_a_claim"),
        ("priority = 9", "a_priority_is_one_of_four"),
    ],
)
async def test_the_database_refuses_what_goes_around_the_rules(database: Database, change: str, rule: str) -> None:
    await import_plan(database, a_plan())

    async with database.connection() as connection:
        with pytest.raises(asyncpg.CheckViolationError, match=rule):
            await connection.execute(f"update tasks set {change}")


async def test_a_running_task_keeps_its_prerequisites(database: Database) -> None:
    await import_plan(database, a_plan())
    await running(database)

    async with database.connection() as connection:
        with pytest.raises(asyncpg.CheckViolationError, match="a_running_task_has_all_its_prerequisites"):
            await connection.execute("update tasks set unmet = 1")


async def test_an_empty_database_is_refused_with_the_command_that_mends_it(empty_database_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="whilly db upgrade"):
        await Database.open(empty_database_url)
