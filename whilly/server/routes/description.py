"""What this API is, for programs and for those who write them."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from whilly.server.auth import KNOWN
from whilly.server.bodies import answer
from whilly.server.route import Route


async def openapi(request: Request) -> Response:
    """This description of all ways in, as an OpenAPI document."""
    from whilly.server.openapi import document  # Seldom asked for, and 10 ms of every start.

    state = request.app.state
    if state.description is None:
        state.description = document(state.routes)
    return answer(state.description)


ROUTES = (Route("GET", "/openapi.json", openapi, KNOWN, gives=dict[str, Any], minds_plan=True),)
