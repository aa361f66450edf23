"""The `whilly` command. Each group of commands is imported when it is used."""

import errno
import gc
import sys
from collections.abc import Iterable
from contextlib import suppress

import typer

from whilly import __version__
from whilly.cli import admin, budget, control, db, demo, events, login, logs, plan, review, run, server, task, worker
from whilly.core.errors import BadSetting, IllegalTransition, PlanRejected, Refused, WhillyError

_GROUPS = {
    "plan": plan.app,
    "task": task.app,
    "review": review.app,
    "budget": budget.app,
    "db": db.app,
    "worker": worker.app,
    "admin": admin.app,
}
_NO_HELP = {"help": False}

OUTPUT_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""What writing to a full disk, or to a terminal that is gone, raises."""

app = typer.Typer(
    name="whilly",
    help="A control plane for AI coding agents: a plan becomes verified work.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    # For an option that was not given typer imports pydantic, which takes longer than all of `whilly plan --help`.
    # Those for completion stand before any command; the help of the groups above a command gets a value by this map.
    add_completion=not sys.argv[1:] or sys.argv[1].startswith("-"),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "default_map": {
            **_NO_HELP,
            **dict.fromkeys(_GROUPS, _NO_HELP),
            "admin": {**_NO_HELP, **dict.fromkeys(admin.GROUPS, _NO_HELP)},
        },
    },
)
for _name, _group in _GROUPS.items():
    app.add_typer(_group, name=_name)
for _command in (
    run.run,
    demo.demo,
    server.server,
    login.login,
    task.why,
    logs.logs,
    control.pause,
    control.resume,
    events.events,
):
    app.command()(_command)


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
    # Almost all that a start makes stays: with Python's own threshold a tenth of it goes into looking through that.
    gc.set_threshold(20_000, 20, 50)
    try:
        refuse_what_is_no_text(sys.argv[1:])
        app()
    except WhillyError as problem:
        from whilly.core.terminal import clean

        print(f"whilly: {clean(str(problem))}", file=sys.stderr)  # noqa: T201
        sys.exit(exit_code(problem))
    except OSError as problem:
        if problem.errno not in OUTPUT_FAILS:
            raise
        with suppress(OSError):
            print(f"whilly: The output could not be written: {problem.strerror}.", file=sys.stderr)  # noqa: T201
        sys.exit(2)


def refuse_what_is_no_text(arguments: Iterable[str]) -> None:
    """Raise BadSetting for bytes on the command line that are not UTF-8: they cannot be looked up or stored."""
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise BadSetting(f"The argument {argument!a} is not UTF-8 text; write it as such.")


def speak_utf8() -> None:
    """Write UTF-8 also where the console or a pipe defaults to something smaller."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    main()
