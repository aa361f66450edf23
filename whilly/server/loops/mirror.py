"""The log once more, as lines in a file, for those who read files. The database stays what counts.

The file is written from the log by position, so what could not be written is written later, and nothing twice.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from whilly.operations.read_lines import hash_at, lines_after
from whilly.server.loops.mirror_files import Mark, MirrorFiles
from whilly.server.loops.repeat import Alarm, repeat
from whilly.store.database import AWAY, Database

Result = TypeVar("Result")
log = logging.getLogger(__name__)

PAGE = 200
LOOK_EVERY = 5.0
"""Seconds until the next look without a hint; also for one whom another process keeps from writing."""

TRY_AGAIN_EVERY = 5.0
"""Seconds, while the files cannot be written."""

BEGINNING = Mark(0, "")


class Mirror:
    """Follows the log into a folder. Of several processes one writes; another goes on when that one ends."""

    def __init__(
        self, database: Database, folder: Path, tell: Callable[[str], None] = log.warning, *, largest: int | None = None
    ) -> None:
        """`tell` takes a sentence when the files cannot be written, and one when they can again."""
        self._database = database
        self._files = MirrorFiles(folder) if largest is None else MirrorFiles(folder, largest=largest)
        self._tell = tell
        self._at = BEGINNING
        self._failing = False
        self._alarm = Alarm()
        self._turn = asyncio.Lock()

    def look(self) -> None:
        """There may be new events."""
        self._alarm.ring()

    async def run(self) -> None:
        """Follow for ever."""
        await repeat("mirroring the log", self._round, self._alarm.pause)

    async def finish(self) -> None:
        """Write what the log holds now, and let another process go on."""
        try:
            while await self._round() == 0:
                pass
        except AWAY as failure:
            log.info("the mirror goes on at the next start: %s", failure)
        async with self._turn:
            await asyncio.to_thread(self._files.close)

    async def _round(self) -> float:
        async with self._turn:
            # Shielded, so that a thread that writes is waited for also by whoever ends this.
            writing = asyncio.ensure_future(self._write())
            try:
                return await asyncio.shield(writing)
            except asyncio.CancelledError:
                await asyncio.wait([writing])
                raise

    async def _write(self) -> float:
        try:
            writes, knows = await _on_disk(self._files.open)
            if not writes:
                return LOOK_EVERY
            if not knows:
                await self._find_place()
            page = await lines_after(self._database, self._at.position, PAGE)
            if page:
                mark = Mark(page[-1].position, page[-1].hash)
                await _on_disk(self._files.append, b"".join(line.text for line in page), mark)
                self._at = mark
        except _DiskFails as failure:
            return self._failed(failure)
        self._succeeded()
        return 0.0 if len(page) == PAGE else LOOK_EVERY

    async def _find_place(self) -> None:
        """Go on after the last line that is there, if it is of this log."""
        try:
            mark = await _on_disk(self._files.mark)
            if mark is not None and await hash_at(self._database, mark.position) != mark.hash:
                kept = await _on_disk(self._files.start_over)
                where = f"; they are kept as {kept.name}." if kept else "."
                self._tell(f"{self._files.path} held the events of another database{where}")
                mark = None
        except BaseException:
            # Whoever comes next must look again.
            self._files.close()
            raise
        self._at = mark or BEGINNING

    def _failed(self, failure: "_DiskFails") -> float:
        if not self._failing:
            self._tell(
                f"The events cannot be written to {self._files.path} ({failure}). None is lost: "
                "they are in the database, and written when that is possible."
            )
        self._failing = True
        return TRY_AGAIN_EVERY

    def _succeeded(self) -> None:
        if self._failing:
            self._tell(f"The events are written to {self._files.path} again.")
        self._failing = False


class _DiskFails(Exception):
    """Not the database, whose failures are OSErrors as well."""


async def _on_disk(work: Callable[..., Result], *arguments: object) -> Result:
    try:
        return await asyncio.to_thread(work, *arguments)
    except OSError as failure:
        raise _DiskFails(failure.strerror or str(failure)) from failure
