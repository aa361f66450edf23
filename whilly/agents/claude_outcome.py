"""What the end of a Claude Code run means. The exit code alone is wrong in both directions, and so is `subtype`."""

import re
from datetime import datetime
from typing import Any

from whilly.agents.claude_stream import ClaudeStream, Json, errors_of
from whilly.agents.reset_time import seconds_until_reset
from whilly.agents.stopped import exit_in_words
from whilly.core.completion import says_blocked, says_complete
from whilly.core.outcome import Outcome
from whilly.core.terminal import one_line

Ending = tuple[Outcome, str, int | None]
"""The outcome, a sentence for people, and how many seconds the provider asks to wait."""

QUOTA_SECONDS = 1800
"""Until a used-up account is tried again when nobody says when it is filled."""

_LIMIT_HIT = re.compile(r"\A\s*(?:You've (?:hit|reached) your|Claude (?:AI )?usage limit reached)", re.IGNORECASE)
_CONFIGURATION = re.compile(r"unknown option|invalid choice|cannot be used with|not a valid|Invalid MCP", re.IGNORECASE)


def outcome_of(stream: ClaudeStream, exit_code: int | None, stderr: str, now: datetime) -> Ending:
    """What a run that ended by itself means."""
    result = stream.result
    if result is None:
        return _without_a_result(exit_code, stderr)
    if result.get("is_error"):
        return _failed(stream, result, now)
    if denied := denied_tools(result):
        return Outcome.DENIED, f"The agent was not permitted to use {denied}.", None
    if exit_code != 0:
        reason = f"Claude Code ended with {exit_in_words(exit_code)} although it reported success. {one_line(stderr)}"
        return Outcome.AGENT_FAILED, reason.strip(), None
    return _finished(stream, result, now)


def _without_a_result(exit_code: int | None, stderr: str) -> Ending:
    said = one_line(stderr)
    if exit_code == 1 and _CONFIGURATION.search(said):
        return (
            Outcome.AGENT_MISSING,
            f"Claude Code cannot be run as Whilly runs it; is it up to date? It says: {said}",
            None,
        )
    what = f"Claude Code ended without a result ({exit_in_words(exit_code)})."
    return Outcome.AGENT_FAILED, f"{what} {said}".strip(), None


def _finished(stream: ClaudeStream, result: Json, now: datetime) -> Ending:
    """The program thinks that all went well."""
    text = stream.final_text
    if result.get("num_turns") == 0:
        return Outcome.AGENT_FAILED, "Claude Code took the prompt for one of its own commands and asked no model.", None
    if (question := says_blocked(text)) is not None:
        return Outcome.AGENT_BLOCKED, question, None
    if says_complete(text):
        return Outcome.COMPLETED, "", None
    if _LIMIT_HIT.search(text):
        return _quota(stream, text, now)
    if not text.strip():
        return Outcome.INCOMPLETE, "The agent ended with an empty answer.", None
    return Outcome.INCOMPLETE, "The agent ended without the completion marker.", None


def _failed(stream: ClaudeStream, result: Json, now: datetime) -> Ending:
    """The program knows that it failed; the first line that applies counts."""
    text, status = stream.final_text, result.get("api_error_status")
    said = one_line(text or errors_of(result)) or "It does not say why."
    if result.get("subtype") == "error_max_budget_usd":
        return Outcome.OVER_BUDGET, f"Claude Code stopped at its spending limit. {said}", None
    if result.get("subtype") == "error_max_turns":
        return Outcome.INCOMPLETE, f"Claude Code stopped at its limit of turns. {said}", None
    if _is_quota(result, status, text):
        return _quota(stream, text, now)
    if outcome := _by_terminal_reason(result) or _by_status(status) or _by_text(result, text):
        return outcome, _advised(outcome, said), None
    return Outcome.AGENT_FAILED, f"Claude Code failed: {said}", None


def _is_quota(result: Json, status: Any, text: str) -> bool:
    return (
        status == 402
        or result.get("api_error") == "usage_limit_reached"
        or "usage limits" in text
        or "credit balance is too low" in text.lower()
        or bool(_LIMIT_HIT.search(text))
    )


def _quota(stream: ClaudeStream, text: str, now: datetime) -> Ending:
    """Plan or credit used up, until when the service says."""
    wait = seconds_until_reset(text, now)
    if stream.limited_until is not None:
        wait = max(60, round(stream.limited_until - now.timestamp()))
    return Outcome.QUOTA_EXHAUSTED, f"The provider: {one_line(text)}", QUOTA_SECONDS if wait is None else wait


def _by_terminal_reason(result: Json) -> Outcome | None:
    if result.get("terminal_reason") in ("prompt_too_long", "blocking_limit", "image_error"):
        return Outcome.CONTEXT_OVERFLOW
    if result.get("stop_reason") == "refusal":
        return Outcome.REFUSED
    if result.get("api_error") == "max_output_tokens":
        return Outcome.INCOMPLETE
    if result.get("api_error") == "connection_failed":
        return Outcome.PROVIDER_ERROR
    return None


def _by_status(status: Any) -> Outcome | None:
    match status:
        case 401 | 403:
            return Outcome.AUTH_FAILED
        case 404:
            return Outcome.AGENT_MISSING
        case 408:
            return Outcome.PROVIDER_ERROR
        case 413:
            return Outcome.CONTEXT_OVERFLOW
        case 429:
            return Outcome.RATE_LIMITED
        case int() if status >= 500:
            return Outcome.PROVIDER_ERROR
        case _:
            return None


def _by_text(result: Json, text: str) -> Outcome | None:
    """Failures before the service answered, and those of older versions, say it in words only."""
    if text.startswith(("Not logged in", "Invalid API key", "Failed to authenticate", "OAuth token")):
        return Outcome.AUTH_FAILED
    if text.startswith("Prompt is too long"):
        return Outcome.CONTEXT_OVERFLOW
    if result.get("terminal_reason") == "api_error" and not result.get("api_error_status"):
        return Outcome.PROVIDER_ERROR
    return None


def _advised(outcome: Outcome, said: str) -> str:
    """The sentence for people: what the service said, and where that does not suffice, what to do."""
    match outcome:
        case Outcome.AUTH_FAILED:
            return f"{said} Log in with `claude`, or set ANTHROPIC_API_KEY for the worker."
        case Outcome.AGENT_MISSING:
            return f"{said} WHILLY_CLAUDE_MODEL names the model to use."
        case Outcome.PROVIDER_ERROR | Outcome.RATE_LIMITED:
            return f"The provider: {said}"
        case _:
            return said


def denied_tools(result: Json) -> str:
    """The tools that were asked for and not permitted, with what they should have done; empty when there are none."""
    denials = result.get("permission_denials")
    if not isinstance(denials, list):
        return ""
    return ", ".join(dict.fromkeys(_denied(denial) for denial in denials[:5] if isinstance(denial, dict)))


def _denied(denial: Json) -> str:
    arguments = denial.get("tool_input")
    about = ""
    if isinstance(arguments, dict):
        about = next((str(arguments[name]) for name in ("command", "file_path") if arguments.get(name)), "")
    return one_line(f"{denial.get('tool_name')} ({about})" if about else str(denial.get("tool_name")), 120)
