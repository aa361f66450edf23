"""How a control plane proves that it is the one that a worker registered with."""

from dataclasses import dataclass

ALGORITHM = "ed25519"
_PURPOSE = b"whilly control plane identity, version 1"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the control plane is, for as long as its database lives."""

    public_key: str
    """`ed25519:` and 64 hexadecimal digits. A worker keeps the one that came with its registration."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """Asks for a proof."""

    nonce: str
    """Drawn anew for each proof, 32 characters or more."""
    address: str
    """The address at which the proof is asked for, as the asker writes it: the proof is good for no other."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The challenge, signed."""

    public_key: str
    signature: str
    """Hexadecimal; over `signed_text` of the challenge."""


def signed_text(challenge: Challenge) -> bytes:
    """What is signed: nothing else that this key signs can be mistaken for it."""
    return b"\0".join((_PURPOSE, challenge.nonce.encode(), challenge.address.encode()))
