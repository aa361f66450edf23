"""When what happened to the tasks of a plan, by the log."""

from collections.abc import Mapping
from pathlib import Path

from bench.commands import WHILLY, Ran, run
from whilly.store.database import Database

Times = Mapping[str, float]
"""Seconds of the database's clock, by the type of the event; of several the last."""


async def work_off(database: Database, place: Path, repository: Path, plan: str, workers: int) -> Ran:
    """A real `whilly run` with the scripted agent, to its end."""
    words = ("run", "--plan", plan, "--repo", str(repository), "--agent", "scripted", "--workers", str(workers))
    return run((*WHILLY, *words), data=place, url=database.url)


async def trail(database: Database, plan: str) -> dict[str, Times]:
    """The times of each task, in the order in which the tasks were claimed."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select task_id, type, extract(epoch from at)::float8 as at from events "
            "where plan_id = $1 and task_id is not null order by id",
            plan,
        )
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(row["task_id"], {})[row["type"]] = row["at"]
    return dict(sorted(found.items(), key=lambda item: item[1]["CLAIM"]))
