"""Commands as whole processes: what a person waits for, start-up included."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

WHILLY = (sys.executable, "-m", "whilly.cli.main")
WORKER = (sys.executable, "-m", "whilly.cli.worker_main")
NOTHING = (sys.executable, "-c", "pass")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a process took."""

    seconds: float
    cpu: float
    """Its own, and that of the children it waited for."""
    output: str


def run(command: Sequence[str], *, data: Path, url: str | None = None, at: Path | None = None) -> Ran:
    """Run a command to its end, with no settings of ours but these. Raises when it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WHILLY_", "PG"))}
    environment["WHILLY_DATA_DIR"] = str(data)
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    if url is not None:
        environment["WHILLY_DATABASE_URL"] = url
    with tempfile.TemporaryFile() as written:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=written, stderr=subprocess.STDOUT, env=environment, cwd=at or data
        )
        _, status, used = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        written.seek(0)
        output = written.read().decode("utf-8", errors="replace")
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {output[-2000:]}")
    return Ran(took, used.ru_utime + used.ru_stime, output)
