"""Who may speak to the control plane: operators mint, see, rotate and revoke tokens."""

from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.tokens import TokenKind
from whilly.operations.mint_token import mint_token
from whilly.operations.read_tokens import list_tokens
from whilly.operations.rotate_token import rotate_token
from whilly.operations.shut_out import ShutOut, revoke_worker, withdraw_token
from whilly.server.auth import OPERATORS, WORKERS
from whilly.server.bodies import answer, read
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.query import Number, Switch, Word
from whilly.server.route import Route
from whilly.server.told_tokens import new_token, told_revocation, told_token
from whilly.wire.tokens import NewToken, Revocation, TokenList, TokenRequest

KIND = Word("kind", "Only tokens of this kind.", choices=tuple(kind.value for kind in TokenKind))
ENDED = Switch("ended", "Also tokens that open nothing any more.")
LIMIT = Number("limit", "How many at most.", 100, least=1, most=1_000)


async def tokens(request: Request) -> Response:
    """Tokens, newest first. The bearers cannot be read: they are not kept."""
    kind = KIND.of(request)
    found = await list_tokens(
        engine_of(request).database,
        None if kind is None else TokenKind(kind),
        ended=ENDED.of(request),
        limit=LIMIT.of(request),
    )
    return answer(TokenList(tuple(told_token(each) for each in found)))


async def mint(request: Request) -> Response:
    """Mint a token: its bearer is in the answer, this once. It is revoked with the token that asks for it."""
    engine, asked = engine_of(request), await read(request, TokenRequest)
    issued = await mint_token(
        engine.database,
        asked.kind,
        asked.owner,
        plan=asked.plan,
        lifetime=_lifetime(asked.lifetime_seconds),
        uses=asked.uses,
        worker=asked.worker,
        parent=caller_of(request).token,
    )
    engine.wrote()
    return answer(new_token(issued), 201)


async def revoke(request: Request) -> Response:
    """Revoke a token and all that were issued with it; workers that are left without one lose their attempts."""
    return await _ended(request, await withdraw_token(engine_of(request).database, request.path_params["token"]))


async def revoke_of_worker(request: Request) -> Response:
    """Revoke all tokens of a worker, and give back what it works on."""
    return await _ended(request, await revoke_worker(engine_of(request).database, request.path_params["worker"]))


async def rotate(request: Request) -> Response:
    """A new bearer in place of an old one, which ends ten minutes later."""
    return await _rotated(request, request.path_params["token"])


async def rotate_own(request: Request) -> Response:
    """A new bearer in place of the one that asks."""
    return await _rotated(request, caller_of(request).token)


def _lifetime(seconds: float | None) -> timedelta | None:
    try:
        return None if seconds is None else timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        raise Denied(422, "malformed", "lifetime_seconds is not a number of seconds that a token can last.") from None


async def _rotated(request: Request, token: str) -> Response:
    engine = engine_of(request)
    issued = await rotate_token(engine.database, token)
    engine.access.forget()
    engine.wrote()
    return answer(new_token(issued), 201)


async def _ended(request: Request, shut_out: ShutOut) -> Response:
    engine = engine_of(request)
    engine.access.forget()
    engine.orders.look()
    engine.freed(None)
    return answer(told_revocation(shut_out))


_TOKEN = "/api/v1/tokens/{token}"  # noqa: S105 - the way to one

ROUTES = (
    Route("GET", "/api/v1/tokens", tokens, OPERATORS, gives=TokenList, query=(KIND, ENDED, LIMIT)),
    Route("POST", "/api/v1/tokens", mint, OPERATORS, body=TokenRequest, gives=NewToken, status=201),
    Route("POST", f"{_TOKEN}/revoke", revoke, OPERATORS, gives=Revocation),
    Route("POST", f"{_TOKEN}/rotate", rotate, OPERATORS, gives=NewToken, status=201),
    Route("POST", "/api/v1/token/rotate", rotate_own, WORKERS | OPERATORS, gives=NewToken, status=201, minds_plan=True),
    Route("POST", "/api/v1/workers/{worker}/revoke", revoke_of_worker, OPERATORS, gives=Revocation),
)
