"""Recognises a test command that ran no test at all: its exit code may say success, but nothing was proved."""

import re
from dataclasses import dataclass

NOTE = "no tests were collected"

PYTEST_NO_TESTS = 5
"""Exit code of pytest, and of unittest since Python 3.12."""


@dataclass(frozen=True, slots=True)
class Tool:
    """How a test tool says that it found nothing, and how it says that it did run something."""

    nothing: re.Pattern[str]
    something: re.Pattern[str]


def _tool(nothing: str, something: str) -> Tool:
    return Tool(re.compile(nothing, re.MULTILINE), re.compile(something, re.MULTILINE))


TOOLS = {
    "pytest": _tool(r"^=*\s*no tests ran\b|^collected 0 items\b", r"\b[1-9]\d* (?:passed|failed|xfailed|xpassed)\b"),
    "unittest": _tool(r"^Ran 0 tests in |^NO TESTS RAN", r"^Ran [1-9]\d* tests? in "),
    "go": _tool(r"\[no test files\]|\[no tests to run\]", r"^(?:ok|FAIL|---)\s(?!.*\[no tests to run\])"),
    "cargo": _tool(r"^running 0 tests$", r"^running [1-9]\d* tests?$|^\s*Summary \[.*\] [1-9]\d* tests? run"),
    "jest": _tool(r"^No tests found\b", r"^Tests:\s.*\b[1-9]\d* (?:passed|failed)"),
    "vitest": _tool(r"^\s*No test files found\b|^\s*No test suite found", r"^\s*Tests\s.*\b[1-9]\d* (?:passed|failed)"),
    "mocha": _tool(r"^\s*0 passing\b", r"^\s*[1-9]\d* (?:passing|failing)\b"),
    "node": _tool(r"^(?:#|\N{INFORMATION SOURCE}) tests 0$", r"^(?:#|\N{INFORMATION SOURCE}) tests [1-9]\d*$"),
    "tap": _tool(r"^1\.\.0\b", r"^(?:not )?ok \d+"),
    "rspec": _tool(r"^0 examples, 0 failures", r"^[1-9]\d* examples?, "),
    "minitest": _tool(r"^0 runs, 0 assertions", r"^[1-9]\d* runs, "),
    "phpunit": _tool(r"^No tests executed!", r"^OK \([1-9]|^Tests: [1-9]"),
    "maven": _tool(r"Tests run: 0, Failures: 0|No tests to run\.", r"Tests run: [1-9]"),
    "gradle": _tool(r"^> Task :\S*test NO-SOURCE$", r"^> Task :\S*test(?: FAILED)?$"),
    "dotnet": _tool(r"^No test is available in |^No test matches ", r"Total(?: tests)?:\s+[1-9]"),
    "ctest": _tool(r"^No tests were found!!!", r"tests passed, \d+ tests failed out of [1-9]"),
    "bazel": _tool(r"No test targets were found", r"^//\S+\s+(?:\(cached\) )?(?:PASSED|FAILED)"),
    "elixir": _tool(r"^There are no tests to run", r"\b[1-9]\d* tests?, "),
    "swift": _tool(r"Executed 0 tests\b", r"Executed [1-9]\d* tests?\b"),
}


def ran_nothing(command: str, exit_code: int | None, output: str, *, whole: bool) -> bool:
    """Whether the command was a test run that found no test. Judged by the output, and `command` where codes speak.

    `whole`: the output was kept completely. What was cut away may hold the results of tests that did run, so then only
    an exit code counts.
    """
    if exit_code == PYTEST_NO_TESTS and re.search(r"\b(?:py\.?test|unittest)\b", command):
        return True
    if not whole:
        return False
    silent = [tool for tool in TOOLS.values() if tool.nothing.search(output)]
    return bool(silent) and not any(tool.something.search(output) for tool in TOOLS.values())
