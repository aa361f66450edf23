"""Runs one program with limits and a decent end: agents and checks alike.

When `run_process` returns, nothing that the program started is alive, also not what left its process group. If this
process is killed, nothing of it survives either. `docs/decisions/0016-process-care.md` says how.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from whilly.agents.command import Command, Ended, Limits, ProcessResult, Sink
from whilly.agents.runner import Deadline, StopSignal

if sys.platform == "win32":
    from whilly.agents.unsupervised import READ_BYTES, start
    from whilly.agents.unsupervised import UnsupervisedChild as Child
else:
    from whilly.agents.supervised import READ_BYTES, start
    from whilly.agents.supervised import SupervisedChild as Child

END_SECONDS = 15
"""How long after the grace the end of the family may take, before the supervisor itself is killed."""


async def run_process(
    command: Command,
    stdout: Sink,
    stderr: Sink | None = None,
    *,
    limits: Limits = Limits(),
    stop: StopSignal | None = None,
) -> ProcessResult:
    """Run the command until it ends, a limit is reached or `stop` is set. Raises CannotStart.

    Output goes to the sinks in pieces; without a sink of its own, stderr goes where stdout goes, in the order of
    writing. A slow sink makes the program wait. Cancelling the call kills the family before it returns.
    """
    child = await start(command, merged=stderr is None, grace_seconds=limits.grace_seconds)
    run = _Run(child, limits)
    readers = [asyncio.create_task(run.read(child.stdout, stdout))]
    if child.stderr is not None and stderr is not None:
        readers.append(asyncio.create_task(run.read(child.stderr, stderr)))
    try:
        ended = await _watch(run, readers, stop)
        if ended is not Ended.EXITED:
            child.terminate()
        exit_code, (killed, left) = await _end(child, limits)
        await _drain(readers, limits.drain_seconds)
    finally:
        for reader in readers:
            reader.cancel()
        await child.abandon()
        await asyncio.gather(*readers, return_exceptions=True)
    if exit_code is None and ended is Ended.EXITED:
        ended = Ended.LOST
    return ProcessResult(ended, exit_code, time.monotonic() - run.began, killed, left)


@dataclass
class _Run:
    """A run in progress, and when it last showed that it works."""

    child: Child
    limits: Limits
    began: float = field(default_factory=time.monotonic)
    worked: float = field(default_factory=time.monotonic)

    async def read(self, stream: asyncio.StreamReader, sink: Sink) -> None:
        """Hand on everything until the end of the stream."""
        while data := await stream.read(READ_BYTES):
            if await sink.write(data):
                self.worked = time.monotonic()
        await sink.end()

    def due(self) -> tuple[float, Ended]:
        """Which limit comes next, in so many seconds."""
        now = time.monotonic()
        timeout, stall = self.limits.timeout_seconds, self.limits.stall_seconds
        ends = [(self.began + timeout - now, Ended.TIMED_OUT)] if timeout is not None else []
        if stall is not None:
            ends.append((self.worked + stall - now, Ended.STALLED))
        return min(ends, default=(float("inf"), Ended.TIMED_OUT))


async def _watch(run: _Run, readers: list[asyncio.Task[None]], stop: StopSignal | None) -> Ended:
    """Wait for the first thing that ends the run. Raises what a sink raised."""
    exited = asyncio.ensure_future(run.child.exited())
    stopped = asyncio.ensure_future(_wait_for(stop.wait if stop else asyncio.Event().wait))
    postponing = asyncio.ensure_future(_heed_deadline(run.child, stop))
    try:
        while True:
            seconds, limit = run.due()
            if seconds <= 0:
                return limit
            waiting = [exited, stopped, *(reader for reader in readers if not reader.done())]
            await asyncio.wait(waiting, timeout=min(seconds, 3600), return_when=asyncio.FIRST_COMPLETED)
            for reader in readers:
                if reader.done():
                    reader.result()
            if exited.done():
                exited.result()
                return Ended.EXITED
            if stopped.done():
                return Ended.STOPPED
    finally:
        exited.cancel()
        stopped.cancel()
        postponing.cancel()
        await asyncio.gather(exited, stopped, postponing, return_exceptions=True)


async def _heed_deadline(child: Child, stop: StopSignal | None) -> None:
    """Keep the child's supervisor informed of when it has to act by itself."""
    deadline: object = stop
    while isinstance(deadline, Deadline):
        if deadline.dead_by is not None:
            child.must_be_dead_by(deadline.dead_by)
        await deadline.postponed()


async def _wait_for(wait: Callable[[], Awaitable[object]]) -> None:
    await wait()


async def _end(child: Child, limits: Limits) -> tuple[int | None, tuple[int, int]]:
    """Wait until the family is dead. A supervisor that does not answer (somebody stopped it) is killed."""
    try:
        async with asyncio.timeout(limits.grace_seconds + END_SECONDS):
            return await child.exited(), await child.gone()
    except TimeoutError:
        await child.abandon()
        return await child.exited(), await child.gone()


async def _drain(readers: list[asyncio.Task[None]], seconds: float) -> None:
    """Read what is left in the pipes. Somebody outside of the family may hold them open, so not for ever."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*readers)
