"""`whilly pause` and `whilly resume`."""

from typing import Annotated

import typer

from whilly.cli.session import who, with_database

Plan = Annotated[
    str | None, typer.Argument(metavar="PLAN", help="The plan's id; without it: everything.", show_default=False)
]


def pause(plan: Plan = None, reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "") -> None:
    """Hand out no more tasks, of a plan or at all; what runs goes on."""
    from whilly.operations.pause import pause as hold

    with_database(lambda database: hold(database, plan, reason, who()))
    typer.echo(f"Paused {plan or 'everything'}; `whilly resume{f' {plan}' if plan else ''}` goes on.")


def resume(plan: Plan = None) -> None:
    """Hand out tasks again."""
    from whilly.operations.pause import resume as go_on

    with_database(lambda database: go_on(database, plan, who()))
    typer.echo(f"Resumed {plan or 'everything'}.")
