"""A way in for a person's browser."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoginLink:
    """`/login/<code>` on the server lets one browser in, once."""

    code: str
    seconds: float
    """How long the link can be used."""
