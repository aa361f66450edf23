"""What the worker knows, its agents do not read out of it."""

import os
import subprocess
import sys
from typing import Any

import pytest

NOBODY = 65534

WORKER = f"""
import ctypes, os, sys
sys.path[:0] = {sys.path!r}
from whilly.worker.seclusion import hide_memory
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # As in a process that began under this account.
print("open", flush=True)
sys.stdin.readline()
hide_memory()
print("hidden", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show it to begin with")
def test_another_process_of_the_account_reads_nothing_of_it() -> None:
    account: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    environment = {"BANK_API_KEY": "correct-horse-battery"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-I", "-c", WORKER], env=environment, **pipes) as worker:
        assert worker.stdout is not None
        assert worker.stdin is not None

        def seen_by_an_agent() -> bytes:
            reading = ["cat", f"/proc/{worker.pid}/environ"]
            seen: bytes = subprocess.run(reading, check=False, capture_output=True, **account).stdout
            return seen

        assert worker.stdout.readline() == "open\n"
        assert b"correct-horse-battery" in seen_by_an_agent()
        worker.stdin.write("\n")
        worker.stdin.flush()
        assert worker.stdout.readline() == "hidden\n"
        assert seen_by_an_agent() == b""
        worker.stdin.close()
