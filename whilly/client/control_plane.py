"""The control plane as a worker sees it. The same class talks to one in this process and to one far away."""

import asyncio
import math
import time
from collections.abc import Sequence
from typing import Any, TypeVar

import httpx2
from pydantic import ValidationError

from whilly.client.answers import NoUsableAnswer, accepted
from whilly.client.back_off import BackOff
from whilly.client.errors import Rejected, Unreachable
from whilly.core.assignment import Assignment, AttemptKey
from whilly.core.evidence import Report
from whilly.wire.bundles import BundleOffer, BundlePart, BundleState, BundleTold
from whilly.wire.codec import decode, encode
from whilly.wire.presence import Admission, Farewell, Orders, OrdersRequest, Presence
from whilly.wire.protocol import BASE_PATH
from whilly.wire.work import (
    AttemptEvent,
    ClaimRequest,
    FinishAnswer,
    Heartbeat,
    HeartbeatAnswer,
    Release,
    Start,
    TranscriptChunk,
)

Value = TypeVar("Value")

NO_CONTENT = 204
FOREVER = math.inf


class ControlPlane:
    """Asks, and asks again while there is no usable answer: every request here may be repeated without harm.

    All methods take `within`: for how many seconds to go on asking (at least once). They raise Unreachable when that
    is over, LeaseLostRemotely when the attempt is no longer this worker's, and Rejected for any other no.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        *,
        back_off: BackOff | None = None,
        try_seconds: float = 10,
    ) -> None:
        self._http = http
        self._back_off = back_off or BackOff()
        self._try_seconds = try_seconds

    async def introduce(self, presence: Presence, *, within: float = 0) -> Admission:
        """Begin to work under the identity of the token, or bring news of it."""
        path = f"{BASE_PATH}/presence"
        admission = await self._ask("presence", path, presence, within, try_seconds=self._try_seconds, kind=Admission)
        if admission is None:
            raise Unreachable("presence", "it answered without the value that was asked for")
        return admission

    async def farewell(self, farewell: Farewell, *, within: float = 0) -> None:
        """Say that the process ends."""
        path = f"{BASE_PATH}/presence/end"
        await self._ask("farewell", path, farewell, within, try_seconds=self._try_seconds, kind=None)

    async def orders(self, request: OrdersRequest, *, within: float = 0) -> Orders | None:
        """What is wanted of the attempts of this process; None when nothing was for as long as the request waited."""
        seconds = self._try_seconds + request.wait_seconds
        return await self._ask("orders", f"{BASE_PATH}/orders", request, within, try_seconds=seconds, kind=Orders)

    async def claim(self, request: ClaimRequest, *, within: float = 0) -> Assignment | None:
        """A task to work on; None when there is nothing to do for as long as the request said to wait."""
        seconds = self._try_seconds + request.wait_seconds
        return await self._ask("claim", f"{BASE_PATH}/claim", request, within, try_seconds=seconds, kind=Assignment)

    async def start(self, key: AttemptKey, start: Start, *, within: float = 20) -> None:
        """Say that the workspace is ready and the agent is about to run."""
        await self._tell(key, "start", start, within)

    async def heartbeat(self, key: AttemptKey, beat: Heartbeat, *, within: float = 0) -> HeartbeatAnswer:
        """Keep the lease and learn what is wanted of the attempt."""
        return await self._ask_about(key, "heartbeat", beat, within, HeartbeatAnswer)

    async def events(self, key: AttemptKey, events: Sequence[AttemptEvent], *, within: float = 0) -> None:
        """Append to the log what happened inside the attempt, in order."""
        await self._tell(key, "events", list(events), within)

    async def transcript(self, key: AttemptKey, chunks: Sequence[TranscriptChunk], *, within: float = 0) -> None:
        """Append to the attempt's transcript; chunks that are already there are ignored."""
        await self._tell(key, "transcript", list(chunks), within)

    async def finish(self, key: AttemptKey, report: Report, *, within: float = 20) -> FinishAnswer:
        """Hand in the evidence and learn the verdict. Repeated with the same report it gets the same answer."""
        return await self._ask_about(key, "finish", report, within, FinishAnswer)

    async def release(self, key: AttemptKey, release: Release, *, within: float = 5) -> FinishAnswer:
        """Give the task back without a result; this does not use up one of its attempts."""
        return await self._ask_about(key, "release", release, within, FinishAnswer)

    async def offer_bundle(self, key: AttemptKey, offer: BundleOffer, *, within: float = 0) -> BundleState:
        """Begin to send a result as a bundle, or have it checked once all its parts are sent."""
        return await self._ask_about(key, "bundle", offer, within, BundleState)

    async def send_bundle_part(self, key: AttemptKey, part: BundlePart, *, within: float = 0) -> None:
        """Send one part of a bundle that was offered."""
        await self._tell(key, "bundle/parts", part, within)

    async def bundle_of(self, plan: str, task: str, *, within: float = 20) -> BundleTold | None:
        """The newest bundle of a task; None when it has none."""
        path = f"{BASE_PATH}/plans/{plan}/tasks/{task}/bundle"
        try:
            return await self._ask("bundle", path, None, within, try_seconds=self._try_seconds, kind=BundleTold)
        except Rejected as refusal:
            if refusal.kind == "no_bundle":
                return None
            raise

    async def bundle_part(self, plan: str, task: str, epoch: int, number: int, *, within: float = 20) -> BundlePart:
        """One part of a task's bundle."""
        path = f"{BASE_PATH}/plans/{plan}/tasks/{task}/bundle/{epoch}/parts/{number}"
        part = await self._ask("bundle", path, None, within, try_seconds=self._try_seconds, kind=BundlePart)
        if part is None:
            raise Unreachable("bundle", "it answered without the value that was asked for")
        return part

    async def _tell(self, key: AttemptKey, verb: str, body: Any, within: float) -> None:
        await self._ask(verb, _path(key, verb), body, within, try_seconds=self._try_seconds, kind=None)

    async def _ask_about(self, key: AttemptKey, verb: str, body: Any, within: float, kind: type[Value]) -> Value:
        answer = await self._ask(verb, _path(key, verb), body, within, try_seconds=self._try_seconds, kind=kind)
        if answer is None:
            raise Unreachable(verb, "it answered without the value that was asked for")
        return answer

    async def _ask(
        self, what: str, path: str, body: Any, within: float, *, try_seconds: float, kind: type[Value] | None
    ) -> Value | None:
        content = None if body is None else encode(body)
        give_up = time.monotonic() + within
        failures = 0
        while True:
            try:
                return await self._once(path, content, try_seconds, kind)
            except NoUsableAnswer as failure:
                failures += 1
                wait = max(self._back_off.seconds(failures), failure.wait_seconds)
                if time.monotonic() + wait >= give_up:
                    raise Unreachable(what, str(failure)) from failure
            await asyncio.sleep(wait)

    async def _once(self, path: str, content: bytes | None, seconds: float, kind: type[Value] | None) -> Value | None:
        try:
            async with asyncio.timeout(seconds):
                if content is None:
                    response = await self._http.get(path)
                else:
                    headers = {"Content-Type": "application/json"}
                    response = await self._http.post(path, content=content, headers=headers)
        except TimeoutError:
            raise NoUsableAnswer(f"none within {seconds:g} s") from None
        except (httpx2.TransportError, httpx2.DecodingError) as failure:
            raise NoUsableAnswer(str(failure) or type(failure).__name__) from failure
        accepted(response)
        if response.status_code == NO_CONTENT:
            return None
        if kind is None:
            raise NoUsableAnswer(f"it answered {response.status_code} where 204 was agreed")
        try:
            return decode(kind, response.content)
        except ValidationError as failure:
            raise NoUsableAnswer(f"it answered something else than agreed ({failure.error_count()} faults)") from None


def _path(key: AttemptKey, verb: str) -> str:
    return f"{BASE_PATH}/plans/{key.plan}/tasks/{key.task}/attempts/{key.epoch}/{verb}"
