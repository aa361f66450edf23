"""`whilly plan`: bring plans in, look at them, start them over."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whilly.cli.session import terminal_width, wants_colour, with_database
from whilly.core.errors import BadSetting, PlanRejected

if TYPE_CHECKING:
    from whilly.core.gate import GateDecision
    from whilly.core.plan import Plan
    from whilly.operations.import_plan import PlanChange

app = typer.Typer(no_args_is_help=True, help="Plans: import, apply, show, export, reset.")

LONGEST_NAME = 1000
MOST_IDS = 20
MOST_PROBLEMS = 50
"""Problems printed before the rest is only counted: a file of the wrong kind has thousands."""

PlanFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The plan file, JSON; `-` reads standard input.", show_default=False)
]
PlanId = Annotated[str, typer.Argument(metavar="PLAN", help="The plan's id.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
MaxTasks = Annotated[int, typer.Option(min=1, max=10_000_000, metavar="N", help="The most tasks that a file may have.")]
MaxMegabytes = Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="The largest file, in MB.")]


@app.command("import")
def import_(file: PlanFile, as_json: AsJson = False, max_tasks: MaxTasks = 50_000, max_mb: MaxMegabytes = 5) -> None:
    """Check a plan file and store it. Again, to apply changes to tasks that have not started."""
    from whilly.operations.import_plan import import_plan

    plan = _read(file, max_tasks, max_mb)
    change = with_database(lambda database: import_plan(database, plan))
    if as_json:
        from whilly.cli.as_json import say_json

        say_json({"plan_id": plan.id, **_change_json(change)})
        return
    typer.echo(_changed(plan, change))


@app.command("apply")
def apply(
    file: PlanFile,
    strict: Annotated[bool, typer.Option("--strict", help="Skip the tasks that the gate rejects.")] = False,
    as_json: AsJson = False,
    max_tasks: MaxTasks = 50_000,
    max_mb: MaxMegabytes = 5,
) -> None:
    """Import a plan file and let the gate judge its tasks. That is before any money is spent."""
    from whilly.operations.apply_plan import apply_plan

    plan = _read(file, max_tasks, max_mb)
    applied = with_database(lambda database: apply_plan(database, plan, strict=strict))
    if as_json:
        from whilly.cli.as_json import say_json

        decisions = {task: _decision_json(decision) for task, decision in applied.decisions.items()}
        say_json(
            {"plan_id": plan.id, **_change_json(applied.change), "skipped": applied.skipped, "decisions": decisions}
        )
        return
    typer.echo(_changed(plan, applied.change))
    skipped = set(applied.skipped)
    found = [(task, finding) for task, decision in applied.decisions.items() for finding in decision.findings]
    for task, finding in found[:MOST_PROBLEMS]:
        left_out = " (skipped)" if task in skipped else ""
        typer.echo(f"{finding.severity.value} {task}{left_out}: {finding.sentence} [{finding.rule_id}]", err=True)
    if len(found) > MOST_PROBLEMS:
        typer.echo(f"… and {len(found) - MOST_PROBLEMS} more findings; `--json` shows all.", err=True)
    if skipped:
        typer.echo(f"Skipped {len(skipped)}: {_listed([task for task in applied.decisions if task in skipped])}")


@app.command()
def create(
    plan: Annotated[str, typer.Option("--id", metavar="PLAN", help="The new plan's id.", show_default=False)],
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the plan is called.", show_default=False)],
    budget: Annotated[str | None, typer.Option(help="The most it may spend, in US dollars.", metavar="USD")] = None,
) -> None:
    """Create an empty plan, with a budget if you like."""
    from whilly.cli.budget import amount
    from whilly.core.names import check_id, id_from
    from whilly.operations.create_plan import create_plan

    if wrong := check_id(plan):
        instead = id_from(plan) or "at most 64 letters, digits, ., _ and -, beginning with a letter or digit"
        raise BadSetting(f"{plan!r} cannot be a plan's id: it {wrong}; write {instead}.")
    if not name.strip() or len(name) > LONGEST_NAME:
        raise BadSetting(f"The plan's name must have 1 to {LONGEST_NAME} characters; write what the plan is about.")
    limit = None if budget is None else amount(budget)
    with_database(lambda database: create_plan(database, plan, name, limit))
    typer.echo(f"Created plan {plan}; fill it with `whilly plan import FILE` (plan_id {plan!r}).")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """All plans, newest first."""
    from whilly.cli.as_json import say_json
    from whilly.cli.plan_table import plan_table
    from whilly.operations.read_plans import list_plans

    plans = with_database(list_plans)
    if as_json:
        say_json(plans)
    elif plans:
        typer.echo(plan_table(plans))
    else:
        typer.echo("There are no plans yet; `whilly plan import FILE` brings one in, `whilly demo` shows one.")


@app.command()
def show(
    plan: PlanId,
    as_json: AsJson = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours.")] = False,
) -> None:
    """Draw the plan: each task, its status, why it waits."""
    from whilly.cli.as_json import say_json
    from whilly.cli.plan_graph import plan_graph
    from whilly.operations.read_plans import plan_overview

    overview = with_database(lambda database: plan_overview(database, plan))
    if as_json:
        say_json({"summary": overview.summary, "tasks": overview.tasks})
    else:
        graph = plan_graph(overview, colour=wants_colour(refused=no_color), width=terminal_width())
        typer.echo(graph, color=True)


@app.command()
def export(plan: PlanId) -> None:
    """Print the plan as a canonical plan file. Importing it changes nothing."""
    from whilly.cli.as_json import harmless
    from whilly.operations.read_plans import export_plan
    from whilly.planfile.canonical import export_plan as written

    found = with_database(lambda database: export_plan(database, plan))
    sys.stdout.write(harmless(written(found)))
    typer.echo(f"Exported plan {plan} with {_tasks(len(found.tasks))}.", err=True)


@app.command()
def reset(
    plan: PlanId,
    hard: Annotated[bool, typer.Option("--hard", help="Delete the plan, its tasks and its attempts.")] = False,
    keep_tasks: Annotated[bool, typer.Option("--keep-tasks", help="Keep the tasks (this is the default).")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Put all tasks back to PENDING; history and costs are kept."""
    from whilly.operations.reset_plan import reset_plan

    if hard and keep_tasks:
        raise typer.BadParameter("--hard deletes the tasks and --keep-tasks keeps them: give one of them.")
    if not yes:
        what = "Delete plan {} with its tasks and attempts?" if hard else "Start plan {} over?"
        if not sys.stdin.isatty():
            typer.echo("Nothing was changed: this needs a person's yes, or --yes.", err=True)
            raise typer.Exit(2)
        if not typer.confirm(what.format(plan)):
            typer.echo("Nothing was changed.")
            raise typer.Exit
    count = with_database(lambda database: reset_plan(database, plan, hard=hard))
    done = f"Deleted plan {plan}" if hard else f"Plan {plan} starts over"
    typer.echo(f"{done}: {_tasks(count)}.")


