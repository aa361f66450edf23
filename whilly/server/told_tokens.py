"""Tokens as operators are told of them."""

from whilly.operations.issue_token import Issued
from whilly.operations.read_tokens import TokenView
from whilly.operations.shut_out import ShutOut
from whilly.wire.tokens import NewToken, Revocation, ToldToken


def told_revocation(shut_out: ShutOut) -> Revocation:
    """What came of revoking."""
    return Revocation(shut_out.tokens, shut_out.workers, shut_out.attempts)


def new_token(issued: Issued) -> NewToken:
    """As it is told to whoever asked for it."""
    return NewToken(issued.id, issued.bearer, issued.expires_at)


def told_token(token: TokenView) -> ToldToken:
    """As operators see it."""
    return ToldToken(
        id=token.id,
        kind=token.kind,
        owner=token.label,
        plan_id=token.plan,
        worker_id=token.worker,
        parent=token.parent,
        created_at=token.created_at,
        expires_at=token.expires_at,
        revoked_at=token.revoked_at,
        last_used_at=token.last_used_at,
        uses=token.uses,
        uses_allowed=token.uses_allowed,
        good=token.good,
    )
