"""Nobody sleeps through work, and nobody is roused for nothing."""

import asyncio

import pytest

from whilly.server.wakeups import AT_ONCE, Wakeups

LINE = ("p", ("scripted",))


async def parked(wakeups: Wakeups, count: int, line: tuple[str, tuple[str, ...]] = LINE) -> list[asyncio.Task[bool]]:
    seen = wakeups.generation(line[0])
    tasks = [asyncio.create_task(wakeups.wait(line, seen, 30)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def settled(tasks: list[asyncio.Task[bool]]) -> int:
    """How many of them are done once everything that could happen has happened."""
    for _ in range(5):
        await asyncio.sleep(0)
    return sum(task.done() for task in tasks)


async def gone(tasks: list[asyncio.Task[bool]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_wake_up_between_nothing_found_and_parked_is_not_lost() -> None:
    wakeups = Wakeups()
    seen = wakeups.generation("p")
    wakeups.wake("p")
    assert await wakeups.wait(LINE, seen, 30) is True
    assert len(wakeups) == 0


async def test_a_wake_up_for_all_plans_counts_for_each() -> None:
    wakeups = Wakeups()
    seen = wakeups.generation("p")
    wakeups.wake()
    assert await wakeups.wait(LINE, seen, 30) is True


async def test_another_plan_wakes_nobody() -> None:
    wakeups = Wakeups()
    waiting = await parked(wakeups, 1)
    wakeups.wake("q")
    assert await settled(waiting) == 0
    await gone(waiting)


async def test_time_is_over() -> None:
    assert await Wakeups().wait(LINE, 0, 0.01) is False


async def test_one_wake_up_rouses_a_few_and_each_success_one_more() -> None:
    wakeups = Wakeups()
    waiting = await parked(wakeups, 20)
    wakeups.wake("p")
    assert await settled(waiting) == AT_ONCE
    wakeups.pass_on(LINE)
    assert await settled(waiting) == AT_ONCE + 1
    await gone(waiting)
    assert len(wakeups) == 0


async def test_the_longest_waiting_comes_first() -> None:
    wakeups = Wakeups()
    waiting = await parked(wakeups, 3)
    wakeups.pass_on(LINE)
    await settled(waiting)
    assert [task.done() for task in waiting] == [True, False, False]
    await gone(waiting)


async def test_each_kind_of_worker_is_roused() -> None:
    wakeups = Wakeups()
    ours, theirs = await parked(wakeups, 10), await parked(wakeups, 1, ("p", ("claude",)))
    wakeups.wake("p")
    assert await settled(theirs) == 1
    await gone([*ours, *theirs])


async def test_one_that_is_roused_and_gives_up_in_the_same_moment_rouses_the_next() -> None:
    wakeups = Wakeups()
    first, second = await parked(wakeups, 2)
    wakeups.pass_on(LINE)
    first.cancel()
    assert await settled([second]) == 1
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_closing_sends_all_away() -> None:
    wakeups = Wakeups()
    waiting = await parked(wakeups, 30)
    wakeups.close()
    assert await settled(waiting) == 30
    assert not any(task.result() for task in waiting)
    assert await wakeups.wait(LINE, wakeups.generation("p"), 30) is False


async def test_the_safety_net_rouses_one_of_each_line() -> None:
    wakeups = Wakeups()
    ours, theirs = await parked(wakeups, 3), await parked(wakeups, 3, ("q", ("scripted",)))
    wakeups.look_again()
    assert (await settled(ours), await settled(theirs)) == (1, 1)
    await gone([*ours, *theirs])
