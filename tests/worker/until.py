"""Waiting for facts, never for time."""

import asyncio
from collections.abc import Callable


async def until(fact: Callable[[], object], what: str = "", within: float = 30) -> None:
    """Return when `fact` gives something true; fail after `within` seconds."""
    ends = asyncio.get_running_loop().time() + within
    while not fact():
        if asyncio.get_running_loop().time() > ends:
            raise AssertionError(f"it did not happen within {within} s: {what or fact}")
        await asyncio.sleep(0.01)
