"""`whilly review`: decide about tasks that wait for a person."""

from typing import Annotated

import typer

from whilly.cli.session import who, with_database

app = typer.Typer(no_args_is_help=True, help="Reviews: approve, reject, or ask for changes.")

Plan = Annotated[str, typer.Argument(metavar="PLAN", help="The plan's id.", show_default=False)]
Task = Annotated[str, typer.Argument(metavar="TASK", help="The task's id.", show_default=False)]
Comment = Annotated[str, typer.Option("--comment", "-m", help="Kept with the decision.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides; without it: you.", show_default=False)]


@app.command()
def approve(plan: Plan, task: Task, comment: Comment = "", by: By = "") -> None:
    """Accept a verified result, or let a task start."""
    _decide(plan, task, "approved", comment, by)


@app.command()
def reject(plan: Plan, task: Task, comment: Comment = "", by: By = "") -> None:
    """End the task as FAILED."""
    _decide(plan, task, "rejected", comment, by)


@app.command()
def changes(
    plan: Plan,
    task: Task,
    comment: Annotated[str, typer.Option("--comment", "-m", help="What shall change.", show_default=False)],
    by: By = "",
) -> None:
    """Send the task back. The next attempt continues its work and gets your comment."""
    _decide(plan, task, "changes_requested", comment, by)


def _decide(plan: str, task: str, decision: str, comment: str, by: str) -> None:
    from whilly.operations.review_task import review_task

    status = with_database(lambda database: review_task(database, plan, task, decision, by or who(), comment))
    typer.echo(f"Task {task} is {status.value}.")
