"""The process that keeps an embedded server: it makes it, revives it, and stops it when the last user is gone.

`embedded.start` runs `python -m whilly.store.embedded.guard`; nobody else does. It says one line on stdout: `ready`,
`busy` (another guard has the server) or `failed` and the sentence to show.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from whilly.core.errors import DatabaseUnavailable
from whilly.store.embedded import account as accounts
from whilly.store.embedded import cluster
from whilly.store.embedded.layout import Layout, Served, describe, try_lock, wait_for_lock

LARGEST_LOG = 5_000_000
"""Bytes of server.log that are carried over to the next start."""


class Dismissed(BaseException):
    """A person has said `whilly db stop --force`."""


def main(root: str, durability: str) -> None:
    """Keep the server of the folder until nobody uses it."""
    layout = Layout(Path(root))
    descriptor = layout.open_lock(layout.guard_lock)
    if not try_lock(descriptor, exclusive=True):
        _say("busy")
        return
    # The lock goes with the fork; the parent's end tells the starter that nothing of this is its child.
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        describe(descriptor, None)
        server = Server(layout, descriptor, durable=durability == "durable")
        server.start()
    except DatabaseUnavailable as problem:
        _say(f"failed {problem}")
        return
    except OSError as problem:
        _say(f"failed {layout.unusable(problem)}")
        return
    _say("ready")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    users = layout.open_lock(layout.users_lock)
    with suppress(Dismissed):
        signal.signal(signal.SIGTERM, _dismiss)
        wait_for_lock(users)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server.stop()


class Server:
    """One postmaster, started again whenever it ends by itself."""

    def __init__(self, layout: Layout, descriptor: int, *, durable: bool) -> None:
        self._layout = layout
        self._descriptor = descriptor
        self._stopping = False
        self._changing = threading.Lock()
        _turn_over(layout.log)
        self._log = os.open(layout.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.dup2(self._log, 2)
        self._account = accounts.account_for(layout.cluster)
        if self._account is not None:
            layout.root.chmod(0o711)
            accounts.let_in(self._account, layout.cluster)
            for folder in cluster.installed(cluster.programs()):
                accounts.let_in(self._account, folder)
                accounts.let_read(folder)
        cluster.create(layout, self._account, durable=durable)
        cluster.check_version(layout)
        owner = os.geteuid() if self._account is None else self._account.user
        self._sockets = layout.socket_folder(owner)
        self._command = cluster.command_line(layout, self._sockets, durable=durable)

    def start(self) -> None:
        """Bring it up. Raises DatabaseUnavailable with PostgreSQL's own reason."""
        self._process = self._launch()
        threading.Thread(target=self._keep, daemon=True).start()

    def stop(self) -> None:
        """Bring it down: clients are cut off, what was committed is kept."""
        with self._changing:
            self._stopping = True
        describe(self._descriptor, None)
        for sent in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            self._process.send_signal(sent)
            try:
                self._process.wait(cluster.PATIENCE)
                break
            except subprocess.TimeoutExpired:
                continue
        if self._sockets.parent != self._layout.root:
            shutil.rmtree(self._sockets, ignore_errors=True)

    def _keep(self) -> None:
        while True:
            self._process.wait()
            with self._changing:
                if self._stopping:
                    return
                describe(self._descriptor, None)
                try:
                    self._process = self._launch()
                except DatabaseUnavailable as problem:
                    os.write(2, f"{problem}\n".encode())
                    os._exit(1)

    def _launch(self) -> subprocess.Popen[bytes]:
        cluster.end_leftovers(self._layout)
        said = self._layout.log.stat().st_size
        process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, cwd="/",
            env=cluster.ENVIRONMENT, umask=0o077, **cluster.identity(self._account),
        )  # fmt: skip
        while process.poll() is None:
            if cluster.is_ready(self._layout, process.pid):
                describe(self._descriptor, Served(os.getpid(), process.pid, str(self._sockets)))
                return process
            time.sleep(0.005)
        reason = cluster.last_words(self._layout.log, said)
        raise DatabaseUnavailable(
            f"The embedded PostgreSQL in {self._layout.root} did not start: {reason}; {self._layout.log} has more. "
            "Mend that, point WHILLY_DATA_DIR to another folder, or set WHILLY_DATABASE_URL."
        )


def _turn_over(log: Path) -> None:
    if log.exists() and log.stat().st_size > LARGEST_LOG:
        log.replace(log.with_name("server.log.1"))


def _dismiss(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Dismissed


def _say(line: str) -> None:
    # Whoever asked may be gone; the locks say so too.
    with suppress(BrokenPipeError):
        os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
