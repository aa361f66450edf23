"""Finds the processes of a run by the marker in their environment: what is left when nobody watches them any more."""

import os
import time

import psutil

PATIENCE = 5.0
"""Seconds of killing in rounds, since a process may start another one meanwhile."""


def marked(name: str, value: str) -> list[psutil.Process]:
    """All processes, except this one, that carry the marker and whose environment may be read."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(name) == value:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def kill_marked(name: str, value: str) -> tuple[int, int]:
    """Kill them all; says how many there were and how many are left after some seconds. Blocks."""
    seen: set[int] = set()
    until = time.monotonic() + PATIENCE
    while family := marked(name, value):
        seen |= {process.pid for process in family}
        for process in family:
            try:
                process.kill()
            except psutil.Error:
                continue
        psutil.wait_procs(family, timeout=0.5)
        if time.monotonic() > until:
            return len(seen), len(family)
    return len(seen), 0
