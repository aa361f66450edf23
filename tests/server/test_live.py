"""Everybody who watches gets every event once, in the order of the log."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from unittest.mock import patch

import pytest

from tests.control_plane import Server, eventually
from whilly.operations.read_events import StoredEvent, end_of_log, events_after
from whilly.server import live as live_module
from whilly.server.frames import frame_of, note
from whilly.store.database import Database

Frame = dict[str, str]


class Reader:
    """Takes frames from a stream, as a browser would."""

    def __init__(self, pieces: AsyncGenerator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = b""
        self.comments = 0

    async def next(self, seconds: float = 10) -> Frame:
        async with asyncio.timeout(seconds):
            while True:
                while b"\n\n" in self._buffer:
                    raw, self._buffer = self._buffer.split(b"\n\n", 1)
                    if raw.startswith(b":"):
                        self.comments += 1
                        continue
                    lines = raw.decode().split("\n")
                    return dict(line.split(": ", 1) for line in lines)
                self._buffer += await anext(self._pieces)

    async def positions(self, count: int) -> list[int]:
        return [int((await self.next())["id"]) for _ in range(count)]


async def tell(database: Database, count: int, plan: str = "p", kind: str = "agent.note", size: int = 1) -> None:
    async with database.transaction() as tx:
        for number in range(count):
            tx.tell(plan, None, kind, {"number": number, "text": "x" * size})


async def numbered(server: Server, count: int) -> None:
    """Until the log has so many events."""
    server.engine.wrote()

    async def there() -> bool:
        return await end_of_log(server.database) >= count

    await eventually(there)


async def test_an_event_is_a_frame_with_type_and_position(server: Server) -> None:
    async with aclosing(server.engine.live.stream(None, "0")) as pieces:
        reader = Reader(pieces)
        await tell(server.database, 1, kind="agent.note")
        server.engine.wrote()
        frame = await reader.next()
        data = json.loads(frame["data"])
        assert (frame["event"], frame["id"]) == ("agent.note", "1")
        assert set(data) == {"event_id", "event_type", "plan_id", "task_id", "at", "payload"}
        assert (data["event_id"], data["plan_id"]) == (1, "p")


async def test_without_a_last_event_id_only_what_comes(server: Server) -> None:
    await tell(server.database, 5)
    await numbered(server, 5)
    async with aclosing(server.engine.live.stream(None, None)) as pieces:
        reader = Reader(pieces)
        await anext(pieces)
        await tell(server.database, 1)
        server.engine.wrote()
        assert (await reader.next())["id"] == "6"


async def test_what_was_missed_comes_in_pages_and_then_what_is_new(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "PAGE", 10)
    await tell(server.database, 35)
    await numbered(server, 35)
    async with aclosing(server.engine.live.stream(None, "3")) as pieces:
        reader = Reader(pieces)
        assert await reader.positions(32) == list(range(4, 36))
        await tell(server.database, 3)
        server.engine.wrote()
        assert await reader.positions(3) == [36, 37, 38]


async def test_too_much_missed_is_said_and_the_stream_goes_on(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "PAGE", 10)
    monkeypatch.setattr(live_module, "REPLAY_CAP", 20)
    await tell(server.database, 50)
    await numbered(server, 50)
    async with aclosing(server.engine.live.stream(None, "0")) as pieces:
        reader = Reader(pieces)
        assert await reader.positions(20) == list(range(1, 21))
        frame = await reader.next()
        said = json.loads(frame["data"])
        assert frame["event"] == "replay_truncated"
        assert (said["missed_after_id"], said["cap"], frame["id"]) == (20, 20, "50")
        await tell(server.database, 1)
        server.engine.wrote()
        assert await reader.positions(1) == [51]


async def test_just_as_much_as_the_cap_is_no_reason_to_begin_anew(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "PAGE", 10)
    monkeypatch.setattr(live_module, "REPLAY_CAP", 20)
    await tell(server.database, 20)
    await numbered(server, 20)
    async with aclosing(server.engine.live.stream(None, "0")) as pieces:
        reader = Reader(pieces)
        assert await reader.positions(20) == list(range(1, 21))
        await tell(server.database, 1)
        server.engine.wrote()
        assert await reader.positions(1) == [21]


async def test_large_events_come_in_pieces(server: Server) -> None:
    """What a slow reader has not taken yet stays where it exists once for all."""
    await tell(server.database, 30, size=60_000)
    await numbered(server, 30)
    async with (
        aclosing(server.engine.live.stream(None, "0")) as missed,
        aclosing(server.engine.live.stream(None, None)) as fresh,
    ):
        await anext(fresh)
        following = asyncio.ensure_future(anext(fresh))

        async def joined() -> bool:
            return len(server.engine.live) == 1

        await eventually(joined)
        await tell(server.database, 30, size=60_000)
        await numbered(server, 60)
        sizes = [len(await following)]
        while sum(sizes) < 30 * 60_000:
            sizes.append(len(await anext(fresh)))
        seen = b""
        while b"id: 30\n" not in seen:
            sizes.append(len(piece := await anext(missed)))
            seen += piece
    assert max(sizes) < live_module.LARGEST_PIECE + 70_000


async def test_a_database_that_goes_away_in_the_replay_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_arguments: object) -> None:
        raise ConnectionRefusedError("nobody there")

    monkeypatch.setattr(live_module, "events_after", away)
    async with aclosing(server.engine.live.stream(None, "0")) as pieces:
        frame = await Reader(pieces).next()
        assert frame["event"] == "error"
        assert json.loads(frame["data"]) == {"reason": "db_error_during_replay", "close_code": 1011}


@pytest.mark.parametrize("last", ["999", "-1", "abc", "", "1e3", "٣", "9" * 40, "1; drop"])
async def test_a_last_event_id_that_means_nothing_gets_one_reset(server: Server, last: str) -> None:
    await tell(server.database, 2)
    await numbered(server, 2)
    async with aclosing(server.engine.live.stream(None, last)) as pieces:
        reader = Reader(pieces)
        frame = await reader.next()
        assert (frame["event"], json.loads(frame["data"])["position"]) == ("reset", 2)
        await tell(server.database, 1)
        server.engine.wrote()
        assert await reader.positions(1) == [3]


async def test_a_stream_of_one_plan_has_no_other(server: Server) -> None:
    await tell(server.database, 3, plan="q")
    await numbered(server, 3)
    async with aclosing(server.engine.live.stream("p", "0")) as pieces:
        reader = Reader(pieces)
        await tell(server.database, 2, plan="q")
        await tell(server.database, 1, plan="p")
        server.engine.wrote()
        assert json.loads((await reader.next())["data"])["plan_id"] == "p"


async def test_whoever_reads_too_slowly_is_told_and_sent_away(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "LARGEST_QUEUE", 5)
    async with aclosing(server.engine.live.stream(None, None)) as pieces:
        await anext(pieces)
        joined = asyncio.ensure_future(anext(pieces))

        async def watching() -> bool:
            return len(server.engine.live) == 1

        await eventually(watching)
        await tell(server.database, 9)
        await numbered(server, 9)
        frame = await joined
        assert b"event: error" in frame
        assert b"1015" in frame
        assert b"subscriber_dropped" in frame
        with pytest.raises(StopAsyncIteration):
            await anext(pieces)
    assert len(server.engine.live) == 0


async def test_many_watchers_while_eight_write_and_some_take_back(server: Server) -> None:
    """Commits out of order and rollbacks: every watcher still gets the log, whole and in order."""
    streams = [server.engine.live.stream(None, "0") for _ in range(5)]
    readers = [Reader(stream) for stream in streams]

    async def write(writer: int) -> None:
        for number in range(20):
            try:
                async with server.database.transaction() as tx:
                    tx.tell("p", None, "agent.note", {"writer": writer, "number": number})
                    await tx.flush()
                    if number % 5 == 4:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                continue
            server.engine.wrote()

    reading = [asyncio.create_task(reader.positions(128)) for reader in readers]
    await asyncio.gather(*(write(writer) for writer in range(8)))
    seen = await asyncio.gather(*reading)
    stored = [event.position for event in await events_after(server.database, 0, None, 1_000)]
    assert stored == list(range(1, 129))
    assert all(positions == stored for positions in seen)
    for stream in streams:
        await stream.aclose()
    assert len(server.engine.live) == 0


async def test_coming_back_at_any_point_gives_exactly_the_rest(server: Server) -> None:
    await tell(server.database, 30)
    await numbered(server, 30)
    for left_at in range(0, 31, 3):
        async with aclosing(server.engine.live.stream("p", str(left_at))) as pieces:
            await tell(server.database, 1)
            await numbered(server, 31 + left_at // 3)
            expected = list(range(left_at + 1, 32 + left_at // 3))
            assert await Reader(pieces).positions(len(expected)) == expected


async def test_what_happens_while_a_replay_ends_is_not_passed_over(server: Server) -> None:
    """Between the last page of what was missed and joining the others, they get an event."""
    await tell(server.database, 3)
    await numbered(server, 3)
    async with aclosing(server.engine.live.stream(None, "3")) as others:
        fourth = asyncio.create_task(Reader(others).positions(1))
        await eventually(lambda: watched(server, 1))
        happened: list[int] = []

        async def late(
            database: Database, position: int, plan: str | None = None, limit: int = 100
        ) -> list[StoredEvent]:
            page = await events_after(database, position, plan, limit)
            if plan == "p" and not happened:
                happened.append(1)
                await tell(server.database, 1)
                await numbered(server, 4)
                assert await fourth == [4]
            return page

        with patch.object(live_module, "events_after", late):
            async with aclosing(server.engine.live.stream("p", "0")) as pieces:
                assert await Reader(pieces).positions(4) == [1, 2, 3, 4]


async def test_who_read_further_than_the_others_hears_nothing_twice(server: Server) -> None:
    """The one who comes back has already seen what those who follow are still to get."""

    async def blind(database: Database, position: int, plan: str | None = None, limit: int = 100) -> list[StoredEvent]:
        return [] if plan is None else await events_after(database, position, plan, limit)

    async with aclosing(server.engine.live.stream(None, None)) as others:
        fourth = asyncio.create_task(Reader(others).positions(4))
        await eventually(lambda: watched(server, 1))
        async with aclosing(server.engine.live.stream("p", "0")) as pieces:
            reader = Reader(pieces)
            with patch.object(live_module, "events_after", blind):
                await tell(server.database, 3)
                await numbered(server, 3)
                assert await reader.positions(3) == [1, 2, 3]
                next_one = asyncio.create_task(reader.positions(1))
                await eventually(lambda: watched(server, 2))
            await tell(server.database, 1)
            await numbered(server, 4)
            assert await next_one == [4]
        assert await fourth == [1, 2, 3, 4]


async def watched(server: Server, count: int) -> bool:
    return len(server.engine.live) == count


async def test_a_page_is_nudged_at_once_and_then_not_for_every_event(server: Server) -> None:
    async with aclosing(server.engine.live.nudges("p")) as pieces:
        reader = Reader(pieces)
        assert (await reader.next())["event"] == "changed"
        await tell(server.database, 40)
        await numbered(server, 40)
        assert (await reader.next())["event"] == "changed"
        server.engine.live.touch("q")
        server.engine.live.touch("p")
        assert (await reader.next())["event"] == "changed"


async def test_a_quiet_stream_shows_that_it_lives(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "HEARTBEAT", 0.01)
    async with aclosing(server.engine.live.stream(None, None)) as pieces:
        assert [await anext(pieces) for _ in range(3)] == [b": still here\n\n"] * 3


async def test_closing_ends_all_streams(server: Server) -> None:
    stream = server.engine.live.stream(None, None)
    await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    await eventually(lambda: _count(server, 1))
    server.engine.live.close()
    with pytest.raises(StopAsyncIteration):
        await waiting


async def test_a_huge_payload_is_left_out_and_marked(server: Server) -> None:
    await tell(server.database, 1, size=100_000)
    await numbered(server, 1)
    (event,) = await events_after(server.database, 0)
    frame = frame_of(event)
    assert len(frame.content) < 500
    assert b'"truncated":true' in frame.content


def test_a_line_break_in_a_type_starts_no_field() -> None:
    frame = note("agent.x\r\nevent: COMPLETE\n\ndata: {}", {"text": "a\n\nb"})
    assert frame.count(b"\n\n") == 1
    assert frame.count(b"\nevent:") == 0
    assert frame.startswith(b"event: agent.xevent:COMPLETEdata:{}\n")


async def _count(server: Server, count: int) -> bool:
    return len(server.engine.live) == count
