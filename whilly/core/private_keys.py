"""Private keys in PEM form, found line by line: a regular expression over whole blocks would be quadratic."""

import re
from collections.abc import Iterator

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LONG_RUN = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_SHORT_LINE = re.compile(r"""[^A-Za-z0-9+/=\n]{0,8}(?P<run>[A-Za-z0-9+/]+={0,2})(?:\\[nr])*[\s"',+\\]*""")
_HEADER_OR_BLANK = re.compile(r"[^\w\n]*(?:[A-Za-z][A-Za-z-]{2,20}: .*)?\s*")
_SAME_LINE = re.compile(
    r"""(?:(?:\\+[nr]|[ \t"',])*[A-Za-z0-9+/=]{16,})*          # the lines of the key, joined by escaped line breaks
        (?:(?:\\+[nr]|[ \t"',])*[A-Za-z0-9+/=]{1,15}(?=(?:\\+[nr]|[ \t"',])*-----END))?""",
    re.VERBOSE,
)
_REST_OF_LINE = re.compile(r"""(?:\\[nr])*[\s"',+\\]*\Z""")

MOST_LINES = 400
"""A key of 16,384 bits has about 200 lines; what goes on for longer is no key."""


class PrivateKeys:
    """Finds the content of private keys; remembers between pieces of text whether it is inside one."""

    def __init__(self) -> None:
        self._lines_left = 0

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of each piece of key material. A piece of text begins at the beginning of a line."""
        if not self._lines_left and "PRIVATE KEY" not in text:
            return
        start = 0
        while start < len(text):
            end = text.find("\n", start) + 1 or len(text)
            if self._lines_left:
                yield from self._inside(text, start, end)
            elif "PRIVATE KEY" not in text[start:end]:
                following = text.find("PRIVATE KEY", end)
                if following < 0:
                    return
                end = text.rfind("\n", end - 1, following) + 1
            else:
                yield from self._outside(text, start, end)
            start = end

    def _outside(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        for begin in _BEGIN.finditer(text, start, end):
            body = _SAME_LINE.match(text, begin.end(), end)
            if body and body.end() > body.start():
                yield body.span()
            rest = body.end() if body else begin.end()
            self._lines_left = MOST_LINES if _REST_OF_LINE.match(text, rest, end) else 0

    def _inside(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        self._lines_left -= 1
        if _END.search(text, start, end):
            self._lines_left = 0
        runs = [run.span() for run in _LONG_RUN.finditer(text, start, end)]
        if runs:
            yield from runs
        elif short := _SHORT_LINE.fullmatch(text, start, end):
            yield short.span("run")
        elif not _HEADER_OR_BLANK.fullmatch(text, start, end):
            self._lines_left = 0
