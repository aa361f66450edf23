"""How long something lasts, as it is typed."""

import re
from datetime import timedelta

from whilly.core.errors import BadSetting

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_FORM = re.compile(r"([1-9][0-9]{0,5})([mhdw])", re.ASCII)


def lifetime(text: str) -> timedelta:
    """`30m`, `12h`, `30d` or `2w`. Raises BadSetting."""
    form = _FORM.fullmatch(text.strip().lower())
    if form is None:
        raise BadSetting(f"{text!r} is no length of time; write a number and m, h, d or w, such as 12h or 30d.")
    return int(form[1]) * _UNITS[form[2]]
