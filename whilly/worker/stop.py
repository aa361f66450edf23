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
    """While open, the signals that end a program ask to stop. Call in the main thread.

    These are SIGINT, SIGTERM and, of a terminal that is closed, SIGHUP, which stays ignored under `nohup`. `heard` is
    told the signal's name.
    """
    loop = asyncio.get_running_loop()

    def ask(number: int) -> None:
        heard(signal.Signals(number).name)
        stop.set()

    def ask_from_handler(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(ask, number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    earlier = {number: signal.signal(number, ask_from_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
