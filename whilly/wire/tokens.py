"""Tokens over HTTP: how a machine joins, and what operators see and do."""

from dataclasses import dataclass
from datetime import datetime

from whilly.core.assignment import AttemptKey
from whilly.core.tokens import TokenKind


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A machine wants to join; its bearer is a bootstrap token."""

    hostname: str
    owner_email: str = ""
    plan: str | None = None
    """The only plan it shall work on; none: all that the bootstrap token is for."""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnrolmentAnswer:
    """The new worker."""

    worker_id: str
    token: str
    """Its bearer; shown this once."""
    token_id: str
    plan: str | None
    expires_at: datetime | None
    public_key: str
    """The control plane's: to be kept, and to be compared at every new address."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token to be minted, by an operator."""

    kind: TokenKind
    owner: str
    """Whose it is."""
    plan: str | None = None
    lifetime_seconds: float | None = None
    """None: as such tokens last."""
    uses: int | None = None
    """Of a bootstrap token: how many machines it lets in."""
    worker: str | None = None
    """Of a worker's token: whose."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token, with the bearer that is shown this once."""

    id: str
    bearer: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class ToldToken:
    """A token as operators see it."""

    id: str
    kind: TokenKind
    owner: str
    plan_id: str | None
    worker_id: str | None
    parent: str | None
    """The token that it is revoked with."""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    uses: int
    uses_allowed: int | None
    good: bool


@dataclass(frozen=True, slots=True)
class TokenList:
    """Tokens, newest first."""

    tokens: tuple[ToldToken, ...]


@dataclass(frozen=True, slots=True)
class Revocation:
    """What came of revoking."""

    tokens: tuple[str, ...]
    """All that opened something until now."""
    workers: tuple[str, ...]
    """Those that have no good token any more."""
    released: tuple[AttemptKey, ...]
    """What they were working on, and others take now."""
