"""Makes what agents and checks print fit to be shown."""

from whilly.core.terminal import clean, one_line


def shortened(text: str, most: int) -> str:
    """At most so many characters and a note; the middle gives way."""
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}\n[… {len(text) - most} characters left out …]\n{text[len(text) - (most - head) :]}"


def newest_line(text: str, most: int = 160) -> str:
    """The last line with something to read, fit for a list; empty when there is none."""
    for line in reversed(clean(text[-4000:]).splitlines()):
        if seen := one_line(line, most):
            return seen
    return ""
