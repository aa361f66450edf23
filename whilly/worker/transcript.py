"""Sends what the agent prints to the control plane, in order and without secrets, while the agent goes on."""

import asyncio
from collections.abc import Sequence

from whilly.client.control_plane import ControlPlane
from whilly.core.assignment import AttemptKey
from whilly.core.redaction import Redactor, storable
from whilly.wire.work import TranscriptChunk
from whilly.worker.outbox import Outbox

LARGEST_CHUNK = 64 * 1024
"""Characters."""

MOST_WAITING = 8 * 1024 * 1024
"""Characters kept in memory for a control plane that does not take them; what exceeds them is counted and told."""

LINGER_SECONDS = 0.25


class Transcript:
    """One attempt's transcript."""

    def __init__(self, control_plane: ControlPlane, key: AttemptKey, redactor: Redactor) -> None:
        """`redactor` serves this transcript alone: it remembers where in a line the text ended."""

        async def send(chunks: Sequence[TranscriptChunk]) -> None:
            await control_plane.transcript(key, chunks)
            self._waiting -= sum(len(chunk.text) for chunk in chunks)

        self._box: Outbox[TranscriptChunk] = Outbox(
            "pieces of the transcript", send, weigh=lambda chunk: 2 * len(chunk.text), linger_seconds=0
        )
        self._redactor = redactor
        self._printed: list[str] = []
        self._more = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._number = 0
        self._waiting = 0
        self._dropped = 0

    def add(self, text: str) -> None:
        """Take what was printed; it may end anywhere."""
        if self._waiting + len(text) > MOST_WAITING:
            self._dropped += len(text)
            return
        if self._dropped:
            text = self._confession() + text
        self._printed.append(text)
        self._waiting += len(text)
        self._more.set()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._box.run())
            group.create_task(self._clean_on())

    async def end(self, within: float) -> tuple[TranscriptChunk, ...]:
        """No more follows. Gives back what could not be sent within so many seconds."""
        if self._dropped:
            self._printed.append(self._confession())
        await self._clean(last=True)
        await self._box.flush(within)
        return self._box.rest()

    async def _clean_on(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            await asyncio.sleep(LINGER_SECONDS)
            await self._clean()

    async def _clean(self, *, last: bool = False) -> None:
        async with self._one_at_a_time:
            printed, self._printed = self._printed, []
            # Looking for secrets in megabytes takes long enough to keep a heartbeat waiting.
            clean = await asyncio.to_thread(self._without_secrets, "".join(printed), last)
            self._waiting += len(clean) - sum(map(len, printed))
            for start in range(0, len(clean), LARGEST_CHUNK):
                self._box.put(TranscriptChunk(self._number, clean[start : start + LARGEST_CHUNK]))
                self._number += 1

    def _without_secrets(self, text: str, last: bool) -> str:
        told = self._redactor.feed(text)
        return storable(told + self._redactor.flush() if last else told)

    def _confession(self) -> str:
        dropped, self._dropped = self._dropped, 0
        return f"\n[… {dropped} characters were not kept: the control plane did not take them …]\n"
