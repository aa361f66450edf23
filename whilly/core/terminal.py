"""What may reach a terminal. Everything that Whilly did not write itself passes through `clean` before it is shown."""

import re

_SEQUENCES = re.compile(
    r"""
      (?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])      # a control string begins: OSC, DCS, SOS, PM or APC
      [^\x07\x0a\x0d\x1b\x80-\x9f]*             # its content stays on one line
      (?:\x07|\x1b\\|\x9c)                      # and it ends
    | (?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?         # CSI: colours, cursor, modes
    | \x1b[ -/]*[0-~]?                          # the short ones: reset, save cursor, character sets
    """,
    re.VERBOSE,
)
_INTRODUCER = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f]")
_CARRIAGE_RETURN = re.compile(r"\r+(?=\n)|\r+\Z")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    r"""The text without anything that a terminal would act upon; `\n` and `\t` stay.

    Gone are escape sequences (also cut-off ones, where only the introducer goes and what follows stays readable),
    control characters and the characters that reorder text. A carriage return in the middle of a line, with which
    progress bars overwrite it, becomes a line break. Half a surrogate pair becomes U+FFFD, so that it can be encoded.
    Cleaning twice changes nothing.
    """
    if _INTRODUCER.search(text):
        text = _SEQUENCES.sub("", text)
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
    if "\r" in text:
        text = _CARRIAGE_RETURN.sub("", text).replace("\r", "\n")
    return _FORBIDDEN.sub("", text)


def one_line(text: str, limit: int = 200) -> str:
    """The cleaned text on one line, cut to `limit` characters with an ellipsis; for lists, badges and sentences."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"
