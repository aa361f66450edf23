"""Sends a result as a bundle through the control plane, and gets one from there."""

import asyncio
import base64
import hashlib
from pathlib import Path

from whilly.client.control_plane import ControlPlane
from whilly.client.errors import Unreachable
from whilly.core.assignment import AttemptKey
from whilly.wire.bundles import BundleOffer, BundlePart

_ROUNDS = 3
"""How often parts are sent anew that did not arrive as they were."""


async def send_bundle(control_plane: ControlPlane, key: AttemptKey, commit: str, file: Path, *, within: float) -> None:
    """Send a file, going on where it was cut off. Raises ControlPlaneError as ControlPlane does.

    `within`: for how many seconds each part is sent again while there is no usable answer.
    """
    digest = await asyncio.to_thread(_digest, file)
    offer = BundleOffer(commit, file.stat().st_size, digest)
    for _ in range(_ROUNDS):
        state = await control_plane.offer_bundle(key, offer, within=within)
        if state.whole:
            return
        for number in state.missing:
            piece = await asyncio.to_thread(_piece, file, number, state.part_bytes)
            part = BundlePart(number, base64.b64encode(piece).decode("ascii"))
            await control_plane.send_bundle_part(key, part, within=within)
    state = await control_plane.offer_bundle(key, offer, within=within)
    if not state.whole:
        raise Unreachable("bundle", "the parts do not arrive as they were sent")


def _digest(file: Path) -> str:
    with file.open("rb") as reading:
        return hashlib.file_digest(reading, "sha256").hexdigest()


def _piece(file: Path, number: int, size: int) -> bytes:
    with file.open("rb") as reading:
        reading.seek(number * size)
        return reading.read(size)


async def get_bundle(control_plane: ControlPlane, plan: str, task: str, commit: str) -> bytes | None:
    """The bundle that brings a task's commit; None when there is none, or one with another commit.

    Raises ControlPlaneError.
    """
    told = await control_plane.bundle_of(plan, task)
    if told is None or told.commit != commit:
        return None
    pieces = [
        base64.b64decode((await control_plane.bundle_part(plan, task, told.epoch, number)).data)
        for number in range(told.parts)
    ]
    data = b"".join(pieces)
    if hashlib.sha256(data).hexdigest() != told.sha256:
        raise Unreachable("bundle", "what came is not what was announced")
    return data
