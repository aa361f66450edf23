"""The reference of the commands, made from the functions that Typer makes commands of.

Not from `--help`: its wording and layout change with Typer's version, and this page must not.
"""

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

WORDS = {int: "N", Path: "PATH", str: "TEXT"}


def command_reference() -> str:
    """Every command with its arguments and options."""
    from whilly.cli.main import app
    from whilly.cli.worker_main import work

    return "\n\n".join([*_sections(app, "whilly", "##"), _section("whilly-worker", work, "##")])


def _sections(app: typer.Typer, name: str, level: str) -> Iterator[str]:
    for command in app.registered_commands:
        if command.callback is not None:
            word = command.name or command.callback.__name__.replace("_", "-")
            yield _section(f"{name} {word}", command.callback, level)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            path = f"{name} {group.name}"
            yield f"{level} `{path}`\n\n{group.typer_instance.info.help}"
            yield from _sections(group.typer_instance, path, level + "#")


@dataclass(frozen=True)
class Given:
    """One thing that a command can be given."""

    usage: str
    """As it stands in the usage line; empty for an option."""
    names: str
    meaning: str


def _section(path: str, command: Callable[..., Any], level: str) -> str:
    given = list(_given(command))
    options = ["[OPTIONS]"] if any(not each.usage for each in given) else []
    usage = " ".join([path, *options, *(each.usage for each in given if each.usage)])
    parts = [f"{level} `{path}`", inspect.getdoc(command) or "", f"```text\n{usage}\n```"]
    if given:
        parts.append("\n".join(["| | |", "|---|---|", *(f"| {each.names} | {each.meaning} |" for each in given)]))
    return "\n\n".join(parts)


def _given(command: Callable[..., Any]) -> Iterator[Given]:
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *notes = get_args(hints[name]) if hasattr(hints[name], "__metadata__") else (hints[name],)
        info = next((note for note in notes if isinstance(note, OptionInfo | ArgumentInfo)), None)
        if info is None or info.hidden:
            continue
        kind, many = _one(kind)
        default = parameter.default
        meaning = (info.help or "").replace("|", "\\|") + _default(default)
        word = info.metavar or name.upper().removesuffix("_")
        if isinstance(info, ArgumentInfo):
            yield Given(word if default is parameter.empty else f"[{word}]", f"`{word}`", meaning)
            continue
        names = ", ".join(f"`{each}`" for each in _option_names(info, name))
        value = "" if kind is bool else f" `{info.metavar or WORDS.get(kind, 'VALUE')}`"
        needed = " Required." if default is parameter.empty else ""
        yield Given(
            "", names + value, meaning + (" May be repeated." if many and "repeated" not in meaning else "") + needed
        )


def _option_names(info: OptionInfo, name: str) -> list[str]:
    first = [info.default] if isinstance(info.default, str) else []  # Where Annotated puts the first name.
    return [*first, *(info.param_decls or ())] or [f"--{name.replace('_', '-')}"]


def _one(kind: Any) -> tuple[Any, bool]:
    """The type of one value, without None, and whether there may be several."""
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(each for each in get_args(kind) if each is not types.NoneType)
    return (get_args(kind)[0], True) if get_origin(kind) is list else (kind, False)


def _default(default: Any) -> str:
    if default is inspect.Parameter.empty or default in (None, "", False) or callable(default):
        return ""
    return f" Default: `{default}`."
