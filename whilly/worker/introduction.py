"""Tells the control plane which process this is and what it offers, and whether it may work at all."""

import asyncio
import os
import platform
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from whilly.client.back_off import BackOff
from whilly.client.errors import ControlPlaneError, Rejected, Unreachable
from whilly.wire.presence import Admission, Farewell, Presence
from whilly.worker.equipment import Equipment
from whilly.worker.roster import Roster

FILE = "incarnations"
REMEMBERED = 5

NEWS_APART = 5.0
"""Seconds between two times that it tells how it is."""


class Introduction:
    """One process of a worker. Its session is 0 until it was admitted."""

    def __init__(self, equipment: Equipment, roster: Roster, slots: int, folder: Path) -> None:
        """`folder` belongs to this worker and this control plane, and to no other process that lives."""
        self._equipment = equipment
        self._roster = roster
        self._slots = slots
        self._file = folder / FILE
        self._incarnation = uuid.uuid4().hex
        self._previous: tuple[str, ...] = ()
        self._state = ""
        self._told_free: int | None = None
        self._news = asyncio.Event()
        self._back_off = BackOff(0.2, 10)
        self.session = 0

    async def begin(self, unreachable: Callable[[str], None]) -> Admission:
        """Ask until there is an answer; `unreachable` is told why there is none. Raises Rejected for a no."""
        self._previous = await asyncio.to_thread(self._remember)
        failures = 0
        while True:
            try:
                admission = await self._equipment.control_plane.introduce(await self._presence())
            except Unreachable as failure:
                failures += 1
                unreachable(str(failure))
                await asyncio.sleep(self._back_off.seconds(failures))
                continue
            self.session = admission.session
            await asyncio.to_thread(self._write, (self._incarnation,))
            return admission

    def changed(self, state: str | None = None) -> None:
        """Something about it is new; `state` says why it claims nothing (empty: it does)."""
        if state is not None:
            self._state = state
        self._news.set()

    def look_at_disk(self) -> None:
        """Tell when the free space is another than was told, by a tenth or more."""
        free, told = self._free_disk(), self._told_free
        if free is not None and told is not None and abs(free - told) > told / 10:
            self.changed()

    async def keep(self, superseded: Callable[[str], None]) -> None:
        """Bring news until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            if self.session:
                try:
                    told = await self._presence()
                    # Another session than before: the database was restored, and knows this process no more.
                    self.session = (await self._equipment.control_plane.introduce(told, within=NEWS_APART)).session
                except Rejected as refusal:
                    if refusal.kind == "superseded":
                        superseded(str(refusal))
                except Unreachable:
                    self._news.set()
            await asyncio.sleep(NEWS_APART)

    async def farewell(self, within: float) -> None:
        """Say that this process ends, as far as it goes."""
        if self.session:
            with suppress(ControlPlaneError, TimeoutError):
                async with asyncio.timeout(within):
                    await self._equipment.control_plane.farewell(Farewell(self.session))

    async def _presence(self) -> Presence:
        equipment, roster = self._equipment, self._roster
        self._told_free = await asyncio.to_thread(self._free_disk)
        return Presence(
            incarnation=self._incarnation,
            hostname=platform.node(),
            agents={name: roster.version(name) for name in roster.available},
            tags=equipment.tags,
            isolation=equipment.isolation,
            slots=self._slots,
            free_disk_bytes=self._told_free,
            state=self._state,
            previous=self._previous,
            take_over=equipment.take_over and not self.session,
            session=self.session,
        )

    def _free_disk(self) -> int | None:
        place = self._equipment.workspaces
        while not place.exists() and place != place.parent:
            place = place.parent
        try:
            return shutil.disk_usage(place).free
        except OSError:
            return None

    def _remember(self) -> tuple[str, ...]:
        """Note this incarnation beside those before it, and give those: an answer may get lost, and the process too."""
        try:
            earlier = tuple(self._file.read_text(encoding="utf-8").split())[-REMEMBERED:]
        except (OSError, UnicodeDecodeError):
            earlier = ()
        self._write((*earlier, self._incarnation))
        return earlier

    def _write(self, incarnations: tuple[str, ...]) -> None:
        draft = self._file.with_suffix(f".{os.getpid()}.draft")
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_text("\n".join(incarnations), encoding="utf-8")
            draft.replace(self._file)
