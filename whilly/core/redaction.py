"""Secrets leave every text before it is stored or shown: the values that we know, then whatever looks like one."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from copy import copy

from whilly.core.private_keys import PrivateKeys
from whilly.core.secret_patterns import find_patterns
from whilly.core.secret_values import RECOGNISABLE, forms_of

LONGEST_LINE = 64 * 1024
"""Text without a line break is held back so long, in characters; then it is cut between two words."""

OVERLAP = 1024
"""What is held back of a line that had to be cut, so that a secret across the cut is seen whole."""

LONGEST_SECRET = 1024 * 1024
"""What looks like a longer one is none; it is cut like any other text."""

FARTHEST_CUT = 16 * 1024
"""How far back a cut looks for a place between two words."""

_BETWEEN_WORDS = re.compile(r"[^A-Za-z0-9_.~+/=%:@-](?=[A-Za-z0-9_.~+/=%:@-]*\Z)")

Span = tuple[int, int, str]
"""Start, end, and what is written instead."""


class Redactor:
    """Hides secrets in whole texts (`text`) and in one stream of chunks (`feed`, then `flush`).

    `values` are secrets that the process knows; values shorter than six characters are not hidden. They are found as
    they are, escaped for JSON or a URL, in base64 and in hexadecimal. A stream gives the same result as the whole text
    for any cut into chunks, as long as its lines are shorter than LONGEST_LINE.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._forms: dict[str, list[tuple[str, str]]] = {}
        for value in dict.fromkeys(values):
            mark = _mark("secret", value.strip())
            for form in forms_of(value):
                self._forms.setdefault(form[:RECOGNISABLE], []).append((form, mark))
        longest = max((len(form) for forms in self._forms.values() for form, _ in forms), default=0)
        self._overlap = max(OVERLAP, longest)
        self._start_over()

    def text(self, text: str) -> str:
        """The text with a mark such as `[redacted:github_token:1f2e3d4c]` in place of each secret.

        Equal secrets get equal marks. What a person may have chosen gets no digest, which would help to guess it.
        """
        keys = PrivateKeys()
        return "".join(_replaced(part, self._find(part, keys), 0, len(part)) for part in _in_lines(text))

    def feed(self, chunk: str) -> str:
        """What can be told of the stream so far, without secrets; the last unfinished line is held back."""
        self._held.append(chunk)
        self._held_length += len(chunk)
        if "\n" in chunk:
            text = "".join(self._held)
            done = text.rindex("\n") + 1
            return self._tell(text, done, self._find_in_stream(text[:done], self._keys), ends_line=True)
        if self._held_length > self._patience:
            return self._cut_line("".join(self._held))
        return ""

    def flush(self) -> str:
        """The rest of the stream; afterwards another one may begin."""
        text = "".join(self._held)
        told = self._tell(text, len(text), self._find_in_stream(text, self._keys), ends_line=True)
        self._start_over()
        return told

    def _start_over(self) -> None:
        self._keys = PrivateKeys()
        self._context = ""
        self._hold("")

    def _hold(self, text: str) -> None:
        self._held = [text]
        self._held_length = len(text)
        # Twice what is held: a long secret in small chunks is searched a few times, not once per chunk.
        self._patience = max(LONGEST_LINE + self._overlap, 2 * len(text))

    def _cut_line(self, text: str) -> str:
        spans = self._find_in_stream(text, copy(self._keys))
        done = len(text) - self._overlap
        between = _BETWEEN_WORDS.search(text, max(done - FARTHEST_CUT, 0), done)
        done = between.end() if between else done
        for start, end, _ in spans:
            if start < done < end and len(text) < LONGEST_SECRET:
                done = start
        return self._tell(text, done, spans, ends_line=False)

    def _find_in_stream(self, text: str, keys: PrivateKeys) -> list[Span]:
        """Spans in the text, seen together with the end of the line that was told already."""
        before = len(self._context)
        spans = self._find(self._context + text, keys)
        return [(max(start - before, 0), end - before, mark) for start, end, mark in spans if end > before]

    def _tell(self, text: str, done: int, spans: list[Span], *, ends_line: bool) -> str:
        self._context = "" if ends_line else (self._context + text[:done])[-self._overlap :]
        self._hold(text[done:])
        return _replaced(text, spans, 0, done)

    def _find(self, text: str, keys: PrivateKeys) -> list[Span]:
        spans = list(self._known(text))
        spans += (
            (start, end, _mark(kind, text[start:end] if strong else ""))
            for start, end, kind, strong in find_patterns(text)
        )
        spans += ((start, end, "[redacted:private_key]") for start, end in keys.find(text))
        return _without_overlaps(spans)

    def _known(self, text: str) -> Iterator[Span]:
        for beginning, forms in self._forms.items():
            start = text.find(beginning)
            while start >= 0:
                length, mark = max((_common(text, start, form), mark) for form, mark in forms)
                yield start, start + length, mark
                start = text.find(beginning, start + length)


def _in_lines(text: str) -> Iterator[str]:
    """Whole lines, in parts that fit into the processor's cache: twice as fast as one large text."""
    start = 0
    while start < len(text):
        end = text.rfind("\n", start, start + LONGEST_LINE) + 1 or text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _common(text: str, start: int, form: str) -> int:
    """How much of the form stands in the text at `start`."""
    if text.startswith(form, start):
        return len(form)
    there = text[start : start + len(form)]
    return next((at for at, (one, other) in enumerate(zip(there, form, strict=False)) if one != other), len(there))


def _mark(kind: str, value: str) -> str:
    if len(value) < RECOGNISABLE:
        return f"[redacted:{kind}]"
    return f"[redacted:{kind}:{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}]"


def _without_overlaps(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end, mark in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            first, last, name = joined[-1]
            joined[-1] = (first, max(last, end), name)
        else:
            joined.append((start, end, mark))
    return joined


def _replaced(text: str, spans: list[Span], start: int, end: int) -> str:
    pieces = []
    for first, last, mark in spans:
        if first >= end:
            break
        pieces += [text[start:first], mark]
        start = min(last, end)
    pieces.append(text[start:end])
    return "".join(pieces)


_SPELLED = re.compile(r"\\u(?=0000|005c|d[89a-f][0-9a-f]{2})")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u(0000|005c|d[89a-f][0-9a-f]{2})")


def storable(text: str) -> str:
    r"""Any text in a form that Postgres' `text` and `jsonb` accept: NUL and half surrogate pairs become `\u0000`-like.

    `restored` undoes it exactly, therefore a text that already spells such an escape has its backslash escaped. Apply
    it once, where the text is stored.
    """
    escaped = _SPELLED.sub(r"\\u005cu", text).replace("\0", r"\u0000")
    if escaped.isascii():
        return escaped
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", escaped)


def is_storable(text: str) -> bool:
    """Whether Postgres takes the text as it is."""
    return "\0" not in text and (text.isascii() or not _SURROGATE.search(text))


def restored(text: str) -> str:
    """The text that `storable` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
