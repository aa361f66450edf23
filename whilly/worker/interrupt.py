"""Lets work go on until something more important happens."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from whilly.agents.runner import StopSignal

Value = TypeVar("Value")


class Interrupted(Exception):
    """The signal came first; the work was cancelled and has ended."""


async def unless(signal: StopSignal, work: Coroutine[Any, Any, Value]) -> Value:
    """The result of the work. Raises Interrupted when the signal is given before there is one."""
    working = asyncio.ensure_future(work)
    signalled = asyncio.ensure_future(_given(signal))
    try:
        await asyncio.wait({working, signalled}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        working.cancel()
        await asyncio.wait({working})
        if working.cancelled() or working.exception() is not None:
            raise Interrupted
        return working.result()
    finally:
        for each in (working, signalled):
            each.cancel()
        await asyncio.gather(working, signalled, return_exceptions=True)


async def _given(signal: StopSignal) -> None:
    await signal.wait()


@asynccontextmanager
async def beside(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """While open, the works run; at the end they are cancelled. What one of them raises is raised then."""
    running = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for each in running:
            each.cancel()
        ended = await asyncio.gather(*running, return_exceptions=True)
    for one in ended:
        if isinstance(one, Exception):
            raise one
