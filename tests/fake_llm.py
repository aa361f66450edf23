#!/usr/bin/env python3
"""A scripted stand-in for the hosted LLM APIs, for testing coding-agent CLIs offline.

The server listens on loopback and speaks enough of four wire protocols for the real
``claude``, ``codex``, ``opencode`` and ``gemini`` programs to run against it unchanged:

=====================  ==========================================================
protocol               endpoints
=====================  ==========================================================
Anthropic Messages     ``/v1/messages`` (SSE and JSON), ``/v1/messages/count_tokens``
OpenAI Responses       ``/v1/responses`` (SSE and JSON)
OpenAI Chat            ``/v1/chat/completions`` (SSE and JSON)
Gemini                 ``:generateContent``, ``:streamGenerateContent``, ``:countTokens``
(all)                  ``/v1/models``, ``/v1beta/models``
=====================  ==========================================================

Choosing a scenario
-------------------
The scenario of a request is taken, in this order, from

1. the URL path prefix ``/s/<spec>/...`` (put it in the client's base URL),
2. the header ``x-fake-scenario: <spec>``,
3. the API key, when it has the form ``fake-<spec>`` or ``sk-fake-<spec>``,
4. the server's ``--default`` (``write-file``).

A spec is a scenario name and optional ``,key=value`` options, for example
``http-429,retry_after=1,times=2``.  Options every scenario understands:

``times=N``   fail only the first N requests, then play ``write-file`` (needs a
              distinct ``run`` per test when one server is shared)
``run=ID``    separates the counters of runs that share a server
``delay=S``   sleep S seconds before every answer
``side=ok``   answer requests that offer no tools (titles, summaries, routing) normally
              even in a failure scenario
``retry_after=S``  add a ``retry-after`` header to HTTP errors
``usage=A:B:C:D``  report these fresh, cache-write, cache-read and output tokens (Anthropic only)
``should_retry=B`` add an ``x-should-retry`` header to HTTP errors

Scripts are stateless: the step to play is derived from the conversation that the client
sends (how many tool calls it holds since the last plain assistant answer), so any number
of clients may share one server, and resumed sessions start the script again.

Own scripts
-----------
``--scripts FILE`` or ``PUT /_fake/scenarios/<name>`` takes JSON such as::

    {"steps": [{"shell": "ls -la"},
               {"write": {"path": "a.txt", "content": "hi\\n"}},
               {"text": "done"}]}

``GET /_fake/log`` returns what was requested (scenario, step, status, seconds until the
client hung up); ``DELETE /_fake/log`` clears it.

Use in tests
------------
::

    with running_server() as server:
        env["ANTHROPIC_BASE_URL"] = server.url("http-529")
        ...
        assert server.calls("http-529")[0].status == 529

Run ``python fake_llm.py --list`` for the scenarios.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import dataclasses
import json
import re
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

__all__ = [
    "COMPLETE_TEXT",
    "SCENARIOS",
    "USAGE",
    "Call",
    "Failure",
    "FakeLLM",
    "Scenario",
    "Shell",
    "Text",
    "Write",
    "running_server",
    "serving",
]

Json = dict[str, Any]

COMPLETE_TEXT = "All done.\n<promise>COMPLETE</promise>"


# --------------------------------------------------------------------------------------
# Usage numbers.  Every answered request reports exactly these, so a test can check sums.
# --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Usage:
    """Token counts reported by every answered request."""

    fresh_input: int = 1000
    cache_write: int = 200
    cache_read: int = 3000
    output: int = 50
    reasoning: int = 10

    @property
    def total_input(self) -> int:
        """Input tokens the way OpenAI and Gemini count them (cached ones included)."""
        return self.fresh_input + self.cache_write + self.cache_read


USAGE = Usage()


# --------------------------------------------------------------------------------------
# What a script can do at one step
# --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Text:
    """Answer with text and end the turn."""

    text: str
    stop: str = "end"  # end | max_tokens | refusal
    raw: bytes = b""  # appended inside the JSON string unescaped (invalid UTF-8 tests)
    chunk: int = 4000  # characters per streamed delta


@dataclass(frozen=True)
class Write:
    """Call the client's file-writing tool."""

    path: str
    content: str


@dataclass(frozen=True)
class Shell:
    """Call the client's shell tool."""

    command: str
    timeout_ms: int | None = None


@dataclass(frozen=True)
class Tool:
    """Call a tool by the exact name and arguments given."""

    name: str
    args: Json


@dataclass(frozen=True)
class Failure:
    """Answer with an HTTP error, or break the connection.

    ``kind`` is a protocol-neutral name; see :data:`ERROR_BODIES`.
    """

    kind: str
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Hang:
    """Never answer (``after`` says how far the response gets before silence)."""

    after: str = "nothing"  # nothing | headers | half
    seconds: float = 3600.0


@dataclass(frozen=True)
class Cut:
    """Start a good stream and drop the connection half way through the text."""

    text: str = "This answer is cut off in the mid"


@dataclass(frozen=True)
class StreamError:
    """Send HTTP 200, start the stream, then an in-band error event."""

    kind: str = "overloaded"


@dataclass(frozen=True)
class Garbage:
    """HTTP 200 with a body that is not what the protocol promises."""

    body: bytes
    content_type: str = "text/html"


Step = Text | Write | Shell | Tool | Failure | Hang | Cut | StreamError | Garbage
ToolStep = (Write, Shell, Tool)


@dataclass(frozen=True)
class Scenario:
    """A named script; the last step repeats for ever unless the script ended the turn."""

    name: str
    about: str
    steps: tuple[Step, ...]

    def step(self, turn: int) -> Step:
        """The step for a conversation that already holds *turn* tool calls."""
        return self.steps[min(turn, len(self.steps) - 1)]


PLAN_LIMIT_HEADERS = (
    ("anthropic-ratelimit-unified-status", "rejected"),
    ("anthropic-ratelimit-unified-reset", "1893456000"),
    ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
    ("anthropic-ratelimit-unified-5h-status", "rejected"),
    ("anthropic-ratelimit-unified-5h-reset", "1893456000"),
    ("anthropic-ratelimit-unified-5h-utilization", "1.0"),
    ("anthropic-ratelimit-unified-overage-status", "rejected"),
    ("anthropic-ratelimit-unified-overage-disabled-reason", "org_level_disabled"),
)


