"""Who may take which way in, written down by hand: the route table is checked against this, not the other way round."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx2

from tests.control_plane import Server
from whilly.client.connect import in_process
from whilly.client.control_plane import ControlPlane
from whilly.core.plan import TaskSpec
from whilly.core.tokens import SECRET_BYTES, TokenKind, claim_token, write_token
from whilly.operations.issue_token import issue_token
from whilly.operations.own_keys import CLAIMS, own_key
from whilly.operations.revoke_token import revoke_token
from whilly.server.route import Route
from whilly.wire.work import ClaimRequest

ATTEMPT = "/api/v1/plans/{plan}/tasks/{task}/attempts/{epoch:int}"
TASK = "/api/v1/plans/{plan}/tasks/{task}"
PLAN = "/api/v1/plans/{plan}"

HOLDER = "worker-a claim"
WORKERS = "worker-a worker-b worker-q"
PEOPLE = "operator session"
PEOPLE_OF_A_PLAN = f"{PEOPLE} operator-q"
ANYBODY = "anybody"

MAY = {
    ("POST", "/api/v1/claim"): "worker-a worker-b",
    ("POST", f"{ATTEMPT}/start"): HOLDER,
    ("POST", f"{ATTEMPT}/heartbeat"): HOLDER,
    ("POST", f"{ATTEMPT}/events"): HOLDER,
    ("POST", f"{ATTEMPT}/transcript"): HOLDER,
    ("POST", f"{ATTEMPT}/finish"): HOLDER,
    ("POST", f"{ATTEMPT}/release"): HOLDER,
    ("POST", "/api/v1/presence"): WORKERS,
    ("POST", "/api/v1/presence/end"): WORKERS,
    ("POST", "/api/v1/orders"): WORKERS,
    ("GET", "/api/v1/workers"): PEOPLE,
    ("POST", "/api/v1/workers/{worker}/drain"): PEOPLE,
    ("POST", "/api/v1/workers/{worker}/resume"): PEOPLE,
    ("POST", "/workers/register"): "bootstrap",
    ("GET", "/api/v1/identity"): ANYBODY,
    ("POST", "/api/v1/identity/proof"): ANYBODY,
    ("GET", "/api/v1/tokens"): "operator",
    ("POST", "/api/v1/tokens"): "operator",
    ("POST", "/api/v1/tokens/{token}/revoke"): "operator",
    ("POST", "/api/v1/tokens/{token}/rotate"): "operator",
    ("POST", "/api/v1/token/rotate"): f"{WORKERS} operator operator-q",
    ("POST", "/api/v1/workers/{worker}/revoke"): "operator",
    ("GET", "/api/v1/plans"): PEOPLE_OF_A_PLAN,
    ("POST", "/api/v1/plans"): PEOPLE,
    ("POST", "/api/v1/plans/import"): PEOPLE,
    ("POST", "/api/v1/plans/apply"): PEOPLE,
    ("GET", PLAN): f"worker-a worker-b {PEOPLE}",
    ("GET", f"{PLAN}/overview"): PEOPLE,
    ("GET", f"{PLAN}/export"): PEOPLE,
    ("GET", f"{PLAN}/triz"): PEOPLE,
    ("GET", f"{PLAN}/reviews"): PEOPLE,
    ("POST", f"{PLAN}/reset"): PEOPLE,
    ("PUT", f"{PLAN}/budget"): PEOPLE,
    ("GET", "/api/v1/tasks"): f"worker-a worker-b {PEOPLE}",
    ("GET", TASK): PEOPLE,
    ("GET", f"{TASK}/why"): PEOPLE,
    ("PUT", f"{TASK}/budget"): PEOPLE,
    ("GET", f"{TASK}/attempts"): PEOPLE,
    ("GET", ATTEMPT): PEOPLE,
    ("GET", f"{ATTEMPT}/evidence"): PEOPLE,
    ("GET", f"{ATTEMPT}/transcript"): PEOPLE,
    ("GET", f"{TASK}/transcript"): PEOPLE,
    ("POST", f"{ATTEMPT}/bundle"): HOLDER,
    ("POST", f"{ATTEMPT}/bundle/parts"): HOLDER,
    ("GET", f"{TASK}/bundle"): f"worker-a worker-b {PEOPLE}",
    ("GET", f"{TASK}/bundle/{{epoch:int}}/parts/{{number:int}}"): f"worker-a worker-b {PEOPLE}",
    ("POST", f"{TASK}/cancel"): PEOPLE,
    ("POST", f"{TASK}/retry"): PEOPLE,
    ("POST", f"{TASK}/skip"): PEOPLE,
    ("POST", f"{TASK}/review"): PEOPLE,
    ("GET", "/api/v1/control"): PEOPLE_OF_A_PLAN,
    ("POST", "/api/v1/pause"): PEOPLE,
    ("POST", "/api/v1/resume"): PEOPLE,
    ("GET", "/api/v1/events"): PEOPLE,
    ("GET", "/api/v1/events/verification"): PEOPLE,
    ("GET", "/events/stream"): f"worker-a worker-b {PEOPLE}",
    ("GET", "/changes"): PEOPLE,
    ("GET", "/metrics"): "metrics",
    ("GET", "/openapi.json"): f"{WORKERS} {PEOPLE_OF_A_PLAN}",
    ("GET", "/health/live"): ANYBODY,
    ("GET", "/health/ready"): ANYBODY,
    ("GET", "/health"): ANYBODY,
    ("GET", "/login/{code}"): ANYBODY,
    ("POST", "/api/v1/logins"): "operator",
    ("POST", "/logout"): PEOPLE_OF_A_PLAN,
    ("GET", "/"): PEOPLE,
    ("POST", "/plans/{plan}"): PEOPLE,
    ("POST", "/plans/{plan}/tasks/{task}"): PEOPLE,
    ("GET", "/static/{name}"): PEOPLE_OF_A_PLAN,
}
"""Callers that pass when the address, query and body name plan `p` and the attempt that worker-a holds.

