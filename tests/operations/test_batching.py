"""Requests that share a statement share nothing else."""

import asyncio
from collections.abc import Sequence

import pytest

from whilly.operations.batching import Batcher


class Work:
    """Doubles numbers; refuses a batch with a 13 in it, and fails altogether while `away`."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.away = False

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        await asyncio.sleep(0)
        if self.away:
            raise ConnectionRefusedError("nobody listens")
        if 13 in numbers:
            raise ValueError("thirteen")
        return [2 * number for number in numbers]


async def ask(batcher: Batcher[int, int], *numbers: int) -> list[int | BaseException]:
    return await asyncio.gather(*map(batcher.submit, numbers), return_exceptions=True)


async def test_what_comes_together_goes_together() -> None:
    work = Work()

    assert await ask(Batcher(work), 1, 2, 3) == [2, 4, 6]
    assert work.batches == [[1, 2, 3]]


async def test_one_that_cannot_be_done_spoils_no_other() -> None:
    first, bad, last = await ask(Batcher(Work()), 1, 13, 3)

    assert (first, last) == (2, 6)
    assert isinstance(bad, ValueError)


async def test_an_outage_is_not_tried_for_each_alone() -> None:
    work = Work()
    work.away = True

    answers = await ask(Batcher(work), 1, 2, 3)

    assert all(isinstance(answer, ConnectionRefusedError) for answer in answers)
    assert len(work.batches) == 1


async def test_one_that_nobody_waits_for_any_more_is_left_out() -> None:
    work = Work()
    batcher: Batcher[int, int] = Batcher(work)
    given_up = asyncio.ensure_future(batcher.submit(1))
    await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up

    assert await batcher.submit(2) == 4
