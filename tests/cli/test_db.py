"""`whilly db` and the door to the database, through the real program."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from whilly.cli.database import open_database
from whilly.core.errors import SchemaMismatch
from whilly.settings import Settings
from whilly.store import embedded, schema


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="whilly-test-") as name:
        yield Path(name)


def whilly_db(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = "from whilly.cli.main import main; main()"
    command = [sys.executable, "-c", program, "db", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=os.environ | environment, check=False
    )


def asked(*arguments: str, **environment: str) -> str:
    done = whilly_db(*arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(**environment: str) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(asked("status", "--json", **environment))
    return status


def test_status_makes_no_database(data_dir: Path) -> None:
    assert asked("status", WHILLY_DATA_DIR=str(data_dir)) == (
        f"Database  embedded PostgreSQL, made when it is first needed\nWhere     {data_dir}/postgres\n"
    )
    assert not list(data_dir.iterdir())


def test_the_life_of_an_embedded_database(data_dir: Path) -> None:
    here = {"WHILLY_DATA_DIR": str(data_dir)}
    assert (
        asked("upgrade", **here)
        == f"Applied {', '.join(schema.revisions())}; the database has schema {schema.head()} now.\n"
    )
    assert asked("upgrade", **here) == f"The database has schema {schema.head()} already.\n"
    idle = found(**here)
    assert (idle["kind"], idle["running"], idle["fits"], idle["users"]) == ("embedded", False, True, [])
    with embedded.start(data_dir, durable=False) as running:
        assert asked("url", **here) == f"{running.url}\n"
        busy = found(**here)
        assert busy["running"]
        assert [user["pid"] for user in busy["users"]] == [os.getpid()]
        assert f"Used by   {os.getpid()} " in asked("status", **here)
        refused = whilly_db("stop", **here)
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"whilly: The embedded PostgreSQL is in use by {os.getpid()} (")
        assert asked("stop", "--force", **here).startswith(
            "The embedded PostgreSQL has stopped. Runs that were using it wait"
        )
    assert asked("stop", **here) == "The embedded PostgreSQL was not running.\n"


def test_a_held_address_can_be_used_until_ctrl_c(data_dir: Path) -> None:
    program = "from whilly.cli.main import main; main()"
    holder = subprocess.Popen(
        [sys.executable, "-c", program, "db", "url", "--hold"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"WHILLY_DATA_DIR": str(data_dir)},
    )
    with holder:
        assert holder.stdout is not None
        url = holder.stdout.readline().strip()
        assert asyncio.run(_one(url)) == 1
        holder.send_signal(signal.SIGINT)
        assert holder.wait(timeout=30) == 0
    assert embedded.served(data_dir) is None


def test_a_server_of_ones_own(empty_database_url: str) -> None:
    here = {"WHILLY_DATABASE_URL": empty_database_url}
    assert f"this program needs {schema.head()}: run `whilly db upgrade`" in asked("status", **here)
    asked("upgrade", **here)
    status = found(**here)
    assert (status["kind"], status["running"], status["schema"], status["fits"]) == (
        "server",
        True,
        schema.head(),
        True,
    )
    assert asked("url", **here) == f"{empty_database_url}\n"
    refused = whilly_db("stop", **here)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Whilly did not start" in refused.stderr


def test_a_server_that_does_not_answer() -> None:
    done = whilly_db("status", WHILLY_DATABASE_URL="postgresql://ida:hunter2@127.0.0.1:1/whilly")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("whilly: The database ida@127.0.0.1:1/whilly does not answer: ")
    assert "hunter2" not in done.stderr


async def test_the_embedded_database_gets_its_schema_by_itself(data_dir: Path) -> None:
    for _ in range(2):
        async with open_database(Settings(data_dir)) as database, database.connection() as connection:
            assert await schema.version_of(connection) == schema.head()
    assert embedded.served(data_dir) is None


async def test_another_server_is_its_owners_to_change(data_dir: Path, empty_database_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="run `whilly db upgrade`"):
        async with open_database(Settings(data_dir, database_url=empty_database_url)):
            pass
    assert await schema.current(empty_database_url) is None


async def test_a_log_file_for_those_who_want_one(data_dir: Path, database_url: str) -> None:
    import logging

    async with open_database(Settings(data_dir, data_dir / "logs", database_url)):
        logging.getLogger("whilly.something").warning("größer")
    handlers = logging.getLogger("whilly").handlers
    while handlers:
        handlers.pop().close()
    assert (
        (data_dir / "logs" / "whilly.log")
        .read_text(encoding="utf-8")
        .endswith(f"{os.getpid()} WARNING whilly.something: größer\n")
    )


def test_help_starts_without_the_database_driver() -> None:
    program = "import sys; from whilly.cli import main; print({'asyncpg', 'alembic', 'sqlalchemy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


async def _one(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval("select 1"))
    finally:
        await connection.close()
