"""Workers as a table."""

from datetime import UTC, datetime, timedelta

from whilly.cli.fleet import worker_table
from whilly.operations.read_workers import WorkerView

NOW = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)


def a_worker(name: str, **more: object) -> WorkerView:
    values: dict[str, object] = {
        "id": name,
        "hostname": "build-3",
        "agents": {"claude": "2.1", "scripted": ""},
        "tags": ("gpu",),
        "isolation": "clone",
        "slots": 2,
        "free_disk_bytes": 5 * 2**30,
        "plan": None,
        "online": True,
        "draining": False,
        "state": "",
        "registered_at": NOW,
        "last_seen": NOW - timedelta(seconds=12),
    }
    return WorkerView(**{**values, **more})  # type: ignore[arg-type]


def test_the_table_says_what_each_worker_offers_and_does() -> None:
    head, one, *_ = worker_table([a_worker("w-1"), a_worker("w-22", plan="shop")], NOW).splitlines()
    assert " ".join(head.split()) == "WORKER STATE SEEN HOST AGENTS TAGS ISOLATION SLOTS FREE DISK PLAN"
    assert one == (
        "w-1     takes tasks  12 s ago  build-3  claude 2.1, scripted  gpu   clone      2      5.0 GiB    any"
    )


def test_a_worker_that_takes_no_tasks_says_why() -> None:
    workers = [
        a_worker("a", online=False),
        a_worker("b", draining=True),
        a_worker("c", state="The disk\x1b[31m is full."),
    ]
    states = worker_table(workers, NOW)
    assert "gone" in states
    assert "drained" in states
    assert "\x1b" not in states
    assert "holds back: The disk" in states
