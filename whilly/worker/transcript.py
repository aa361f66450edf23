"""Sends what the agent prints to the control plane, in order, without making the agent wait."""

from collections.abc import Callable, Sequence

from whilly.client.control_plane import ControlPlane
from whilly.core.assignment import AttemptKey
from whilly.wire.work import TranscriptChunk
from whilly.worker.outbox import Outbox
from whilly.worker.plain import storable

LARGEST_CHUNK = 64 * 1024
"""Characters."""

MOST_WAITING = 8 * 1024 * 1024
"""Characters kept in memory for a control plane that does not take them; what exceeds them is counted."""

LINGER_SECONDS = 0.3


class Transcript:
    """One attempt's transcript. Text is cut at line ends where it has them, so that `redact` sees whole lines."""

    def __init__(self, control_plane: ControlPlane, key: AttemptKey, redact: Callable[[str], str]) -> None:
        async def send(chunks: Sequence[TranscriptChunk]) -> None:
            await control_plane.transcript(key, chunks)
            self._waiting -= sum(len(chunk.text) for chunk in chunks)

        self.box: Outbox[TranscriptChunk] = Outbox(
            "pieces of the transcript", send, weigh=lambda chunk: 2 * len(chunk.text), linger_seconds=LINGER_SECONDS
        )
        self._redact = redact
        self._open: list[str] = []
        self._open_length = 0
        self._number = 0
        self._waiting = 0
        self._dropped = 0

    def add(self, text: str) -> None:
        """Take what was printed; it may end anywhere."""
        self._open.append(text)
        self._open_length += len(text)
        if "\n" not in text and self._open_length < LARGEST_CHUNK:
            return
        whole = "".join(self._open)
        cut = whole.rfind("\n") + 1
        if cut == 0 or len(whole) - cut >= LARGEST_CHUNK:
            cut = len(whole)
        self._open, self._open_length = [whole[cut:]], len(whole) - cut
        self._put(whole[:cut])

    def end(self) -> None:
        """No more follows: also the unfinished line is due, and how much was left out."""
        self._put("".join(self._open))
        self._open, self._open_length = [], 0
        self._own_up()

    def _put(self, text: str) -> None:
        if not text:
            return
        if self._waiting + len(text) > MOST_WAITING:
            self._dropped += len(text)
            return
        self._own_up()
        clean = storable(self._redact(text))
        for start in range(0, len(clean), LARGEST_CHUNK):
            self._send(clean[start : start + LARGEST_CHUNK])

    def _own_up(self) -> None:
        if self._dropped:
            self._send(f"\n[… {self._dropped} characters were not kept: the control plane did not take them …]\n")
            self._dropped = 0

    def _send(self, text: str) -> None:
        self.box.put(TranscriptChunk(self._number, text))
        self._number += 1
        self._waiting += len(text)
