"""Bearers that come from the environment: for the control plane, and for a worker."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from whilly.cli.worker_main import _token
from whilly.core.errors import BadSetting
from whilly.server.environment import given_bearers
from whilly.settings import Settings

LONG = "0123456789abcdef0123456789abcdef"
SERVER_ONLY = ("alembic", "asyncpg", "fastapi", "jinja2", "msgspec", "sqlalchemy", "starlette", "uvicorn")


def test_a_workers_deprecated_variable_works_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings.from_environment({"WHILLY_WORKER_TOKEN": LONG})
    assert _token(settings, None, "") == LONG
    assert capsys.readouterr().err.count("deprecated") == 1
    quiet = Settings.from_environment({"WHILLY_WORKER_TOKEN": LONG, "WHILLY_SUPPRESS_WORKER_TOKEN_WARNING": "1"})
    assert _token(quiet, None, "") == LONG
    assert capsys.readouterr().err == ""


def test_a_token_that_is_given_wins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings.from_environment({"WHILLY_WORKER_TOKEN": LONG})
    (tmp_path / "token").write_text("whl_wk_other\n", encoding="utf-8")
    assert _token(settings, tmp_path / "token", "") == "whl_wk_other"
    assert _token(settings, None, "whl_wk_third") == "whl_wk_third"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["WHILLY_WORKER_BOOTSTRAP_TOKEN", "WHILLY_WORKER_TOKEN"])
def test_a_control_plane_refuses_secrets_that_can_be_guessed(name: str) -> None:
    with pytest.raises(BadSetting, match="openssl rand"):
        given_bearers(Settings.from_environment({name: "demo"}))


def test_a_control_plane_warns_about_the_shared_bearer(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert given_bearers(Settings.from_environment({"WHILLY_WORKER_TOKEN": LONG})).shared == LONG
    assert ["deprecated" in record.message for record in caplog.records] == [True]
    assert LONG not in caplog.text


def test_a_machine_joins_without_what_only_the_server_needs() -> None:
    program = (
        "import sys\n"
        f"for name in {SERVER_ONLY}: sys.modules[name] = None\n"
        "sys.argv = ['whilly', 'worker', 'register', '--connect', 'http://127.0.0.1:9', '--bootstrap-token', 'x']\n"
        "from whilly.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("whilly: Nobody answers at http://127.0.0.1:9")