# --------------------------------------------------------------------------------------
# The built-in scenarios
# --------------------------------------------------------------------------------------
WEIRD_TEXT = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 Привет, мир — 你好 👩‍👩‍👧‍👦 e\u0301 "
    "\u2028line-sep\u2029 bell:\x07 nul:\x00 cr:\r lone:\u200b rtl:\u202eabc\u202c\r\n"
    '```json\n{"fake": "<promise>COMPLETE</promise>"}\n```\n' + COMPLETE_TEXT
)
WEIRD_SHELL = (
    "printf 'latin1:\\351 bad:\\377\\376 nul:\\000 esc:\\033[31mred\\033[0m\\n'; echo 'Привет 👍'; printf 'no newline'"
)


def _builtin() -> Iterator[Scenario]:
    done = Text(COMPLETE_TEXT)
    yield Scenario(
        "write-file", "write hello.txt, then the final text", (Write("hello.txt", "hello from the fake model\n"), done)
    )
    yield Scenario("text", "only the final text", (done,))
    yield Scenario(
        "no-marker",
        "final text without the completion marker",
        (Text("I stopped half way and need more information."),),
    )
    yield Scenario(
        "shell",
        "one harmless shell command, then the final text",
        (Shell("echo shell-ran > shell.txt; cat shell.txt"), done),
    )
    yield Scenario(
        "shell-fail", "a shell command that exits 3, then the final text", (Shell("echo oops >&2; exit 3"), done)
    )
    yield Scenario(
        "shell-outside",
        "shell writes outside the workspace, then final text",
        (Shell("touch ../outside.txt && echo wrote"), done),
    )
    yield Scenario(
        "write-outside",
        "file tool writes outside the workspace, then final text",
        (Write("../outside-write.txt", "x\n"), done),
    )
    yield Scenario(
        "shell-git",
        "commits with git, then the final text",
        (Write("hello.txt", "hello\n"), Shell("git add -A && git commit -qm 'fake commit' && git log --oneline"), done),
    )
    yield Scenario(
        "shell-net",
        "tries a loopback connection from the sandbox",
        (Shell("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\",9),2)' 2>&1 | tail -1"), done),
    )
    yield Scenario(
        "sleep",
        "a ten-minute foreground shell command (signals, orphans)",
        (Shell("echo started > started.txt; sleep 611", 600_000), done),
    )
    yield Scenario(
        "daemon",
        "starts a background process that outlives the tool call",
        (Shell("nohup sleep 612 >/dev/null 2>&1 & echo started"), done),
    )
    yield Scenario("loop", "tool calls without end", (Shell("echo again >> loop.txt"),))
    yield Scenario("loop-write", "file writes without end", (Write("loop.txt", "again\n"),))
    yield Scenario(
        "huge-text",
        "5 MB of final text",
        (Text(("0123456789abcdef" * 64 + "\n") * 5000 + COMPLETE_TEXT, chunk=64_000),),
    )
    yield Scenario(
        "huge-tool",
        "a shell command that prints 5 MB, then the final text",
        (Shell("head -c 5000000 /dev/zero | tr '\\0' x | fold -w 1000"), done),
    )
    yield Scenario("weird-text", "ANSI, Cyrillic, emoji, NUL, U+2028 and a false marker", (Text(WEIRD_TEXT),))
    yield Scenario("weird-shell", "shell output that is not UTF-8, then the final text", (Shell(WEIRD_SHELL), done))
    yield Scenario(
        "bad-utf8",
        "raw invalid UTF-8 bytes inside the JSON of the stream",
        (Text("before ", raw=b"\xff\xfe\xe9 after " + COMPLETE_TEXT.encode()),),
    )
    yield Scenario(
        "lone-surrogate",
        r"a lone surrogate (\ud83d) escaped in the JSON",
        (Text("half an emoji: \ud83d " + COMPLETE_TEXT),),
    )
    yield Scenario("empty", "an answer with no content", (Text(""),))
    yield Scenario(
        "max-tokens", "the answer is cut by the output token limit", (Text("This is only half of", stop="max_tokens"),)
    )
    yield Scenario("refusal", "the model declines", (Text("I can't help with that.", stop="refusal"),))
    yield Scenario(
        "unknown-tool", "calls a tool that does not exist, then the final text", (Tool("no_such_tool", {"x": 1}), done)
    )
    yield Scenario(
        "bad-args",
        "calls the shell tool with wrong arguments, then final text",
        (Tool("@shell", {"wrong": True}), done),
    )
    for kind, status in ERROR_STATUS.items():
        if kind.startswith("http-"):
            yield Scenario(kind, f"HTTP {status} on every request", (Failure(kind, status),))
    yield Scenario("low-credit", "the account is out of credit", (Failure("low-credit"),))
    yield Scenario("usage-limit", "the plan's usage limit is reached", (Failure("usage-limit"),))
    yield Scenario(
        "plan-limit",
        "a subscription's five-hour limit is reached (Anthropic headers)",
        (Failure("plan-limit", headers=PLAN_LIMIT_HEADERS),),
    )
    yield Scenario("context-length", "the prompt is too long", (Failure("context-length"),))
    yield Scenario("bad-model", "the model does not exist", (Failure("bad-model"),))
    yield Scenario(
        "work-then-529",
        "writes the file, then the service is overloaded",
        (Write("hello.txt", "hello\n"), Failure("http-529", 529)),
    )
    yield Scenario(
        "work-then-credit",
        "writes the file, then the credit runs out",
        (Write("hello.txt", "hello\n"), Failure("low-credit")),
    )
    yield Scenario("work-then-hang", "writes the file, then never answers", (Write("hello.txt", "hello\n"), Hang()))
    yield Scenario("hang", "accepts the request and never answers", (Hang(),))
    yield Scenario("hang-headers", "answers with headers only, then silence", (Hang("headers"),))
    yield Scenario("hang-half", "half a stream, then silence", (Hang("half"),))
    yield Scenario("cut", "half a stream, then the connection drops", (Cut(),))
    yield Scenario("stream-error", "an overloaded error inside a good stream", (StreamError(),))
    yield Scenario(
        "html", "HTTP 200 with an HTML page (a captive portal)", (Garbage(b"<html><body>Please log in</body></html>"),)
    )
    yield Scenario("bad-json", "HTTP 200 with broken JSON", (Garbage(b'{"id": "x", "content": [', "application/json"),))


ERROR_STATUS: dict[str, int] = {
    "http-400": 400,
    "http-401": 401,
    "http-402": 402,
    "http-403": 403,
    "http-404": 404,
    "http-413": 413,
    "http-429": 429,
    "http-500": 500,
    "http-502": 502,
    "http-503": 503,
    "http-504": 504,
    "http-529": 529,
    "low-credit": 400,
    "usage-limit": 429,
    "plan-limit": 429,
    "context-length": 400,
    "bad-model": 404,
}


