"""Telling a worker to stop: once for a decent end, twice for a quick one."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """The order to stop. The first kills the agents and gives their tasks back; the second takes no time for it."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._urgent = asyncio.Event()

    def set(self) -> None:
        """Ask; asked again, it is urgent."""
        if self._asked.is_set():
            self._urgent.set()
        self._asked.set()

    def is_set(self) -> bool:
        """Whether the worker was asked to stop."""
        return self._asked.is_set()

    async def wait(self) -> object:
        """Return when asked."""
        return await self._asked.wait()

    async def urgent(self) -> object:
        """Return when asked twice."""
        return await self._urgent.wait()


@contextmanager
def stop_on_signals(stop: Stop, heard: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """While open, SIGINT and SIGTERM ask to stop; `heard` is told the signal's name. Call in the main thread."""
    loop = asyncio.get_running_loop()

    def ask(number: int) -> None:
        heard(signal.Signals(number).name)
        stop.set()

    def ask_from_handler(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(ask, number)

    earlier = {number: signal.signal(number, ask_from_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
