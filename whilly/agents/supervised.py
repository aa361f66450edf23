"""The worker's side of a child on POSIX: starts the supervisor, reads what it says, tells it what to do."""

import asyncio
import errno
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from whilly.agents.command import MARKER, CannotStart, Command
from whilly.agents.stdin import standard_input

SUPERVISOR = Path(__file__).with_name("supervisor.py")
READ_BYTES = 256 * 1024
SPAWN_WAITS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between tries while the machine has no room for another process."""
DIGITS = 24
"""Of a deadline; the supervisor's MOMENT."""
UNRESPONSIVE_SECONDS = 15
"""A supervisor that says nothing for so long after it was told to kill is killed itself."""


class SupervisedChild:
    """One running child with its supervisor. Made by `start`."""

    def __init__(self, command: Command, process: subprocess.Popen[bytes], control: socket.socket, marker: str) -> None:
        self.stdout: asyncio.StreamReader
        self.stderr: asyncio.StreamReader | None = None
        self._command = command
        self._process = process
        self._control = control
        self._marker = marker
        loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[int | None] = loop.create_future()
        self._gone: asyncio.Future[tuple[int, int]] = loop.create_future()
        self._transports: list[asyncio.ReadTransport] = []
        self._listening = loop.create_task(self._listen())

    async def exited(self) -> int | None:
        """The child's exit code (negative: a signal) when it ended; None when its supervisor was killed.

        Raises CannotStart when it never ran.
        """
        return await asyncio.shield(self._exited)

    async def gone(self) -> tuple[int, int]:
        """When the whole family is dead: how many others had to be killed, and how many could not be."""
        return await asyncio.shield(self._gone)

    def terminate(self) -> None:
        """Ask the child's group to end; what is there after the grace is killed."""
        self._tell(b"T")

    def must_be_dead_by(self, moment: float) -> None:
        """Have the family killed then, by the clock of `supervisor.sleepless`, even if this process cannot."""
        self._tell(b"D" + f"{moment:0{DIGITS}.3f}".encode())

    async def abandon(self) -> None:
        """Kill the family at once, wait until it is dead and let go of everything."""
        self._tell(b"K")
        try:
            async with asyncio.timeout(UNRESPONSIVE_SECONDS):
                await self.gone()
        except TimeoutError:
            self._process.kill()
            await self.gone()
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of pipes and socket. Without `gone` before, this kills the family, too."""
        for transport in self._transports:
            transport.close()
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening
        self._control.close()
        if self._exited.done():
            self._exited.exception()  # Otherwise asyncio complains when nobody asked for it.
        await asyncio.to_thread(self._process.wait)

    def _tell(self, command: bytes) -> None:
        with suppress(OSError):
            self._control.send(command)

    async def attach(self, stdout: int, stderr: int | None) -> None:
        """Read from these pipes."""
        self.stdout = await self._reader(stdout)
        self.stderr = None if stderr is None else await self._reader(stderr)

    async def _reader(self, pipe: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=READ_BYTES)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
        )
        self._transports.append(transport)
        return reader

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        open_line = b""
        while True:
            try:
                data = await loop.sock_recv(self._control, 4096)
            except OSError:
                data = b""
            if not data:
                break
            *lines, open_line = (open_line + data).split(b"\n")
            for line in lines:
                self._hear(*line.decode().split())
        if not self._gone.done():
            await self._lost()

    def _hear(self, kind: str, *values: str) -> None:
        if kind == "e":
            error = OSError(int(values[0]), os.strerror(int(values[0])), values[1])
            self._exited.set_exception(_cannot_start(self._command, error))
            self._gone.set_result((0, 0))
        elif kind == "x":
            self._exited.set_result(os.waitstatus_to_exitcode(int(values[0])))
        elif kind == "c":
            if not self._exited.done():
                self._exited.set_result(None)
            self._gone.set_result((int(values[0]), int(values[1])))

    async def _lost(self) -> None:
        """The supervisor ended without a word: it was killed, and what it watched has to be found by the marker."""
        from whilly.agents.marker import kill_marked  # Rarely needed, and psutil takes time to import.

        killed, left = await asyncio.to_thread(kill_marked, MARKER, self._marker)
        if not self._exited.done():
            self._exited.set_result(None)
        self._gone.set_result((killed, left))


async def start(command: Command, *, merged: bool, grace_seconds: float) -> SupervisedChild:
    """Start the command under a supervisor; `merged` sends its stderr where its stdout goes. Raises CannotStart."""
    marker = secrets.token_hex(16)
    request = _request(command, marker, grace_seconds)
    ours, theirs = socket.socketpair()
    out, err = os.pipe(), None if merged else os.pipe()
    try:
        with theirs, standard_input(command.stdin) as stdin:
            process = await _spawn(command, theirs, stdin.fileno(), out[1], out[1] if err is None else err[1])
    except BaseException:
        ours.close()
        _close(out[0], *([] if err is None else [err[0]]))
        raise
    finally:
        _close(out[1], *([] if err is None else [err[1]]))
    ours.setblocking(False)
    child = SupervisedChild(command, process, ours, marker)
    try:
        await child.attach(out[0], None if err is None else err[0])
        with suppress(ConnectionError):
            await asyncio.get_running_loop().sock_sendall(ours, request)
    except BaseException:
        await child.abandon()
        raise
    return child


async def _spawn(
    command: Command, control: socket.socket, stdin: int, stdout: int, stderr: int
) -> subprocess.Popen[bytes]:
    """Start the supervisor, with patience."""
    for wait in (*SPAWN_WAITS, None):
        try:
            return _launch(control.fileno(), stdin, stdout, stderr)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOMEM) or wait is None:
                raise _cannot_start(command, OSError(error.errno, error.strerror, "fork")) from None
            await asyncio.sleep(wait)
    raise AssertionError("the last round returns or raises")


def _launch(control: int, stdin: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    """One try. The supervisor knows nothing of the environment that Whilly runs in, except where libraries are."""
    libraries = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(SUPERVISOR), str(control), _folder_of_psutil()],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=[control],
        cwd="/",
        env={name: os.environ[name] for name in libraries if name in os.environ},
        start_new_session=True,
    )


def _request(command: Command, marker: str, grace_seconds: float) -> bytes:
    """What the supervisor reads. Raises ValueError for a NUL byte, which no argument can hold."""
    environment = {**command.environment, MARKER: marker}
    fields: Sequence[str] = (
        str(grace_seconds),
        "children" if sys.platform == "linux" and _kernel_lists_children() else "marker",
        f"{MARKER}={marker}",
        str(command.cwd),
        str(len(command.argv)),
        *command.argv,
        *(f"{name}={value}" for name, value in environment.items()),
    )
    encoded = [os.fsencode(field) for field in fields]
    if any(b"\0" in field for field in encoded):
        raise ValueError("A program's arguments and environment cannot hold NUL characters.")
    data = b"\0".join(encoded)
    return len(data).to_bytes(4, "big") + data


def _kernel_lists_children() -> bool:
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def _folder_of_psutil() -> str:
    spec = find_spec("psutil")
    return str(Path(spec.origin).parent.parent) if spec and spec.origin else ""


def _close(*files: int) -> None:
    for file in files:
        os.close(file)


def _cannot_start(command: Command, error: OSError) -> CannotStart:
    """The sentence for people."""
    stage = str(error.filename)
    program, number = command.argv[0], error.errno or 0
    why = {
        errno.ENOENT: "it does not exist",
        errno.EACCES: "it is not executable",
        errno.ENOEXEC: "it is not a program (a script needs a first line such as #!/bin/sh)",
        errno.E2BIG: "its arguments are too long for this system",
    }.get(number, os.strerror(number))
    if stage == "chdir":
        sentence = f"{command.cwd} cannot be used as a working directory: {os.strerror(number)}."
    elif stage == "exec":
        sentence = f"{program} cannot be run: {why}."
    elif number in (errno.EAGAIN, errno.ENOMEM):
        sentence = f"{program} cannot be run: the machine has no room for another process ({os.strerror(number)})."
    else:
        sentence = f"{program} cannot be run: {os.strerror(number)} ({stage})."
    return CannotStart(sentence, number=number, stage=stage)
