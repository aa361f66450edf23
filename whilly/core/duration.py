"""Times as people say them. Never negative: clocks disagree, and a wait that is over is over."""

from datetime import UTC, datetime

_UNITS = ((86_400, "day", "days"), (3_600, "h", "h"), (60, "min", "min"))


def in_words(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h`, `2 days`; rounded down, at least `0 s`."""
    whole = max(int(seconds), 0)
    for size, one, many in _UNITS:
        if whole >= size:
            count = whole // size
            return f"{count} {one if count == 1 else many}"
    return f"{whole} s"


def until(moment: datetime, now: datetime) -> str:
    """`until 04:00 UTC (in 12 min)`; with the date when it is not today, with seconds when it is close."""
    then, today = moment.astimezone(UTC), now.astimezone(UTC)
    seconds = (then - today).total_seconds()
    clock = "%H:%M:%S" if seconds < 120 else "%H:%M"
    day = "" if then.date() == today.date() else "%Y-%m-%d "
    return f"until {then.strftime(day + clock)} UTC (in {in_words(seconds)})"
