"""A child on Windows, which has neither process groups to signal nor a supervisor: its tree is found with psutil."""

import asyncio
import secrets
import subprocess

from whilly.agents.command import MARKER, CannotStart, Command
from whilly.agents.marker import kill_marked
from whilly.agents.stdin import standard_input

READ_BYTES = 256 * 1024
NEW_GROUP = 0x00000200
"""CREATE_NEW_PROCESS_GROUP: a Ctrl-C meant for the worker does not reach the child."""


class UnsupervisedChild:
    """One running child. What it starts inherits the marker, by which it is found in the end."""

    def __init__(self, process: asyncio.subprocess.Process, marker: str) -> None:
        self.stdout: asyncio.StreamReader = process.stdout or asyncio.StreamReader()
        self.stderr: asyncio.StreamReader | None = process.stderr
        self._process = process
        self._marker = marker
        self._swept: asyncio.Task[tuple[int, int]] | None = None

    async def exited(self) -> int | None:
        """The child's exit code when it ended."""
        return await self._process.wait()

    async def gone(self) -> tuple[int, int]:
        """When the whole family is dead: how many others had to be killed, and how many could not be."""
        await self._process.wait()
        if self._swept is None:
            self._swept = asyncio.create_task(asyncio.to_thread(kill_marked, MARKER, self._marker))
        return await asyncio.shield(self._swept)

    def terminate(self) -> None:
        """End the child at once: a console program cannot be asked here."""
        if self._process.returncode is None:
            self._process.kill()

    def must_be_dead_by(self, moment: float) -> None:
        """Nobody is there who could see to it."""

    async def abandon(self) -> None:
        """Kill the family at once and wait until it is dead."""
        self.terminate()
        await self.gone()


async def start(command: Command, *, merged: bool, grace_seconds: float) -> UnsupervisedChild:
    """Start the command; `merged` sends its stderr where its stdout goes. Raises CannotStart.

    `grace_seconds` is for systems on which a program can be asked to end.
    """
    del grace_seconds
    marker = secrets.token_hex(16)
    with standard_input(command.stdin) as stdin:
        try:
            process = await asyncio.create_subprocess_exec(
                *command.argv,
                cwd=command.cwd,
                env={**command.environment, MARKER: marker},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                creationflags=NEW_GROUP,
                limit=READ_BYTES,
            )
        except OSError as error:
            sentence = f"{command.argv[0]} cannot be run: {error.strerror}."
            raise CannotStart(sentence, number=error.errno or 0) from None
    return UnsupervisedChild(process, marker)
