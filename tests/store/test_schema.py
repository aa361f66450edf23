"""Migrations on a real server: there and back, two at once, against locks, killed, and on a database in the way."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from whilly.core.errors import DatabaseUnavailable, MigrationFailed, SchemaMismatch
from whilly.store import schema
from whilly.store.database import Database
from whilly.store.embedded.cluster import programs


def dump(url: str) -> str:
    """The schema as SQL. The key only makes two dumps comparable."""
    command = [str(programs() / "pg_dump"), "--schema-only", "--restrict-key=same", "--no-owner", url]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def until_somebody_waits(connection: Any) -> None:
    """Until another session of this database waits for a lock."""
    waiting = """
        select 1 from pg_locks join pg_stat_activity using (pid)
        where not granted and datname = current_database() limit 1
    """
    async with asyncio.timeout(20):
        while not await connection.fetchval(waiting):
            await asyncio.sleep(0.01)
            # A transaction sees the sessions there were at its first look.
            await connection.execute("select pg_stat_clear_snapshot()")


async def test_up_down_up_gives_the_same_schema_byte_by_byte(empty_database_url: str) -> None:
    assert await schema.current(empty_database_url) is None
    assert await schema.upgrade(empty_database_url) == schema.revisions()
    first = dump(empty_database_url)
    assert "CREATE TABLE public.tasks" in first
    assert await schema.downgrade(empty_database_url, "base") == schema.revisions()[::-1]
    left = dump(empty_database_url)
    assert left.count("CREATE ") == left.count("CREATE TABLE public.alembic_version") == 1
    assert await schema.upgrade(empty_database_url) == schema.revisions()
    assert dump(empty_database_url) == first
    assert await schema.current(empty_database_url) == schema.head()


async def test_each_step_undoes_what_it_did(empty_database_url: str) -> None:
    await schema.upgrade(empty_database_url)
    wanted = dump(empty_database_url)
    for revision in ["base", *schema.revisions()[:-1]]:
        await schema.downgrade(empty_database_url, revision)
        assert await schema.current(empty_database_url) == (None if revision == "base" else revision)
        await schema.upgrade(empty_database_url)
        assert dump(empty_database_url) == wanted


async def test_of_two_migrators_one_works(empty_database_url: str) -> None:
    applied = await asyncio.gather(*(schema.upgrade(empty_database_url) for _ in range(3)))
    assert sorted(applied) == [[], [], schema.revisions()]


async def test_a_schema_in_place_is_left_alone(database_url: str) -> None:
    assert await schema.upgrade(database_url) == []


def test_the_files_are_named_as_alembic_orders_them() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "whilly.store:migrations")
    scripts = ScriptDirectory.from_config(config)
    assert [script.revision for script in scripts.walk_revisions()][::-1] == schema.revisions()
    assert scripts.get_heads() == [schema.head()]


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
async def test_both_spellings_of_an_address_work(empty_database_url: str, scheme: str) -> None:
    url = scheme + empty_database_url.removeprefix("postgresql")
    await schema.upgrade(url)
    assert await schema.current(url) == schema.head()


async def test_a_newer_schema_is_left_alone(database_url: str) -> None:
    async with connected(database_url) as connection:
        await connection.execute("update alembic_version set version_num = '9999'")
    with pytest.raises(SchemaMismatch, match=r"has schema 9999, this older program knows .* install a newer Whilly"):
        await schema.upgrade(database_url)
    with pytest.raises(MigrationFailed, match="no way back from schema 9999 to base"):
        await schema.downgrade(database_url, "base")
    with pytest.raises(SchemaMismatch):
        await Database.open(database_url)


async def test_an_old_schema_names_the_command(empty_database_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="run `whilly db upgrade`"):
        await Database.open(empty_database_url)


async def test_a_failed_step_is_rolled_back_and_explained(empty_database_url: str) -> None:
    async with connected(empty_database_url) as connection:
        await connection.execute("create table tasks (of_somebody_else text)")
    before = dump(empty_database_url)
    with pytest.raises(MigrationFailed) as failure:
        await schema.upgrade(empty_database_url)
    assert str(failure.value) == (
        "The upgrade to schema 0001 failed and was rolled back, the database still has none: "
        'relation "tasks" already exists.'
    )
    assert dump(empty_database_url) == before


async def test_a_migration_waits_little_and_comes_again(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "LOCK_TIMEOUT_MS", 100)
    async with connected(database_url) as connection:
        async with connection.transaction():
            await connection.execute("lock table plans in access share mode")
            migration = asyncio.create_task(schema.downgrade(database_url, "base"))
            await until_somebody_waits(connection)
            async with connected(database_url) as bystander, asyncio.timeout(5):
                assert await bystander.fetchval("select count(*) from plans") == 0
            assert not migration.done()
        assert await migration == schema.revisions()[::-1]


async def test_a_lock_that_is_never_given_back_is_explained(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "LOCK_TIMEOUT_MS", 20)
    monkeypatch.setattr(schema, "TRIES", 2)
    async with connected(database_url) as connection, connection.transaction():
        await connection.execute("lock table event_log in access share mode")
        with pytest.raises(MigrationFailed, match=rf"through 2 tries, stop {connection.get_server_pid()} \("):
            await schema.downgrade(database_url, "base")
        assert await schema.current(database_url) == schema.revisions()[0]


async def test_a_migrator_that_is_killed_leaves_nothing_half_done(empty_database_url: str) -> None:
    program = f"import asyncio; from whilly.store import schema; asyncio.run(schema.upgrade({empty_database_url!r}))"
    async with connected(empty_database_url) as connection:
        in_the_way = connection.transaction()
        await in_the_way.start()
        await connection.execute("create table workers (a text)")
        migrator = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
        await until_somebody_waits(connection)
        migrator.kill()
        await migrator.wait()
        await in_the_way.rollback()
    assert await schema.upgrade(empty_database_url) == schema.revisions()


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://ida:hunter2@127.0.0.1:1/whilly", "ida@127.0.0.1:1/whilly"),
        ("postgresql://ida:hunter2@/whilly?host=/nowhere", "ida@/nowhere:/whilly"),
        ("postgresql://ida:hunter2@no-such-host.invalid/whilly", "ida@no-such-host.invalid/whilly"),
    ],
)
async def test_a_server_that_does_not_answer_is_named_without_its_password(url: str, place: str) -> None:
    for attempt in (schema.current(url), schema.upgrade(url)):
        with pytest.raises(DatabaseUnavailable) as failure:
            await attempt
        assert str(failure.value).startswith(f"The database {place} does not answer: ")
        assert "hunter2" not in str(failure.value)


async def test_an_unknown_database_is_named(database_url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match='does not answer: database "nobody_made_it" does not exist'):
        await schema.current(re.sub(r"/test_\w+", "/nobody_made_it", database_url, count=1))


def test_asking_for_the_head_imports_no_migration_library() -> None:
    program = (
        "import sys; from whilly.store import schema; schema.head(); print({'alembic', 'sqlalchemy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
