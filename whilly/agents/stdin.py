"""What a child reads: an unlinked file or the null device, so nobody has to feed it and no end stays open."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def standard_input(data: bytes) -> Iterator[IO[bytes]]:
    """A file that holds the data and is read from its start; the null device when there is none."""
    if not data:
        with Path(os.devnull).open("rb") as nothing:
            yield nothing
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file
