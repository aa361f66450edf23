"""Numbers and names from the address, with a clear word when they make no sense."""

from starlette.requests import Request

from whilly.server.errors import Denied


def number(request: Request, name: str, default: int, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """A number from the query. Raises Denied unless it lies within the bounds."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if given.isascii() and given.isdigit() and len(given) < 20 and least <= int(given) <= most:
        return int(given)
    raise Denied(400, f"bad_{name}", f"{name} must be a number from {least} to {most}.")


def text(request: Request, name: str) -> str | None:
    """A word from the query; None when it is missing or empty."""
    return request.query_params.get(name) or None
