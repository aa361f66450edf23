import asyncio
from collections.abc import Sequence

import pytest

from whilly.client.errors import Rejected, Unreachable
from whilly.wire.work import Problem
from whilly.worker.outbox import Outbox


class Wire:
    """Takes batches, unless told to fail."""

    def __init__(self) -> None:
        self.taken: list[list[str]] = []
        self.failures: list[Exception] = []

    async def send(self, batch: Sequence[str]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.taken.append(list(batch))


def box(wire: Wire, linger: float = 5) -> Outbox[str]:
    return Outbox("letters", wire.send, weigh=len, linger_seconds=linger)


async def test_what_comes_together_goes_together_and_in_order() -> None:
    wire = Wire()
    sent = box(wire)
    running = asyncio.create_task(sent.run())
    for letter in "abc":
        sent.put(letter)
    await sent.flush(5)
    running.cancel()
    assert wire.taken == [["a", "b", "c"]]


async def test_a_big_heap_goes_in_several_requests() -> None:
    wire = Wire()
    sent = box(wire)
    letters = [f"{number:03}" + "x" * 100_000 for number in range(7)]
    running = asyncio.create_task(sent.run())
    for letter in letters:
        sent.put(letter)
    await sent.flush(5)
    running.cancel()
    assert [letter for batch in wire.taken for letter in batch] == letters
    assert max(sum(map(len, batch)) for batch in wire.taken) <= 256 * 1024


async def test_an_outage_delays_and_loses_nothing() -> None:
    wire = Wire()
    wire.failures = [Unreachable("events", "no connection")] * 3
    sent = box(wire, linger=0)
    running = asyncio.create_task(sent.run())
    sent.put("a")
    await sent.flush(10)
    running.cancel()
    assert wire.taken == [["a"]]


async def test_what_cannot_be_sent_in_time_is_given_back() -> None:
    wire = Wire()
    wire.failures = [Unreachable("events", "no connection")] * 1000
    sent = box(wire, linger=0)
    running = asyncio.create_task(sent.run())
    sent.put("a")
    await sent.flush(0.05)
    running.cancel()
    assert sent.rest() == ("a",)


async def test_what_cannot_even_be_sent_ends_nothing_but_the_telling(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire()
    wire.failures = [ValueError("no such letter")]
    sent = box(wire, linger=0)
    running = asyncio.create_task(sent.run())
    sent.put("a")
    await sent.flush(10)
    assert not running.done()
    running.cancel()
    assert sent.lost == 1
    assert "no such letter" in caplog.text


async def test_a_refusal_is_counted_and_nothing_more_is_tried(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire()
    wire.failures = [Rejected(Problem("lease_lost", "Lease lost", 409, "The attempt is over."))]
    sent = box(wire, linger=0)
    running = asyncio.create_task(sent.run())
    sent.put("a")
    sent.put("b")
    await sent.flush(5)
    sent.put("c")
    running.cancel()
    assert sent.lost == 3
    assert wire.taken == []
    assert "2 letters are lost: The attempt is over." in caplog.text
