"""Give somebody a token, as operators may."""

from datetime import timedelta

from whilly.core.errors import Refused
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import Issued, issue_token
from whilly.store.database import Database

LIFETIMES = {
    TokenKind.BOOTSTRAP: timedelta(hours=24),
    TokenKind.WORKER: timedelta(days=90),
    TokenKind.OPERATOR: timedelta(days=90),
    TokenKind.METRICS: timedelta(days=365),
}
"""How long a token lasts unless something else is asked for."""

LONGEST_BOOTSTRAP = timedelta(days=30)
LONGEST = timedelta(days=3650)
MOST_USES = 1_000


async def mint_token(
    database: Database,
    kind: TokenKind,
    owner: str,
    *,
    plan: str | None = None,
    lifetime: timedelta | None = None,
    uses: int | None = None,
    worker: str | None = None,
    parent: str | None = None,
) -> Issued:
    """Mint a token of a kind that people hand out. A bootstrap token lets one machine in, unless `uses` says more.

    Raises Refused for a kind that is made otherwise, and for a token that would last too long.
    """
    if kind not in LIFETIMES:
        raise Refused(f"Tokens of kind {kind.value} are not minted by hand.")
    if not owner.strip():
        raise Refused("Say whose token it is.")
    lasts = LIFETIMES[kind] if lifetime is None else lifetime
    longest = LONGEST_BOOTSTRAP if kind is TokenKind.BOOTSTRAP else LONGEST
    if not timedelta(0) < lasts <= longest:
        raise Refused(f"A token of kind {kind.value} lasts {longest.days} days at most, and some time at least.")
    if kind is TokenKind.BOOTSTRAP:
        uses = 1 if uses is None else uses
        if not 1 <= uses <= MOST_USES:
            raise Refused(f"A bootstrap token is used between 1 and {MOST_USES:,} times.")
    elif uses is not None:
        raise Refused("Only a bootstrap token counts its uses.")
    if (kind is TokenKind.WORKER) != (worker is not None):
        raise Refused("A worker's token names its worker, and no other token does.")
    return await issue_token(
        database, kind, worker=worker, plan=plan, label=owner, lifetime=lasts, parent=parent, uses=uses
    )
