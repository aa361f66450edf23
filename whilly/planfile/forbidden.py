"""What no plan may contain anywhere, also under keys that are otherwise ignored."""

import re

from whilly.planfile.findings import Findings, Path
from whilly.planfile.problems import quoted
from whilly.planfile.syntax import RepeatedKeys, Unreal, nested_too_deeply

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def find_forbidden(document: object, findings: Findings) -> None:
    """Report repeated keys, NaN, NUL, halves of characters, and values nested too deeply."""
    waiting: list[tuple[object, Path]] = [(document, ())]
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, str):
            _check_text(value, place, "The text", findings)
        elif isinstance(value, Unreal):
            findings.problem(place, f"{value.name} is not a number that JSON knows", "Write a number, or null.")
        elif isinstance(value, (dict, list)) and len(place) >= findings.limits.depth:
            findings.problem(place, *nested_too_deeply(findings.limits.depth))
        elif isinstance(value, dict):
            if isinstance(value, RepeatedKeys):
                for key in value.repeated:
                    findings.problem(
                        (*place, (key, 1)), f"The key {quoted(key)} stands twice in the same object", "Keep one."
                    )
            for key, inner in value.items():
                _check_text(key, (*place, key), "The key", findings)
                waiting.append((inner, (*place, key)))
        elif isinstance(value, list):
            waiting.extend((inner, (*place, position)) for position, inner in enumerate(value))


def find_depth(value: object, place: Path, findings: Findings) -> None:
    """Report the first list or object in the value that is nested too deeply in the document."""
    layer = [(value, place)]
    while layer:
        value, place = layer.pop()
        if not isinstance(value, (dict, list)):
            continue
        if len(place) >= findings.limits.depth:
            findings.problem(place, *nested_too_deeply(findings.limits.depth))
            return
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        layer.extend((item, (*place, step)) for step, item in inner)


def has_forbidden_characters(text: str) -> bool:
    """Whether the text cannot be stored or encoded."""
    return bool(_UNSTORABLE.search(text))


def _check_text(text: str, place: Path, kind: str, findings: Findings) -> None:
    if text.isascii() and "\0" not in text:
        return
    if not (found := _UNSTORABLE.search(text)):
        return
    if found.group() == "\0":
        findings.problem(place, f"{kind} {quoted(text)} contains a NUL character", "Remove \\u0000.")
    else:
        half = f"\\u{ord(found.group()):04x}"
        findings.problem(
            place, f"{kind} {quoted(text)} contains half a character ({half})", "Write the whole pair, or remove it."
        )
