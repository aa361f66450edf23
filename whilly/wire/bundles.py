"""Results that travel through the control plane as git bundles, in parts that fit into its limits for bodies."""

from dataclasses import dataclass

PART_BYTES = 600_000
"""Of every part but the last: as base64, it fits into a body of 1 MB."""


@dataclass(frozen=True, slots=True)
class BundleOffer:
    """What the worker of an attempt wants to send; sent again when all parts are there, to have it checked."""

    commit: str
    """The result."""
    size: int
    """Bytes of the whole bundle."""
    sha256: str
    """Of the whole bundle, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class BundleState:
    """How far it is."""

    missing: tuple[int, ...]
    """Numbers of the parts that are still to come, counted from 0."""
    part_bytes: int
    whole: bool
    """It is complete and what was offered."""


@dataclass(frozen=True, slots=True)
class BundlePart:
    """One part."""

    number: int
    data: str
    """In base64."""


@dataclass(frozen=True, slots=True)
class BundleTold:
    """The newest whole bundle of a task."""

    epoch: int
    """The attempt that it comes from."""
    commit: str
    size: int
    sha256: str
    parts: int


def parts_of(size: int) -> int:
    """How many parts a bundle of so many bytes has."""
    return -(-size // PART_BYTES)
