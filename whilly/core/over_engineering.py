"""Words that promise more than anybody asked for."""

import re

_GRAND = re.compile(
    r"\b(?:abstraction|framework|generic|pluggable|plug-in architecture|future-?proof|scalable|extensible)\w*"
    r"|\b(?:абстракци|фреймворк|универсальн|расширяем|масштабируем|подключаем)\w*",
    re.IGNORECASE,
)


def grand_word(text: str) -> str:
    """The first such word as it stands there; empty when there is none."""
    found = _GRAND.search(text)
    return found[0] if found else ""
