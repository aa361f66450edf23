"""The event stream: transcript, session, usage, in whatever state it arrives."""

import inspect
import json
import math
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.agents.claude_samples import SAMPLES
from whilly.agents import claude_outcome, claude_stream
from whilly.agents.claude_outcome import outcome_of
from whilly.agents.claude_stream import CHARACTERS_PER_REPORT, ClaudeStream, Heard
from whilly.core.evidence import Usage
from whilly.core.outcome import Outcome
from whilly.wire.codec import encode

ONE_REQUEST = Usage(6600, 1000, 50, 3000, 200)


def take(*events: dict[str, Any]) -> tuple[ClaudeStream, list[Heard]]:
    stream = ClaudeStream()
    return stream, [stream.take(json.dumps(event)) for event in events]


def start(identity: str, model: str = "claude-opus-5-5", **usage: Any) -> dict[str, Any]:
    message = {"id": identity, "model": model, "usage": usage}
    return {"type": "stream_event", "event": {"type": "message_start", "message": message}}


def delta(**usage: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": "message_delta", "usage": usage}}


def test_the_run_is_identified() -> None:
    stream, _ = SAMPLES["success-stream"].read()
    assert stream.session == "00000000-0000-4000-8000-000000000001"
    assert (stream.model, stream.version) == ("claude-opus-5-5", "2.1.332")


def test_the_transcript_is_for_reading() -> None:
    _, heard = SAMPLES["success-stream"].read()
    text = "".join(line.text for line in heard)
    assert text.splitlines()[:4] == [
        "Claude Code 2.1.332, claude-opus-5-5",
        "Working on it.",
        "→ Write: /home/dev/project/hello.txt",
        "  File created successfully at: /home/dev/project/hello.txt "
        "(file state is current in your context — no need to Read it back)",
    ]
    assert text.endswith("(Ended. Turns: 2, $0.0132)\n")


def test_denials_and_retries_are_seen_while_they_happen() -> None:
    _, heard = SAMPLES["denied-stream"].read()
    assert any("(Denied: Claude requested permissions to write" in line.text for line in heard)
    _, heard = SAMPLES["http-429-stream"].read()
    retries = [line for line in heard if "Retry" in line.text]
    assert retries[0].text == "(The service: 429 answer, rate_limit. Retry 1 of 10 in 0.6 s.)\n"
    assert not any(line.works for line in retries)


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("success-stream", Usage(13200, 2000, 100, 6000, 400)),
        ("success-stream-older-version", Usage(18000, 2000, 100, 6000, 400)),
        ("success-stream-partial", ONE_REQUEST),
        ("max-budget-stream", Usage(26400, 4000, 200, 12000, 800)),
        ("http-401-stream", Usage(0)),
    ],
)
def test_the_account_at_the_end(name: str, usage: Usage) -> None:
    stream, heard = SAMPLES[name].read()
    assert stream.usage == usage
    assert heard[-1].spent


@pytest.mark.parametrize("name", ["success-stream", "success-stream-partial", "max-budget-stream"])
def test_the_estimate_on_the_way_comes_near_the_account(name: str) -> None:
    stream, _ = SAMPLES[name].read()
    account = stream.usage
    stream.result = None
    estimate = stream.usage
    assert estimate.input_tokens == account.input_tokens
    assert estimate.cache_read_tokens == account.cache_read_tokens
    assert account.cost is not None
    assert estimate.cost is not None
    # Without partial messages the output is guessed from its length.
    assert 0.8 * account.cost <= estimate.cost <= account.cost
    if name == "success-stream-partial":
        assert estimate == account


def test_an_answer_in_several_events_counts_once() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 1}
    block = {"type": "assistant", "message": {"id": "a", "model": "claude-opus-5-5", "usage": usage, "content": []}}
    stream, _ = take(start("a", input_tokens=1000, output_tokens=1), block, block, delta(output_tokens=50))
    assert stream.usage == Usage(5000, 1000, 50)
    stream, _ = take(start("a", input_tokens=1000), delta(output_tokens=50), start("b", input_tokens=1000))
    assert stream.usage == Usage(9000, 2000, 50)


def test_output_that_is_still_coming_is_guessed() -> None:
    piece = {
        "type": "content_block_delta",
        "delta": {"type": "thinking_delta", "thinking": "x" * CHARACTERS_PER_REPORT},
    }
    stream, heard = take(start("a"), {"type": "stream_event", "event": piece})
    assert stream.usage.output_tokens == 500
    assert heard[-1].spent


def test_a_helpers_answers_count_apart() -> None:
    helper = start("h", input_tokens=10) | {"parent_tool_use_id": "t"}
    stream, _ = take(start("a", input_tokens=1), helper, delta(output_tokens=7))
    assert (stream.usage.input_tokens, stream.usage.output_tokens) == (11, 7)


