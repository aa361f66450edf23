"""Which worker a run is. The name comes back at the next run, and with it the reports that it could not deliver."""

import platform
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from whilly.core.errors import BadSetting
from whilly.workspace.locks import held_at_once


@contextmanager
def worker_identity(data_dir: Path, wanted: str | None = None) -> Iterator[tuple[str, Path]]:
    """A worker's name that no other process of this user has now, and the folder in which it keeps its things.

    Without a `wanted` name it is the host's with the first free number, so that a run finds what the last one left.
    Raises BadSetting when the folder cannot be written to.
    """
    workers = data_dir / "workers"
    with ExitStack() as held:
        try:
            workers.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = next(name for name in _names(wanted) if held.enter_context(held_at_once(workers / f"{name}.lock")))
            folder = workers / name
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as problem:
            raise BadSetting(
                f"The folder {workers}, where workers keep their things, cannot be used: {problem.strerror}; "
                "point WHILLY_DATA_DIR to one that you may write to."
            ) from None
        yield name, folder


def _names(wanted: str | None) -> Iterator[str]:
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", wanted or platform.node()).strip("-.") or "worker"
    if wanted:
        yield host
    yield from (f"{host}-{number}" for number in count(1))
