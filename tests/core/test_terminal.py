import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.terminal import clean, one_line

FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
PIECES = st.sampled_from(
    [
        "\x1b",
        "[",
        "]",
        "0;",
        "31m",
        "\x07",
        "\\",
        "P",
        "\x9b",
        "\x9d",
        "\x9c",
        "\r",
        "\n",
        "\t",
        "?2004h",
        "\u202e",
        "é",
    ]
)
ANY_TEXT = st.text(st.characters(exclude_categories=[])) | st.lists(PIECES | st.text(max_size=3)).map("".join)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("red", "\x1b[31mred\x1b[0m"),
        ("red", "\x1b[38;2;255;0;0mred\x1b[m"),
        ('{"type":1}', '\x1b[?2004h{"type":1}'),
        ("agent", "\x1b]0;title\x07agent"),
        ("agent", "\x1b]2;title\x1b\\agent"),
        ("agent", "\x9d0;title\x9cagent"),
        ("link", "\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\"),
        ("after", "\x1bPq#0;2;0;0;0\x1b\\after"),
        ("after", "\x1b_apc\x1b\\after"),
        ("gone up", "gone\x1b[2A\x1b[K up"),
        ("set", "\x1b(Bset\x1b7\x1b8"),
        ("reset", "\x1bcreset"),
        ("bell", "be\x07ll"),
        ("backspace", "back\x08space"),
        ("c1 csi", "c1\x9b2J csi"),
        ("one\ntwo", "one\r\ntwo"),
        ("10%\n20%", "10%\r20%\r"),
        ("a\tb\nc", "a\tb\nc"),
        ("0;title never ends", "\x1b]0;title never ends"),
        ("0;title\nstays", "\x1b]0;title\nstays\x07"),
        ("", "\x1b[31"),
        ("", "\x1b"),
        ("txt.exe", "\u202etxt.exe\u202c"),
        ("half \ufffd", "half \ud83d"),
        ("nul", "n\x00ul"),
        ("修复登录问题 🚀 العنوان é", "修复登录问题 🚀 العنوان é"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
    ],
)
def test_only_readable_text_is_left(shown: str, text: str) -> None:
    assert clean(text) == shown


@given(ANY_TEXT)
def test_nothing_that_a_terminal_acts_upon_survives(text: str) -> None:
    assert not FORBIDDEN.search(clean(text))


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(ANY_TEXT)
def test_cleaned_text_can_be_written_as_utf_8(text: str) -> None:
    clean(text).encode("utf-8")


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf"])))
def test_plain_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


@given(st.text(), st.integers(1, 50))
def test_a_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert not any(unicodedata.category(character) == "Cc" for character in line)


def test_a_long_line_says_that_it_was_cut() -> None:
    assert one_line("word " * 20, 11) == "word word…"


def test_many_unfinished_sequences_take_no_longer_than_their_length() -> None:
    assert clean("\x1b]" * 200_000) == ""
    assert clean("\x1b[" + "0" * 400_000) == ""
