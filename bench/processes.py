"""CPU time of this process and of a Postgres server, so that figures can be compared on a busy machine."""

import resource
from contextlib import suppress
from pathlib import Path

import psutil


def own_cpu() -> float:
    """Seconds of CPU this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_of(pid: int) -> float:
    """Seconds of CPU that another process has used, all its threads together.

    Linux counts them exactly; the times that every system has come from samples, and those are far too high for a
    process that wakes up with the clock that takes them.
    """
    try:
        threads = [(thread / "schedstat").read_text(encoding="ascii") for thread in Path(f"/proc/{pid}/task").iterdir()]
        return sum(int(used.split()[0]) for used in threads) / 1e9
    except OSError:
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)


def postgres_cpu(data: Path) -> float:
    """Seconds of CPU that the server in `data` has used; of ended backends what the sampled times know."""
    postmaster = psutil.Process(int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0]))
    times = postmaster.cpu_times()
    total = cpu_of(postmaster.pid) + times.children_user + times.children_system
    for child in postmaster.children():
        with suppress(psutil.NoSuchProcess):
            total += cpu_of(child.pid)
    return total
