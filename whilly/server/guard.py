"""In front of every route: whose name the request was sent to, and what a browser may do with the answer."""

import ipaddress
import re
from collections.abc import Awaitable, Callable, Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whilly.server.errors import problem_answer
from whilly.wire.protocol import HEADER, VERSION
from whilly.wire.work import Problem

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]+))(?::[0-9]{1,5})?", re.IGNORECASE)

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    HEADER: str(VERSION),
}
"""Sent with every answer, unless the answer says otherwise."""


class Guard:
    """ASGI middleware. A page that got itself a name for our address (DNS rebinding) is refused by that name."""

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], also: Callable[[str], Awaitable[bool]] | None = None
    ) -> None:
        """`also` says whether a name that is not among the `hosts` is one of ours at the moment."""
        self._also = also
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts) | frozenset(LOOPBACK_NAMES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on and add the security headers to the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
            await send(message)

        name = name_of(Headers(scope=scope).get("host", ""))
        known = name in self._hosts or (name and name == _own_address(scope))
        if known or (self._also is not None and await self._also(name)):
            await self._app(scope, receive, send_guarded)
            return
        problem = Problem(
            "unknown_host",
            "Unknown host",
            421,
            "This server does not answer to the name that the request was sent to.",
            "Use localhost or 127.0.0.1, or start the server with the name among its allowed hosts.",
        )
        await problem_answer(problem)(scope, receive, send_guarded)


def _own_address(scope: Scope) -> str:
    """The address to which the client connected: nobody can give it a name, for then the name is what is sent."""
    own, _ = scope.get("server") or ("", 0)
    try:
        return str(ipaddress.ip_address(own))
    except ValueError:
        return ""


def name_of(host: str) -> str:
    """The name in a Host header, without port and brackets; empty when it is none."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""
