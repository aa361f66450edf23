"""Whom a worker gives its bearer to: the control plane that it registered with, and nobody else."""

import secrets
from functools import partial

import httpx2
from pydantic import ValidationError

from whilly.client.moving import NotProven, Prove
from whilly.wire.codec import decode, encode
from whilly.wire.identity import ALGORITHM, Challenge, Identity, Proof, signed_text
from whilly.wire.protocol import BASE_PATH


def proof_of(public_key: str) -> Prove:
    """How an address proves that it is the control plane with this key, which came with the registration."""
    return partial(prove, public_key=public_key)


async def prove(http: httpx2.AsyncClient, address: str, *, public_key: str) -> None:
    """Return when whoever answers at the address holds the key. Raises NotProven, or what the transport raises.

    `http` sends no bearer. Each proof is for a nonce and for this address, so that none can be used again or elsewhere.
    """
    challenge = Challenge(secrets.token_urlsafe(32), address)
    response = await http.post(
        f"{BASE_PATH}/identity/proof", content=encode(challenge), headers={"Content-Type": "application/json"}
    )
    if response.status_code >= 500 or response.status_code in (408, 429):
        raise httpx2.ConnectError(f"it answered {response.status_code}")
    if not response.is_success:
        raise NotProven(f"asked for a proof it answered {response.status_code}")
    try:
        proof = decode(Proof, response.content)
    except ValidationError:
        raise NotProven("what it answered is no proof") from None
    if proof.public_key != public_key:
        raise NotProven("it has another key than the one that this worker registered with")
    if not _is_signed(public_key, proof.signature, signed_text(challenge)):
        raise NotProven("its signature is wrong")


async def public_key_of(http: httpx2.AsyncClient) -> str:
    """The key of the control plane behind a trusted address. Raises NotProven when it tells none."""
    response = await http.get(f"{BASE_PATH}/identity")
    try:
        return decode(Identity, response.content).public_key
    except ValidationError:
        raise NotProven(f"asked for its key it answered {response.status_code}") from None


def _is_signed(public_key: str, signature: str, text: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    algorithm, _, digits = public_key.partition(":")
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(digits))
        key.verify(bytes.fromhex(signature), text)
    except (ValueError, InvalidSignature):
        return False
    return algorithm == ALGORITHM
