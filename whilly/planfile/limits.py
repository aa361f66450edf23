"""How big a plan file may be before it is taken for a mistake or an attack."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a reader accepts; more is refused with a sentence that names the limit."""

    file_bytes: int = 5 * 1024 * 1024
    tasks: int = 50_000
    dependencies: int = 50
    """Of one task."""
    text_bytes: int = 100_000
    """Of one text, in UTF-8."""
    depth: int = 20
    """Objects and lists inside each other; a plan itself needs five."""


def size_of(count: int) -> str:
    """A number of bytes for people: `5 MB`, `100 kB`, `17 bytes`."""
    if count >= 1024 * 1024:
        return f"{count / (1024 * 1024):.3g} MB"
    return f"{count / 1000:.3g} kB" if count >= 1000 else f"{count} bytes"
