"""Which control planes of this user run on this machine: a small file for each, in the data folder."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whilly.settings import Settings

FOLDER = "servers"


@contextmanager
def noted(settings: Settings, address: str) -> Iterator[None]:
    """While open, others find this server under the address."""
    folder = settings.data_dir / FOLDER
    note = folder / f"{os.getpid()}.json"
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = note.with_suffix(".new")
        new.write_text(json.dumps({"address": address, "database": _mark(settings)}), encoding="utf-8")
        new.replace(note)
    try:
        yield
    finally:
        with suppress(OSError):
            note.unlink(missing_ok=True)


def addresses(settings: Settings) -> list[str]:
    """Where the servers on the database of these settings are reached, the newest first."""
    found = []
    for note in _newest_first(settings.data_dir / FOLDER):
        try:
            told = json.loads(note.read_text(encoding="utf-8"))
            running = _runs(int(note.stem))
        except (OSError, ValueError):
            continue
        if not running:
            with suppress(OSError):
                note.unlink()
        elif told.get("database") == _mark(settings):
            found.append(str(told["address"]))
    return found


def _newest_first(folder: Path) -> list[Path]:
    dated = []
    for note in folder.glob("*.json"):
        with suppress(OSError):
            dated.append((note.stat().st_mtime, note))
    return [note for _, note in sorted(dated, reverse=True)]


def _runs(pid: int) -> bool:
    import psutil

    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _mark(settings: Settings) -> str:
    """Tells databases apart without saying anything about them."""
    return hashlib.sha256((settings.database_url or "embedded").encode()).hexdigest()[:16]
