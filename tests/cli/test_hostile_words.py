"""Whatever plans, agents and workers say, a terminal that shows it does nothing but show it."""

import asyncio
import io
import json

from rich.console import Console

from tests.builders import a_check, a_plan, a_report, a_result, a_task, finished, running
from tests.cli.conftest import Whilly
from whilly.cli.run_lines import line_for
from whilly.cli.run_table import run_table
from whilly.core.terminal import clean
from whilly.operations.import_plan import import_plan
from whilly.operations.pause import pause
from whilly.operations.read_events import events_after
from whilly.operations.read_plans import plan_overview
from whilly.operations.read_progress import read_progress
from whilly.operations.sequence_events import sequence_events
from whilly.store.database import Database

HOSTILE = "ok \x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m \x9d0;t\x9c\u202etxt\x7f\r\x08[red]x[/red]"

COMMANDS = (
    "plan list",
    "plan show p",
    "task show p A",
    "task show p B",
    "why p A",
    "logs p A",
    "events p",
    "plan list --json",
    "plan show p --json",
    "task show p A --json",
    "events p --json",
    "plan export p",
)

PLACES = """
update plans set project = $1;
update tasks set reason = $1 || id where id = 'A';
update specs set spec = jsonb_set(spec, '{description}', to_jsonb($1::text));
update attempts set last_line = $1, phase = left($1, 40), agent = $1, agent_version = $1, model = $1, reason = $1,
    summary = $1, kept_ref = $1, session = $1, worker_id = $1
"""


async def fill(url: str) -> None:
    """A plan with a failed and a running task, hostile in every text that is not chosen by Whilly."""
    database = await Database.open(url)
    check = a_check("unit", command=f"true {HOSTILE}", repair_max_attempts=0)
    await import_plan(database, a_plan(a_task("A", checks=(check,)), a_task("B")))
    ended = await running(database)
    result = a_result(passed=False, command=HOSTILE, output_head=HOSTILE, output_tail=HOSTILE, note=HOSTILE)
    await finished(database, ended.key, a_report(checks=(result,), reason=HOSTILE, summary=HOSTILE))
    await running(database)
    await pause(database, "p", HOSTILE, HOSTILE)
    async with database.connection() as connection:
        for statement in PLACES.split(";"):
            await connection.execute(statement, HOSTILE)
        await connection.execute("insert into transcripts values ('p', 'A', 1, 0, $1)", HOSTILE)
        told = "insert into events (plan_id, task_id, type, payload) values ('p', 'A', $1, $2)"
        for kind in ("FAIL", "START", "human_review.required", "plan.paused", "llm.run_started"):
            await connection.execute(told, kind, json.dumps(dict.fromkeys(("reason", "error", "agent"), HOSTILE)))
    await database.close()


def harmless(text: str) -> bool:
    return clean(text) == text


def test_commands_print_nothing_that_a_terminal_acts_upon(whilly: Whilly, database_url: str) -> None:
    asyncio.run(fill(database_url))
    for command in COMMANDS:
        answer = whilly(*command.split())
        assert answer.code in (0, 1), f"{command}: {answer.err}"
        assert "ok" in answer.out, command
        assert harmless(answer.out), f"{command}: {answer.out!a}"


async def test_a_run_shows_nothing_that_a_terminal_acts_upon(database: Database) -> None:
    await fill(database.url)
    while await sequence_events(database):
        pass
    progress = await read_progress(database, "p", ())
    screen = Console(file=io.StringIO(), width=200, force_terminal=False)
    screen.print(run_table("p", progress, await plan_overview(database, "p")))
    assert isinstance(screen.file, io.StringIO)
    assert "[red]x[/red]" in screen.file.getvalue()
    assert harmless(screen.file.getvalue())
    lines = [line_for(event) for event in await events_after(database, 0, "p", 500)]
    assert all(harmless(line) for line in lines if line)