# --------------------------------------------------------------------------------------
# Error bodies, per protocol
# --------------------------------------------------------------------------------------
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_ANTHROPIC_TEXT = {
    "http-401": "invalid x-api-key",
    "http-429": "This request would exceed your organization's rate limit of 50 requests per minute",
    "http-529": "Overloaded",
    "http-500": "Internal server error",
    "low-credit": (
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits."
    ),
    "usage-limit": "You have reached your specified API usage limits. "
    "You will regain access on 2030-01-01 at 00:00 UTC.",
    "plan-limit": "This request would exceed your account's rate limit. Please try again later.",
    "context-length": "prompt is too long: 209999 tokens > 200000 maximum",
    "bad-model": "model: no-such-model",
}


def anthropic_error(kind: str, status: int) -> Json:
    """The body of an Anthropic API error."""
    return {
        "type": "error",
        "error": {
            "type": _ANTHROPIC_TYPES.get(status, "api_error"),
            "message": _ANTHROPIC_TEXT.get(kind, f"fake {kind} error"),
        },
        "request_id": "req_fake",
    }


_OPENAI_ERRORS: dict[str, tuple[str, str | None, str]] = {
    # kind: (type, code, message)
    "http-401": ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: fake."),
    "http-429": ("requests", "rate_limit_exceeded", "Rate limit reached for requests. Please try again in 1s."),
    "http-500": ("server_error", None, "The server had an error processing your request."),
    "http-503": ("server_error", "server_is_overloaded", "The engine is currently overloaded."),
    "http-529": ("server_error", "overloaded", "Overloaded"),
    "low-credit": (
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "usage-limit": ("usage_limit_reached", "usage_limit_reached", "The usage limit has been reached"),
    "context-length": (
        "invalid_request_error",
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    "bad-model": (
        "invalid_request_error",
        "model_not_found",
        "The model `no-such-model` does not exist or you do not have access to it.",
    ),
}


def openai_error(kind: str, status: int) -> Json:
    """The body of an OpenAI API error."""
    type_, code, message = _OPENAI_ERRORS.get(
        kind, ("invalid_request_error" if status < 500 else "server_error", None, f"fake {kind} error")
    )
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


_GEMINI_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_GEMINI_TEXT = {
    "http-401": "API key not valid. Please pass a valid API key.",
    "http-429": "Resource has been exhausted (e.g. check quota).",
    "http-503": "The model is overloaded. Please try again later.",
    "http-529": "Overloaded",
    "low-credit": "Your prepayment credits are depleted. Please go to AI Studio to manage billing.",
    "usage-limit": "You exceeded your current quota, please check your plan and billing details.",
    "context-length": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "bad-model": "models/no-such-model is not found for API version v1beta, or is not supported for generateContent.",
}


def gemini_error(kind: str, status: int) -> Json:
    """The body of a Gemini API error."""
    details: list[Json] = []
    if kind == "usage-limit":
        details = [
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [
                    {
                        "quotaMetric": "generativelanguage.googleapis.com/generate_requests_per_day",
                        "quotaId": "GenerateRequestsPerDayPerProjectPerModel",
                        "quotaValue": "250",
                    }
                ],
            }
        ]
    return {
        "error": {
            "code": status,
            "status": _GEMINI_STATUS.get(status, "UNKNOWN"),
            "message": _GEMINI_TEXT.get(kind, f"fake {kind} error"),
            "details": details,
        }
    }


def status_of(failure: Failure, protocol: str) -> int:
    """The HTTP status of a failure; a few differ between the services."""
    if failure.kind == "low-credit" and protocol != "anthropic":
        return 429
    if failure.kind == "http-401" and protocol == "gemini":
        return 400  # the Gemini API reports a bad key as 400 INVALID_ARGUMENT
    return failure.status or ERROR_STATUS[failure.kind]


SCENARIOS: dict[str, Scenario] = {s.name: s for s in _builtin()}


def scenario_from_json(name: str, data: Json) -> Scenario:
    """Build a scenario from its JSON form (see the module's docstring)."""
    steps: list[Step] = []
    for item in data["steps"]:
        ((key, value),) = item.items()
        if key == "text":
            steps.append(Text(value) if isinstance(value, str) else Text(**value))
        elif key == "shell":
            steps.append(Shell(value) if isinstance(value, str) else Shell(**value))
        elif key == "write":
            steps.append(Write(**value))
        elif key == "tool":
            steps.append(Tool(**value))
        elif key == "fail":
            steps.append(Failure(value))
        elif key == "hang":
            steps.append(Hang(value or "nothing"))
        else:
            raise ValueError(f"unknown step {key!r}")
    if not steps:
        raise ValueError("a scenario needs at least one step")
    return Scenario(name, data.get("about", "user-defined"), tuple(steps))


# --------------------------------------------------------------------------------------
# Requests, protocol-neutral
# --------------------------------------------------------------------------------------
@dataclass
class Call:
    """One request as the server saw it."""

    protocol: str
    path: str
    scenario: str
    options: dict[str, str]
    model: str
    turn: int
    tools: list[str]
    stream: bool
    prompt: str
    status: int = 0
    started: float = field(default_factory=time.time)
    seconds: float = 0.0
    client_gone: bool = False
    body_bytes: int = 0
    user_agent: str = ""


@dataclass(frozen=True)
class ToolSpec:
    """A tool offered by the client."""

    name: str
    custom: bool = False  # OpenAI "custom" tools take free text
    params: tuple[str, ...] = ()
    namespace: str | None = None  # OpenAI tool namespaces


def _parts_text(content: Any) -> str:
    """Plain text of a message's content in any of the protocols."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(p.get("text", "") for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))


def _count_turns(kinds: Sequence[str]) -> int:
    """Tool calls since the last plain answer; *kinds* holds ``tool``/``text`` per item."""
    turn = 0
    for i, kind in enumerate(kinds):
        if kind == "tool":
            turn += 1
        elif kind == "text" and kinds[i + 1 : i + 2] != ["tool"]:
            turn = 0
    return turn


def parse_anthropic(body: Json) -> tuple[int, list[ToolSpec], str]:
    """Turn number, offered tools and the text of system prompt and last user message."""
    kinds, last, system = [], "", _parts_text(body.get("system"))
    for msg in body.get("messages", []):
        content = msg.get("content")
        if msg.get("role") == "assistant":
            blocks = content if isinstance(content, list) else []
            kinds.append("tool" if any(b.get("type") == "tool_use" for b in blocks) else "text")
        elif msg.get("role") == "user":
            kinds.append("user")
            last = _parts_text(content) or last
        else:  # newer clients send system messages inside the conversation
            system += "\n" + _parts_text(content)
    tools = [
        ToolSpec(t.get("name", ""), False, tuple((t.get("input_schema") or {}).get("properties", {})))
        for t in body.get("tools") or []
    ]
    return _count_turns(kinds), tools, system + "\n" + last


def parse_responses(body: Json) -> tuple[int, list[ToolSpec], str]:
    """The same for the OpenAI Responses API."""
    kinds, texts = [], [str(body.get("instructions") or "")]
    items = body.get("input")
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    for item in items or []:
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call", "local_shell_call"):
            kinds.append("tool")
        elif kind == "message" and item.get("role") == "assistant":
            kinds.append("text")
        elif kind == "message":
            kinds.append("user")
            texts.append(_parts_text(item.get("content")))
    # Newer clients offer their tools inside the conversation.
    offered = list(body.get("tools") or [])
    for item in items or []:
        if item.get("type") == "additional_tools":
            offered += item.get("tools") or []
    tools: list[ToolSpec] = []
    for t in offered:
        space = t.get("name") if t.get("type") == "namespace" else None
        tools.extend(
            ToolSpec(
                spec.get("name") or spec.get("type", ""),
                spec.get("type") == "custom",
                tuple((spec.get("parameters") or {}).get("properties", {})),
                space,
            )
            for spec in ((t.get("tools") or []) if space else [t])
        )
    return _count_turns(kinds), tools, "\n".join(texts)


def parse_chat(body: Json) -> tuple[int, list[ToolSpec], str]:
    """The same for OpenAI chat completions."""
    kinds, texts = [], []
    for msg in body.get("messages", []):
        if msg.get("role") == "assistant":
            kinds.append("tool" if msg.get("tool_calls") else "text")
        else:  # system, user or tool (a result)
            kinds.append("other")
            texts.append(_parts_text(msg.get("content")))
    tools = [
        ToolSpec(
            (t.get("function") or {}).get("name", ""),
            False,
            tuple(((t.get("function") or {}).get("parameters") or {}).get("properties", {})),
        )
        for t in body.get("tools") or []
    ]
    return _count_turns(kinds), tools, "\n".join(texts)


def parse_gemini(body: Json) -> tuple[int, list[ToolSpec], str]:
    """The same for Gemini generateContent."""
    kinds, texts = [], [_parts_text((body.get("systemInstruction") or {}).get("parts"))]
    for content in body.get("contents") or []:
        parts = content.get("parts") or []
        if content.get("role") == "model":
            kinds.append("tool" if any("functionCall" in p for p in parts) else "text")
        else:
            kinds.append("user")
            texts.append(_parts_text(parts))
    tools = []
    for group in body.get("tools") or []:
        for t in group.get("functionDeclarations") or []:
            schema = t.get("parametersJsonSchema") or t.get("parameters") or {}
            tools.append(ToolSpec(t.get("name", ""), False, tuple(schema.get("properties", {}))))
    return _count_turns(kinds), tools, "\n".join(texts)


def wanted_schema(body: Json) -> Json | None:
    """The JSON schema the client wants the answer in, if it asked for one."""
    config = body.get("generationConfig") or {}  # Gemini
    text = (body.get("text") or {}).get("format") or {}  # OpenAI Responses
    chat = (body.get("response_format") or {}).get("json_schema") or {}  # OpenAI Chat
    claude = (body.get("output_config") or {}).get("format") or {}  # Anthropic
    for schema in (
        config.get("responseJsonSchema"),
        config.get("responseSchema"),
        text.get("schema"),
        chat.get("schema"),
        claude.get("schema"),
    ):
        if isinstance(schema, dict):
            return schema
    return None


def example_of(schema: Json) -> Any:
    """A small value that fits a JSON schema."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        return {
            name: example_of(value)
            for name, value in schema.get("properties", {}).items()
            if name in schema.get("required", [])
        }
    return {"array": [], "integer": 1, "number": 1, "boolean": True}.get(kind, "ok")


