"""Waiting for facts, never for time."""

import asyncio
import inspect
from collections.abc import Callable


async def until(fact: Callable[[], object], what: str = "", within: float = 30) -> None:
    """Return when `fact` gives something true, at once or when awaited; fail after `within` seconds."""
    ends = asyncio.get_running_loop().time() + within
    while not await _seen(fact):
        if asyncio.get_running_loop().time() > ends:
            raise AssertionError(f"it did not happen within {within} s: {what or fact}")
        await asyncio.sleep(0.01)


async def _seen(fact: Callable[[], object]) -> object:
    found = fact()
    return await found if inspect.isawaitable(found) else found
