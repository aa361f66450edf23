"""The application class for servers of your choice. Imported only there: FastAPI takes 0.13 s."""

from typing import Any

from fastapi import FastAPI

from whilly import __version__
from whilly.server.openapi import document
from whilly.server.route import Route


class Described(FastAPI):
    """An application that knows its own description, though its routes are not FastAPI's."""

    def __init__(self, routes_described: tuple[Route, ...], lifespan: Any) -> None:
        super().__init__(
            title="Whilly", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None
        )
        self._routes_described = routes_described

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, as `GET /openapi.json` gives it."""
        return document(self._routes_described)