PARSERS: dict[str, Callable[[Json], tuple[int, list[ToolSpec], str]]] = {
    "anthropic": parse_anthropic,
    "responses": parse_responses,
    "chat": parse_chat,
    "gemini": parse_gemini,
}

_CWD = re.compile(
    r"(?:working directory|<cwd>|workspace(?: directory)?s?(?: is)?)"
    r"(?:\s+is)?[:\s>*`\-]*(/[^\s<`'\",]+)",
    re.IGNORECASE,
)


def guess_cwd(prompt: str) -> str | None:
    """The working directory, as the client's own system prompt names it."""
    found = _CWD.search(prompt)
    return found.group(1).rstrip(".") if found else None


@dataclass(frozen=True)
class ToolCall:
    """A tool call in the client's own vocabulary."""

    name: str
    args: Json
    text: str | None = None  # input of a custom (free-text) tool
    namespace: str | None = None


_SHELL_NAMES = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell")
_WRITE_NAMES = ("Write", "write", "write_file")


def _shell_args(spec: ToolSpec, step: Shell) -> Json:
    args: Json
    if spec.name == "exec_command":
        args = {"cmd": step.command}
        if step.timeout_ms:
            args["yield_time_ms"] = step.timeout_ms
    elif spec.name == "shell":
        args = {"command": ["bash", "-lc", step.command]}
        if step.timeout_ms:
            args["timeout_ms"] = step.timeout_ms
    else:
        args = {"command": step.command}
        if "description" in spec.params:
            args["description"] = "Run a scripted command"
        for name in ("timeout", "timeout_ms"):
            if step.timeout_ms and name in spec.params:
                args[name] = step.timeout_ms
    return args


def _patch(path: str, content: str) -> str:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


