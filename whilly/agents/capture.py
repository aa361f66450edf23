"""Keeps the head and the tail of an output of any size, in flat memory, with the count of what lies between."""

from dataclasses import dataclass

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Captured:
    """What was kept of an output."""

    head: str
    tail: str
    """Empty when the head holds everything."""
    size: int
    """Bytes of the whole output."""

    @property
    def text(self) -> str:
        """Head and tail with a note about what was left out between them."""
        if not self.tail:
            return self.head
        kept = len(self.head.encode(errors="replace")) + len(self.tail.encode(errors="replace"))
        left_out = max(0, self.size - kept)
        return f"{self.head}\n[… {left_out} bytes left out …]\n{self.tail}" if left_out else self.head + self.tail


class Capture:
    """A sink that keeps the first and the last bytes."""

    def __init__(self, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self.size = 0

    async def write(self, data: bytes) -> bool:
        """Keep what belongs to the head or, as long as nothing newer comes, to the tail."""
        self.feed(data)
        return True

    async def end(self) -> None:
        """Nothing to do."""

    def feed(self, data: bytes) -> None:
        """Take output without waiting."""
        self.size += len(data)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) >= self._tail_bytes:
            self._tail = bytearray(data[len(data) - self._tail_bytes :])
        elif data:
            self._tail += data
            # Cut only now and then: moving the bytes for each small write would be quadratic.
            if len(self._tail) > 2 * self._tail_bytes:
                del self._tail[: len(self._tail) - self._tail_bytes]

    def captured(self) -> Captured:
        """What was kept, as text: what is not UTF-8 became U+FFFD, and no character was split by the cut."""
        tail = bytes(self._tail[max(0, len(self._tail) - self._tail_bytes) :])
        head = bytes(self._head)
        if len(head) + len(tail) == self.size:
            # Nothing is missing between them, so a character may cross the border.
            cut = len(head) - _open_bytes(head)
            head, tail = head[:cut], head[cut:] + tail
        else:
            head = head[: len(head) - _open_bytes(head)]
            tail = tail[_continuation_bytes(tail) :]
        return Captured(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"), self.size)


def _open_bytes(data: bytes) -> int:
    """How many bytes at the end begin a character that is cut off."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < needed else 0
        if byte < 0x80:
            return 0
    return 0


def _continuation_bytes(data: bytes) -> int:
    """How many bytes at the start end a character whose beginning is gone."""
    count = 0
    while count < min(3, len(data)) and 0x80 <= data[count] < 0xC0:
        count += 1
    return count