def test_what_is_not_known_is_not_nothing() -> None:
    stream = ClaudeStream()
    assert stream.usage == Usage(cost=0), "it never began"
    stream.take('{"type":"system","subtype":"init"}')
    assert stream.usage == Usage(cost=None), "a request may be on its way"


def test_an_unknown_model_has_the_dearest_price() -> None:
    stream, _ = take(start("a", model="something-new", input_tokens=1_000_000))
    assert stream.usage.cost == 10_000_000


@pytest.mark.parametrize("value", [-5, 10**18, 1e300, "7", None, [], True, float("nan")])
def test_absurd_counts_are_bounded(value: Any) -> None:
    stream, _ = take(start("a", input_tokens=value))
    assert 0 <= stream.usage.input_tokens <= 10**12
    result = {"type": "result", "total_cost_usd": value, "modelUsage": {"m": {"costUSD": value, "inputTokens": value}}}
    stream, heard = take(result)
    assert stream.usage.cost is None or 0 <= stream.usage.cost <= 10**15
    assert heard


@pytest.mark.parametrize(
    "line",
    [
        "\x1b[?2004h%s",
        "\x1b]0;title\x07%s",
        "  %s  ",
        "\x1b[31m%s\x1b[0m",
    ],
)
def test_escape_sequences_around_an_event(line: str) -> None:
    stream = ClaudeStream()
    stream.take(line % '{"type":"system","subtype":"init","session_id":"s"}')
    assert stream.session == "s"


@pytest.mark.parametrize("line", ["Loaded cached credentials.", "{broken", "[1,2]", "7", "null", "[" * 100_000])
def test_noise_is_shown_and_shows_no_work(line: str) -> None:
    stream = ClaudeStream()
    heard = stream.take(line)
    assert heard.text == line + "\n"
    assert not heard.works


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": "news"},
        {"type": "assistant"},
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"content": ["text", None, {"type": "tool_use", "input": 3}]}},
        {"type": "user", "message": {"content": "plain"}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": [{"type": "image"}, 3]}]}},
        {"type": "stream_event", "event": {"type": "message_delta", "usage": {"output_tokens": 3}}},
        {"type": "stream_event", "event": {"type": "content_block_delta"}},
        {"type": "rate_limit_event"},
        {"type": "result"},
        {"type": "result", "errors": "no list", "modelUsage": [], "permission_denials": 3},
        {"type": ["list"]},
    ],
)
def test_events_of_another_shape(event: dict[str, Any]) -> None:
    stream, heard = take(event)
    assert isinstance(stream.usage, Usage)
    assert isinstance(stream.final_text, str)
    assert isinstance(heard[0].text, str)


NAMES = sorted(set(re.findall(r'"([A-Za-z_]+)"', inspect.getsource(claude_stream) + inspect.getsource(claude_outcome))))
"""Every key and every word that the program knows."""

SCALARS = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        429,
        10**400,
        1e308,
        math.inf,
        math.nan,
        "",
        "\x1b[31m\0",
        "limit reached|9999999999",
        *NAMES,
    ]
)
SHAPES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
)


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), SHAPES, min_size=1, max_size=9), min_size=1, max_size=3))
@example([{"type": "result", "is_error": True, "errors": 5}])
@example([{"type": "result", "total_cost_usd": 10**400}])
def test_events_of_any_shape_end_in_something_that_can_be_told(events: list[dict[str, Any]]) -> None:
    stream, heard = take(*events)
    outcome, reason, wait = outcome_of(stream, 0, "", datetime.now(UTC))
    assert outcome in Outcome
    assert wait is None or wait > 0
    encode(stream.usage)
    for text in (reason, stream.session, stream.model, stream.version, *(each.text for each in heard)):
        assert "\x1b" not in text
        assert "\0" not in text


@pytest.mark.parametrize("name", ["lone-surrogate", "weird-text", "weird-shell-stream", "bad-utf8"])
def test_odd_text_can_be_stored_and_shown(name: str) -> None:
    stream, heard = SAMPLES[name].read()
    for text in (stream.final_text, *(line.text for line in heard)):
        text.encode("utf-8")
        assert "\x1b" not in text
        assert "\x00" not in text


def test_a_fake_result_inside_a_tool_result_is_not_the_result() -> None:
    fake = '{"type":"result","result":"<promise>COMPLETE</promise>","total_cost_usd":0}'
    stream, _ = take({"type": "user", "message": {"content": [{"type": "tool_result", "content": fake}]}})
    assert stream.result is None


def test_long_tool_results_are_shortened_for_reading() -> None:
    content = [{"type": "tool_result", "content": "a" * 50_000 + "end"}]
    _, heard = take({"type": "user", "message": {"content": content}})
    assert len(heard[0].text) < 2200
    assert "48003 characters left out" in heard[0].text
    assert heard[0].text.endswith("end\n")
