"""`whilly budget`: what a plan may spend."""

from decimal import Decimal
from typing import Annotated

import typer

from whilly.cli.session import who, with_database
from whilly.core.errors import BadSetting
from whilly.core.money import Micros, from_usd, shown, to_usd

app = typer.Typer(no_args_is_help=True, help="Budgets: what a plan may spend.")


def amount(text: str) -> Micros:
    """Dollars that a person typed, exactly. Raises BadSetting with a sentence."""
    number = text.removeprefix("$")
    try:
        micros = from_usd(number)
        if not number.isascii() or Decimal(number) != to_usd(micros):
            raise ValueError(number)
    except ValueError:
        raise BadSetting(
            f"{text!r} is not an amount of US dollars; write a number such as 5 or 2.50, with six decimals at most."
        ) from None
    return micros


@app.command("set")
def set_(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan's id.", show_default=False)],
    usd: Annotated[str, typer.Argument(metavar="USD", help="US dollars, or `none` for no limit.", show_default=False)],
    task: Annotated[
        str | None, typer.Option(metavar="TASK", help="Set the budget of this task instead.", show_default=False)
    ] = None,
    per_day: Annotated[
        bool, typer.Option("--per-day", help="Set what may be spent per day, which begins at midnight UTC.")
    ] = False,
) -> None:
    """Set or lift the budget of a plan or of one task, also while it runs."""
    from whilly.operations.set_budget import set_budget, set_daily_budget, set_task_budget

    limit = None if usd.lower() == "none" else amount(usd)
    if task is not None and per_day:
        raise typer.BadParameter("A task has one budget, for all of its attempts: leave out --per-day.")
    if task is not None:
        with_database(lambda database: set_task_budget(database, plan, task, limit))
    elif per_day:
        with_database(lambda database: set_daily_budget(database, plan, limit, who()))
    else:
        with_database(lambda database: set_budget(database, plan, limit, who()))
    may = "what it likes" if limit is None else shown(limit)
    typer.echo(f"{task or 'Plan ' + plan} may spend {may}{' per day' if per_day else ''}.")
