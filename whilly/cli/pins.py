"""Which control plane a bearer is for: the key that came with the registration, on this machine."""

import hashlib
from pathlib import Path

from whilly.core.errors import BadSetting


def pin(data_dir: Path, bearer: str, public_key: str) -> None:
    """Remember whose the bearer is. Raises BadSetting when that cannot be written."""
    folder = data_dir / "control-planes"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / _name(bearer)).write_text(public_key + "\n", encoding="utf-8")
    except OSError as problem:
        raise BadSetting(
            f"The control plane's key cannot be kept in {folder}: {problem.strerror}; "
            "point WHILLY_DATA_DIR to a folder that you may write to."
        ) from None


def pinned(data_dir: Path, bearer: str) -> str:
    """The control plane's key; empty when the bearer was not given out to this machine."""
    try:
        return (data_dir / "control-planes" / _name(bearer)).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _name(bearer: str) -> str:
    return hashlib.sha256(bearer.encode()).hexdigest()[:32]
