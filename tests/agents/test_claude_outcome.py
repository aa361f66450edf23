"""What the ends of real runs mean."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.agents.claude_samples import SAMPLES
from whilly.agents.claude_outcome import QUOTA_SECONDS, Ending, outcome_of
from whilly.agents.claude_stream import ClaudeStream
from whilly.core.outcome import Outcome

NOW = datetime(2029, 12, 31, 23, 0, tzinfo=UTC)

OF_CLASS = {
    "ok": Outcome.COMPLETED,
    "incomplete": Outcome.INCOMPLETE,
    "denied": Outcome.DENIED,
    "auth": Outcome.AUTH_FAILED,
    "quota": Outcome.QUOTA_EXHAUSTED,
    "rate-limit": Outcome.RATE_LIMITED,
    "overloaded": Outcome.PROVIDER_ERROR,
    "server": Outcome.PROVIDER_ERROR,
    "network": Outcome.PROVIDER_ERROR,
    "context": Outcome.CONTEXT_OVERFLOW,
    "refused": Outcome.REFUSED,
    "truncated": Outcome.INCOMPLETE,
    "model": Outcome.AGENT_MISSING,
    "bad-request": Outcome.AGENT_FAILED,
    "not-run": Outcome.AGENT_FAILED,
    "killed": Outcome.AGENT_FAILED,
    "timeout": Outcome.AGENT_FAILED,
    "usage-error": Outcome.AGENT_FAILED,
}
OF_SAMPLE = {
    "max-budget": Outcome.OVER_BUDGET,
    "max-budget-stream": Outcome.OVER_BUDGET,
    "resume-3-over-budget": Outcome.OVER_BUDGET,
    "max-turns": Outcome.INCOMPLETE,
    "max-turns-stream": Outcome.INCOMPLETE,
    # The program cannot be run in this way at all, so the worker must not go on claiming.
    "refused-root": Outcome.AGENT_MISSING,
    "usage-unknown-flag": Outcome.AGENT_MISSING,
    "usage-mcp-config-missing": Outcome.AGENT_MISSING,
}


def judged(name: str, **how: Any) -> Ending:
    sample = SAMPLES[name]
    stream, _ = sample.read(**how)
    return outcome_of(stream, sample.exit_code, sample.stderr, NOW)


def of_result(exit_code: int = 0, **fields: Any) -> Ending:
    result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "permission_denials": []}
    stream = ClaudeStream()
    stream.take(json.dumps(result | fields))
    return outcome_of(stream, exit_code, "", NOW)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample(name: str) -> None:
    expected = OF_SAMPLE.get(name) or OF_CLASS[SAMPLES[name].kind]
    outcome, reason, wait = judged(name, marker_alone=True)
    assert outcome is expected
    assert (reason == "") == (outcome is Outcome.COMPLETED)
    assert "\n" not in reason
    assert wait is None or outcome is Outcome.QUOTA_EXHAUSTED


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.kind == "ok"])
def test_a_marker_that_is_not_alone_on_its_line_is_no_promise(name: str) -> None:
    assert judged(name)[0] is Outcome.INCOMPLETE


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("plan-limit-stream", 3600),
        ("plan-limit", 3660),
        ("usage-limit", 3660),
        ("low-credit", QUOTA_SECONDS),
        ("http-402", QUOTA_SECONDS),
    ],
)
def test_how_long_a_used_up_plan_parks_the_task(name: str, seconds: int) -> None:
    assert judged(name)[2] == seconds


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("denied", "not permitted to use Write (/home/dev/project/hello.txt)"),
        ("http-401", "Invalid API key · Fix external API key Log in"),
        ("http-404", "WHILLY_CLAUDE_MODEL"),
        ("sigkill-tool-stream", "killed by SIGKILL"),
        ("session-id-in-use", "is already in use"),
        ("refused-root", "cannot be used with root"),
        ("slash-command", "took the prompt for one of its own commands"),
        ("http-529", "The provider: API Error: Repeated 529"),
    ],
)
def test_reasons_say_what_happened(name: str, words: str) -> None:
    assert words in judged(name)[1]


def test_the_limit_may_be_told_in_a_seeming_success() -> None:
    outcome, _, wait = of_result(result="You've hit your limit · resets at 4am (Asia/Tbilisi)")
    assert outcome is Outcome.QUOTA_EXHAUSTED
    assert wait == 3660  # 23:00 in UTC is 03:00 in Tbilisi.
    assert of_result(exit_code=1, is_error=True, result="You've hit your limit · resets at 4am")[0] is outcome


def test_a_warning_about_a_limit_is_no_limit() -> None:
    warned = "98 % of the weekly limit is used. You've hit your limit soon.\n<promise>COMPLETE</promise>"
    assert of_result(result=warned)[0] is Outcome.COMPLETED


def test_a_question_blocks() -> None:
    asked = of_result(result="I cannot go on.\n<promise>BLOCKED: Which database?</promise>")
    assert asked == (Outcome.AGENT_BLOCKED, "Which database?", None)


@pytest.mark.parametrize(
    "text",
    [
        "<promise>COMPLETE</promise>\nbut not the tests",
        "```\n<promise>COMPLETE</promise>\n```",
        "> <promise>COMPLETE</promise>",
        '{"type":"result","result":"<promise>COMPLETE</promise>"}',
    ],
)
def test_quoted_markers_are_no_promise(text: str) -> None:
    assert of_result(result=text)[0] is Outcome.INCOMPLETE


def test_colours_in_the_marker_do_not_matter() -> None:
    assert of_result(result="Done.\n\x1b[32m<promise>COMPLETE\x1b[0m</promise>\x07\n")[0] is Outcome.COMPLETED


def test_the_exit_code_must_agree() -> None:
    done = "Done.\n<promise>COMPLETE</promise>"
    assert of_result(result=done)[0] is Outcome.COMPLETED
    assert of_result(exit_code=143, result=done)[0] is Outcome.AGENT_FAILED
    assert of_result(exit_code=1, result=done)[0] is Outcome.AGENT_FAILED
    assert of_result(is_error=True, result=done)[0] is Outcome.AGENT_FAILED


def test_no_output_at_all() -> None:
    outcome, reason, _ = outcome_of(ClaudeStream(), 0, "", NOW)
    assert (outcome, reason) == (Outcome.AGENT_FAILED, "Claude Code ended without a result (exit code 0).")
