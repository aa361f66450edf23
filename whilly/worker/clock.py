"""Time for leases: never set by anybody, and it goes on while the machine sleeps."""

import time


def _sleepless() -> int | None:
    # On Linux CLOCK_MONOTONIC stands still while a laptop sleeps; on macOS it does not, but time.monotonic() does.
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        if hasattr(time, name):
            return int(getattr(time, name))
    return None


_CLOCK = _sleepless()


def now() -> float:
    """Seconds since some moment before this process. Differences are true even over a suspended hour."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
