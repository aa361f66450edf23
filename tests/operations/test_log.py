"""The log: in order, complete, and not to be rewritten."""

import asyncio

import asyncpg
import pytest

from tests.builders import a_plan, a_task, done, running
from whilly.core.assignment import AttemptKey
from whilly.core.errors import LeaseLost, Refused, UnknownTask
from whilly.operations.append_events import append_events, append_transcript
from whilly.operations.import_plan import import_plan
from whilly.operations.read_attempts import transcript
from whilly.operations.read_events import end_of_log, events_after, verify_log
from whilly.operations.sequence_events import sequence_events
from whilly.store.database import Database
from whilly.wire.work import AttemptEvent, TranscriptChunk


async def test_positions_are_consecutive_and_the_chain_holds(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",))))
    await done(database)
    first = await sequence_events(database)
    await done(database)
    second = await sequence_events(database)

    events = await events_after(database, 0)

    assert [event.position for event in events] == list(range(1, first + second + 1))
    assert [event.type for event in events if event.task == "B"] == [
        "task.created", "task.ready", "CLAIM", "START", "COMPLETE",
    ]  # fmt: skip
    assert await verify_log(database) is None
    assert await sequence_events(database) == 0


async def test_events_that_commit_late_are_not_passed_over(database: Database) -> None:
    """An earlier id that commits after a later one still gets its place, behind it."""
    insert = "insert into events (plan_id, type) values ('p', $1)"
    async with database.connection() as slow, database.connection() as fast:
        late = slow.transaction()
        await late.start()
        await slow.execute(insert, "drawn first, committed last")
        await fast.execute(insert, "drawn last, committed first")
        assert await sequence_events(database) == 1
        (seen,) = await events_after(database, 0)
        await late.commit()

    assert await sequence_events(database) == 1
    assert [event.type for event in await events_after(database, seen.position)] == ["drawn first, committed last"]


async def test_a_rolled_back_event_leaves_no_gap(database: Database) -> None:
    async with database.connection() as connection:
        undone = connection.transaction()
        await undone.start()
        await connection.execute("insert into events (plan_id, type) values ('p', 'undone')")
        await undone.rollback()
        await connection.execute("insert into events (plan_id, type) values ('p', 'kept')")

    assert await sequence_events(database) == 1
    assert [event.type for event in await events_after(database, 0)] == ["kept"]


async def test_many_sequencers_and_writers_agree(database: Database) -> None:
    async def write(writer: int) -> None:
        for number in range(50):
            async with database.connection() as connection:
                await connection.execute("insert into events (plan_id, type) values ('p', $1)", f"{writer}/{number}")

    writers = asyncio.gather(*(write(writer) for writer in range(4)))
    while not writers.done() or await sequence_events(database):
        await asyncio.gather(*(sequence_events(database) for _ in range(3)))

    events = await events_after(database, 0, limit=1000)
    assert sorted(event.type for event in events) == sorted(f"{w}/{n}" for w in range(4) for n in range(50))
    assert [event.position for event in events] == list(range(1, 201))
    for writer in range(4):
        mine = [event.type for event in events if event.type.startswith(f"{writer}/")]
        assert mine == [f"{writer}/{number}" for number in range(50)]


@pytest.mark.parametrize("table", ["events", "event_log"])
@pytest.mark.parametrize("statement", ["update {} set {} = {}", "delete from {}", "truncate {}"])
async def test_history_is_not_rewritten(database: Database, table: str, statement: str) -> None:
    await import_plan(database, a_plan())
    await sequence_events(database)
    column = "type" if table == "events" else "hash"

    async with database.connection() as connection:
        with pytest.raises(asyncpg.PostgresError, match="append-only"):
            await connection.execute(statement.format(table, column, column))


async def test_verification_names_the_place_that_was_tampered_with(database: Database) -> None:
    await import_plan(database, a_plan(*(a_task(f"T{n}") for n in range(5))))
    await sequence_events(database)
    async with database.connection() as connection:
        await connection.execute("alter table events disable trigger all")
        await connection.execute(
            "update events set type = 'forged' where id = (select event_id from event_log where position = 4)"
        )

    assert await verify_log(database) == 4


async def test_whoever_listens_hears_how_far_the_log_goes(database: Database) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with database.connection() as connection:
        await connection.add_listener("whilly", lambda *said: heard.put_nowait(said[-1]))
        await import_plan(database, a_plan())
        await sequence_events(database)

        assert int(await asyncio.wait_for(heard.get(), 5)) == await end_of_log(database)
        await connection.reset()


async def test_an_event_repeated_by_its_worker_is_stored_once(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)
    one, two = (AttemptEvent("verification.started", {"name": name}, number=n) for n, name in ((1, "a"), (2, "b")))

    await append_events(database, attempt.key, [one])
    await append_events(database, attempt.key, [one, two])

    await sequence_events(database)
    names = [e.payload["name"] for e in await events_after(database, 0) if e.type == "verification.started"]
    assert names == ["a", "b"]


async def test_only_the_holder_of_the_lease_writes_and_only_its_own_kinds(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)

    with pytest.raises(Refused, match="may not write"):
        await append_events(database, attempt.key, [AttemptEvent("COMPLETE")])
    with pytest.raises(LeaseLost):
        await append_events(database, AttemptKey("p", "T1", 7), [AttemptEvent("llm.run_started")])
    with pytest.raises(UnknownTask):
        await append_events(database, AttemptKey("p", "NOPE", 1), [AttemptEvent("llm.run_started")])


async def test_a_transcript_is_kept_in_order_and_once(database: Database) -> None:
    await import_plan(database, a_plan())
    attempt = await running(database)
    chunks = [TranscriptChunk(1, "lo\0"), TranscriptChunk(0, "hel")]

    await append_transcript(database, attempt.key, chunks)
    await append_transcript(database, attempt.key, [*chunks, TranscriptChunk(2, "!")])

    assert await transcript(database, "p", "T1") == "hello\\u0000!"
