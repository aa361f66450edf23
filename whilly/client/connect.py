"""Ways to reach a control plane."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import httpx2

from whilly import __version__
from whilly.client.moving import PLACEHOLDER, MovingTransport
from whilly.wire.protocol import HEADER, VERSION

Application = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]
"""An ASGI application."""

LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=30)


def in_process(application: Application, token: str = "") -> httpx2.AsyncClient:
    """A client of a control plane that runs in this very process: same routes and JSON, no socket."""
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=_headers(token))


def over_network(url: str, token: str) -> httpx2.AsyncClient:
    """A client of the control plane at `url`. How long an answer may take is decided for each request."""
    return httpx2.AsyncClient(
        base_url=url, headers=_headers(token), timeout=None, limits=LIMITS, verify=_needs_certificates(url)
    )


def over_moving_network(transport: MovingTransport, token: str) -> httpx2.AsyncClient:
    """The same where the address changes: `transport` knows it."""
    return httpx2.AsyncClient(transport=transport, base_url=PLACEHOLDER, headers=_headers(token), timeout=None)


def network(only: str = "") -> httpx2.AsyncHTTPTransport:
    """Connections to wherever a request goes; `only` is the address when there is but one."""
    return httpx2.AsyncHTTPTransport(limits=LIMITS, verify=_needs_certificates(only))


def _needs_certificates(url: str) -> bool:
    # Reading them takes 50 ms, for which plain HTTP has no use; redirects are not followed.
    return not url.startswith("http://")


def _headers(token: str) -> dict[str, str]:
    headers = {HEADER: str(VERSION), "User-Agent": f"whilly/{__version__}"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return headers
