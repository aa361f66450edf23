"""What the control plane alone knows: the key that proves who it is, and the secret of the attempts' tokens."""

import hmac
from dataclasses import replace
from typing import TYPE_CHECKING

from whilly.core.assignment import Assignment, AttemptKey
from whilly.core.tokens import TokenKind, claim_token
from whilly.operations.check_token import Caller
from whilly.operations.own_keys import CLAIMS, IDENTITY, own_key
from whilly.store.database import Database
from whilly.wire.identity import ALGORITHM, Challenge, Proof, signed_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class OwnIdentity:
    """Proves that this is the control plane of its database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._key: Ed25519PrivateKey | None = None

    async def public_key(self) -> str:
        """As workers keep it."""
        return f"{ALGORITHM}:{(await self._private_key()).public_key().public_bytes_raw().hex()}"

    async def prove(self, challenge: Challenge) -> Proof:
        """Sign it. Whether the address is one of ours is for the caller to know."""
        signature = (await self._private_key()).sign(signed_text(challenge))
        return Proof(await self.public_key(), signature.hex())

    async def _private_key(self) -> "Ed25519PrivateKey":
        if self._key is None:
            # 30 ms of CPU that most runs do not need.
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

            self._key = Ed25519PrivateKey.from_private_bytes(await own_key(self._database, IDENTITY))
        return self._key


class ClaimTokens:
    """Tokens that open one attempt's own routes, for as long as the attempt lasts. None is stored."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._secret: bytes | None = None

    async def handed_out(self, assignment: Assignment, worker: str) -> Assignment:
        """The assignment with its token."""
        key = assignment.key
        token = claim_token(await self._own_secret(), key.plan, key.task, key.epoch, worker)
        return replace(assignment, claim_token=token)

    async def holder(self, bearer: str, key: AttemptKey) -> Caller | None:
        """Who may work on the attempt with this token; None when it is another attempt's, or the attempt is over."""
        rows = await self._database.fetch("holder_of_attempt", key.plan, key.task, key.epoch)
        if not rows:
            return None
        worker = rows[0]["worker_id"]
        if not hmac.compare_digest(
            claim_token(await self._own_secret(), key.plan, key.task, key.epoch, worker), bearer
        ):
            return None
        return Caller(TokenKind.CLAIM, f"attempt {key.epoch} of {key.plan}/{key.task}", worker, key.plan)

    async def _own_secret(self) -> bytes:
        if self._secret is None:
            self._secret = await own_key(self._database, CLAIMS)
        return self._secret
