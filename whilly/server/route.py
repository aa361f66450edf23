"""One row of the route table: the way in, who may take it, and what goes in and out.

The OpenAPI document, the reference in `docs/` and the tests of who may do what are made from these rows.
"""

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from whilly.server.auth import Access, Allowed, admit_to_plan, admitted
from whilly.server.errors import Denied, answer_to
from whilly.server.negotiation import check_protocol
from whilly.server.query import Parameter

Endpoint = Callable[[Request], Awaitable[Response]]
Measured = Callable[[str, str, int, float], None]
"""Gets the pattern of the address, the method, the status and the seconds until the answer began."""


@dataclass(frozen=True, slots=True)
class Route:
    """A way in. There is none without a word on who may take it; its endpoint's docstring says what it does."""

    method: str
    path: str
    endpoint: Endpoint
    allowed: Allowed | None
    """Kinds of callers; None: everybody, logged in or not."""
    body: Any = None
    """Type of the JSON that is sent; None: no body, or a form."""
    gives: Any = None
    """Type of the JSON that comes back; None: none, or not JSON."""
    query: tuple[Parameter, ...] = ()
    """What may stand after the `?`, or in a header."""
    vital: bool = False
    """Keeps attempts alive and results safe: passes when everything else is slow."""
    form: Mapping[str, str] = field(default_factory=dict)
    """Fields of a posted form, with what they mean."""
    status: int = 200
    """Of the answer when all went well; one without content is 204."""
    media: str = ""
    """Media type of an answer that is not JSON."""
    or_nothing: bool = False
    """It may also answer 204: there was nothing."""
    minds_plan: bool = False
    """The endpoint itself keeps a caller whose token is for one plan within that plan. Where it does not, and the
    address names no plan, such callers are turned away."""
    also: Mapping[int, str] = field(default_factory=dict)
    """Other statuses that come with an answer of the usual type, and what they mean."""

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return (inspect.getdoc(self.endpoint) or "").partition("\n")[0]

    @property
    def description(self) -> str:
        """All that is said about it."""
        return inspect.getdoc(self.endpoint) or ""

    @property
    def resource(self) -> str:
        """The group it belongs to."""
        return self.endpoint.__module__.rpartition(".")[2]

    @property
    def success(self) -> int:
        """The status when all went well."""
        return self.status if self.gives is not None or self.media or self.status != 200 else 204


class _Number(Convertor[int]):
    """Numbers in addresses, of a length that nobody can make Python choke on."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("int", _Number())


def mounted(
    routes: Iterable[Route], access: Access, stranger: Callable[[Request], Response], measured: Measured
) -> list[BaseRoute]:
    """The table as the application takes it. Each route knows its caller, and answers every error as a problem.

    `stranger` answers browsers that are not logged in; `measured` hears of every request that was answered.
    """
    by_path: dict[str, dict[str, Endpoint]] = {}
    for route in routes:
        endpoint = _timed(route, _guarded(route, access, stranger), measured)
        by_path.setdefault(route.path, {})[route.method] = endpoint
    return [StarletteRoute(path, _Answers(endpoints), methods=list(endpoints)) for path, endpoints in by_path.items()]


class _Answers:
    """Endpoints of one address as an ASGI application, which the framework takes as it is: functions it would wrap
    three times. One for all methods, so that a wrong method is told all that there are.
    """

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        response = await self._endpoints[method](Request(scope, receive, send))
        await response(scope, receive, send)


def _guarded(route: Route, access: Access, stranger: Callable[[Request], Response]) -> Endpoint:
    @functools.wraps(route.endpoint)
    async def guarded(request: Request) -> Response:
        try:
            check_protocol(request.headers)
            if route.allowed is not None:
                caller = admitted(request, await access.caller(request), route.allowed)
                if not route.minds_plan:
                    admit_to_plan(caller, request.path_params.get("plan"))
                request.state.caller = caller
            return await route.endpoint(request)
        except Exception as error:
            if isinstance(error, Denied) and error.problem.status == 401 and _wants_a_page(request):
                return stranger(request)
            return answer_to(error)

    return guarded


def _timed(route: Route, endpoint: Endpoint, measured: Measured) -> Endpoint:
    @functools.wraps(route.endpoint)
    async def timed(request: Request) -> Response:
        began = time.monotonic()
        response = await endpoint(request)
        measured(route.path, route.method, response.status_code, time.monotonic() - began)
        return response

    return timed


def _wants_a_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")
