"""The `whilly` command. Each group of commands is imported when it is used."""

import sys

import typer

from whilly import __version__
from whilly.cli import budget, control, db, demo, events, logs, plan, review, run, task
from whilly.core.errors import IllegalTransition, PlanRejected, Refused, WhillyError

app = typer.Typer(
    name="whilly",
    help="A control plane for AI coding agents: a plan becomes verified work.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    # `--install-completion` stands before any command; for its sake typer would import pydantic (0.05 s) each time.
    add_completion=not sys.argv[1:] or sys.argv[1].startswith("-"),
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(plan.app, name="plan")
app.command()(run.run)
app.command()(demo.demo)
app.add_typer(task.app, name="task")
app.command()(task.why)
app.command()(logs.logs)
app.add_typer(review.app, name="review")
app.command()(control.pause)
app.command()(control.resume)
app.add_typer(budget.app, name="budget")
app.command()(events.events)
app.add_typer(db.app, name="db")


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"whilly {__version__}")
        raise typer.Exit


@app.callback()
def _whilly(
    version: bool = typer.Option(False, "--version", "-V", help="Print the version.", callback=_tell_version),
) -> None:
    """A control plane for AI coding agents: a plan becomes verified work."""


def exit_code(problem: WhillyError) -> int:
    """1 when the rules refuse what was asked; 2 when the environment, the database or a name is not as it must be."""
    return 1 if isinstance(problem, Refused | PlanRejected | IllegalTransition) else 2


def main() -> None:
    """Run a command; an error that a person can act on is one sentence on stderr."""
    speak_utf8()
    try:
        app()
    except WhillyError as problem:
        from whilly.core.terminal import clean

        print(f"whilly: {clean(str(problem))}", file=sys.stderr)  # noqa: T201
        sys.exit(exit_code(problem))


def speak_utf8() -> None:
    """Write UTF-8 also where the console or a pipe defaults to something smaller."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    main()
