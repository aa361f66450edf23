"""Hands an agent's words on to whoever listens, up to a bound: an agent may print without end."""

from whilly.agents.runner import Listener, Progress
from whilly.core.evidence import Usage

MOST_CHARACTERS = 8 * 1024 * 1024
"""Of one run's transcript, from its start."""

LAST_CHARACTERS = 64 * 1024
"""Kept for the end, when there was more."""


class Telling:
    """The transcript of one run on its way to the listener."""

    def __init__(self, listener: Listener, most: int = MOST_CHARACTERS, last: int = LAST_CHARACTERS) -> None:
        self._listener = listener
        self._room = most
        self._last = last
        self._held = ""
        self._left_out = 0

    async def say(self, text: str = "", usage: Usage | None = None) -> None:
        """Hand on words, what was consumed, or both. Words beyond the bound wait for the end."""
        now, later = text[: self._room], text[self._room :]
        self._room -= len(now)
        if later:
            self._held += later
            self._left_out += max(0, len(self._held) - self._last)
            self._held = self._held[-self._last :]
        if now or usage is not None:
            await self._listener(Progress(now, usage))

    async def end(self) -> None:
        """The run is over: hand on the last words, with a note about what lies between."""
        if self._held:
            note = f"\n[… {self._left_out} characters left out …]\n" if self._left_out else ""
            await self._listener(Progress(note + self._held))
            self._held = ""