def resolve_tool(step: Write | Shell | Tool, tools: Sequence[ToolSpec], prompt: str) -> ToolCall:
    """Translate a step into a call of one of the tools the client offers."""
    by_name = {t.name: t for t in tools}
    shell = next((by_name[n] for n in _SHELL_NAMES if n in by_name), None)
    if isinstance(step, Tool):
        if step.name == "@shell" and shell:
            return ToolCall(shell.name, step.args)
        spec = by_name.get(step.name)
        if spec and spec.custom:
            return ToolCall(step.name, {}, str(step.args.get("input", "")))
        return ToolCall(step.name, step.args)
    if isinstance(step, Write):
        spec = next((by_name[n] for n in _WRITE_NAMES if n in by_name), None)
        if spec:
            cwd = guess_cwd(prompt)
            path = step.path if step.path.startswith("/") or not cwd else f"{cwd}/{step.path}"
            key = "filePath" if "filePath" in spec.params else "file_path"
            return ToolCall(spec.name, {key: path, "content": step.content})
        if "apply_patch" in by_name and by_name["apply_patch"].custom:
            return ToolCall("apply_patch", {}, _patch(step.path, step.content))
        step = Shell(f"cat > {step.path} <<'EOF'\n{step.content}EOF")
    if shell:
        return ToolCall(shell.name, _shell_args(shell, step))
    if "exec" in by_name and by_name["exec"].custom:  # a JavaScript "code mode" tool
        code = (
            "const r = await tools.exec_command("
            + json.dumps(_shell_args(ToolSpec("exec_command"), step))
            + "); text(r);"
        )
        return ToolCall("exec", {}, code, by_name["exec"].namespace)
    return ToolCall("Bash", _shell_args(ToolSpec("Bash"), step))


# --------------------------------------------------------------------------------------
# Wire formats.  Each encoder yields (event name, JSON payload) pairs.
# --------------------------------------------------------------------------------------
Event = tuple[str | None, Json | str]
RAW_MARK = "\x02RAW\x03"


def _chunks(text: str, size: int) -> Iterator[str]:
    for i in range(0, len(text), size):
        yield text[i : i + size]


def _id(prefix: str) -> str:
    return f"{prefix}_fake_{uuid.uuid4().hex[:20]}"


def anthropic_message(step: Text | ToolCall, model: str) -> Json:
    """A complete Anthropic message."""
    content: list[Json]
    if isinstance(step, ToolCall):
        content = [
            {"type": "text", "text": "Working on it."},
            {"type": "tool_use", "id": _id("toolu"), "name": step.name, "input": step.args},
        ]
        stop = "tool_use"
    else:
        content = [{"type": "text", "text": step.text}] if step.text or step.raw else []
        stop = {"end": "end_turn"}.get(step.stop, step.stop)
    return {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": USAGE.fresh_input,
            "cache_creation_input_tokens": USAGE.cache_write,
            "cache_read_input_tokens": USAGE.cache_read,
            "output_tokens": USAGE.output,
        },
    }


def anthropic_events(message: Json, chunk: int) -> Iterator[Event]:
    """The SSE events of an Anthropic message."""
    head = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": head}
    for i, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: Json = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": t} for t in _chunks(block["text"], chunk)]
        else:
            start = {**block, "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": t} for t in _chunks(json.dumps(block["input"]), chunk)
            ]
        yield "content_block_start", {"type": "content_block_start", "index": i, "content_block": start}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": i, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": i}
    yield (
        "message_delta",
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": message["usage"]["output_tokens"]},
        },
    )
    yield "message_stop", {"type": "message_stop"}


def responses_object(step: Text | ToolCall, model: str) -> Json:
    """A complete OpenAI Responses API object."""
    status, details = "completed", None
    item: Json
    if isinstance(step, ToolCall) and step.text is not None:
        item = {
            "type": "custom_tool_call",
            "id": _id("ctc"),
            "call_id": _id("call"),
            "name": step.name,
            "input": step.text,
            "status": "completed",
        }
    elif isinstance(step, ToolCall):
        item = {
            "type": "function_call",
            "id": _id("fc"),
            "call_id": _id("call"),
            "name": step.name,
            "arguments": json.dumps(step.args),
            "status": "completed",
        }
    else:
        if step.stop == "refusal":
            part: Json = {"type": "refusal", "refusal": step.text}
        else:
            part = {"type": "output_text", "text": step.text, "annotations": [], "logprobs": []}
        if step.stop == "max_tokens":
            status, details = "incomplete", {"reason": "max_output_tokens"}
        item = {
            "type": "message",
            "id": _id("msg"),
            "role": "assistant",
            "status": "completed",
            "content": [part] if step.text or step.raw else [],
        }
    if isinstance(step, ToolCall) and step.namespace:
        item["namespace"] = step.namespace
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": details,
        "model": model,
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": USAGE.total_input,
            "input_tokens_details": {"cached_tokens": USAGE.cache_read},
            "output_tokens": USAGE.output,
            "output_tokens_details": {"reasoning_tokens": USAGE.reasoning},
            "total_tokens": USAGE.total_input + USAGE.output,
        },
    }


