"""How a token is written: a kind that scanners can find, 256 bits, and a checksum that refuses garbage for free."""

import hashlib
import hmac
import re
import zlib
from enum import StrEnum


class TokenKind(StrEnum):
    """Who holds a token, and so what it opens."""

    WORKER = "worker"
    OPERATOR = "operator"
    SESSION = "session"
    """An operator's browser, after a one-time link."""
    METRICS = "metrics"
    """Whoever scrapes the numbers, and nothing else."""
    BOOTSTRAP = "bootstrap"
    """A machine that may join: it gets a worker's token for it, and this opens nothing else."""
    CLAIM = "claim"
    """The holder of one attempt, for as long as it lasts. Computed, not stored."""


_CODES = {
    TokenKind.WORKER: "wk",
    TokenKind.OPERATOR: "op",
    TokenKind.SESSION: "se",
    TokenKind.METRICS: "mt",
    TokenKind.BOOTSTRAP: "bs",
    TokenKind.CLAIM: "cl",
}
_KINDS = {code: kind for kind, code in _CODES.items()}
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_LENGTH = 43
_CHECKSUM_LENGTH = 6
_FORM = re.compile(rf"whl_([a-z]{{2}})_[0-9A-Za-z]{{{_SECRET_LENGTH + _CHECKSUM_LENGTH}}}")

SECRET_BYTES = 32
"""How much chance a token needs."""


def write_token(kind: TokenKind, secret: bytes) -> str:
    """The token's text, `whl_<kind>_<43 digits of base 62><6 digits of CRC-32>`, from SECRET_BYTES of chance."""
    stem = f"whl_{_CODES[kind]}_{_base62(int.from_bytes(secret), _SECRET_LENGTH)}"
    return stem + _checksum(stem)


def kind_of(token: str) -> TokenKind | None:
    """The kind of a well-formed token; None for anything that cannot be one of ours."""
    form = _FORM.fullmatch(token)
    if form is None or token[-_CHECKSUM_LENGTH:] != _checksum(token[:-_CHECKSUM_LENGTH]):
        return None
    return _KINDS.get(form[1])


def digest(token: str) -> bytes:
    """What is stored of it. A slow hash would add nothing to 256 bits of chance."""
    return hashlib.sha256(token.encode()).digest()


def claim_token(secret: bytes, plan: str, task: str, epoch: int, worker: str) -> str:
    """The token of one attempt. Only who knows the control plane's secret can write it, so it need not be stored."""
    said = "\0".join(("attempt", plan, task, str(epoch), worker))
    return write_token(TokenKind.CLAIM, hmac.digest(secret, said.encode(), "sha256"))


def _checksum(stem: str) -> str:
    return _base62(zlib.crc32(stem.encode()), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
