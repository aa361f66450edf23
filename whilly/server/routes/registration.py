"""How a machine joins, and how the control plane proves who it is."""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.errors import Refused
from whilly.operations.enrol_worker import enrol_worker
from whilly.server.auth import EVERYBODY, JOINING
from whilly.server.bodies import answer, read
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.route import Route
from whilly.wire.identity import Challenge, Identity, Proof
from whilly.wire.tokens import Enrolment, EnrolmentAnswer

SHORTEST_NONCE = 32


async def register(request: Request) -> Response:
    """A bootstrap token in, a worker with a bearer of its own out. 403 when the token was used up.

    The bearer is for the plan that the request names, or else the bootstrap token; it comes with the control plane's
    public key.
    """
    engine, caller, asked = engine_of(request), caller_of(request), await read(request, Enrolment)
    if not asked.hostname.strip():
        raise Denied(422, "malformed", "The hostname is empty.")
    try:
        enrolled = await enrol_worker(
            engine.database,
            caller.token or None,
            hostname=asked.hostname,
            plan=asked.plan or None,
            owner=asked.owner_email,
            tags=asked.tags,
        )
    except Refused as refusal:
        raise Denied(403, "not_allowed", str(refusal)) from None
    engine.wrote()
    told = EnrolmentAnswer(
        worker_id=enrolled.worker,
        token=enrolled.token.bearer,
        token_id=enrolled.token.id,
        plan=enrolled.plan,
        expires_at=enrolled.token.expires_at,
        public_key=await engine.identity.public_key(),
    )
    return answer(told, 201)


async def identity(request: Request) -> Response:
    """The control plane's public key."""
    return answer(Identity(await engine_of(request).identity.public_key()))


async def prove(request: Request) -> Response:
    """Prove to be the control plane: the challenge comes back signed.

    Only for the address at which the request itself arrived: else whoever stands in between could have its own
    address signed here.
    """
    challenge = await read(request, Challenge)
    if len(challenge.nonce) < SHORTEST_NONCE:
        raise Denied(422, "malformed", f"The nonce has fewer than {SHORTEST_NONCE} characters.")
    if not _is_here(request, challenge.address):
        raise Denied(409, "another_address", "This request did not arrive at the address that it names.")
    return answer(await engine_of(request).identity.prove(challenge))


def _is_here(request: Request, address: str) -> bool:
    try:
        parts = urlsplit(address)
        port = parts.port or {"https": 443, "http": 80}[parts.scheme]
        here = urlsplit(f"//{request.headers.get('host', '')}")
        # A tunnel or a proxy that ends TLS asks by http, so the port that the scheme implies is the challenge's.
        here_port = here.port or {"https": 443, "http": 80}[parts.scheme]
    except (ValueError, KeyError):
        return False
    return bool(parts.hostname) and parts.hostname == here.hostname and port == here_port


ROUTES = (
    Route(
        "POST",
        "/workers/register",
        register,
        JOINING,
        body=Enrolment,
        gives=EnrolmentAnswer,
        status=201,
        minds_plan=True,
    ),
    Route("GET", "/api/v1/identity", identity, EVERYBODY, gives=Identity),
    Route("POST", "/api/v1/identity/proof", prove, EVERYBODY, body=Challenge, gives=Proof),
)