def responses_events(obj: Json, chunk: int) -> Iterator[Event]:
    """The SSE events of a Responses API object."""
    seq = 0

    def event(kind: str, **data: Any) -> Event:
        nonlocal seq
        seq += 1
        return kind, {"type": kind, "sequence_number": seq, **data}

    opening = {**obj, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield event("response.created", response=opening)
    yield event("response.in_progress", response=opening)
    for i, item in enumerate(obj["output"]):
        where = {"output_index": i, "item_id": item["id"]}
        if item["type"] == "message":
            yield event(
                "response.output_item.added", output_index=i, item={**item, "status": "in_progress", "content": []}
            )
            for j, part in enumerate(item["content"]):
                at = {**where, "content_index": j}
                key = "refusal" if part["type"] == "refusal" else "text"
                base = "response.refusal" if key == "refusal" else "response.output_text"
                yield event("response.content_part.added", **at, part={**part, key: ""})
                for piece in _chunks(part[key], chunk):
                    yield event(f"{base}.delta", **at, delta=piece)
                yield event(f"{base}.done", **at, **{key: part[key]})
                yield event("response.content_part.done", **at, part=part)
        else:
            key = "input" if item["type"] == "custom_tool_call" else "arguments"
            base = "response.custom_tool_call_input" if key == "input" else "response.function_call_arguments"
            yield event("response.output_item.added", output_index=i, item={**item, "status": "in_progress", key: ""})
            for piece in _chunks(item[key], chunk):
                yield event(f"{base}.delta", **where, delta=piece)
            yield event(f"{base}.done", **where, **{key: item[key]})
        yield event("response.output_item.done", output_index=i, item=item)
    kind = "response.incomplete" if obj["status"] == "incomplete" else "response.completed"
    yield event(kind, response=obj)


def chat_object(step: Text | ToolCall, model: str) -> Json:
    """A complete chat completion."""
    message: Json = {"role": "assistant", "content": None, "refusal": None}
    finish = "stop"
    if isinstance(step, ToolCall):
        message["tool_calls"] = [
            {"id": _id("call"), "type": "function", "function": {"name": step.name, "arguments": json.dumps(step.args)}}
        ]
        finish = "tool_calls"
    else:
        message["content"] = step.text
        finish = {"max_tokens": "length", "refusal": "content_filter"}.get(step.stop, "stop")
    return {
        "id": _id("chatcmpl"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": USAGE.total_input,
            "completion_tokens": USAGE.output,
            "total_tokens": USAGE.total_input + USAGE.output,
            "prompt_tokens_details": {"cached_tokens": USAGE.cache_read},
            "completion_tokens_details": {"reasoning_tokens": USAGE.reasoning},
        },
    }


def chat_events(obj: Json, chunk: int) -> Iterator[Event]:
    """The SSE chunks of a chat completion."""
    choice = obj["choices"][0]
    message = choice["message"]
    base = {k: obj[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def piece(delta: Json, finish: str | None = None, **more: Any) -> Event:
        return None, {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}

    yield piece({"role": "assistant", "content": ""})
    for text in _chunks(message.get("content") or "", chunk):
        yield piece({"content": text})
    for i, call in enumerate(message.get("tool_calls", [])):
        yield piece(
            {"tool_calls": [{"index": i, **call, "function": {"name": call["function"]["name"], "arguments": ""}}]}
        )
        for text in _chunks(call["function"]["arguments"], chunk):
            yield piece({"tool_calls": [{"index": i, "function": {"arguments": text}}]})
    yield piece({}, choice["finish_reason"])
    yield None, {**base, "choices": [], "usage": obj["usage"]}
    yield None, "[DONE]"


def gemini_object(step: Text | ToolCall, model: str) -> Json:
    """A complete Gemini response."""
    candidate: Json = {"index": 0, "finishReason": "STOP"}
    if isinstance(step, ToolCall):
        parts: list[Json] = [
            {
                "functionCall": {"name": step.name, "args": step.args},
                "thoughtSignature": base64.b64encode(b"fake").decode(),
            }
        ]
    else:
        parts = [{"text": step.text}] if step.text or step.raw else []
        candidate["finishReason"] = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}.get(step.stop, "STOP")
    candidate["content"] = {"role": "model", "parts": parts}
    return {
        "candidates": [candidate],
        "modelVersion": model,
        "responseId": _id("resp"),
        "usageMetadata": {
            "promptTokenCount": USAGE.total_input,
            "cachedContentTokenCount": USAGE.cache_read,
            "candidatesTokenCount": USAGE.output - USAGE.reasoning,
            "thoughtsTokenCount": USAGE.reasoning,
            "totalTokenCount": USAGE.total_input + USAGE.output,
        },
    }


def gemini_events(obj: Json, chunk: int) -> Iterator[Event]:
    """The SSE chunks of a Gemini response; only the last one carries the finish reason."""
    candidate = obj["candidates"][0]
    parts = candidate["content"]["parts"]
    pieces: list[Json] = []
    for part in parts:
        if "text" in part:
            pieces += [{"text": t} for t in _chunks(part["text"], chunk)]
        else:
            pieces.append(part)
    for i, part in enumerate(pieces or [{}]):
        last = i >= len(pieces) - 1
        cand = {"index": 0, "content": {"role": "model", "parts": [part] if part else []}}
        if last:
            cand["finishReason"] = candidate["finishReason"]
        data = {**obj, "candidates": [cand]}
        if not last:
            data.pop("usageMetadata")
        yield None, data


ENCODERS: dict[str, tuple[Callable[[Text | ToolCall, str], Json], Callable[[Json, int], Iterator[Event]]]] = {
    "anthropic": (anthropic_message, anthropic_events),
    "responses": (responses_object, responses_events),
    "chat": (chat_object, chat_events),
    "gemini": (gemini_object, gemini_events),
}


def stream_error_event(protocol: str, kind: str) -> Event:
    """An error inside a stream that began with HTTP 200."""
    if protocol == "anthropic":
        return "error", anthropic_error("http-529", 529)
    if protocol == "responses":
        return "response.failed", {
            "type": "response.failed",
            "sequence_number": 9,
            "response": {
                "id": _id("resp"),
                "object": "response",
                "status": "failed",
                "error": {"code": "server_is_overloaded", "message": "Our servers are currently overloaded."},
                "output": [],
                "usage": None,
            },
        }
    if protocol == "chat":
        return None, openai_error("http-529", 529)
    return None, gemini_error("http-503", 503)


def encode_event(event: Event, raw: bytes) -> bytes:
    """One SSE frame; the mark of raw bytes is replaced after the JSON encoding."""
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    out = text.encode("ascii")
    if raw:
        out = out.replace(json.dumps(RAW_MARK)[1:-1].encode("ascii"), raw)
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + out + b"\n\n"


# --------------------------------------------------------------------------------------
# The server
# --------------------------------------------------------------------------------------
_SPEC_IN_KEY = re.compile(r"^(?:sk-)?(?:ant-)?fake-(.+)$")
_PREFIX = re.compile(r"^/s/([^/]+)(/.*)?$")


class FakeLLM:
    """The server and its log of calls."""

    def __init__(
        self,
        default: str = "write-file",
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        log_file: Path | None = None,
        dump_dir: Path | None = None,
    ) -> None:
        self.default = default
        self.host = host
        self.port = port
        self.scenarios = dict(SCENARIOS)
        self.log: list[Call] = []
        self.other: list[tuple[str, str]] = []
        self._failed: Counter[str] = Counter()
        self._log_file = log_file
        self._dump_dir = dump_dir
        self._dumped = len(list(dump_dir.glob("*.json"))) if dump_dir else 0
        self._runner: web.AppRunner | None = None

    # -- life cycle --------------------------------------------------------------------
    async def start(self) -> None:
        """Listen; :attr:`port` then holds the real port."""
        app = web.Application(client_max_size=256 * 2**20)
        app.router.add_route("*", "/{tail:.*}", self._dispatch)
        # A short timeout: requests that hang on purpose must not delay the shutdown.
        self._runner = web.AppRunner(app, shutdown_timeout=0.2, handler_cancellation=True, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        if self._runner:
            await self._runner.cleanup()

    def url(self, spec: str | None = None) -> str:
        """The base URL of the server, or of one scenario."""
        base = f"http://{self.host}:{self.port}"
        return f"{base}/s/{spec}" if spec else base

    def calls(self, scenario: str | None = None) -> list[Call]:
        """The logged model requests, of one scenario if given."""
        return [c for c in self.log if scenario in (None, c.scenario)]

    # -- routing -----------------------------------------------------------------------
    async def _dispatch(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        spec = request.headers.get("x-fake-scenario")
        if found := _PREFIX.match(path):
            spec, path = found.group(1), found.group(2) or "/"
        if spec is None:
            spec = self._spec_from_key(request) or self.default
        if path.startswith("/_fake/"):
            return await self._admin(request, path)
        name, _, rest = spec.partition(",")
        options = dict(o.partition("=")[::2] for o in rest.split(",") if o)
        if name not in self.scenarios:
            return web.json_response({"error": {"message": f"no scenario {name!r}"}}, status=404)

        # Model calls are POST only; a GET here is an attempt to open a WebSocket.
        protocol = self._protocol(path) if request.method == "POST" else None
        if protocol is None:
            return await self._sundries(request, path)
        raw_body = await request.read()
        try:
            body = json.loads(raw_body or b"{}")
        except ValueError:
            return web.json_response({"error": {"message": "body is not JSON"}}, status=400)
        self._dump(request, path, body)
        if path.endswith("/count_tokens"):
            return web.json_response({"input_tokens": USAGE.total_input})
        if path.endswith(":countTokens"):
            return web.json_response({"totalTokens": USAGE.total_input})

        turn, tools, prompt = PARSERS[protocol](body)
        model = body.get("model") or (path.rpartition("/")[2].partition(":")[0])
        stream = bool(body.get("stream")) or path.endswith(":streamGenerateContent")
        call = Call(
            protocol,
            path,
            name,
            options,
            model,
            turn,
            [t.name for t in tools],
            stream,
            prompt[-2000:],
            body_bytes=len(raw_body),
            user_agent=request.headers.get("user-agent", ""),
        )
        self.log.append(call)
        begin = time.monotonic()
        try:
            return await self._play(request, call, tools, prompt, wanted_schema(body))
        except (ConnectionError, asyncio.CancelledError):
            call.client_gone = True
            raise
        finally:
            call.seconds = round(time.monotonic() - begin, 3)
            self._write_log(call)

    @staticmethod
    def _protocol(path: str) -> str | None:
        if path.endswith(("/messages", "/messages/count_tokens")):
            return "anthropic"
        if path.endswith("/responses"):
            return "responses"
        if path.endswith("/chat/completions"):
            return "chat"
        if path.endswith((":generateContent", ":streamGenerateContent", ":countTokens")):
            return "gemini"
        return None

    @staticmethod
    def _spec_from_key(request: web.Request) -> str | None:
        keys = [
            request.headers.get("x-api-key", ""),
            request.headers.get("x-goog-api-key", ""),
            request.headers.get("authorization", "").removeprefix("Bearer "),
            request.query.get("key", ""),
        ]
        for key in keys:
            if found := _SPEC_IN_KEY.match(key):
                return found.group(1)
        return None

    async def _sundries(self, request: web.Request, path: str) -> web.Response:
        """Model lists and everything else that is not a model call."""
        self.other.append((request.method, path))
        self._write_line(
            {"other": f"{request.method} {path}", "t": time.time(), "user_agent": request.headers.get("user-agent", "")}
        )
        if path.endswith("/models"):
            if "v1beta" in path:
                return web.json_response({"models": [{"name": "models/fake-model"}]})
            return web.json_response(
                {
                    "object": "list",
                    "has_more": False,
                    "data": [
                        {
                            "id": "fake-model",
                            "type": "model",
                            "object": "model",
                            "created": 0,
                            "display_name": "Fake",
                            "owned_by": "fake",
                        }
                    ],
                }
            )
        if request.method == "HEAD":
            return web.Response(status=200)
        if request.headers.get("upgrade", "").lower() == "websocket":
            return web.Response(status=426, text="this server speaks plain HTTP only")
        return web.json_response(
            {"type": "error", "error": {"type": "not_found_error", "message": f"no such endpoint: {path}"}}, status=404
        )

    async def _admin(self, request: web.Request, path: str) -> web.Response:
        """``/_fake/log`` and ``/_fake/scenarios/<name>``."""
        if path == "/_fake/log":
            if request.method == "DELETE":
                self.log.clear()
                self.other.clear()
                self._failed.clear()
            return web.json_response({"calls": [dataclasses.asdict(c) for c in self.log], "other": self.other})
        if path == "/_fake/scenarios":
            return web.json_response({s.name: s.about for s in self.scenarios.values()})
        if path.startswith("/_fake/scenarios/") and request.method in ("PUT", "POST"):
            name = path.removeprefix("/_fake/scenarios/")
            try:
                self.scenarios[name] = scenario_from_json(name, await request.json())
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                return web.json_response({"error": str(error)}, status=400)
            return web.json_response({"ok": name})
        return web.json_response({"error": "no such admin endpoint"}, status=404)

    # -- playing a step ----------------------------------------------------------------
    def _pick(self, call: Call, tools: Sequence[ToolSpec]) -> Step:
        """The step to play, after the options ``times`` and ``side``."""
        scenario = self.scenarios[call.scenario]
        step = scenario.step(call.turn)
        breaks = not isinstance(step, (Text, *ToolStep))
        if not tools and (not breaks or call.options.get("side") == "ok"):
            # Titles, summaries, classifiers: a short neutral answer.
            return Text("ok") if len(scenario.steps) > 1 or breaks else step
        if breaks and "times" in call.options:
            key = f"{call.scenario}/{call.options.get('run', '')}"
            self._failed[key] += 1
            if self._failed[key] > int(call.options["times"]):
                return self.scenarios["write-file"].step(call.turn)
        return step

    async def _play(
        self, request: web.Request, call: Call, tools: Sequence[ToolSpec], prompt: str, schema: Json | None
    ) -> web.StreamResponse:
        if delay := float(call.options.get("delay", 0)):
            await asyncio.sleep(delay)
        step = self._pick(call, tools)
        if isinstance(step, Text) and schema and not tools:
            step = Text(json.dumps(example_of(schema)))
        if isinstance(step, Failure):
            return self._fail(step, call)
        if isinstance(step, Garbage):
            call.status = 200
            return web.Response(body=step.body, content_type=step.content_type)
        if isinstance(step, Hang) and step.after == "nothing":
            await asyncio.sleep(step.seconds)
            raise web.HTTPGatewayTimeout
        build, events = ENCODERS[call.protocol]
        raw, chunk = b"", 4000
        answer: Text | ToolCall
        if isinstance(step, ToolStep):
            answer = resolve_tool(step, tools, prompt)
        elif isinstance(step, Text):
            answer, raw, chunk = step, step.raw, step.chunk
            if raw:
                answer = dataclasses.replace(step, text=step.text + RAW_MARK)
        else:
            answer, chunk = Text(getattr(step, "text", "This answer is cut off in the mid")), 8
        body = build(answer, call.model)
        if "usage" in call.options and call.protocol == "anthropic":
            body["usage"] = dict(zip(body["usage"], map(int, call.options["usage"].split(":")), strict=True))
        call.status = 200
        if not call.stream:
            data = json.dumps(body).encode("ascii")
            if raw:
                data = data.replace(json.dumps(RAW_MARK)[1:-1].encode("ascii"), raw)
            if isinstance(step, (Cut, Hang)):
                return await self._partial(request, step, data)
            if isinstance(step, StreamError):
                return self._fail(Failure("http-529", 529), call)
            return web.Response(body=data, content_type="application/json")
        return await self._stream(request, call, step, list(events(body, chunk)), raw)

    @staticmethod
    def _fail(failure: Failure, call: Call) -> web.Response:
        call.status = status_of(failure, call.protocol)
        builder = {"anthropic": anthropic_error, "gemini": gemini_error}.get(call.protocol, openai_error)
        headers = {"request-id": "req_fake", **dict(failure.headers)}
        if "retry_after" in call.options:
            headers["retry-after"] = call.options["retry_after"]
        if "should_retry" in call.options:
            headers["x-should-retry"] = call.options["should_retry"]
        return web.json_response(builder(failure.kind, call.status), status=call.status, headers=headers)

    @staticmethod
    async def _stream(
        request: web.Request, call: Call, step: Step, events: list[Event], raw: bytes
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
                "request-id": "req_fake",
            }
        )
        await response.prepare(request)
        stop_at = len(events)
        if isinstance(step, Hang) and step.after == "headers":
            stop_at = 0
        elif isinstance(step, (Cut, StreamError, Hang)):
            stop_at = len(events) // 2  # the text is sent in small pieces, so it has begun
        for event in events[:stop_at]:
            await response.write(encode_event(event, raw))
        if isinstance(step, Hang):
            await asyncio.sleep(step.seconds)
        if isinstance(step, StreamError):
            await response.write(encode_event(stream_error_event(call.protocol, step.kind), b""))
        if isinstance(step, Cut):
            await asyncio.sleep(0.05)
            if request.transport is not None:
                request.transport.abort()
            return response
        await response.write_eof()
        return response

    @staticmethod
    async def _partial(request: web.Request, step: Cut | Hang, data: bytes) -> web.StreamResponse:
        """Half of a JSON answer, then silence or a dropped connection."""
        response = web.StreamResponse(
            headers={"content-type": "application/json", "content-length": str(len(data)), "request-id": "req_fake"}
        )
        await response.prepare(request)
        if not (isinstance(step, Hang) and step.after == "headers"):
            await response.write(data[: len(data) // 2])
        if isinstance(step, Hang):
            await asyncio.sleep(step.seconds)
        if request.transport is not None:
            request.transport.abort()
        return response

    # -- logging -----------------------------------------------------------------------
    def _dump(self, request: web.Request, path: str, body: Json) -> None:
        if self._dump_dir is None:
            return
        self._dumped += 1
        self._dump_dir.mkdir(parents=True, exist_ok=True)
        name = f"{self._dumped:04d}-{re.sub(r'[^A-Za-z0-9]+', '_', path)[-60:]}.json"
        hidden = {"authorization", "x-api-key", "x-goog-api-key"}
        headers = {k: ("…" if k.lower() in hidden else v) for k, v in request.headers.items()}
        (self._dump_dir / name).write_text(
            json.dumps({"path": request.path_qs, "headers": headers, "body": body}, indent=1)
        )

    def _write_log(self, call: Call) -> None:
        self._write_line({k: v for k, v in dataclasses.asdict(call).items() if k != "prompt"})

    def _write_line(self, data: Json) -> None:
        if self._log_file is not None:
            with self._log_file.open("a") as file:
                file.write(json.dumps(data) + "\n")


@contextlib.contextmanager
def running_server(default: str = "write-file", **kwargs: Any) -> Iterator[FakeLLM]:
    """A server on a free loopback port, in a thread of its own (for synchronous tests)."""
    server = FakeLLM(default, **kwargs)
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    problem: list[BaseException] = []

    def serve() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(server.start())
        except BaseException as error:  # handed to the caller below
            problem.append(error)
            ready.set()
            return
        ready.set()
        loop.run_forever()
        loop.run_until_complete(server.stop())
        loop.close()

    thread = threading.Thread(target=serve, name="fake-llm", daemon=True)
    thread.start()
    ready.wait()
    if problem:
        raise problem[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)


@contextlib.asynccontextmanager
async def serving(default: str = "write-file", **kwargs: Any) -> AsyncIterator[FakeLLM]:
    """The same inside a running event loop."""
    server = FakeLLM(default, **kwargs)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def main(argv: Sequence[str] | None = None) -> int:
    """Command line entry point."""
    parser = argparse.ArgumentParser(description="scripted stand-in for hosted LLM APIs")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--default", default="write-file", help="scenario without a prefix")
    parser.add_argument("--log", type=Path, help="append one JSON line per request")
    parser.add_argument("--dump", type=Path, help="write every request body into this folder")
    parser.add_argument("--scripts", type=Path, help="JSON file: {name: {steps: [...]}}")
    parser.add_argument("--list", action="store_true", help="list the scenarios and exit")
    args = parser.parse_args(argv)
    if args.list:
        for scenario in SCENARIOS.values():
            sys.stdout.write(f"{scenario.name:18} {scenario.about}\n")
        return 0
    server = FakeLLM(args.default, host=args.host, port=args.port, log_file=args.log, dump_dir=args.dump)
    if args.scripts:
        for name, data in json.loads(args.scripts.read_text()).items():
            server.scenarios[name] = scenario_from_json(name, data)

    async def forever() -> None:
        await server.start()
        sys.stdout.write(f"listening on {server.url()}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(forever())
    return 0


if __name__ == "__main__":
    sys.exit(main())
