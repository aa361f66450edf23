"""What the agent prints reaches the control plane whole, in order and without secrets."""

import asyncio
import json

import httpx2
import pytest

from tests.worker.until import until
from whilly.client.back_off import BackOff
from whilly.client.control_plane import ControlPlane
from whilly.core.assignment import AttemptKey
from whilly.core.redaction import Redactor
from whilly.worker import transcript
from whilly.worker.interrupt import beside
from whilly.worker.transcript import Transcript

KEY = AttemptKey("p", "T1", 1)


class Archive(httpx2.AsyncBaseTransport):
    """Takes pieces, as long as it is open."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, str]] = []
        self.closed = False
        self.requests = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        if self.closed:
            raise httpx2.ConnectError("closed")
        self.pieces += [(piece["number"], piece["text"]) for piece in json.loads(request.content)]
        return httpx2.Response(204)

    @property
    def text(self) -> str:
        assert [number for number, _ in self.pieces] == list(range(len(self.pieces)))
        return "".join(text for _, text in self.pieces)


def kept_in(archive: Archive, *secrets: str) -> Transcript:
    http = httpx2.AsyncClient(transport=archive, base_url="http://localhost")
    return Transcript(ControlPlane(http, back_off=BackOff(0.001, 0.01)), KEY, Redactor(secrets))


async def test_everything_arrives_in_order_however_it_was_cut() -> None:
    archive = Archive()
    kept = kept_in(archive)
    said = "".join(f"line {number} with é and 🚀\n" for number in range(5_000)) + "unfinished"
    async with beside(kept.run()):
        for start in range(0, len(said), 777):
            kept.add(said[start : start + 777])
            await asyncio.sleep(0)
        assert await kept.end(10) == ()
    assert archive.text == said


async def test_a_secret_that_was_printed_in_two_pieces_is_hidden() -> None:
    archive = Archive()
    kept = kept_in(archive, "correct-horse-battery")
    async with beside(kept.run()):
        kept.add("hello\nthe key is correct-ho")
        await until(lambda: archive.pieces)
        kept.add("rse-battery, keep it\n")
        await kept.end(10)
    assert "horse" not in archive.text
    assert archive.text.startswith("hello\nthe key is [redacted")


async def test_broken_characters_are_kept_in_letters() -> None:
    archive = Archive()
    kept = kept_in(archive)
    async with beside(kept.run()):
        kept.add("a\0b half \ud83d pair\n")
        await kept.end(10)
    assert archive.text == "a\\u0000b half \\ud83d pair\n"


async def test_what_cannot_be_sent_is_given_back_for_the_journal() -> None:
    archive = Archive()
    archive.closed = True
    kept = kept_in(archive)
    async with beside(kept.run()):
        kept.add("last words\n")
        (piece,) = await kept.end(0.2)
    assert (piece.number, piece.text) == (0, "last words\n")


async def test_what_does_not_fit_into_memory_is_counted_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MOST_WAITING", 1000)
    archive = Archive()
    archive.closed = True
    kept = kept_in(archive)
    async with beside(kept.run()):
        kept.add("a" * 899 + "\n")
        kept.add("b" * 500 + "\n")
        await until(lambda: archive.requests >= 2)
        archive.closed = False
        await until(lambda: archive.pieces)
        kept.add("c\n")
        await kept.end(10)
    assert archive.text == (
        "a" * 899 + "\n\n[… 501 characters were not kept: the control plane did not take them …]\nc\n"
    )
