"""Secrets that the worker's own environment names: agents get some of them, and may print what they know."""

import re
from collections.abc import Mapping

_NAMED_SO = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\Z", re.IGNORECASE)

SHORTEST = 12
"""Characters. Shorter values are words such as `disabled`, which stand in any text."""


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables with names like `ANTHROPIC_API_KEY`; a path to a key is none."""
    return tuple(
        value
        for name, value in sorted(environ.items())
        if _NAMED_SO.search(name) and len(value) >= SHORTEST and not value.startswith(("/", "~", "."))
    )
