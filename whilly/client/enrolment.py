"""Join a control plane: a bootstrap token in, a worker of its own out."""

import httpx2
from pydantic import ValidationError

from whilly.client.answers import NoUsableAnswer, accepted
from whilly.client.connect import over_network
from whilly.client.errors import Rejected, Unreachable
from whilly.core.errors import BadSetting
from whilly.wire.codec import decode, encode
from whilly.wire.tokens import Enrolment, EnrolmentAnswer, NewToken

SECONDS = 30.0


async def enrol(address: str, bootstrap: str, enrolment: Enrolment) -> EnrolmentAnswer:
    """Register this machine. Raises BadSetting when the control plane says no, Unreachable when it says nothing.

    Not tried again by itself: each try that arrives uses the bootstrap token once more.
    """
    async with over_network(address, bootstrap) as http:
        answer = await _post(http, "/workers/register", address, encode(enrolment))
    try:
        return decode(EnrolmentAnswer, answer.content)
    except ValidationError:
        raise Unreachable("register", "it answered something else than agreed") from None


async def rotate_own(address: str, bearer: str) -> NewToken:
    """A new bearer in place of this one, which ends ten minutes later. Raises as above."""
    async with over_network(address, bearer) as http:
        answer = await _post(http, "/api/v1/token/rotate", address, b"")
    try:
        return decode(NewToken, answer.content)
    except ValidationError:
        raise Unreachable("rotate", "it answered something else than agreed") from None


async def _post(http: httpx2.AsyncClient, path: str, address: str, content: bytes) -> httpx2.Response:
    try:
        answer = await http.post(path, content=content, headers={"Content-Type": "application/json"}, timeout=SECONDS)
        accepted(answer)
    except Rejected as refusal:
        raise BadSetting(f"The control plane at {address} refuses: {refusal}") from None
    except NoUsableAnswer as failure:
        raise Unreachable(path.rpartition("/")[2], str(failure)) from None
    except httpx2.HTTPError as failure:
        raise BadSetting(f"Nobody answers at {address}: {str(failure) or type(failure).__name__}.") from None
    return answer
