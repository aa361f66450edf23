"""The log as a file: each event once, whatever is killed, full or gone meanwhile, and the work goes on."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_plan, a_task, done
from tests.control_plane import Server, eventually
from whilly.operations.import_plan import import_plan
from whilly.operations.read_events import events_after
from whilly.operations.sequence_events import sequence_events
from whilly.server.app import create_app
from whilly.server.loops import mirror as mirror_module
from whilly.server.loops.mirror import Mirror
from whilly.server.loops.mirror_files import Mark, MirrorFiles
from whilly.store.database import Database

Lines = list[dict[str, Any]]


def lines_of(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mirrored(folder: Path) -> Lines:
    """Everything in the folder, older files first."""
    older = sorted(folder.glob("whilly_events.0*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    return [line for path in (*older, folder / "whilly_events.jsonl") for line in lines_of(path)]


async def happens(database: Database, plan: str, tasks: int = 3) -> None:
    """Something worth mirroring."""
    await import_plan(database, a_plan(*(a_task(f"T{number}") for number in range(tasks)), plan=plan))
    for _ in range(tasks):
        await done(database, plan)
    while await sequence_events(database):
        pass


async def whole_log(database: Database) -> list[int]:
    return [event.position for event in await events_after(database, 0, None, 100_000)]


def positions(lines: Lines) -> list[int]:
    return [line["position"] for line in lines]


async def mirror(database: Database, folder: Path, **more: Any) -> list[str]:
    """One process from start to end; what it said."""
    said: list[str] = []
    await Mirror(database, folder, said.append, **more).finish()
    return said


@asynccontextmanager
async def mirroring(database: Database, mirror: Mirror) -> AsyncIterator[Server]:
    """A control plane with it."""
    app = create_app(database, mirror=mirror)
    async with app.router.lifespan_context(app):
        yield Server(app, database)


async def test_a_line_tells_what_the_event_tells(database: Database, tmp_path: Path) -> None:
    await happens(database, "p", 1)
    await mirror(database, tmp_path / "logs")

    lines = mirrored(tmp_path / "logs")
    events = await events_after(database, 0, None, 100)
    assert len(lines) == len(events) == 5
    for line, event in zip(lines, events, strict=True):
        assert line == {
            "ts": event.at.isoformat().replace("+00:00", "Z"),
            "event": event.type,
            "event_type": event.type,
            "task_id": event.task,
            "plan_id": event.plan,
            "payload": event.payload,
            "detail": event.detail,
            "position": event.position,
            "hash": event.hash.hex(),
        }


async def test_events_arrive_while_the_server_runs(database: Database, tmp_path: Path) -> None:
    async with mirroring(database, Mirror(database, tmp_path)) as server:
        await happens(database, "p")
        server.engine.wrote()

        async def all_there() -> bool:
            return positions(mirrored(tmp_path)) == await whole_log(database)

        await eventually(lambda: asyncio.to_thread((tmp_path / "whilly_events.jsonl").exists))
        await eventually(all_there)


async def test_the_end_of_a_server_brings_everything(database: Database, tmp_path: Path) -> None:
    async with mirroring(database, Mirror(database, tmp_path)):
        await import_plan(database, a_plan(*(a_task(f"T{number}") for number in range(600))))

    assert positions(mirrored(tmp_path)) == list(range(1, 602))


async def test_the_next_process_goes_on_where_the_last_one_ended(database: Database, tmp_path: Path) -> None:
    for plan in ("a", "b", "c"):
        await happens(database, plan)
        assert await mirror(database, tmp_path) == []

    assert positions(mirrored(tmp_path)) == await whole_log(database)


@pytest.mark.parametrize("torn", [1, 30, 500])
@pytest.mark.parametrize("zeroes", [0, 5000])
async def test_half_a_line_is_written_anew(database: Database, tmp_path: Path, torn: int, zeroes: int) -> None:
    await happens(database, "a")
    await mirror(database, tmp_path)
    path = tmp_path / "whilly_events.jsonl"
    path.write_bytes(path.read_bytes()[:-torn] + bytes(zeroes))
    await happens(database, "b")

    await mirror(database, tmp_path)

    assert positions(mirrored(tmp_path)) == await whole_log(database)


async def test_one_of_many_writes_and_another_takes_over(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "LOOK_EVERY", 0.05)
    mirrors = [Mirror(database, tmp_path) for _ in range(4)]
    running = [asyncio.create_task(each.run()) for each in mirrors]
    for number, (one, task) in enumerate(zip(mirrors, running, strict=True)):
        await happens(database, f"p{number}")
        for each in mirrors:
            each.look()

        async def all_there() -> bool:
            path = tmp_path / "whilly_events.jsonl"
            return path.exists() and len(lines_of(path)) == len(await whole_log(database))

        await eventually(all_there)
        await one.finish()
        task.cancel()
    await asyncio.wait(running)

    assert positions(mirrored(tmp_path)) == await whole_log(database)


async def test_processes_that_are_killed_leave_each_event_once(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from whilly.server.loops.mirror import Mirror; from whilly.store.database import Database\n"
        "async def main():\n"
        "    database = await Database.open(sys.argv[1], size=2)\n"
        "    print('ready', flush=True)\n"
        "    await Mirror(database, Path(sys.argv[2]), largest=20_000).run()\n"
        "asyncio.run(main())\n"
    )
    await happens(database, "p", 60)
    for number in range(6):
        command = [sys.executable, "-c", program, database_url, str(tmp_path)]
        processes = [await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE) for _ in range(2)]
        for process in processes:
            assert process.stdout is not None
            await process.stdout.readline()
        await happens(database, f"more-{number}", 20)
        for process in processes:
            process.kill()
            await process.communicate()
    await mirror(database, tmp_path, largest=20_000)

    assert 1 <= len(list(tmp_path.glob("whilly_events.0*.jsonl"))) < 10
    assert positions(mirrored(tmp_path)) == await whole_log(database)


async def test_files_are_rotated_by_size_and_old_ones_go(database: Database, tmp_path: Path) -> None:
    for number in range(20):
        await happens(database, f"p{number}", 20)
        await mirror(database, tmp_path, largest=10_000)

    kept = positions(mirrored(tmp_path))
    everything = await whole_log(database)
    assert len(list(tmp_path.glob("whilly_events.0*.jsonl"))) == 10
    assert 0 < len(kept) < len(everything)
    assert kept == everything[-len(kept) :]


@pytest.mark.parametrize("move", ["away", "truncated"])
async def test_logrotate_may_do_it_too(database: Database, tmp_path: Path, move: str) -> None:
    folder = tmp_path / "logs"
    own = Mirror(database, folder)
    seen: list[int] = []
    for plan in ("a", "b", "c"):
        await happens(database, plan)
        while await own._round() == 0:
            pass
        path = folder / "whilly_events.jsonl"
        seen += positions(lines_of(path))
        if move == "away":
            path.rename(tmp_path / f"{plan}.jsonl")
        else:
            path.write_bytes(b"")
    await own.finish()

    assert seen == await whole_log(database)


async def test_a_folder_that_is_removed_comes_back(database: Database, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    own = Mirror(database, folder)
    await happens(database, "a")
    assert await own._round() > 0
    shutil.rmtree(folder)
    await happens(database, "b")
    assert await own._round() > 0
    await own.finish()

    assert positions(mirrored(folder))[-1] == (await whole_log(database))[-1]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """200 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