Callers that end in `-q` have tokens for plan `q` only; worker-a and worker-b are two workers of plan `p`.
"""

STRANGERS = ("nobody", "garbage", "revoked", "expired")
"""Get 401 wherever they may not pass; all others get 403."""

ENDLESS = {"/events/stream", "/changes"}
"""Streams: whether somebody is let in is seen from the head of the answer."""

NAMES_A_PLAN_IN_ITS_QUERY = {
    "/api/v1/tasks": "plan_id",
    "/api/v1/events": "plan",
    "/events/stream": "plan",
    "/changes": "plan",
}
BODIES: dict[str, dict[str, Any]] = {
    "/api/v1/claim": {"claim_id": "again", "plan": "p", "agents": ["scripted"]},
    "/api/v1/pause": {"plan": "p"},
    "/api/v1/resume": {"plan": "p"},
    "/api/v1/plans/import": {"plan_id": "p", "project": "x", "tasks": []},
    "/api/v1/plans/apply": {"plan_id": "p", "project": "x", "tasks": []},
}

Enter = Callable[[Server], Awaitable[httpx2.AsyncClient]]


@dataclass(frozen=True)
class Grounds:
    """Two plans, each with a task; worker-a holds attempt `epoch` of the one in plan p."""

    server: Server
    epoch: int

    def address(self, route: Route, plan: str = "p") -> str:
        """The route's address for this plan."""
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path).format(
            plan=plan,
            task="T-1",
            epoch=self.epoch,
            worker="worker-b",
            token="no-such-token",
            code="no-such-code",
            name="page.css",
            number=0,
        )
        asks = NAMES_A_PLAN_IN_ITS_QUERY.get(route.path)
        return f"{path}?{asks}={plan}" if asks else path

    async def knock(self, http: httpx2.AsyncClient, route: Route, plan: str = "p") -> httpx2.Response:
        """One request: as harmless as it can be and still be let in."""
        method = "HEAD" if route.path in ENDLESS else route.method
        body = BODIES.get(route.path, {})
        if "plan" in body or "plan_id" in body:
            body = {key: plan if value == "p" else value for key, value in body.items()}
        if method in ("GET", "HEAD"):
            return await http.request(method, self.address(route, plan))
        return await http.request(method, self.address(route, plan), json=body)


async def grounds(server: Server, secret: str = "an answer") -> Grounds:
    """Lay them out. `secret` is told in plan q only."""
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two"))
    await server.store("q", TaskSpec("T-1", secret), project=secret)
    http = await worker(server, "worker-a", "p")
    granted = await ControlPlane(http).claim(ClaimRequest("first", "p", ("scripted",)))
    assert granted is not None
    return Grounds(server, granted.epoch)


async def worker(server: Server, name: str, plan: str | None) -> httpx2.AsyncClient:
    """A worker with a token for one plan."""
    return await _bearer(server, TokenKind.WORKER, worker=name, plan=plan)


async def _bearer(
    server: Server,
    kind: TokenKind,
    *,
    worker: str | None = None,
    plan: str | None = None,
    seconds: float = 600,
    uses: int | None = None,
) -> httpx2.AsyncClient:
    lifetime = timedelta(seconds=seconds)
    issued = await issue_token(
        server.database, kind, worker=worker, plan=plan, label="ada", lifetime=lifetime, uses=uses
    )
    return in_process(server.app, issued.bearer)


async def _nobody(server: Server) -> httpx2.AsyncClient:
    return server.nobody()


async def _garbage(server: Server) -> httpx2.AsyncClient:
    return in_process(server.app, write_token(TokenKind.OPERATOR, bytes(SECRET_BYTES)))


async def _revoked(server: Server) -> httpx2.AsyncClient:
    issued = await issue_token(server.database, TokenKind.OPERATOR, label="former")
    await revoke_token(server.database, issued.id)
    return in_process(server.app, issued.bearer)


async def _claim(server: Server) -> httpx2.AsyncClient:
    """Whoever has the token of the attempt that worker-a holds."""
    (row,) = await server.database.fetch("attempts_held_by", ["worker-a"]) or ({"epoch": 1},)
    secret = await own_key(server.database, CLAIMS)
    return in_process(server.app, claim_token(secret, "p", "T-1", row["epoch"], "worker-a"))


CALLERS: dict[str, Enter] = {
    "nobody": _nobody,
    "garbage": _garbage,
    "revoked": _revoked,
    "expired": lambda server: _bearer(server, TokenKind.OPERATOR, seconds=-1),
    "worker-a": lambda server: worker(server, "worker-a", "p"),
    "worker-b": lambda server: worker(server, "worker-b", "p"),
    "worker-q": lambda server: worker(server, "worker-q", "q"),
    "operator": lambda server: _bearer(server, TokenKind.OPERATOR),
    "operator-q": lambda server: _bearer(server, TokenKind.OPERATOR, plan="q"),
    "session": lambda server: server.session(),
    "bootstrap": lambda server: _bearer(server, TokenKind.BOOTSTRAP, plan="p", uses=1),
    "claim": _claim,
    "metrics": lambda server: _bearer(server, TokenKind.METRICS),
}


def expected(route: Route, caller: str) -> str:
    """`in`, `401` or `403`."""
    row = MAY[route.method, route.path]
    if row == ANYBODY or caller in row.split():
        return "in"
    # The token of an attempt is none at all where the address names no attempt.
    unknown = caller in STRANGERS or (caller == "claim" and "{epoch" not in route.path)
    return "401" if unknown else "403"
