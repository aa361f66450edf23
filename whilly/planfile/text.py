"""Bytes to text. A byte order mark stays as the first character, so that offsets can be computed back."""

import json

from whilly.planfile.findings import Findings
from whilly.planfile.limits import size_of

BYTE_ORDER_MARK = "\ufeff"


def text_of(data: bytes, findings: Findings) -> str | None:
    """The file as text; None when there is nothing to go on with. Bytes that are no UTF-8 become U+FFFD."""
    largest = findings.limits.file_bytes
    if len(data) > largest:
        findings.problem(
            1,
            f"The file is larger than {size_of(largest)}, the most that is read",
            "Split the plan, or raise the limit.",
        )
        return None
    if not data.strip():
        findings.problem(1, "The file is empty, so it is not JSON", _AN_OBJECT)
        return None
    if not data.strip(b"\0"):
        findings.problem(1, "The file consists of NUL bytes only, so it is not JSON", "Restore it from a backup.")
        return None
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8"):
        findings.problem(1, f"The file is encoded as {encoding[:6].upper()}, not as UTF-8", "Save it as UTF-8.")
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if error.end == len(data) and error.reason == "unexpected end of data":
            what = f"The file is truncated: it ends at byte offset {len(data)} in the middle of a character"
            findings.problem(line, what, "Copy or write it again; nothing was taken from it.")
            return None
        what = f"The byte 0x{data[error.start]:02X} at byte offset {error.start} is not UTF-8"
        findings.problem(line, what, "Save the file as UTF-8.")
        return data.decode("utf-8", "replace")


_AN_OBJECT = 'A plan is one JSON object: {"project": "…", "tasks": […]}.'
