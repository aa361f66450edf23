"""`whilly worker list`, `drain` and `resume`: the workers of all machines, as the control plane knows them."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from whilly.cli.session import who, with_database

if TYPE_CHECKING:
    from whilly.operations.read_workers import WorkerView

Name = Annotated[str, typer.Argument(metavar="NAME", help="The worker's name; `whilly worker list` shows them.")]

_HEAD = ("WORKER", "STATE", "SEEN", "HOST", "AGENTS", "TAGS", "ISOLATION", "SLOTS", "FREE DISK", "PLAN")
_GIB = 2**30


def list_(
    plan: Annotated[
        str | None, typer.Option(metavar="PLAN", help="Only workers of this plan.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Workers with what they offer, those seen last first."""
    from whilly.operations.read_workers import list_workers

    workers = with_database(lambda database: list_workers(database, plan))
    if as_json:
        from whilly.cli.as_json import say_json

        say_json(workers)
    elif workers:
        typer.echo(worker_table(workers, datetime.now(UTC)))
    else:
        typer.echo("No worker has introduced itself yet.", err=True)


def drain(name: Name) -> None:
    """Let a worker take no more tasks; what it works on goes on."""
    from whilly.operations.drain_worker import drain_worker

    with_database(lambda database: drain_worker(database, name, who()))
    typer.echo(f"Worker {name} takes no more tasks; `whilly worker resume {name}` lets it again.")


def resume(name: Name) -> None:
    """Let a drained worker take tasks again."""
    from whilly.operations.drain_worker import drain_worker

    with_database(lambda database: drain_worker(database, name, who(), draining=False))
    typer.echo(f"Worker {name} takes tasks again.")


def worker_table(workers: "list[WorkerView]", now: datetime) -> str:
    """One line for each worker, columns aligned."""
    rows = [_HEAD, *(_row(worker, now) for worker in workers)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(worker: "WorkerView", now: datetime) -> tuple[str, ...]:
    from whilly.core.duration import in_words
    from whilly.core.terminal import one_line

    agents = ", ".join(" ".join(filter(None, pair)) for pair in worker.agents.items())
    free = "" if worker.free_disk_bytes is None else f"{worker.free_disk_bytes / _GIB:.1f} GiB"
    cells = (
        worker.id,
        _state(worker),
        f"{in_words((now - worker.last_seen).total_seconds())} ago",
        worker.hostname,
        agents,
        ", ".join(worker.tags),
        worker.isolation,
        str(worker.slots),
        free,
        worker.plan or "any",
    )
    return tuple(one_line(cell, 60) or "-" for cell in cells)


def _state(worker: "WorkerView") -> str:
    if not worker.online:
        return "gone"
    if worker.draining:
        return "drained"
    return "holds back: " + worker.state if worker.state else "takes tasks"
