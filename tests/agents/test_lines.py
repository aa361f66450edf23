"""Lines out of any pieces."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.agents.lines import Line, Lines, LineSplitter


def split(data: bytes, piece: int, longest: int = 10**9) -> list[Line]:
    splitter = LineSplitter(longest)
    lines = []
    for start in range(0, len(data), piece):
        lines += splitter.feed(data[start : start + piece])
    return lines + splitter.flush()


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
def test_line_ends_of_all_kinds(piece: int) -> None:
    lines = split("one\ntwo\r\n\n\r\n  \nthr🚀ee".encode(), piece)
    assert [line.text for line in lines] == ["one", "two", "thr🚀ee"]
    assert all(line.whole for line in lines)


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))), st.integers(1, 9))
def test_reassembly(texts: list[str], piece: int) -> None:
    data = "\n".join(texts).encode()
    assert [line.text for line in split(data, piece)] == [text for text in texts if text.encode().strip()]


def test_a_long_line_in_tiny_writes() -> None:
    line = b'{"x": "' + b"y" * (5 * 1024 * 1024) + b'"}'
    assert [found.text.encode() for found in split(line + b"\nnext\n", 7)] == [line, b"next"]


def test_beyond_the_cap_a_line_is_cut_and_its_size_told() -> None:
    lines = split(b"a" * 1000 + b"\nshort\n" + b"b" * 100 + b"\r\n", 64, longest=100)
    assert [(line.text, line.size, line.whole) for line in lines] == [
        ("a" * 100, 1000, False),
        ("short", 5, True),
        ("b" * 100, 101, False),
    ]


def test_broken_text_becomes_replacement_characters() -> None:
    assert [line.text for line in split(b"\xff\xfe ok\nnul \x00\n", 2)] == ["\ufffd\ufffd ok", "nul \x00"]


async def test_a_sink_of_lines() -> None:
    taken = []

    async def take(line: Line) -> bool:
        await asyncio.sleep(0)
        taken.append(line.text)
        return line.text != "noise"

    lines = Lines(take)
    assert await lines.write(b"on")
    assert await lines.write(b"e\nnoise\n")
    assert not await lines.write(b"noise\n")
    assert await lines.write(b"last")
    await lines.end()
    assert taken == ["one", "noise", "noise", "last"]
