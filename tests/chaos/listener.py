"""Somebody who follows the stream of events, loses it now and then, and must not miss or repeat anything."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import httpx2

from whilly.client.connect import over_network

GOES_ON = ("replay_truncated", "error", "reset")
"""Frames after which one has to come back with the last position that was heard."""


class Listener:
    """Hears what happens, in order."""

    def __init__(self, address: str, token: str, chance: random.Random | None = None) -> None:
        """With `chance` it hangs up by itself from time to time."""
        self._address, self._token, self._chance = address, token, chance
        self.heard: list[dict[str, Any]] = []
        self.connections = 0

    async def follow(self) -> None:
        """Until cancelled. AssertionError when an event was passed over or came twice."""
        while True:
            with suppress(httpx2.HTTPError, OSError):
                async with aclosing(self._frames()) as frames:
                    async for event in frames:
                        assert event["event_id"] == len(self.heard) + 1, f"{event} after {len(self.heard)} events"
                        self.heard.append(event)
                        if self._chance and self._chance.random() < 0.002:
                            break
            await asyncio.sleep(0.02)

    async def _frames(self) -> AsyncGenerator[dict[str, Any]]:
        headers = {"Last-Event-ID": str(len(self.heard))}
        async with (
            over_network(self._address, self._token) as http,
            http.stream("GET", "/events/stream", headers=headers) as response,
        ):
            response.raise_for_status()
            self.connections += 1
            name = ""
            async for line in response.aiter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data" and name in GOES_ON:
                    return
                elif field == "data":
                    yield json.loads(value)