@app.command()
def triz(
    plan: PlanId,
    as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 unless the verdict is `approve`.")] = False,
) -> None:
    """Challenge the plan as a whole. It finds contradictions, conflicts, duplicates and weak tasks."""
    from whilly.core.triz import Judgement, preflight
    from whilly.operations.read_plans import export_plan

    found = preflight(with_database(lambda database: export_plan(database, plan)))
    if as_json:
        from whilly.cli.as_json import say_json

        say_json(found.as_json())
    else:
        typer.echo(f"{found.verdict.value}: {found.summary}")
        for finding in found.findings:
            typer.echo(f"{finding.severity.value:<8} {finding.category.value}: {finding.title}")
            typer.echo(f"         {finding.recommendation}")
    if strict and found.verdict is not Judgement.APPROVE:
        raise typer.Exit(1)


@app.command()
def schema() -> None:
    """The JSON Schema of plan files."""
    from whilly.cli.as_json import say_json
    from whilly.planfile.schema import json_schema

    say_json(json_schema())


def _read(file: Path, max_tasks: int, max_mb: int) -> "Plan":
    from whilly.planfile.limits import Limits
    from whilly.planfile.reader import read_plan, read_plan_file

    limits = Limits(file_bytes=max_mb * 1024 * 1024, tasks=max_tasks)
    source = "standard input" if str(file) == "-" else str(file)
    if str(file) == "-":
        reading = read_plan(sys.stdin.buffer.read(limits.file_bytes + 1), source, limits=limits)
    else:
        reading = read_plan_file(file, limits=limits)
    for note in reading.notes[:MOST_PROBLEMS]:
        typer.echo(f"note: {note}", err=True)
    if reading.plan is not None:
        return reading.plan
    for problem in reading.problems[:MOST_PROBLEMS]:
        typer.echo(str(problem), err=True)
    count = len(reading.problems)
    hidden = f", of which {MOST_PROBLEMS} are shown" if count > MOST_PROBLEMS else ""
    raise PlanRejected(f"{source} has {count} problem{'s' if count != 1 else ''}{hidden}; nothing was stored.")


def _changed(plan: "Plan", change: "PlanChange") -> str:
    if change.created:
        return f"Imported plan {plan.id} with {_tasks(len(change.added))}. Next: whilly run --plan {plan.id}"
    counts = {"added": change.added, "changed": change.changed, "removed": change.removed}
    lines = [f"  {word}: {_listed(ids)}" for word, ids in counts.items() if ids]
    if change.settings_changed:
        lines.append("  the plan's own settings changed")
    told = ", ".join(f"{len(ids)} {word}" for word, ids in counts.items())
    return "\n".join([f"Plan {plan.id}: {told}, {len(change.unchanged)} unchanged.", *lines])


def _listed(ids: Sequence[str]) -> str:
    return f"{', '.join(ids[:MOST_IDS])}{' …' if len(ids) > MOST_IDS else ''}"


def _change_json(change: "PlanChange") -> dict[str, Any]:
    from whilly.cli.as_json import plain

    return dict(plain(change))


def _decision_json(decision: "GateDecision") -> dict[str, Any]:
    from whilly.cli.as_json import plain

    return dict(plain(decision))


def _tasks(count: int) -> str:
    return f"{count} task{'s' if count != 1 else ''}"
