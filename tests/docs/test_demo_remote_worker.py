"""The demonstration of several machines on one works, and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "demo-remote-worker.sh"


@pytest.mark.skipif(sys.platform == "win32", reason="it is for bash")
def test_it_goes_from_nothing_to_done(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", SCRIPT],
        env={**os.environ, "BIN": str(Path(sys.executable).parent), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "S-2 is done: its result is commit" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert not [each for each in psutil.process_iter() if str(tmp_path) in _words(each)]


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
