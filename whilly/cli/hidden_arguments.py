"""Secrets off the command line: every process of this machine, agents too, can read it for as long as we live."""

import os
import sys
from collections.abc import Sequence


def begin_again_without(option: str, *, flags: Sequence[str] = (), value_in_file: str = "") -> None:
    """Replace this process by the same one without the option and its value; return when it was not given.

    `flags` are left out as well. With `value_in_file`, the name of another option, the value goes on as a file that
    can be read once. Only where processes can be replaced: elsewhere nothing is done.
    """
    arguments, values = _parted(sys.orig_argv[1:], option)
    if not values or os.name != "posix":
        return
    if value_in_file:
        reading, writing = os.pipe()
        os.write(writing, values[-1].encode())
        os.close(writing)
        os.set_inheritable(reading, True)
        arguments += [value_in_file, f"/dev/fd/{reading}"]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.orig_argv[0], *(each for each in arguments if each not in flags)])  # noqa: S606


def _parted(arguments: Sequence[str], option: str) -> tuple[list[str], list[str]]:
    """The arguments without the option, and its values."""
    kept: list[str] = []
    values: list[str] = []
    given = iter(arguments)
    for each in given:
        if each == option:
            values.extend([next(given, "")])
        elif each.startswith(f"{option}="):
            values.append(each.partition("=")[2])
        else:
            kept.append(each)
    return kept, [value for value in values if value]
