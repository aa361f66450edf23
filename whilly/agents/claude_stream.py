"""Reads the event stream of `claude -p --output-format stream-json`, line by line. Pure: lines in, meaning out.

Events are taken by field name and unknown ones ignored, since the program changes weekly.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from whilly.agents.claude_prices import Tokens, cost
from whilly.core.evidence import MOST_TOKENS, Usage
from whilly.core.money import LARGEST, Micros, from_usd, to_usd
from whilly.core.terminal import clean, one_line

Json = dict[str, Any]

LONGEST_RESULT = 2000
"""Characters of one tool result that the transcript shows."""

CHARACTERS_PER_TOKEN = 4
"""For output whose count is not told yet."""

CHARACTERS_PER_REPORT = 2000
"""Answers come in small pieces, of which each would be a report."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What one line meant."""

    text: str = ""
    """For the transcript, with line ends."""
    works: bool = True
    """Whether it shows that the work goes on: an announcement to ask the service again does not."""
    spent: bool = False
    """Whether the usage changed."""


@dataclass(slots=True)
class _Message:
    """One answer of the model, told in several events."""

    model: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    characters: int = 0

    @property
    def counted(self) -> Tokens:
        """With an estimate for output that is still coming: its count is told last."""
        output = max(self.tokens.output, self.characters // CHARACTERS_PER_TOKEN)
        known = self.tokens
        return Tokens(known.fresh, known.cache_read, known.cache_write, known.cache_write_hour, output)


class ClaudeStream:
    """What is known of one run so far."""

    def __init__(self) -> None:
        self.session = ""
        self.model = ""
        self.version = ""
        self.began = False
        """The program has said what it is about to do: from now on it may ask the service, which may cost."""
        self.result: Json | None = None
        """The last event, which sums up the run."""
        self.limited_until: int | None = None
        """Epoch seconds until which a subscription's limit holds."""
        self._messages: dict[str, _Message] = {}
        self._open: dict[str | None, str] = {}

    def take(self, line: str) -> Heard:
        """Take one line. What is no event is noise: shown, and nothing more."""
        event = _event(line)
        if event is None:
            return Heard(f"{clean(line)}\n", works=False)
        match event.get("type"), event.get("subtype"):
            case "system", subtype:
                return self._system(event, subtype)
            case "stream_event", _:
                return self._piece(event)
            case "assistant", _:
                return self._assistant(event)
            case "user", _:
                return Heard("".join(_tool_result(block) for block in _blocks(event)))
            case "rate_limit_event", _:
                return self._limit(_object(event, "rate_limit_info"))
            case "result", _:
                self.result = event
                self.session = _name(event, "session_id") or self.session
                return Heard(_closing(event), spent=True)
            case _:
                return Heard()

    @property
    def usage(self) -> Usage:
        """The program's own account when it gave one, else the estimate. A run that never began cost nothing."""
        if self.result is not None and (account := _account(self.result)) is not None:
            return account
        if not self._messages:
            return Usage(cost=None if self.began else 0)
        counted = [(message.model, message.counted) for message in self._messages.values()]
        return Usage(
            cost=sum(cost(model, tokens) for model, tokens in counted),
            input_tokens=sum(tokens.fresh for _, tokens in counted),
            output_tokens=sum(tokens.output for _, tokens in counted),
            cache_read_tokens=sum(tokens.cache_read for _, tokens in counted),
            cache_write_tokens=sum(tokens.cache_write for _, tokens in counted),
        )

    @property
    def final_text(self) -> str:
        """The agent's closing words, cleaned; empty when there are none."""
        return clean(_string(self.result or {}, "result"))

    def _system(self, event: Json, subtype: Any) -> Heard:
        if subtype == "init":
            self.began = True
            self.session = _name(event, "session_id")
            self.model = _name(event, "model")
            self.version = _name(event, "claude_code_version")
            return Heard(f"Claude Code {self.version}, {self.model}\n")
        if subtype == "api_retry":
            self.began = True
            seconds = _number(event, "retry_delay_ms") / 1000
            why = f"{_number(event, 'error_status') or 'no'} answer, {_name(event, 'error') or 'unknown error'}"
            count = f"{_number(event, 'attempt')} of {_number(event, 'max_retries')}"
            return Heard(f"(The service: {why}. Retry {count} in {seconds:g} s.)\n", works=False)
        if subtype == "permission_denied":
            return Heard(f"(Denied: {clean(_string(event, 'message'))})\n")
        return Heard()

    def _piece(self, event: Json) -> Heard:
        """A piece of an answer in the making; the whole follows as `assistant`."""
        inner, parent = _object(event, "event"), event.get("parent_tool_use_id")
        match inner.get("type"):
            case "message_start":
                message = _object(inner, "message")
                identity = _string(message, "id")
                self._open[parent] = identity
                self._note(identity, message)
                return Heard(spent=True)
            case "message_delta" if parent in self._open:
                self._note(self._open[parent], inner)
                return Heard(spent=True)
            case "content_block_delta" if parent in self._open:
                return Heard(spent=self._grow(self._messages[self._open[parent]], _object(inner, "delta")))
            case _:
                return Heard()

    @staticmethod
    def _grow(message: _Message, delta: Json) -> bool:
        """Note what an answer grew by; true now and then, when the estimate is worth being told."""
        before = message.characters // CHARACTERS_PER_REPORT
        message.characters += sum(len(_string(delta, name)) for name in ("text", "thinking", "partial_json"))
        return message.characters // CHARACTERS_PER_REPORT > before

    def _assistant(self, event: Json) -> Heard:
        """One block of an answer. Its usage is that of the answer's start, so it must not be added up."""
        message = _object(event, "message")
        if _string(message, "model") != "<synthetic>":
            self.began = True
            self._note(_string(message, "id"), message)
        return Heard("".join(_said(block) for block in _blocks(event)), spent=True)

    def _note(self, identity: str, told: Json) -> None:
        """Take note of an answer's counts; later ones include earlier ones."""
        message = self._messages.setdefault(identity, _Message())
        message.model = _string(told, "model") or message.model
        usage, tokens = _object(told, "usage"), message.tokens
        tokens.fresh = max(tokens.fresh, _number(usage, "input_tokens"))
        tokens.cache_read = max(tokens.cache_read, _number(usage, "cache_read_input_tokens"))
        tokens.cache_write = max(tokens.cache_write, _number(usage, "cache_creation_input_tokens"))
        hour = _number(_object(usage, "cache_creation"), "ephemeral_1h_input_tokens")
        tokens.cache_write_hour = max(tokens.cache_write_hour, hour)
        tokens.output = max(tokens.output, _number(usage, "output_tokens"))

    def _limit(self, limit: Json) -> Heard:
        if limit.get("status") != "rejected":
            return Heard()
        self.limited_until = _number(limit, "resetsAt") or None
        return Heard(f"(The subscription's limit is reached: {_name(limit, 'rateLimitType')})\n")


def _event(line: str) -> Json | None:
    """The line's JSON object, also behind escape sequences that a program's start may leave on it."""
    for text in (line, clean(line)):
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return event if isinstance(event, dict) else None
    return None


def _account(result: Json) -> Usage | None:
    """The run's own account. Cost and tokens per model are of this run alone where the program says so."""
    models = result.get("model_usage_since_last_result")
    if not isinstance(models, dict):
        models = _object(result, "modelUsage")
    each = [model for model in models.values() if isinstance(model, dict)]
    if each:
        return Usage(
            cost=_sum_of_costs([model.get("costUSD") for model in each]),
            input_tokens=sum(_number(model, "inputTokens") for model in each),
            output_tokens=sum(_number(model, "outputTokens") for model in each),
            cache_read_tokens=sum(_number(model, "cacheReadInputTokens") for model in each),
            cache_write_tokens=sum(_number(model, "cacheCreationInputTokens") for model in each),
        )
    if "total_cost_usd" not in result:
        return None
    usage = _object(result, "usage")
    return Usage(
        cost=_sum_of_costs([result["total_cost_usd"]]),
        input_tokens=_number(usage, "input_tokens"),
        output_tokens=_number(usage, "output_tokens"),
        cache_read_tokens=_number(usage, "cache_read_input_tokens"),
        cache_write_tokens=_number(usage, "cache_creation_input_tokens"),
    )


def _sum_of_costs(costs: list[Any]) -> Micros | None:
    """In micro-dollars; unknown as soon as one of them is no sum of money."""
    try:
        return min(sum(from_usd(cost) for cost in costs), LARGEST)
    except (ValueError, TypeError):
        return None


def _said(block: Json) -> str:
    if block.get("type") == "text":
        return clean(_string(block, "text")) + "\n"
    if block.get("type") == "tool_use":
        return f"→ {_name(block, 'name')}: {_gist(_object(block, 'input'))}\n"
    return ""


def _gist(arguments: Json) -> str:
    """What a tool is asked to do, on one line."""
    for name in ("command", "file_path", "notebook_path", "pattern", "description"):
        if text := _string(arguments, name):
            return " ".join(clean(text).split())[:LONGEST_RESULT]
    return clean(json.dumps(arguments))[:200]


def _tool_result(block: Json) -> str:
    if block.get("type") != "tool_result":
        return ""
    content = block.get("content")
    if isinstance(content, list):
        content = "\n".join(_string(part, "text") for part in content if isinstance(part, dict))
    text = clean(content) if isinstance(content, str) else ""
    if len(text) > LONGEST_RESULT:
        half = LONGEST_RESULT // 2
        text = f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
    return re.sub("^", "  ", text.rstrip("\n"), flags=re.MULTILINE) + "\n" if text.strip() else ""


def _closing(result: Json) -> str:
    cost = _sum_of_costs([result.get("total_cost_usd")])
    cost_text = "" if cost is None else f", ${to_usd(cost):.4f}"
    how = f"Failed: {clean(_string(result, 'result')) or errors_of(result)}" if result.get("is_error") else "Ended"
    return f"({how}. Turns: {_number(result, 'num_turns')}{cost_text})\n"


def errors_of(result: Json) -> str:
    """What the final event says went wrong, where it is a list; cleaned."""
    errors = result.get("errors")
    return clean("; ".join(map(str, errors))) if isinstance(errors, list) else ""


def _blocks(event: Json) -> list[Json]:
    content = _object(event, "message").get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _object(holder: Json, name: str) -> Json:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _string(holder: Json, name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def _name(holder: Json, name: str) -> str:
    """A word or two, fit to be shown."""
    return one_line(_string(holder, name), 100)


def _number(holder: Json, name: str) -> int:
    value = holder.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # NaN
        return 0
    return int(min(max(value, 0), MOST_TOKENS))
