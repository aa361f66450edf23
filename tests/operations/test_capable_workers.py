"""Tasks go to workers that have what they ask for, and one process at a time works under an identity."""

from dataclasses import replace

import pytest

from tests.builders import LEASE, a_plan, a_request, a_task, row_of
from whilly.core.assignment import Assignment
from whilly.core.errors import IdentityInUse, Superseded, UnknownWorker
from whilly.operations.admit_worker import admit_worker, leave
from whilly.operations.claim_tasks import Drained, claim_tasks
from whilly.operations.drain_worker import drain_worker
from whilly.operations.explain_task import explain_task
from whilly.operations.import_plan import import_plan
from whilly.operations.read_progress import read_progress
from whilly.store.database import Database
from whilly.wire.presence import Presence


async def ask(
    database: Database, worker: str = "w1", tags: tuple[str, ...] = (), isolation: str = "clone", session: int = 0
) -> Assignment | None:
    request = replace(a_request(), tags=tags, isolation=isolation, session=session)
    (found,) = await claim_tasks(database, [(worker, request)], LEASE)
    return found


def told(incarnation: str = "one", **more: object) -> Presence:
    return replace(Presence(incarnation, "host", {"scripted": "1"}), **more)  # type: ignore[arg-type]


async def test_a_task_goes_to_a_worker_with_all_its_tags(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", worker_tags=("gpu",)), worker_tags=("arm",)))
    assert await ask(database) is None
    assert await ask(database, tags=("gpu",)) is None
    found = await ask(database, tags=("arm", "gpu", "big"))
    assert found is not None
    assert found.spec.worker_tags == ("gpu",)


async def test_a_task_never_runs_on_a_lower_rung_than_it_asks_for(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", isolation="container"), isolation="bwrap"))
    for isolation in ("", "none", "clone", "unheard-of"):
        assert await ask(database, isolation=isolation) is None
    first, second = await ask(database, isolation="bwrap"), await ask(database, isolation="bwrap")
    assert first is not None
    assert first.spec.id == "A"
    assert second is None
    assert (await ask(database, isolation="container")) is not None


async def test_tasks_for_others_do_not_hold_up_those_behind_them(database: Database) -> None:
    others = [a_task(f"G{number}", worker_tags=("gpu",)) for number in range(30)]
    await import_plan(database, a_plan(*others, a_task("MINE")))
    found = await ask(database)
    assert found is not None
    assert found.spec.id == "MINE"


async def test_what_workers_must_have_can_be_changed_for_tasks_that_wait(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), worker_tags=("gpu",), isolation="bwrap"))
    await import_plan(database, a_plan(a_task("A")))
    row = await row_of(database, "A")
    assert (row["worker_tags"], row["isolation_rung"]) == ([], 0)
    assert await ask(database) is not None


async def test_why_says_what_no_worker_has(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", worker_tags=("gpu",), isolation="bwrap")))
    await admit_worker(database, "w1", told(tags=("arm",)))
    why = await explain_task(database, "p", "A")
    assert (why.code, why.sentence) == (
        "no_capable_worker",
        "A asks for tag gpu and isolation bwrap, which no worker that is online has.",
    )
    await admit_worker(database, "w2", told("two", tags=("gpu",), isolation="bwrap", state="The disk is full."))
    assert (await explain_task(database, "p", "A")).code == "ready"
    await leave(database, "w1", 1)
    assert "no worker takes tasks now: The disk is full." in (await explain_task(database, "p", "A")).sentence


async def test_a_run_knows_that_it_cannot_serve_a_task(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A", worker_tags=("gpu",))))
    progress = await read_progress(database, "p", ("scripted",))
    assert (progress.ready, progress.unserved, progress.unserved_because) == (0, 1, "a worker tagged gpu")
    assert progress.over
    assert (await read_progress(database, "p", ("scripted",), tags=("gpu",))).ready == 1


async def test_a_second_process_is_refused_while_the_first_may_be_at_work(database: Database) -> None:
    first = await admit_worker(database, "w1", told())
    assert (first.worker, first.session) == ("w1", 1)
    with pytest.raises(IdentityInUse, match=r"^Worker w1 is at work already, as a process on host that was heard of"):
        await admit_worker(database, "w1", told("two"))
    assert (await admit_worker(database, "w1", told(session=1, state="full"))).session == 1


@pytest.mark.parametrize("how", ["it left", "it was silent", "it is known to be dead", "it is taken over"])
async def test_a_second_process_gets_a_higher_session(database: Database, how: str) -> None:
    await admit_worker(database, "w1", told())
    second = told("two")
    async with database.connection() as connection:
        match how:
            case "it left":
                await leave(database, "w1", 1)
            case "it was silent":
                await connection.execute("update workers set last_seen = last_seen - interval '100 seconds'")
            case "it is known to be dead":
                second = told("two", previous=("zero", "one"))
            case _:
                second = told("two", take_over=True)
    assert (await admit_worker(database, "w1", second)).session == 2


async def test_a_process_whose_place_was_taken_gets_no_task_and_no_word(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    await admit_worker(database, "w1", told())
    held = await ask(database, session=1)
    assert held is not None
    await admit_worker(database, "w1", told("two", take_over=True))
    with pytest.raises(Superseded):
        await ask(database, session=1)
    with pytest.raises(Superseded):
        await admit_worker(database, "w1", told(session=1))
    assert (await row_of(database, "B"))["status"] == "PENDING"
    await leave(database, "w1", 1)
    with pytest.raises(IdentityInUse):
        await admit_worker(database, "w1", told("three"))
    found = await ask(database, session=2)
    assert found is not None
    assert found.spec.id == "B"


async def test_a_drained_worker_gets_no_task_until_it_is_resumed(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A")))
    with pytest.raises(UnknownWorker):
        await drain_worker(database, "w1", "ann")
    await admit_worker(database, "w1", told())
    await drain_worker(database, "w1", "ann")
    with pytest.raises(Drained):
        await ask(database, session=1)
    assert "worker w1 is drained" in (await explain_task(database, "p", "A")).sentence
    assert (await row_of(database, "A"))["epoch"] == 0
    await drain_worker(database, "w1", "ann", draining=False)
    assert await ask(database, session=1) is not None


async def test_a_process_that_outlived_its_database_is_admitted_anew(database: Database) -> None:
    await admit_worker(database, "w1", told())
    async with database.connection() as connection:
        await connection.execute("delete from workers")
    assert (await admit_worker(database, "w1", told(session=7))).session == 1
