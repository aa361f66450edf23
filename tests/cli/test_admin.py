"""`whilly admin` and `whilly worker register|connect`: tokens as people handle them."""

import json
import os
import threading
from pathlib import Path

import keyring
import keyring.backend
import pytest
from keyring.backends import fail

from tests.builders import a_plan, a_task, statuses
from tests.cli.conftest import Whilly
from tests.server_process import server_process
from whilly.cli.credentials import Credential, store_of
from whilly.cli.lifetimes import lifetime
from whilly.cli.pins import pin, pinned
from whilly.core.errors import BadSetting
from whilly.core.tokens import TokenKind, kind_of
from whilly.operations.import_plan import import_plan
from whilly.operations.set_repository import set_repository
from whilly.store.database import Database

CREDENTIAL = Credential("w-1", "whl_wk_x", "ed25519:00", "p", "2026-01-01T00:00:00+00:00", "2026-01-11T00:00:00+00:00")


def test_a_bootstrap_token_is_minted_listed_and_revoked(whilly: Whilly) -> None:
    made = whilly("admin", "bootstrap", "mint", "--owner", "ann@users.example", "--plan", "p")
    assert made.code == 0, made.err
    bearer = made.out.strip()
    assert kind_of(bearer) is TokenKind.BOOTSTRAP

    (listed,) = whilly("admin", "bootstrap", "list", "--json").json
    assert (listed["owner"], listed["plan_id"], listed["uses_allowed"]) == ("ann@users.example", "p", 1)
    assert listed["id"] in made.err
    shown = whilly("admin", "bootstrap", "list").out
    assert "0/1" in shown
    assert bearer not in shown + json.dumps(listed)

    revoked = whilly("admin", "bootstrap", "revoke", listed["id"])
    assert "is revoked" in revoked.out
    assert whilly("admin", "bootstrap", "list", "--json").json == []
    assert len(whilly("admin", "bootstrap", "list", "--include-revoked", "--json").json) == 1


def test_wrong_inputs_are_answered_with_one_sentence(whilly: Whilly) -> None:
    for arguments in (
        ("admin", "bootstrap", "mint", "--owner", "ann", "--expires-in", "tomorrow"),
        ("admin", "bootstrap", "mint", "--owner", "ann", "--expires-in", "40d"),
        ("admin", "bootstrap", "revoke", "t-none"),
        ("admin", "token", "rotate", "t-none"),
        ("admin", "token", "mint", "session", "--owner", "ann"),
        ("admin", "worker", "revoke", "w-none"),
        ("admin", "token", "list", "--connect", "http://localhost:1"),
        ("worker", "register", "--connect", "http://localhost:1"),
        ("worker", "register", "--connect", "http://203.0.113.99:8000", "--bootstrap-token", "x"),
        ("worker", "register", "--connect", "http://127.0.0.1:9", "--bootstrap-token", "x"),
        ("worker", "connect", "http://203.0.113.99:8000", "--bootstrap-token", "x", "--plan", "p"),
        ("worker", "connect", "http://127.0.0.1:9"),
    ):
        said = whilly(*arguments)
        assert said.code in (1, 2), arguments
        assert said.err.startswith("whilly: "), (arguments, said.err)
        assert len(said.err.strip().splitlines()) == 1
        assert said.out == ""


async def test_an_operator_works_against_a_running_server(whilly: Whilly, database_url: str, tmp_path: Path) -> None:
    made = whilly("admin", "token", "mint", "operator", "--owner", "olga")
    token_file = tmp_path / "operator"
    token_file.write_text(made.out, encoding="utf-8")
    async with server_process(WHILLY_DATABASE_URL=database_url) as server:
        at_server = ("--connect", server.address, "--token-file", str(token_file))
        # Of a database that is not there: what is done is done by the server.
        away = {"WHILLY_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing"}
        bootstrap = whilly("admin", "bootstrap", "mint", "--owner", "ann", *at_server, **away).out.strip()
        joined = whilly(
            "worker", "register", "--connect", server.address, "--bootstrap-token", bootstrap, "--plan", "p", **away
        )
        assert joined.code == 0, joined.err
        assert kind_of(joined.out.strip()) is TokenKind.WORKER
        worker = joined.err.split("worker_id: ")[1].split()[0]
        again = whilly("worker", "register", "--connect", server.address, "--bootstrap-token", bootstrap, **away)
        assert again.code == 2
        assert "as often as it may be" in again.err
        listed = whilly("admin", "token", "list", "--kind", "worker", "--json", *at_server, **away).json
        assert [(token["worker_id"], token["plan_id"]) for token in listed] == [(worker, "p")]
        rotated = whilly("admin", "token", "rotate", listed[0]["id"], *at_server, **away)
        assert kind_of(rotated.out.strip()) is TokenKind.WORKER
        revoked = whilly("admin", "worker", "revoke", worker, "--json", *at_server, **away).json
        assert (revoked["worker_id"], revoked["revoked"], revoked["released_tasks"]) == (worker, True, [])
        assert len(revoked["tokens"]) == 2
        wrong = whilly("admin", "token", "revoke", "t-none", *at_server, **away)
        assert (wrong.code, "no token" in wrong.err) == (1, True)


