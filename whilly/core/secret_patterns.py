"""How credentials look when nobody told us their value: one row per kind, found by its fixed beginning.

Each expression starts with at least two fixed characters, which Python's `re` searches at memory speed; a union of all
of them would be ten times slower. Quantifiers are bounded or cannot overlap, so hostile text costs linear time.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Confirm = Callable[[str, re.Match[str]], bool]


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """One look of a credential. Its named group is hidden, else the whole match."""

    kind: str
    expression: re.Pattern[str]
    confirm: Confirm | None = None
    """Looks at the surroundings, where the match alone would cry wolf."""
    strong: bool = True
    """Whether a match is a credential beyond doubt; a password in a URL may be an example."""


def strong_kind_in(text: str) -> str | None:
    """The kind of the first credential beyond doubt, for refusing it; None when there is none."""
    return next((pattern.kind for pattern in PATTERNS if pattern.strong and pattern.expression.search(text)), None)


def find_patterns(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Where credentials are: start, end, kind, and whether it is one beyond doubt. Unordered; may overlap."""
    for pattern in PATTERNS:
        for match in pattern.expression.finditer(text):
            if pattern.confirm is None or pattern.confirm(text, match):
                start, end = match.span(match.lastgroup or 0)
                yield start, end, pattern.kind, pattern.strong


def _begins(prefix: str) -> str:
    r"""The prefix where a word begins; an escaped line break (`\n`, `%0A`) in front of it counts as one."""
    return rf"{prefix}(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrt]{prefix})|(?<=%[0-9A-Fa-f]{{2}}{prefix}))"


def _with_digit(letters: str, least: int) -> str:
    """A run of at least `least` of the letters, with a digit among the first hundred: words and names have none."""
    return rf"(?=[{letters}]{{0,100}}[0-9])[0-9{letters}]{{{least},}}"


def _in_connection_string(text: str, match: re.Match[str]) -> bool:
    """Whether `password=` stands among other keywords of a connection string: `host=db user=me password=…`."""
    earliest = max(match.start() - 120, 0)
    line_start = max(text.rfind("\n", earliest, match.start()) + 1, earliest)
    return bool(_KEYWORDS_BEFORE.search(text[line_start : match.start()]) or _KEYWORDS_AFTER.match(text, match.end()))


_KEYWORDS_BEFORE = re.compile(r"\b(?:host|hostaddr|port|user|dbname|sslmode)=[^\s,;()]+\s+(?:\w+=[^\s,;()]+\s+)*[pP]\Z")
_KEYWORDS_AFTER = re.compile(r"[^\S\n]+(?:host|hostaddr|port|user|dbname|sslmode)=[^\s,;()]")

_WORD = "A-Za-z._~+/=-"
_ASSIGNED = r"""["']?[ \t]*[:=]>?[ \t]*["']?"""
_SCHEME = r"""(?:[Bb]asic|BASIC|[Bb]earer|BEARER|[Tt]oken|[Dd]igest|[Aa]pi[Kk]ey)(?:[ \t]+|%20)"""


def _rows() -> Iterator[SecretPattern]:
    def row(kind: str, expression: str, confirm: Confirm | None = None, *, strong: bool = True) -> SecretPattern:
        return SecretPattern(kind, re.compile(expression), confirm, strong)

    yield row("whilly_token", r"whl_[a-z]{2}_[0-9A-Za-z]{20,}")
    yield row("github_token", r"gh[pousr]_[A-Za-z0-9]{36,}")
    yield row("github_token", r"github_pat_[A-Za-z0-9_]{22,}")
    yield row("gitlab_token", r"gl(?:pat|rt|cbt|dt|ptt|soat|ft|imt|agent)-[A-Za-z0-9_.-]{20,}")
    yield row("anthropic_key", r"sk-ant-[A-Za-z0-9_-]{20,}")
    yield row("api_key", _begins("sk-") + _with_digit("A-Za-z_-", 20))
    yield row("slack_token", r"xox(?:[abeoprs]-|e\.xox[bp]-)[A-Za-z0-9-]{10,}")
    yield row("slack_token", r"xapp-[0-9]-[A-Za-z0-9-]{10,}")
    yield row("aws_key_id", _begins("AKIA") + r"[A-Z0-9]{16}(?![A-Za-z0-9])")
    yield row("aws_key_id", _begins("ASIA") + r"[A-Z0-9]{16}(?![A-Za-z0-9])")
    for word in ("ecret", "ECRET"):
        value = r"(?![0-9a-f]{40})(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        yield row("aws_secret_key", rf"{word}[A-Za-z_ -]{{0,20}}{_ASSIGNED}{value}")
    yield row("google_key", _begins("AIza") + r"[A-Za-z0-9_-]{35}")
    yield row("npm_token", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])")
    yield row("pypi_token", r"pypi-AgE[A-Za-z0-9_-]{50,}")
    yield row("vault_token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}")
    yield row("buildkite_token", r"bk(?:ua|aj|jat|ajt)_[A-Za-z0-9_.-]{20,}")
    yield row("jwt", _begins("eyJ") + r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}")
    for word in ("earer", "EARER"):
        yield row("bearer", rf"{word}(?:[ \t]+|%20)(?P<secret>{_with_digit(_WORD, 16)})", strong=False)
    for word in ("uthorization", "UTHORIZATION"):
        named = rf"""{_SCHEME}(?P<secret>[^\s"',;$<{{(\[%*][^\s"',;]{{7,}})"""
        yield row("authorization", rf"{word}{_ASSIGNED}(?:{named}|(?P<bare>{_with_digit(_WORD, 16)}))", strong=False)
    for word in ("ookie", "OOKIE"):
        value = r"""(?P<secret>[A-Za-z0-9_.-]{1,100}=(?!=)[^\s"'<{$(\[][^\r\n"']{5,})"""
        yield row("cookie", rf"""{word}["']?[ \t]*:[ \t]*["']?{value}""", strong=False)
    for word in ("pi-key", "pi-Key", "PI-KEY"):
        yield row("api_key", rf"{word}{_ASSIGNED}(?P<secret>{_with_digit(_WORD, 16)})", strong=False)
    yield row(
        "url_password",
        r"""://[^\s/@:"'<>{}$\[]{0,200}:(?P<secret>(?!\[redacted:)[^\s/@"'<>{}$]{1,500})@""",
        strong=False,
    )
    yield row("url_token", rf"://(?P<secret>{_with_digit('A-Za-z._~%-', 20)})@", strong=False)
    value = r"""(?P<secret>'[^'\n]{1,200}'|[^\s,;()'"$<{\[][^\s,;()'"]*)"""
    yield row("dsn_password", "assword=" + value, _in_connection_string, strong=False)
    for word in ("TOKEN=", "SECRET=", "PASSWORD=", "_KEY="):
        value = r"""["']?(?=[^\s\d]{0,100}[0-9])(?P<secret>[^\s"'$`<{(\[;&|][^\s"'`<>{}()\[\];&|]{7,})(?!\()"""
        yield row("environment", word + value, strong=False)
    yield row("url_token", rf"oken=(?P<secret>{_with_digit('A-Za-z._~%+/-', 16)})", strong=False)


PATTERNS = tuple(_rows())
