"""JSON for programs may be looked at in a terminal."""

import json

from hypothesis import given
from hypothesis import strategies as st

from whilly.cli.as_json import as_json
from whilly.core.terminal import clean

texts = st.text(st.characters(exclude_categories=[]), max_size=20)


@given(st.dictionaries(texts, texts | st.integers() | st.none(), max_size=4))
def test_no_terminal_acts_upon_it_and_nothing_is_lost(value: dict[str, object]) -> None:
    text = as_json(value)
    assert clean(text) == text
    text.encode("utf-8")
    assert json.loads(text) == value


def test_letters_of_all_scripts_are_themselves() -> None:
    assert as_json(["修复 é 🚀"]) == '["修复 é 🚀"]'
