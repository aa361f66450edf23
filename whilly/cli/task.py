"""`whilly task` and `whilly why`: look at a task, and steer it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whilly.cli.session import wants_colour, who, with_database

if TYPE_CHECKING:
    from whilly.core.plan import Status

app = typer.Typer(no_args_is_help=True, help="Tasks: look at one, cancel, retry or skip it.")

Plan = Annotated[str, typer.Argument(metavar="PLAN", help="The plan's id.", show_default=False)]
Task = Annotated[str, typer.Argument(metavar="TASK", help="The task's id.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command()
def show(plan: Plan, task: Task, as_json: AsJson = False) -> None:
    """Show a task with all its attempts. What was tried, what it cost, what the checks gave."""
    from whilly.cli.as_json import say_json
    from whilly.cli.task_page import task_page
    from whilly.operations.read_attempts import task_detail

    detail = with_database(lambda database: task_detail(database, plan, task))
    if as_json:
        say_json(detail)
    else:
        typer.echo(task_page(plan, detail, colour=wants_colour()), color=True)


@app.command()
def cancel(plan: Plan, task: Task) -> None:
    """End a task; a running agent is stopped first."""
    from whilly.core.plan import RUNNING
    from whilly.operations.steer_task import cancel_task

    status = _steer(cancel_task, plan, task)
    stopping = "its agent is being stopped" if status in RUNNING else f"it is {status.value} now"
    typer.echo(f"Cancelled {task}: {stopping}.")


@app.command()
def retry(plan: Plan, task: Task) -> None:
    """Give a FAILED, BLOCKED or SKIPPED task fresh attempts."""
    from whilly.core.plan import Status
    from whilly.operations.steer_task import retry_task

    status = _steer(retry_task, plan, task)
    if status is Status.BLOCKED:
        typer.echo(f"Task {task} has fresh attempts and is still BLOCKED: `whilly why {plan} {task}` says by what.")
    else:
        typer.echo(f"Task {task} is {status.value} again.")


@app.command()
def skip(plan: Plan, task: Task, reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "") -> None:
    """Take a task out of the plan's way; those that need it are blocked."""
    from whilly.operations.steer_task import skip_task

    with_database(lambda database: skip_task(database, plan, task, who(), reason))
    typer.echo(f"Skipped {task}.")


@app.command()
def fetch(
    plan: Plan,
    task: Task,
    repo: Annotated[Path, typer.Option(metavar="PATH", help="The git repository that gets the branch.")] = Path(),
) -> None:
    """Bring a task's result into a repository of yours.

    It becomes branch whilly/PLAN/TASK there, whether it was pushed elsewhere or is kept as a bundle.
    """
    from whilly.cli.fetch import fetch_result
    from whilly.settings import Settings

    settings = Settings.from_environment()
    folder = repo.absolute()
    typer.echo(with_database(lambda database: fetch_result(database, settings, plan, task, folder)))


def why(plan: Plan, task: Task, as_json: AsJson = False) -> None:
    """Why a task is where it is, and what would change that."""
    from whilly.cli.as_json import say_json
    from whilly.operations.explain_task import explain_task

    found = with_database(lambda database: explain_task(database, plan, task))
    if as_json:
        say_json(found)
    else:
        typer.echo(found.sentence)
        if found.remedy:
            typer.echo(found.remedy)


def _steer(verb: Callable[..., Awaitable["Status"]], plan: str, task: str) -> "Status":
    return with_database(lambda database: verb(database, plan, task, who()))
