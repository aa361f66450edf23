import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.core.invisible import hidden_characters, made_visible


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("plain", "plain"),
        ("zero\u200bwidth", "zero[U+200B]width"),
        ("ig\u00adnore", "ig[U+00AD]nore"),
        ("\u202etxt.exe", "[U+202E]txt.exe"),
        ("\u2066isolated\u2069", "[U+2066]isolated[U+2069]"),
        ("mark\u200e", "mark[U+200E]"),
        ("join\u200dme", "join[U+200D]me"),
        ("tag\U000e0041\U000e0042", "tag[U+E0041][U+E0042]"),
        ("data\ufe01", "data[U+FE01]"),
        ("😀\U000e0100", "😀[U+E0100]"),
        ("line\u2028break", "line[U+2028]break"),
        ("👩\u200d💻 ❤\ufe0f 1\ufe0f", "👩\u200d💻 ❤\ufe0f 1\ufe0f"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("العنوان\u200f (1)", "العنوان\u200f (1)"),
        ("क्\u200dष", "क्\u200dष"),
        ("修复登录问题 ログイン修正 é", "修复登录问题 ログイン修正 é"),
    ],
)
def test_hidden_characters_are_spelled_out_and_useful_ones_stay(text: str, visible: str) -> None:
    assert made_visible(text) == visible
    assert bool(list(hidden_characters(text))) == ("[U+" in visible and "00AD" not in visible)


def test_a_byte_order_mark_at_the_beginning_is_nobody_hiding() -> None:
    assert not list(hidden_characters("\ufeffplain"))
    assert list(hidden_characters("pl\ufeffain")) == ["\ufeff"]


@given(st.text(st.characters(max_codepoint=0x7F) | st.sampled_from("\u200b\u200d\u202e\u2067\ufeff\U000e0020\u00ad")))
def test_nothing_stays_hidden_between_ascii_letters(text: str) -> None:
    assert not [character for character in made_visible(text) if unicodedata.category(character) == "Cf"]


@given(st.text())
def test_spelling_out_twice_changes_nothing(text: str) -> None:
    assert made_visible(made_visible(text)) == made_visible(text)
