"""One row of the route table: the way in, who may take it, and what goes in and out."""

import functools
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from whilly.server.auth import Access, Allowed, admitted
from whilly.server.errors import Denied, answer_to

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Route:
    """A way in. There is none without a word on who may take it."""

    method: str
    path: str
    endpoint: Endpoint
    allowed: Allowed | None
    """Kinds of callers; None: everybody, logged in or not."""
    body: Any = None
    """Type of the JSON that is sent; None: no body, or a form."""
    gives: Any = None
    """Type of the JSON that comes back; None: none, or not JSON."""


Measured = Callable[[str, str, int, float], None]
"""Takes the pattern of the address, the method, the status of the answer and the seconds until it began."""


def mounted(
    routes: Iterable[Route], access: Access, stranger: Callable[[Request], Response], measured: Measured
) -> list[BaseRoute]:
    """The table as the application takes it. Each route knows its caller, and answers every error as a problem.

    `stranger` answers browsers that are not logged in.
    """
    return [
        StarletteRoute(route.path, _guarded(route, access, stranger, measured), methods=[route.method])
        for route in routes
    ]


def _guarded(route: Route, access: Access, stranger: Callable[[Request], Response], measured: Measured) -> Endpoint:
    @functools.wraps(route.endpoint)
    async def guarded(request: Request) -> Response:
        began = time.monotonic()
        try:
            if route.allowed is not None:
                request.state.caller = admitted(request, await access.caller(request), route.allowed)
            response = await route.endpoint(request)
        except Exception as error:
            if isinstance(error, Denied) and error.problem.status == 401 and _wants_a_page(request):
                response = stranger(request)
            else:
                response = answer_to(error)
        measured(route.path, route.method, response.status_code, time.monotonic() - began)
        return response

    return guarded


def _wants_a_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")
