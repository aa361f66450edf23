"""Who speaks, and may they: bearers for programs, a cookie for a browser that came by a one-time link."""

import asyncio
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request

from whilly.core.assignment import AttemptKey
from whilly.core.tokens import TokenKind, digest, kind_of
from whilly.operations.check_token import Caller, check_token, tokens_ended
from whilly.server.errors import Denied
from whilly.server.identity import ClaimTokens
from whilly.server.limits import source_of
from whilly.server.rates import Allowance, retry_after
from whilly.store.database import Database

Allowed = frozenset[TokenKind]

WORKERS: Allowed = frozenset({TokenKind.WORKER})
HOLDERS: Allowed = frozenset({TokenKind.WORKER, TokenKind.CLAIM})
"""Of an attempt: its worker, or whoever has the attempt's own token."""

JOINING: Allowed = frozenset({TokenKind.BOOTSTRAP})
PEOPLE: Allowed = frozenset({TokenKind.OPERATOR, TokenKind.SESSION})
OPERATORS: Allowed = frozenset({TokenKind.OPERATOR})
KNOWN: Allowed = WORKERS | PEOPLE
METRICS: Allowed = frozenset({TokenKind.METRICS})
EVERYBODY: Allowed | None = None

BELIEVED_SECONDS = 2.0
"""How long a token that was good counts as good without another query: the most that a revocation may be late."""

REMEMBERED = 10_000
REMEMBERED_SECONDS = 60.0
"""How long a token that nobody uses is remembered: longer than a long poll lasts."""

WRONG_AT_ONCE = 300
WRONG_PER_SECOND = 5.0
"""Wrong tokens that one address may send; beyond that it is told to wait, and only tokens that are known pass."""

