"""Numbers for monitoring."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.server.auth import METRICS
from whilly.server.engine import engine_of
from whilly.server.metrics_text import CONTENT_TYPE
from whilly.server.route import Route


async def metrics(request: Request) -> Response:
    """All metrics in Prometheus' text format."""
    return Response(await engine_of(request).metrics.text(), headers={"Content-Type": CONTENT_TYPE})


ROUTES = (Route("GET", "/metrics", metrics, METRICS, media="text/plain"),)
