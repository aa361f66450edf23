"""Runs one short command, or two with a pipe between them, off the event loop and without leaving anything behind.

In a thread, and not by asyncio's own subprocesses: those of uvloop cannot start a command as another user.
"""

import asyncio
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from whilly.workspace.owner import Owner


@dataclass(frozen=True, slots=True)
class Command:
    """What to start, where, with which environment, as whom."""

    argv: list[str]
    cwd: Path | None
    environment: dict[str, str]
    owner: Owner | None = None
    inherit: tuple[int, ...] = ()
    """File descriptors that the child shares."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Exit code (negative: the signal), standard output, standard error."""

    code: int
    out: bytes
    err: bytes


class TookTooLong(Exception):
    """The time limit passed; the commands were killed."""


async def run_commands(commands: Sequence[Command], feed: bytes, limit: float) -> list[Ended]:
    """Run one command, or two as a pipeline, to the end. Raises TookTooLong, OSError; cancelling kills the commands."""
    family = _Family()
    try:
        return await asyncio.to_thread(family.run, commands, feed, limit)
    except asyncio.CancelledError:
        family.kill()
        raise


@dataclass(slots=True)
class _Family:
    """The children of one pipeline."""

    children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, commands: Sequence[Command], feed: bytes, limit: float) -> list[Ended]:
        try:
            if len(commands) == 1:
                return [self._await(self._start(commands[0], subprocess.PIPE, subprocess.PIPE), feed, limit)]
            return self._pipeline(commands[0], commands[1], feed, limit)
        finally:
            self.kill()
            for child in self.children:
                child.wait()
                for stream in (child.stdin, child.stdout, child.stderr):
                    if stream is not None:
                        with suppress(OSError):
                            stream.close()

    def kill(self) -> None:
        """End all that was started, and let nothing more start."""
        with self.lock:
            self.stopped = True
            for child in self.children:
                _kill(child)

    def _pipeline(self, first: Command, second: Command, feed: bytes, limit: float) -> list[Ended]:
        with tempfile.TemporaryFile() as fed, tempfile.TemporaryFile() as complaints:
            fed.write(feed)
            fed.seek(0)
            source = self._start(first, fed, complaints)
            target = self._start(second, source.stdout, subprocess.PIPE)
            if source.stdout is not None:
                source.stdout.close()
            ended = self._await(target, None, limit)
            code = source.wait()
            complaints.seek(0)
            return [Ended(code, b"", complaints.read()), ended]

    def _start(
        self, command: Command, stdin: IO[bytes] | int | None, stderr: IO[bytes] | int
    ) -> subprocess.Popen[bytes]:
        with self.lock:
            if self.stopped:
                raise asyncio.CancelledError
            child = subprocess.Popen(
                command.argv,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=command.cwd,
                env=command.environment,
                user=command.owner.user if command.owner else None,
                group=command.owner.group if command.owner else None,
                extra_groups=[] if command.owner else None,
                # Ctrl-C in the terminal is for Whilly, which lets a started command finish.
                start_new_session=True,
                pass_fds=command.inherit if os.name == "posix" else (),
            )
            self.children.append(child)
            return child

    def _await(self, child: subprocess.Popen[bytes], feed: bytes | None, limit: float) -> Ended:
        try:
            out, err = child.communicate(feed, timeout=limit)
        except subprocess.TimeoutExpired:
            raise TookTooLong from None
        return Ended(child.returncode, out, err)


def _kill(child: subprocess.Popen[bytes]) -> None:
    if child.returncode is not None:
        return
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            # Each child leads a session, so that its own children end with it.
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
