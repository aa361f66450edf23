"""A worker that speaks the whole protocol and does no work. It trusts the fences: when it was stopped it goes on."""

import asyncio
import json
import os
import random
import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError

from tests.builders import a_report
from whilly.client.back_off import BackOff
from whilly.client.connect import over_network
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import ControlPlaneError, LeaseLostRemotely, Unreachable
from whilly.core.assignment import Assignment
from whilly.core.evidence import Report, Usage
from whilly.core.money import MICROS_PER_USD
from whilly.core.outcome import Outcome
from whilly.wire.codec import decode
from whilly.wire.work import AttemptEvent, ClaimRequest, FinishAnswer, Heartbeat, HeartbeatAnswer, Release, Start

AGENT_SECONDS = 0.04
HEIRS_SECONDS = 0.25
"""A further attempt takes longer: who was stopped shall come back while it is under way."""
COST = MICROS_PER_USD // 100
PATIENCE = 30.0
"""Seconds to ask for an answer: longer than any server is away."""

TRY_SECONDS = 1.5
"""To wait for one answer: some connections lead nowhere."""

_http = over_network("http://localhost", "")
"""Made before the fork: certificates are read once, not by each of two hundred workers."""
for _kind in (ClaimRequest, Assignment, Start, Heartbeat, HeartbeatAnswer, list[AttemptEvent], Report, FinishAnswer):
    with suppress(ValidationError):
        decode(cast(Any, _kind), b"0")


def work(address: str, token: str, plan: str, diary: str, seed: int) -> None:
    """Claim and finish tasks until killed; what was answered to each report is written into the diary."""
    asyncio.run(_work(address, token, plan, Diary(diary), random.Random(f"{seed} {os.getpid()}")))


class Diary:
    """One line per answer, each written at once, so that it is there or not whenever its writer is killed."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, found: Assignment, said: str) -> None:
        os.write(self._file, (json.dumps([found.spec.id, found.epoch, said]) + "\n").encode())


async def _work(address: str, token: str, plan: str, diary: Diary, chance: random.Random) -> None:
    _http.base_url = address
    _http.headers["Authorization"] = f"Bearer {token}"
    async with _http as http:
        control_plane = ControlPlane(http, back_off=BackOff(0.05, 0.3), try_seconds=TRY_SECONDS)
        request = None
        while True:
            request = request or ClaimRequest(uuid.uuid4().hex, plan, ("scripted",), wait_seconds=2)
            try:
                found = await control_plane.claim(request)
            except Unreachable:
                # Asked again as it was: it may have been granted.
                await asyncio.sleep(0.1 * chance.random())
                continue
            request = None
            if found is not None:
                await _attempt(control_plane, found, diary, chance)


async def _attempt(control_plane: ControlPlane, found: Assignment, diary: Diary, chance: random.Random) -> None:
    try:
        await control_plane.start(found.key, Start("scripted"), within=PATIENCE)
        beating = asyncio.create_task(_beat(control_plane, found))
        try:
            await control_plane.events(found.key, [AttemptEvent("verification.started", number=1)], within=PATIENCE)
            await asyncio.sleep(HEIRS_SECONDS if found.epoch > 1 else AGENT_SECONDS * chance.random())
            if chance.random() < 0.03:
                answer = await control_plane.release(found.key, Release("shutdown"), within=PATIENCE)
            else:
                answer = await _report(control_plane, found, _result(found, chance), chance)
        finally:
            beating.cancel()
        diary.note(found, answer.status.value)
    except LeaseLostRemotely:
        diary.note(found, "refused")
    except ControlPlaneError as failure:
        diary.note(found, f"failed: {failure}")


async def _report(
    control_plane: ControlPlane, found: Assignment, report: Report, chance: random.Random
) -> FinishAnswer:
    """Report, sometimes twice at once as a network may, and get one answer."""
    finishing = [control_plane.finish(found.key, report, within=PATIENCE)]
    if chance.random() < 0.1:
        finishing.append(control_plane.finish(found.key, report, within=PATIENCE))
    answers = await asyncio.gather(*finishing, return_exceptions=True)
    first, last = answers[0], answers[-1]
    if isinstance(first, FinishAnswer) and first == last:
        return first
    if isinstance(first, BaseException) and type(first) is type(last):
        raise first
    raise ControlPlaneError(f"two answers to one report: {first!r}, {last!r}")


def _result(found: Assignment, chance: random.Random) -> Report:
    """Mostly a good one; never dearer than allowed, and sometimes nobody knows how dear."""
    cost = min(COST, found.limit or COST)
    report = a_report(Outcome.INCOMPLETE) if chance.random() < 0.02 else a_report()
    return replace(report, usage=Usage(None if chance.random() < 0.02 else cost))


async def _beat(control_plane: ControlPlane, found: Assignment) -> None:
    while True:
        with suppress(ControlPlaneError):
            await control_plane.heartbeat(found.key, Heartbeat("agent", usage=Usage(0)))
        await asyncio.sleep(found.lease_seconds / 4)
