"""CPU time of this process and of a Postgres server, so that figures can be compared on a busy machine."""

import resource
from pathlib import Path

import psutil


def own_cpu() -> float:
    """Seconds of CPU this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def postgres_cpu(data: Path) -> float:
    """Seconds of CPU that the server in `data` has used, ended backends included."""
    postmaster = psutil.Process(int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0]))
    times = postmaster.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in postmaster.children():
        try:
            spent = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += spent.user + spent.system
    return float(total)
