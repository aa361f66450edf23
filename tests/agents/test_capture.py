"""Head and tail of outputs of any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.agents.capture import Capture

TEXT = "aé漢🚀" * 6


def captured(data: bytes, sizes: list[int], head: int = 16, tail: int = 16) -> Capture:
    capture = Capture(head, tail)
    position = 0
    for size in [*sizes, len(data)]:
        capture.feed(data[position : position + size])
        position += size
    return capture


@given(st.text(max_size=60), st.lists(st.integers(0, 9)))
def test_what_fits_is_kept_whole(text: str, sizes: list[int]) -> None:
    data = text.encode("utf-8", "replace")
    kept = captured(data, sizes, 160, 160).captured()
    assert kept.text == data.decode()
    assert kept.size == len(data)


@given(st.lists(st.integers(0, 40)), st.integers(0, 30), st.integers(0, 30))
def test_no_character_is_split(sizes: list[int], head: int, tail: int) -> None:
    kept = captured(TEXT.encode(), sizes, head, tail).captured()
    assert TEXT.startswith(kept.head)
    assert TEXT.endswith(kept.tail)
    assert kept.size == len(TEXT.encode())


def test_what_is_left_out_is_counted() -> None:
    capture = captured(b"a" * 16 + b"b" * 1000 + b"c" * 16, [5] * 300)
    assert capture.captured().text == f"{'a' * 16}\n[… 1000 bytes left out …]\n{'c' * 16}"


@pytest.mark.parametrize("data", [b"\xff\xfe\xe9", b"ok\xf0\x9f", b"\x00\x00", b"\x80" * 40])
def test_broken_bytes_survive(data: bytes) -> None:
    kept = captured(data, [1] * 40).captured()
    kept.text.encode()
    assert kept.size == len(data)


def test_memory_is_bounded() -> None:
    capture = Capture(1000, 1000)
    for _ in range(10_000):
        capture.feed(b"x" * 997)
    assert capture.size == 9_970_000
    assert len(capture.captured().text) < 2100
