"""`whilly logs`: what an agent printed."""

from typing import Annotated

import typer

from whilly.cli.session import with_database


def logs(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan's id.", show_default=False)],
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's id.", show_default=False)],
    attempt: Annotated[int | None, typer.Option(metavar="N", help="Which attempt; without it: the newest.")] = None,
) -> None:
    """What the agent printed in an attempt."""
    from whilly.core.terminal import clean
    from whilly.operations.read_attempts import transcript

    typer.echo(clean(with_database(lambda database: transcript(database, plan, task, attempt))), nl=False)
