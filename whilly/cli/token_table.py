"""Tokens as a table."""

from datetime import datetime
from typing import TYPE_CHECKING

from whilly.core.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whilly.wire.tokens import ToldToken

_HEAD = ("TOKEN", "KIND", "OWNER", "FOR", "PLAN", "CREATED", "EXPIRES", "LAST USED", "USES", "STATE")


def token_table(tokens: "Iterable[ToldToken]") -> str:
    """One line each; columns as wide as they need to be."""
    rows = [_HEAD, *(_row(token) for token in tokens)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(token: "ToldToken") -> tuple[str, ...]:
    state = "good" if token.good else "revoked" if token.revoked_at else "ended"
    return (
        token.id,
        token.kind.value,
        one_line(token.owner, 40) or "-",
        one_line(token.worker_id or "-", 30),
        one_line(token.plan_id or "every", 30),
        _shown(token.created_at),
        _shown(token.expires_at),
        _shown(token.last_used_at),
        "-" if token.uses_allowed is None else f"{token.uses}/{token.uses_allowed}",
        state,
    )


def _shown(moment: datetime | None) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
