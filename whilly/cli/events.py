"""`whilly events`: the log."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import asyncio

    from whilly.operations.read_events import StoredEvent
    from whilly.store.database import Database

PAGE = 500
LARGEST_POSITION = 2**63 - 1
LOOK_EVERY = 1.0
"""Seconds between two looks without a hint, while following."""


def events(
    plan: Annotated[
        str | None, typer.Argument(metavar="PLAN", help="Only this plan's; without it: all.", show_default=False)
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    after: Annotated[int, typer.Option(min=0, metavar="N", help="Only events beyond this position.")] = 0,
    verify: Annotated[bool, typer.Option("--verify", help="Check the hash chain of the whole log instead.")] = False,
) -> None:
    """What happened, in order."""
    import asyncio

    if verify and (plan or follow or after):
        raise typer.BadParameter("--verify looks at the whole log and ends: leave out PLAN, --follow and --after.")
    asyncio.run(_verify(as_json) if verify else _tell(plan, follow, as_json, after))


async def _tell(plan: str | None, follow: bool, as_json: bool, after: int) -> None:
    import asyncio

    from whilly.cli.database import open_database
    from whilly.core.errors import UnknownPlan
    from whilly.operations.read_events import events_after, heard_of
    from whilly.operations.sequence_events import sequence_events
    from whilly.settings import Settings

    async with open_database(Settings.from_environment(), size=3) as database, _hints(database) as hint:
        position = min(after, LARGEST_POSITION)
        while True:
            hint.clear()
            while await sequence_events(database):
                pass
            if plan and position <= after and not await heard_of(database, plan):
                raise UnknownPlan(plan)
            while page := await events_after(database, position, plan, PAGE):
                for event in page:
                    typer.echo(_as_json(event) if as_json else line_of(event))
                position = page[-1].position
            if not follow:
                return
            try:
                async with asyncio.timeout(LOOK_EVERY):
                    await hint.wait()
            except TimeoutError:
                continue


@asynccontextmanager
async def _hints(database: "Database") -> AsyncIterator["asyncio.Event"]:
    """An event that is set whenever the log has grown."""
    import asyncio

    grown = asyncio.Event()

    def heard(*_said: object) -> None:
        grown.set()

    async with database.connection() as connection:
        await connection.add_listener("whilly", heard)
        try:
            yield grown
        finally:
            await connection.remove_listener("whilly", heard)


async def _verify(as_json: bool) -> None:
    import json

    from whilly.cli.database import open_database
    from whilly.operations.read_events import end_of_log, verify_log
    from whilly.settings import Settings

    async with open_database(Settings.from_environment(), size=2) as database:
        broken = await verify_log(database)
        if as_json:
            typer.echo(json.dumps({"sound": broken is None, "broken_at": broken, "events": await end_of_log(database)}))
            raise typer.Exit(0 if broken is None else 1)
        if broken is not None:
            typer.echo(f"The log is broken at position {broken}: its event is missing or not what it was.", err=True)
            raise typer.Exit(1)
        typer.echo(f"The log is sound: {await end_of_log(database)} events, each as it was written.")


def line_of(event: "StoredEvent") -> str:
    """An event on one line: position, time where we are, plan and task, type, and what it says."""
    from whilly.core.terminal import one_line

    said = {
        key: value
        for key, value in event.payload.items()
        if key not in ("plan_id", "task_id", "version") and value not in (None, "", [], {})
    }
    about = f"{event.plan}/{event.task}" if event.task else event.plan
    told = " ".join(f"{key}={value}" for key, value in said.items())
    at = event.at.astimezone()
    return one_line(f"{event.position:>6} {at:%Y-%m-%d %H:%M:%S} {about:<24} {event.type:<26} {told}", 240)


def _as_json(event: "StoredEvent") -> str:
    from whilly.cli.as_json import as_json

    return as_json(event)
