"""Let a machine join: a bootstrap token in, a worker of its own out."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from whilly.core.errors import Refused
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import Issued, mint
from whilly.store.database import Database
from whilly.store.transaction import EVERY_PLAN

WORKER_LIFETIME = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A worker, and its bearer."""

    worker: str
    token: Issued
    plan: str | None


async def enrol_worker(
    database: Database,
    bootstrap: str | None,
    *,
    hostname: str,
    plan: str | None = None,
    owner: str = "",
    tags: tuple[str, ...] = (),
    lifetime: timedelta = WORKER_LIFETIME,
) -> Enrolled:
    """Enter a new worker for `plan` (None: for all that the bootstrap token is for), and mint its bearer.

    `bootstrap` is the public id of the token that lets it in, which is used once more, and with which the bearer is
    revoked; None: the secret of the environment, which is counted by nobody. Raises Refused when the token was used
    as often as it may be, or is for another plan.
    """
    async with database.transaction() as tx:
        if bootstrap is not None:
            rows = await tx.fetch("use_bootstrap", bootstrap)
            if not rows:
                raise Refused(
                    "This bootstrap token was used as often as it may be, or has ended; "
                    "ask for a new one (`whilly admin bootstrap mint`)."
                )
            only = rows[0]["plan_id"]
            if only is not None and plan not in (None, only):
                raise Refused(f"This bootstrap token is for plan {only!r} only.")
            plan, owner = plan or only, owner or rows[0]["label"]
        worker = f"w-{secrets.token_hex(6)}"
        await tx.execute("register_worker", worker, hostname, [], "clone", plan)
        token = await mint(
            tx, TokenKind.WORKER, worker=worker, plan=plan, label=owner or hostname, lifetime=lifetime, parent=bootstrap
        )
        payload = {"plan_id": EVERY_PLAN, "worker_id": worker, "hostname": hostname, "owner_email": owner}
        tx.tell(EVERY_PLAN, None, "worker.registered", {**payload, "bootstrap_id": bootstrap, "tags": list(tags)})
    return Enrolled(worker, token, plan)
