"""What a request passes on its way to its endpoint: as little as possible, for a thousand workers ask all the time."""

from starlette.exceptions import HTTPException
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from whilly.server.errors import answer_to


class Direct:
    """ASGI: requests go straight to our own routes; what is no request goes to the framework's router."""

    def __init__(self, router: Router) -> None:
        self._requests: ASGIApp = Router(router.routes, redirect_slashes=False)
        self._others: ASGIApp = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; where there is no such way in, with a problem."""
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        try:
            await self._requests(scope, receive, send)
        except HTTPException as error:
            await answer_to(error)(scope, receive, send)
