"""Cuts a stream into lines, whatever their length, with a cap on what is kept of one line."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes kept of one line. An agent's longest answer is well below a megabyte; tool results with pictures are larger."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end."""

    text: str
    size: int
    """Bytes, also of what was not kept."""
    whole: bool = True
    """False: it was longer than the cap, and `text` is only its beginning."""


class LineSplitter:
    r"""Feeds bytes in any pieces, gives lines. Empty lines are left out; `\r\n` counts as a line's end."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._open = bytearray()
        self._open_size = 0

    def feed(self, data: bytes) -> list[Line]:
        """The lines that this piece completes."""
        *ended, rest = data.split(b"\n")
        lines = []
        for piece in ended:
            self._keep(piece)
            lines += self.flush()
        self._keep(rest)
        return lines

    def flush(self) -> list[Line]:
        """The line that was begun, if any: the last one need not have an end."""
        kept, size = self._open, self._open_size
        self._open, self._open_size = bytearray(), 0
        whole = size == len(kept)
        if kept.endswith(b"\r") and whole:
            del kept[-1:]
            size -= 1
        return [Line(kept.decode("utf-8", "replace"), size, whole)] if kept.strip() or not whole else []

    def _keep(self, piece: bytes) -> None:
        room = self._longest - len(self._open)
        self._open += piece[: max(room, 0)]
        self._open_size += len(piece)


class Lines:
    """A sink that hands on line by line. `take` says whether the line shows that work goes on."""

    def __init__(self, take: Callable[[Line], Awaitable[bool]], longest: int = LONGEST_LINE) -> None:
        self._take = take
        self._splitter = LineSplitter(longest)

    async def write(self, data: bytes) -> bool:
        """Hand on what became complete. A long line that is still coming is a sign of work, too."""
        lines = self._splitter.feed(data)
        works = [await self._take(line) for line in lines]
        return any(works) or not lines

    async def end(self) -> None:
        """Hand on the last line, if it has no end."""
        for line in self._splitter.flush():
            await self._take(line)
