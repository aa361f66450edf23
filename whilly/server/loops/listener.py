"""Hears from other processes that something happened. Only a hint: whoever waits also looks by itself."""

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg

from whilly.server.loops.repeat import Alarm, repeat

CHANNEL = "whilly"
PROBE_EVERY = 10.0
PROBE_LIMIT = 2.0


class Listener:
    """A connection of its own that listens on CHANNEL, and comes back whenever it is lost."""

    def __init__(self, url: str, heard: Callable[[], None]) -> None:
        self._url = url
        self._heard = heard
        self._alarm = Alarm()
        self._connection: Any = None

    @property
    def connected(self) -> bool:
        """Whether hints arrive at the moment, as far as is known."""
        return self._connection is not None and not self._connection.is_closed()

    async def run(self) -> None:
        """Listen for ever."""
        try:
            await repeat("listening for other processes", self._round, self._alarm.pause)
        finally:
            self._drop()

    async def _round(self) -> float:
        try:
            if not self.connected:
                await self._connect()
            # A connection in a black hole looks healthy until something is asked of it.
            async with asyncio.timeout(PROBE_LIMIT):
                await self._connection.fetchval("select 1")
        except BaseException:
            self._drop()
            raise
        return PROBE_EVERY

    async def _connect(self) -> None:
        settings = {"application_name": "whilly listener"}
        connection = await asyncpg.connect(self._url, server_settings=settings, timeout=PROBE_LIMIT)
        connection.add_termination_listener(lambda _: self._alarm.ring())
        self._connection = connection
        await connection.add_listener(CHANNEL, self._on_notice)
        # What was said while nobody listened.
        self._heard()

    def _on_notice(self, *_notice: object) -> None:
        self._heard()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