async def test_the_second_start_uses_the_kept_token(
    whilly: Whilly, database: Database, database_url: str, repository: Path, tmp_path: Path
) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    await set_repository(database, "p", str(repository))
    bootstrap = whilly("admin", "bootstrap", "mint", "--owner", "ann").out.strip()
    home = {"WHILLY_DATA_DIR": str(tmp_path / "data")}
    async with server_process(WHILLY_DATABASE_URL=database_url) as server:
        connect = ("worker", "connect", server.address, "--plan", "p", "--no-keyring", "--agent", "scripted", "--once")
        first = whilly(*connect, "--bootstrap-token", bootstrap, **home)
        second = whilly(*connect, **home)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert await statuses(database) == {"A": "DONE", "B": "DONE"}
    kept = tmp_path / "data" / "credentials.json"
    assert "Registered as worker w-" in first.err
    assert str(kept) in first.err
    assert "goes on with the token" in second.err
    if os.name == "posix":
        assert kept.stat().st_mode & 0o777 == 0o600
    assert "whl_" not in first.err + first.out + second.err + second.out


def test_lifetimes() -> None:
    assert lifetime("12h").total_seconds() == 43_200
    for wrong in ("", "0d", "-1d", "1y", "1.5h", "١d"):
        with pytest.raises(BadSetting):
            lifetime(wrong)


def test_a_file_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    store = store_of(tmp_path, keyring=False)
    assert store.find("https://a.example", "p") is None
    store.keep("https://a.example", "p", CREDENTIAL)
    store.keep("https://b.example", "p", CREDENTIAL)
    assert store.find("https://a.example", "p") == CREDENTIAL
    assert store.find("https://a.example", "q") is None
    if os.name == "posix":
        (tmp_path / "credentials.json").chmod(0o644)
        with pytest.raises(BadSetting, match="chmod 600"):
            store.find("https://a.example", "p")


class Memory(keyring.backend.KeyringBackend):
    """A keyring that works."""

    priority = 5

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


class Hung(Memory):
    """A keyring that asks somebody who is not there."""

    def get_password(self, service: str, username: str) -> str | None:
        threading.Event().wait()
        return super().get_password(service, username)


def test_a_keyring_that_works_is_used_and_one_that_hangs_or_fails_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whilly.cli.credentials.KEYRING_SECONDS", 0.2)
    memory = Memory()
    monkeypatch.setattr(keyring, "get_keyring", lambda: memory)
    store = store_of(tmp_path)
    store.keep("https://a.example", "p", CREDENTIAL)
    assert store.find("https://a.example", "p") == CREDENTIAL
    assert "keyring" in store.place
    assert list(tmp_path.iterdir()) == []

    for backend in (Hung(), fail.Keyring()):  # type: ignore[no-untyped-call]
        monkeypatch.setattr(keyring, "get_keyring", lambda backend=backend: backend)
        assert "credentials.json" in store_of(tmp_path).place


def test_a_token_is_replaced_when_half_of_its_time_is_over() -> None:
    from datetime import UTC, datetime

    assert not CREDENTIAL.half_over(datetime(2026, 1, 5, tzinfo=UTC))
    assert CREDENTIAL.half_over(datetime(2026, 1, 7, tzinfo=UTC))


def test_the_key_that_came_with_a_bearer_is_remembered(tmp_path: Path) -> None:
    pin(tmp_path, "whl_wk_a", "ed25519:11")
    assert pinned(tmp_path, "whl_wk_a") == "ed25519:11"
    assert pinned(tmp_path, "whl_wk_b") == ""
    assert not [path for path in tmp_path.rglob("*") if "whl_wk" in str(path)]
