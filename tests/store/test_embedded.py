"""The embedded server, with real processes, real signals and real disks."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from whilly.core.errors import DatabaseUnavailable, Refused
from whilly.store import embedded
from whilly.store.embedded.layout import Layout

PROGRAM = Path(__file__).with_name("embedded_user.py")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")


class Another:
    """Another process that uses the server."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
            start_new_session=True,
        )

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, command: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.hear()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def others(folder: Path, count: int = 1, **environment: str) -> Iterator[list[Another]]:
    started = [Another(folder, **environment) for _ in range(count)]
    try:
        yield started
    finally:
        for another in started:
            another.end()


def wait_until(fact: Callable[[], Any], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, "this did not become true in time"
        time.sleep(0.01)


def processes_of(folder: Path) -> list[psutil.Process]:
    """Guards, programs of PostgreSQL and their children that work on the folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and "embedded_user" not in str(process.cmdline()):
                named = any(str(folder) in word for word in process.cmdline())
                if named or Path(process.cwd()).is_relative_to(folder):
                    found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def nothing_is_left(folder: Path) -> bool:
    return not processes_of(folder)


async def ask(url: str, question: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not pytest's own folder: each run of pytest takes other accounts' access to that away."""
    with tempfile.TemporaryDirectory(prefix="whilly-test-") as name:
        yield Path(name)
        wait_until(lambda: nothing_is_left(Path(name)))


async def test_it_is_a_careful_private_postgres(folder: Path) -> None:
    with embedded.start(folder) as running:
        wanted = {
            "listen_addresses": "",
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            "jit": "off",
            "shared_buffers": "128MB",
            "max_connections": "200",
            "server_encoding": "UTF8",
        }
        assert {name: await ask(running.url, f"show {name}") for name in wanted} == wanted
        sockets = Path(await ask(running.url, "select trim(both '\"' from current_setting('unix_socket_directories'))"))
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        served = embedded.served(folder)
        assert served is not None
        assert not [at for at in psutil.Process(served.postmaster).net_connections("inet") if at.status == "LISTEN"]
    assert nothing_is_left(folder)


async def test_what_was_stored_is_there_after_the_next_start(folder: Path) -> None:
    with embedded.start(folder, durable=False) as running:
        await ask(running.url, "create table kept (n integer)")
    with embedded.start(folder, durable=False) as running:
        assert await ask(running.url, "select count(*) from kept") == 0


def test_five_first_starts_at_once_give_one_server(folder: Path) -> None:
    with others(folder, 5) as five:
        assert len({another.hear() for another in five}) == 1
        assert len({another.tell("ask") for another in five}) == 1
        assert {user.pid for user in embedded.users(folder)} == {another.process.pid for another in five}
        for another in five:
            assert another.tell("leave") == "left"
        assert nothing_is_left(folder)
    assert not list((folder / "postgres").glob("data.new-*"))


def test_it_outlives_all_but_its_last_user(folder: Path) -> None:
    with others(folder, 2) as (first, second):
        assert first.hear() == second.hear()
        before = second.tell("ask")
        assert first.tell("leave") == "left"
        assert second.tell("ask") == before


def test_a_killed_user_does_not_keep_it_alive(folder: Path) -> None:
    with others(folder, 2) as (killed, other):
        assert killed.hear() == other.hear()
        killed.kill()
        assert other.tell("ask").startswith("answer")
        assert [user.pid for user in embedded.users(folder)] == [other.process.pid]
        assert other.tell("leave") == "left"
        assert nothing_is_left(folder)


def test_the_last_user_may_be_killed(folder: Path) -> None:
    with others(folder) as (only,):
        assert only.hear().startswith("running")
        only.kill()
        wait_until(lambda: nothing_is_left(folder))
    assert not (folder / "postgres" / "data" / "postmaster.pid").exists()


def test_an_exit_without_a_word_is_noticed(folder: Path) -> None:
    with others(folder) as (only,):
        assert only.hear().startswith("running")
        only.process.communicate()
        wait_until(lambda: nothing_is_left(folder))


def test_ctrl_c_does_not_reach_it(folder: Path) -> None:
    with others(folder) as (user,):
        assert user.hear().startswith("running")
        before = user.tell("ask")
        os.killpg(user.process.pid, signal.SIGINT)
        assert user.hear() == "interrupted"
        assert user.tell("ask") == before


def test_a_start_killed_while_the_data_are_made_is_done_again(folder: Path) -> None:
    layout = Layout.within(folder)
    with others(folder) as (killed,):
        wait_until(lambda: any(draft.iterdir() for draft in layout.root.glob("data.new-*")))
        killed.kill()
        for process in processes_of(folder):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    assert not layout.cluster.exists()
    with embedded.start(folder, durable=False):
        assert layout.cluster.exists()
        assert not list(layout.root.glob("data.new-*"))


def test_a_guard_killed_during_the_start_is_replaced(folder: Path) -> None:
    layout = Layout.within(folder)
    with others(folder) as (user,):
        wait_until(lambda: list(layout.root.glob("data.new-*")))
        for process in processes_of(folder):
            with suppress(psutil.NoSuchProcess):
                if "whilly.store.embedded.guard" in process.cmdline():
                    process.kill()
        assert user.hear().startswith("running")
        assert user.tell("ask").startswith("answer")


def test_the_pid_of_a_stranger_is_not_taken_for_the_server(folder: Path) -> None:
    embedded.start(folder, durable=False).leave()
    pid_file = Layout.within(folder).cluster / "postmaster.pid"
    pid_file.write_text(f"{os.getpid()}\n{pid_file.parent}\n1700000000\n5432\n/tmp\n\n  1 1\nready\n", encoding="utf-8")
    with others(folder) as (user,):
        assert user.hear().startswith("running")
    assert psutil.pid_exists(os.getpid())


async def test_a_killed_postmaster_comes_back(folder: Path) -> None:
    with embedded.start(folder, durable=False) as running:
        await ask(running.url, "create table kept as select 1 as n")
        before = embedded.served(folder)
        assert before is not None
        os.kill(before.postmaster, signal.SIGKILL)
        wait_until(lambda: embedded.served(folder) not in (None, before))
        assert await ask(running.url, "select n from kept") == 1
    assert nothing_is_left(folder)


async def test_a_killed_guard_is_replaced_by_the_next_user(folder: Path) -> None:
    with embedded.start(folder, durable=False) as running:
        before = embedded.served(folder)
        assert before is not None
        os.kill(before.guard, signal.SIGKILL)
        wait_until(lambda: embedded.served(folder) is None)
        assert await ask(running.url, "select 1") == 1
        with embedded.start(folder, durable=False) as second:
            assert await ask(second.url, "select 1") == 1
    assert nothing_is_left(folder)


def test_the_last_user_stops_a_server_without_a_guard(folder: Path) -> None:
    with embedded.start(folder, durable=False):
        served = embedded.served(folder)
        assert served is not None
        os.kill(served.guard, signal.SIGKILL)
        wait_until(lambda: embedded.served(folder) is None)
    assert nothing_is_left(folder)


def test_after_everything_was_killed_the_next_start_works(folder: Path) -> None:
    with others(folder) as (user,):
        assert user.hear().startswith("running")
        served = embedded.served(folder)
        assert served is not None
        for pid in (served.guard, served.postmaster, user.process.pid):
            os.kill(pid, signal.SIGKILL)
    with embedded.start(folder, durable=False) as running:
        assert running.url.startswith("postgresql://")
    assert nothing_is_left(folder)


@pytest.mark.parametrize("name", ["with space", "größe ✓", "100%/of,it", "x" * 200])
async def test_unusual_paths(folder: Path, name: str) -> None:
    with embedded.start(folder / name, durable=False) as running:
        assert await ask(running.url, "select 1") == 1
        served = embedded.served(folder / name)
        assert served is not None
    assert not Path(served.sockets).exists() or Path(served.sockets).is_relative_to(folder)


def test_a_folder_that_cannot_be_made_is_said_in_one_sentence(folder: Path) -> None:
    (folder / "file").touch()
    with pytest.raises(DatabaseUnavailable) as refusal:
        embedded.start(folder / "file")
    assert str(refusal.value) == (
        f"The embedded PostgreSQL cannot use the folder {folder}/file/postgres: Not a directory; "
        "mend that, point WHILLY_DATA_DIR to another folder, or set WHILLY_DATABASE_URL."
    )


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@root_only
@pytest.mark.parametrize("size", ["16k", "1m", "20m"])
def test_a_full_disk_is_said_in_one_sentence(folder: Path, size: str) -> None:
    with mounted(folder, f"size={size}"):
        with pytest.raises(DatabaseUnavailable, match=r"No space left on device|Check free disk space") as refusal:
            embedded.start(folder, durable=False)
        assert "\n" not in str(refusal.value)
        assert "WHILLY_DATA_DIR" in str(refusal.value)
        assert nothing_is_left(folder)


@root_only
def test_a_read_only_disk_is_said_in_one_sentence(folder: Path) -> None:
    with mounted(folder, "ro"), pytest.raises(DatabaseUnavailable, match="Read-only file system; mend that"):
        embedded.start(folder)


def test_data_of_another_version_are_left_alone(folder: Path) -> None:
    embedded.start(folder, durable=False).leave()
    version = Layout.within(folder).cluster / "PG_VERSION"
    version.write_text("17\n", encoding="utf-8")
    with pytest.raises(DatabaseUnavailable, match="was made by PostgreSQL 17, this Whilly brings 18"):
        embedded.start(folder)


def test_broken_data_give_postgres_own_reason(folder: Path) -> None:
    embedded.start(folder, durable=False).leave()
    (Layout.within(folder).cluster / "global" / "pg_control").unlink()
    with pytest.raises(DatabaseUnavailable, match=r"did not start: .*pg_control.*server\.log has more"):
        embedded.start(folder, durable=False)


def test_stopping_is_refused_while_it_is_used(folder: Path) -> None:
    with others(folder) as (user,):
        assert user.hear().startswith("running")
        with pytest.raises(Refused, match=f"in use by {user.process.pid} "):
            embedded.stop(folder)
        assert user.tell("ask").startswith("answer")
        assert embedded.stop(folder, force=True)
        assert nothing_is_left(folder)
        assert not embedded.stop(folder)


def test_a_guard_inherits_no_secrets_and_no_marks(folder: Path) -> None:
    with others(folder, WHILLY_ATTEMPT="a-mark") as (user,):
        assert user.hear().startswith("running")
        assert not [process.pid for process in processes_of(folder) if "WHILLY_ATTEMPT" in process.environ()]


def test_a_forked_child_does_not_take_the_right_with_it(folder: Path) -> None:
    with embedded.start(folder, durable=False) as running:
        child = subprocess.run(
            [sys.executable, "-c", FORK, str(folder)], check=True, capture_output=True, text=True, timeout=60
        )
        assert child.stdout == "still served\n"
        assert embedded.served(folder) is not None
        running.leave()
        assert nothing_is_left(folder)


FORK = """
import os, sys
from pathlib import Path
from whilly.store import embedded
running = embedded.start(Path(sys.argv[1]))
if child := os.fork():
    os.waitpid(child, 0)
    print("still served" if embedded.served(Path(sys.argv[1])) else "gone")
    running.leave()
else:
    running.leave()
    os._exit(0)
"""


def test_nothing_of_it_is_our_child(folder: Path) -> None:
    with embedded.start(folder, durable=False):
        assert not set(psutil.Process().children(recursive=True)) & set(processes_of(folder))


@root_only
def test_folders_above_open_for_its_account_only(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    embedded.start(closed / "whilly", durable=False).leave()
    assert not stat.S_IMODE(closed.stat().st_mode) & stat.S_IRWXO


@root_only
def test_an_installation_under_a_strict_umask_can_be_used(folder: Path) -> None:
    from whilly.store.embedded.account import account_for, let_in, let_read

    (folder / "installed" / "lib").mkdir(parents=True, mode=0o700)
    program = folder / "installed" / "lib" / "program"
    program.write_text("#!/bin/sh\ncat $0\n", encoding="utf-8")
    program.chmod(0o711)
    (folder / "installed").chmod(0o700)
    account = account_for(folder / "no-data-yet")
    assert account is not None
    let_in(account, folder / "installed")
    let_read(folder / "installed")
    done = subprocess.run([program], user=account.user, group=account.group, extra_groups=[], capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_coming_and_going_all_the_time(folder: Path) -> None:
    with others(folder, 4) as four:
        for another in four:
            assert another.hear().startswith("running")
            assert another.process.stdin is not None
            another.process.stdin.write("cycle 10\n")
            another.process.stdin.flush()
        assert [another.hear() for another in four] == ["cycled"] * 4
        assert nothing_is_left(folder)
