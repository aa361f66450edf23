"""When a provider's limit ends, read from the sentence that says so."""

import re
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

SLACK = timedelta(minutes=1)
"""The sentence names minutes or hours; asking too early would fail again."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_EPOCH = re.compile(r"limit reached\|(?P<epoch>\d{10})\b")
_ISO = re.compile(r"\b(?P<date>20\d\d-\d\d-\d\d)(?:T| at | )(?P<time>\d\d:\d\d)(?::\d\d)?(?: ?(?:UTC|Z))?")
_SPOKEN = re.compile(
    r"""
    resets?\ (?:at\ |on\ )?
    (?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\ (?P<day>\d{1,2}),?\ (?:at\ )?
       (?:(?P<year>20\d\d),?\ (?:at\ )?)?)?
    (?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\ ?(?P<half>am|pm)?
    (?:\ ?\((?P<zone>[A-Za-z_/+\-0-9]+)\))?
    """,
    re.VERBOSE | re.IGNORECASE,
)


def seconds_until_reset(text: str, now: datetime) -> int | None:
    """How long to wait, at least a minute; None when the text names no time. `now` has a time zone."""
    try:
        moment = _moment(text, now)
    except (ValueError, OverflowError):
        return None
    return None if moment is None else max(60, round((moment + SLACK - now).total_seconds()))


def _moment(text: str, now: datetime) -> datetime | None:
    if found := _EPOCH.search(text):
        return datetime.fromtimestamp(int(found["epoch"]), UTC)
    if found := _ISO.search(text):
        return datetime.fromisoformat(f"{found['date']}T{found['time']}:00+00:00")
    if found := _SPOKEN.search(text):
        return _spoken(found, now)
    return None


def _spoken(found: re.Match[str], now: datetime) -> datetime:
    """`resets 4am (Asia/Tbilisi)`: the next time that it is so."""
    here = now.astimezone(_zone(found["zone"]))
    hour = int(found["hour"])
    if found["half"]:
        if hour > 12:
            raise ValueError("no such hour")
        hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
    clock = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
    if not found["month"]:
        return clock if clock > here else clock + timedelta(days=1)
    day = clock.replace(
        year=int(found["year"] or here.year), month=MONTHS.index(found["month"][:3].lower()) + 1, day=int(found["day"])
    )
    # Without a year: in January, `Dec 31` was yesterday, and in December `Jan 1` is next year.
    if not found["year"] and day < here - timedelta(days=180):
        return day.replace(year=day.year + 1)
    return day


def _zone(name: str | None) -> ZoneInfo | timezone:
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