async def test_a_full_disk_costs_no_event_and_is_told_once(
    database: Database, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "TRY_AGAIN_EVERY", 0.01)
    monkeypatch.setattr(mirror_module, "LOOK_EVERY", 0.01)
    said: list[str] = []
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(180_000))
    async with mirroring(database, Mirror(database, small_disk, said.append)):
        await happens(database, "p", 100)

        async def told(sentences: int) -> bool:
            return len(said) == sentences

        await eventually(lambda: told(1))
        assert await done_after(database)
        for line in lines_of(small_disk / "whilly_events.jsonl"):
            assert line["position"]
        ballast.unlink()
        await eventually(lambda: told(2))

    assert "cannot be written" in said[0]
    assert "No space left on device" in said[0]
    assert said[1].endswith("again.")
    assert positions(mirrored(small_disk)) == await whole_log(database)


async def done_after(database: Database) -> bool:
    """Whether work goes on."""
    await import_plan(database, a_plan(plan="after"))
    return await done(database, "after") == "T1"


async def test_a_place_that_is_no_folder_stops_nothing(database: Database, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("in the way", encoding="utf-8")
    said: list[str] = []
    async with mirroring(database, Mirror(database, place, said.append)):
        assert await done_after(database)

    assert len(said) == 1


async def test_lines_of_another_database_are_kept_apart(database: Database, tmp_path: Path, postgres: Any) -> None:
    await happens(database, "p", 5)
    await mirror(database, tmp_path)
    before = lines_of(tmp_path / "whilly_events.jsonl")
    name = postgres.create()
    other = await Database.open(postgres.of(name))
    try:
        await happens(other, "other", 8)
        (said,) = await mirror(other, tmp_path)
        kept = tmp_path / "whilly_events.000000000021.jsonl"
        assert said.endswith(f"held the events of another database; they are kept as {kept.name}.")
        assert lines_of(kept) == before
        assert positions(lines_of(tmp_path / "whilly_events.jsonl")) == await whole_log(other)
    finally:
        await other.close()
        postgres.drop(name)


async def test_a_database_that_is_away_is_no_trouble_of_the_disk(database: Database, tmp_path: Path) -> None:
    said: list[str] = []
    own = Mirror(database, tmp_path, said.append)
    await database.close()
    await own.finish()
    assert said == []


@given(st.lists(st.integers(1, 40), max_size=20), st.integers(20, 400), st.integers(1, 3))
def test_whatever_the_sizes_nothing_is_torn(batches: list[int], largest: int, kept: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        written: list[int] = []
        for size in batches:
            files = MirrorFiles(Path(folder), largest=largest, kept=kept)
            assert files.open() == (True, False)
            mark = files.mark()
            assert (mark.position if mark else 0) == (written[-1] if written else 0)
            first = written[-1] + 1 if written else 1
            lines = [json.dumps({"position": n, "hash": f"{n:x}"}) + "\n" for n in range(first, first + size)]
            files.append("".join(lines).encode(), Mark(first + size - 1, f"{first + size - 1:x}"))
            assert files.open() == (True, True)
            files.close()
            written += range(first, first + size)
        left = positions(mirrored(Path(folder))) if batches else []
        assert left == written[len(written) - len(left) :]
        assert len(list(Path(folder).glob("whilly_events.0*.jsonl"))) <= kept
