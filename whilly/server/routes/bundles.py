"""Results that cannot be pushed: taken from their worker in parts, given to whoever builds on them."""

import base64
import binascii

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.assignment import AttemptKey
from whilly.operations.keep_bundle import keep_bundle_part, offer_bundle
from whilly.operations.read_bundle import bundle_part, newest_bundle
from whilly.server.auth import HOLDERS, KNOWN
from whilly.server.bodies import NOTHING, answer, read
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.route import Route
from whilly.wire.bundles import BundleOffer, BundlePart, BundleState, BundleTold

_LARGEST_INTEGER = 2**31 - 1


async def offer(request: Request) -> Response:
    """Begin to send the result of a running attempt as a git bundle, or have it checked when all of it was sent."""
    key, asked = await _own_attempt(request), await read(request, BundleOffer)
    names = (asked.commit, (40, 64)), (asked.sha256, (64,))
    if any(len(name) not in lengths or set(name) - set("0123456789abcdef") for name, lengths in names):
        raise Denied(422, "malformed", "Commit and SHA-256 are written in hexadecimal digits.")
    return answer(await offer_bundle(engine_of(request).database, key, asked, largest=request.app.state.largest_bundle))


async def part(request: Request) -> Response:
    """One part of an attempt's bundle; sent twice, it is kept once."""
    key, sent = await _own_attempt(request), await read(request, BundlePart)
    try:
        data = base64.b64decode(sent.data, validate=True)
    except (binascii.Error, ValueError):
        raise Denied(422, "malformed", "The data of a part is written in base64.") from None
    await keep_bundle_part(engine_of(request).database, key, sent.number, data)
    return NOTHING


async def told(request: Request) -> Response:
    """The newest bundle of a task: its commit, its size and how many parts it has."""
    path = request.path_params
    found = await newest_bundle(engine_of(request).database, path["plan"], path["task"])
    if found is None:
        raise Denied(404, "no_bundle", f"The result of task {path['task']} is not kept as a bundle.")
    return answer(found)


async def given(request: Request) -> Response:
    """One part of a task's bundle."""
    path = request.path_params
    epoch, number = min(path["epoch"], _LARGEST_INTEGER), min(path["number"], _LARGEST_INTEGER)
    data = await bundle_part(engine_of(request).database, path["plan"], path["task"], epoch, number)
    if data is None:
        raise Denied(404, "no_bundle", f"There is no part {number} of a bundle of attempt {epoch}.")
    return answer(BundlePart(number, base64.b64encode(data).decode("ascii")))


async def _own_attempt(request: Request) -> AttemptKey:
    path = request.path_params
    key = AttemptKey(path["plan"], path["task"], min(path["epoch"], _LARGEST_INTEGER))
    await engine_of(request).ownership.check(caller_of(request), key)
    return key


_TASK = "/api/v1/plans/{plan}/tasks/{task}"

ROUTES = (
    Route("POST", _TASK + "/attempts/{epoch:int}/bundle", offer, HOLDERS, body=BundleOffer, gives=BundleState),
    Route("POST", _TASK + "/attempts/{epoch:int}/bundle/parts", part, HOLDERS, body=BundlePart),
    Route("GET", _TASK + "/bundle", told, KNOWN, gives=BundleTold),
    Route("GET", _TASK + "/bundle/{epoch:int}/parts/{number:int}", given, KNOWN, gives=BundlePart),
)
