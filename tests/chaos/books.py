"""What must be true of the database afterwards, each sentence with the query that finds what breaks it."""

import json
from collections import defaultdict
from typing import Any

from tests.model.search import first_surprise
from whilly.core.plan import Plan
from whilly.operations.read_events import verify_log
from whilly.store.database import Database

SNAPSHOT = """
select p.budget_micros, p.spent_micros, p.reserved_micros,
    (select coalesce(sum(t.reserved_micros), 0) from tasks t where t.plan_id = p.id) as reserved_by_tasks,
    (select count(*) from tasks t where t.plan_id = p.id and t.status = 'DONE') as done,
    array(select t.id from tasks t where t.plan_id = p.id and t.status = 'FAILED') as failed
from plans p where p.id = $1"""
"""One statement: everything in it was true at the same moment."""

TRUTHS = {
    "every task is DONE": "select id, status from tasks where plan_id = $1 and status <> 'DONE'",
    "each task was completed once": """
        select t.id, count(e.id) from tasks t
        left join events e on e.plan_id = t.plan_id and e.task_id = t.id and e.type = 'COMPLETE'
        where t.plan_id = $1 group by t.id having count(e.id) <> 1""",
    "each claim has one end": """
        with told as (
            select task_id, count(*) filter (where type = 'CLAIM') as claims,
                count(*) filter (where type <> 'CLAIM') as ends
            from events
            where plan_id = $1
                and type in ('CLAIM', 'RELEASE', 'COMPLETE', 'FAIL', 'task.blocked', 'human_review.required')
                -- A task that is blocked by its prerequisite was not running.
                and coalesce(payload ->> 'prerequisite', '') = ''
            group by task_id
        )
        select * from told where claims <> ends""",
    "each claim is an attempt that ended": """
        select t.id from tasks t where t.plan_id = $1 and t.epoch <> (
            select count(*) from attempts a where a.plan_id = t.plan_id and a.task_id = t.id and a.ended_at is not null
        )""",
    "one attempt of each was accepted": """
        select task_id, count(*) from attempts where plan_id = $1 and verdict = 'DONE'
        group by task_id having count(*) <> 1""",
    "no task started before its prerequisites were DONE": """
        with placed as (
            select e.task_id, e.type, l.position from events e join event_log l on l.event_id = e.id
            where e.plan_id = $1 and e.type in ('CLAIM', 'COMPLETE')
        )
        select d.task_id, d.needs from dependencies d
        join placed claim on claim.task_id = d.task_id and claim.type = 'CLAIM'
        left join placed done on done.task_id = d.needs and done.type = 'COMPLETE' and done.position < claim.position
        where d.plan_id = $1 and done.position is null""",
    "nothing is held or reserved": """
        select id from plans p where id = $1 and (
            reserved_micros <> 0 or exists (select from held_files h where h.plan_id = p.id)
        )""",
    "what was spent is what the attempts were charged": """
        select id from plans p where id = $1 and (
            spent_micros <> (select sum(counted_micros) from attempts a where a.plan_id = p.id)
            or spent_micros <> (select sum(spent_micros) from tasks t where t.plan_id = p.id)
        )""",
    "every event has a position": "select event_id from events_pending where $1 <> ''",
    "positions have no gap": """
        select max(position), count(*) from event_log where $1 <> '' having max(position) <> count(*)""",
}

ENDS = ("RELEASE", "COMPLETE", "FAIL", "task.blocked", "human_review.required")

LOG = """
select l.position, e.task_id, e.type, e.payload, e.plan_id from event_log l join events e on e.id = l.event_id
order by l.position"""


async def check_books(database: Database, plan: Plan) -> list[dict[str, Any]]:
    """Look whether all of it is true; gives the log. AssertionError with the sentence that is not."""
    for truth, query in TRUTHS.items():
        async with database.connection() as connection:
            broken = await connection.fetch(query, plan.id)
        assert not broken, f"not true: {truth}: {[dict(row) for row in broken[:5]]}"
    assert await verify_log(database) is None, "the chain of the log is broken"
    async with database.connection() as connection:
        log = [{**row, "payload": json.loads(row["payload"])} for row in await connection.fetch(LOG)]
    ours = [event for event in log if event["plan_id"] == plan.id and "version" in event["payload"]]
    _check_stories(ours)
    _check_files(ours, {spec.id: spec.key_files for spec in plan.tasks})
    return log


def _check_stories(log: list[dict[str, Any]]) -> None:
    """Each task's events are a way through the model, and its versions rise in the order of the log."""
    stories: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in log:
        stories[event["task_id"]].append(event)
    known: dict[tuple[str, ...], str] = {}
    for task, events in stories.items():
        told = tuple(event["type"] for event in events)
        surprise = known.setdefault(told, first_surprise(told))
        assert not surprise, f"{task}: the model knows no way to {surprise}"
        versions = [event["payload"]["version"] for event in events]
        assert versions == sorted(set(versions)), f"{task}: {versions}"


def _check_files(log: list[dict[str, Any]], files: dict[str, tuple[str, ...]]) -> None:
    """No key file was in two hands at any place of the log."""
    hands: dict[str, str] = {}
    for event in log:
        for path in files[event["task_id"]]:
            if event["type"] == "CLAIM":
                assert path not in hands, f"{path} was {hands[path]}'s when {event['task_id']} got it"
                hands[path] = event["task_id"]
            elif event["type"] in ENDS and hands.get(path) == event["task_id"]:
                del hands[path]
