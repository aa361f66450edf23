"""A worker that speaks the whole protocol and does no work: forked from a prepared parent, so that a kill is cheap."""

import asyncio
import random
import uuid

from tests.builders import a_report
from whilly.client.connect import over_network
from whilly.client.control_plane import ControlPlane
from whilly.client.errors import ControlPlaneError, Unreachable
from whilly.core.assignment import Assignment
from whilly.core.money import from_usd
from whilly.wire.work import AttemptEvent, ClaimRequest, Heartbeat, Start

COST = from_usd("0.01")
AGENT_SECONDS = 0.03


def work(address: str, token: str, plan: str, seed: int) -> None:
    """Claim and finish tasks until killed."""
    asyncio.run(_work(address, token, plan, random.Random(seed)))


async def _work(address: str, token: str, plan: str, chance: random.Random) -> None:
    async with over_network(address, token) as http:
        control_plane = ControlPlane(http)
        claim_id = uuid.uuid4().hex
        while True:
            try:
                found = await control_plane.claim(ClaimRequest(claim_id, plan, ("scripted",), wait_seconds=5))
            except Unreachable:
                await asyncio.sleep(0.05 + 0.2 * chance.random())
                continue
            claim_id = uuid.uuid4().hex
            if found is not None:
                try:
                    await _attempt(control_plane, found, chance)
                except ControlPlaneError:
                    continue


async def _attempt(control_plane: ControlPlane, found: Assignment, chance: random.Random) -> None:
    await control_plane.start(found.key, Start("scripted"), within=20)
    await asyncio.sleep(AGENT_SECONDS * chance.random())
    await control_plane.heartbeat(found.key, Heartbeat("agent"))
    await control_plane.events(found.key, [AttemptEvent("verification.started", number=1)])
    await control_plane.finish(found.key, a_report(cost=COST), within=30)
