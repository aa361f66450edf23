"""What may be asked after the `?` of an address, or in a header: read, checked and documented by one description."""

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from whilly.server.errors import Denied

LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number within bounds."""

    name: str
    means: str
    default: int
    least: int = 0
    most: int = LARGEST
    place: str = "query"
    required: bool = False

    def of(self, request: Request) -> int:
        """The number that was sent, or the default. Raises Denied unless it lies within the bounds."""
        given = request.query_params.get(self.name)
        if given is None:
            return self.default
        if given.isascii() and given.isdigit() and len(given) < 20 and self.least <= int(given) <= self.most:
            return int(given)
        raise Denied(400, f"bad_{self.name}", f"{self.name} must be a number from {self.least} to {self.most}.")

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most, "default": self.default}


@dataclass(frozen=True, slots=True)
class Word:
    """A text, or one of a few words."""

    name: str
    means: str
    required: bool = False
    choices: tuple[str, ...] = ()
    place: str = "query"

    def of(self, request: Request) -> str | None:
        """What was sent; None when it is missing, or empty where it may be any text.

        Raises Denied when it is needed, or none of the choices.
        """
        sent = request.query_params if self.place == "query" else request.headers
        given = sent.get(self.name)
        if given is not None and self.choices and given not in self.choices:
            raise Denied(400, f"bad_{self.name}", f"A {self.name} is one of {', '.join(self.choices)}.")
        if not given and self.required:
            raise Denied(400, f"bad_{self.name}", f"This needs `?{self.name}=…`: {self.means}")
        return given or None

    def needed(self, request: Request) -> str:
        """What was sent, of one that is required."""
        given = self.of(request)
        assert given is not None  # noqa: S101 - `of` raised
        return given

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        return {"type": "string"} | ({"enum": list(self.choices)} if self.choices else {})


@dataclass(frozen=True, slots=True)
class Switch:
    """Yes or no."""

    name: str
    means: str
    place: str = "query"
    required: bool = False

    def of(self, request: Request) -> bool:
        """Whether it is on. Raises Denied for anything but true and false."""
        given = request.query_params.get(self.name, "false")
        if given not in ("true", "false"):
            raise Denied(400, f"bad_{self.name}", f"{self.name} is true or false.")
        return given == "true"

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        return {"type": "boolean", "default": False}


Parameter = Number | Word | Switch