SCRAPER = Caller(TokenKind.METRICS, "WHILLY_METRICS_TOKEN", "WHILLY_METRICS_TOKEN")
JOINER = Caller(TokenKind.BOOTSTRAP, "", "WHILLY_WORKER_BOOTSTRAP_TOKEN")
SHARED = Caller(TokenKind.WORKER, "", "shared")
"""All who have the bearer of the older WHILLY_WORKER_TOKEN are one worker."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class GivenBearers:
    """Bearers that the environment names, beside the tokens in the database. None: there is none."""

    metrics: str | None = None
    bootstrap: str | None = None
    """Lets any number of machines join."""
    shared: str | None = None
    """Of earlier versions: all workers have the same."""

    def callers(self) -> tuple[tuple[bytes, Caller], ...]:
        """Whom each of them stands for, by its hash."""
        # One of our own form is in the database, which counts its uses and knows its end.
        given = [(self.metrics, SCRAPER)]
        given += [
            (each, who) for each, who in ((self.bootstrap, JOINER), (self.shared, SHARED)) if not kind_of(each or "")
        ]
        return tuple((digest(bearer), caller) for bearer, caller in given if bearer)


NO_BEARERS = GivenBearers()


@dataclass(slots=True)
class _Known:
    caller: Caller
    until: float
    used: float


class Access:
    """Finds out who sends a request, asking the database seldom and never for garbage."""

    def __init__(self, database: Database, claims: ClaimTokens, bearers: GivenBearers) -> None:
        self._database = database
        self._claims = claims
        self._given = bearers.callers()
        self._known: dict[bytes, _Known] = {}
        self._good_for_attempts: set[bytes] = set()
        self.guesses = Allowance(WRONG_AT_ONCE, WRONG_PER_SECOND)
        self._looking_again: asyncio.Task[None] | None = None

    async def caller(self, request: Request) -> Caller | None:
        """Who sends the request; None when nobody says so, or not truthfully.

        Raises Denied for an address from which too many were untruthful.
        """
        headers = request.headers
        if authorization := headers.get("authorization"):
            scheme, _, bearer = authorization.partition(" ")
            caller = await self._holder(bearer.strip(), request) if scheme.lower() == "bearer" else None
            # A session's token is worth nothing outside its cookie, where cross-site rules guard it.
            if caller and caller.kind is not TokenKind.SESSION:
                return caller
            self.wrong(request)
        elif cookie := request.cookies.get(cookie_name(request)):
            caller = await self._holder(cookie, request)
            if caller and caller.kind is TokenKind.SESSION:
                return caller
            self.wrong(request)
        return None

    def wrong(self, request: Request) -> None:
        """Something secret was guessed from there, and it was wrong. Raises Denied when that happens too often."""
        if seconds := self.guesses.take(_address(request)):
            raise _too_many_wrong(seconds)

    def check_guesses(self, request: Request) -> None:
        """Raise Denied when too much was guessed from there to look at one more."""
        if self.guesses.used_up(_address(request)):
            raise _too_many_wrong(1)

    def forget(self) -> None:
        """Believe nothing that was learned before: a token was revoked."""
        self._known.clear()

    async def _holder(self, bearer: str, request: Request) -> Caller | None:
        key, now = digest(bearer), time.monotonic()
        for given, caller in self._given:
            if hmac.compare_digest(key, given):
                return caller
        kind = kind_of(bearer)
        if kind is None:
            return None
        if kind is TokenKind.CLAIM:
            return await self._attempts_holder(bearer, key, request)
        known = self._known.get(key)
        if known is not None:
            known.used = now
            if known.until <= now:
                await self._look_again()
                known = self._known.get(key)
        if known is not None:
            return known.caller
        self.check_guesses(request)
        holder = await check_token(self._database, bearer)
        if holder is None:
            return None
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[key] = _Known(holder, now + BELIEVED_SECONDS, now)
        return holder

    async def _attempts_holder(self, bearer: str, key: bytes, request: Request) -> Caller | None:
        """Asked of the database each time, for the token ends with its attempt; but of strangers only so often."""
        attempt = attempt_of(request)
        if attempt is None:
            return None
        if key not in self._good_for_attempts:
            self.check_guesses(request)
        holder = await self._claims.holder(bearer, attempt)
        if holder is None:
            self._good_for_attempts.discard(key)
        else:
            if len(self._good_for_attempts) >= REMEMBERED:
                self._good_for_attempts.clear()
            self._good_for_attempts.add(key)
        return holder

    async def _look_again(self) -> None:
        """Ask about all known tokens at once: a thousand workers that ask in turn cost one query in two seconds."""
        if self._looking_again is None:
            self._looking_again = asyncio.create_task(self._renew())
            # Its failure is told to those who wait for it, if there are any left.
            self._looking_again.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(self._looking_again)

    async def _renew(self) -> None:
        try:
            now = time.monotonic()
            asked = {key: known for key, known in self._known.items() if known.used > now - REMEMBERED_SECONDS}
            ended = await tokens_ended(self._database, asked)
            for known in asked.values():
                known.until = now + BELIEVED_SECONDS
            current = self._known
            self._known = {key: known for key, known in asked.items() if key not in ended and key in current}
        finally:
            self._looking_again = None


def attempt_of(request: Request) -> AttemptKey | None:
    """The attempt that the address names; None when it names none."""
    path = request.path_params
    if not {"plan", "task", "epoch"} <= path.keys():
        return None
    return AttemptKey(path["plan"], path["task"], min(path["epoch"], 2**31 - 1))


def _address(request: Request) -> str:
    return source_of(request.client.host) if request.client else "local"


def _too_many_wrong(seconds: float) -> Denied:
    detail = "Too many wrong tokens came from this address."
    return Denied(429, "too_many_wrong_tokens", detail, "Wait, and send a good one.", retry_after(seconds))


def admitted(request: Request, caller: Caller | None, allowed: Allowed) -> Caller:
    """The caller, if it may pass. Raises Denied: 401 when nobody is known, 403 when it is the wrong one."""
    if caller is None:
        raise Denied(
            401,
            "not_logged_in",
            "This needs a token, or a browser that logged in.",
            "Send `Authorization: Bearer …`, or open the one-time link that the server printed.",
            {"WWW-Authenticate": 'Bearer realm="whilly"'},
        )
    if caller.kind not in allowed:
        raise Denied(403, "not_allowed", f"A token of kind {caller.kind.value!r} does not open this.")
    if caller.kind is TokenKind.SESSION and request.method not in SAFE_METHODS and not same_origin(request):
        raise Denied(403, "cross_site", "A page of another site may not do this in your name.")
    return caller


def admit_to_plan(caller: Caller, plan: str | None) -> None:
    """Raise Denied when the caller's token is for another plan than this, or than all (None)."""
    if caller.plan is not None and caller.plan != plan:
        raise Denied(403, "not_allowed", f"This token is for plan {caller.plan!r} only.")


def same_origin(request: Request) -> bool:
    """Whether a browser says that the request comes from a page of ours, or from the person directly."""
    headers: Mapping[str, str] = request.headers
    if site := headers.get("sec-fetch-site"):
        return site in {"same-origin", "none"}
    return headers.get("origin", "") == f"{request.url.scheme}://{headers.get('host', '')}"


def cookie_name(request: Request) -> str:
    """The session's cookie. Without https it names the port, since browsers share cookies between ports."""
    if request.url.scheme == "https":
        return "__Host-whilly"
    return f"whilly_{request.url.port or 80}"
