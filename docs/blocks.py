"""The generated parts of the documentation, each made from the code that it describes."""

import inspect
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from commands import command_reference
from http_reference import http_errors, http_reference, http_types
from judgements import gate_rules, triz_categories, triz_weights

from whilly import settings
from whilly.agents import script
from whilly.core import errors, events, lifecycle
from whilly.core.money import MICROS_PER_USD
from whilly.core.outcome import BACK_OFF_SECONDS, ENDINGS, MAX_ATTEMPTS, Outcome, Remedy
from whilly.planfile.schema import json_schema
from whilly.server.metric_names import FAMILIES

FOLLOWS = {
    Remedy.JUDGE: "the evidence decides",
    Remedy.RETRY: "another attempt at once",
    Remedy.BACK_OFF: "another attempt after a wait",
    Remedy.PARK: "waits for the time that the task names",
    Remedy.RETURN: "back to the queue",
    Remedy.PERSON: "BLOCKED until a person acts",
    Remedy.PAY: "back to the queue, where the plan's budget holds it; BLOCKED when its own budget is used up",
    Remedy.FAIL: "FAILED",
}
COUNTED = {
    Remedy.RETRY: True,
    Remedy.BACK_OFF: True,
    Remedy.JUDGE: True,
    Remedy.PARK: False,
    Remedy.RETURN: False,
    Remedy.PERSON: True,
    Remedy.PAY: False,
    Remedy.FAIL: True,
}

NOON = datetime(2031, 3, 2, 12, tzinfo=UTC)

SAMPLES: tuple[events.TaskEvent, ...] = (
    events.Claimed("laptop-1", "c-7f3a", NOON, timedelta(seconds=60), MICROS_PER_USD // 2),
    events.Started("claude", "9fceb02d"),
    events.Completed("laptop-1", "3b18e512", "whilly/bookshop/isbn", 42_000),
    events.Failed(Outcome.NO_CHANGES, "Nothing differs from the base commit.", "laptop-1"),
    events.Released(Outcome.CHECKS_FAILED, "Required check 'unit' failed: exit code 1.", repair=True),
    events.ReviewRequested(
        "result", "The result is verified and waits for a person.", "3b18e512", "whilly/bookshop/discounts"
    ),
    events.ReviewApproved("ida", "Looks right."),
    events.ReviewRejected("ida", "We do not give discounts."),
    events.ChangesRequested("ida", "From 40.00 on, please."),
    events.PrerequisiteDone("isbn"),
    events.Blocked("basket, which it needs, is FAILED: Nothing differs from the base commit.", "basket"),
    events.Unblocked("basket"),
    events.Skipped("the gate refused it (acceptance_criteria)", ("acceptance_criteria",)),
    events.Retried("ida"),
    events.Reset(unmet=2),
    events.CancelRequested("ida"),
)
"""One of each kind, so that the reference shows real payloads."""


def task_events() -> str:
    """Every event of the state machine with its payload."""
    parts = []
    for sample in SAMPLES:
        payload = json.dumps(sample.payload(), indent=2, ensure_ascii=False)
        parts.append(f"### `{sample.type}`\n\n{inspect.getdoc(type(sample))}\n\n```json\n{payload}\n```")
    return "\n\n".join(parts)


def lifecycle_drawing() -> str:
    """The state machine, drawn."""
    return f"```mermaid\n{lifecycle.diagram()}```"


def failure_catalogue() -> str:
    """Every way an attempt can end."""
    rows = [
        f"| `{outcome.value}` | {ending.means} | {FOLLOWS[ending.remedy]} | "
        f"{'yes' if COUNTED[ending.remedy] else 'no'} | {ending.advice} |"
        for outcome, ending in ENDINGS.items()
    ]
    waits = ", ".join(str(seconds) for seconds in BACK_OFF_SECONDS)
    table = "\n".join(
        ["| outcome | what it means | what follows | counts | what you can do |", "|---|---|---|---|---|", *rows]
    )
    return (
        f"{table}\n\nA task gets at most {MAX_ATTEMPTS} attempts that count; then it is FAILED. "
        f"The waits between attempts after an infrastructure fault are {waits} s."
    )


def error_family() -> str:
    """The errors that a caller may want to tell apart, as the code draws and describes them."""
    tree = inspect.getdoc(errors) or ""
    return f"```text\n{tree.split(chr(10), 2)[2]}\n```"


def settings_table() -> str:
    """The environment variables that are read."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in settings.VARIABLES.items()]
    return "\n".join(["| variable | meaning |", "|---|---|", *rows])


def metrics_table() -> str:
    """Every metric."""
    rows = [
        f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} | {each.help} |"
        for each in FAMILIES
    ]
    return "\n".join(["| name | type | labels | meaning |", "|---|---|---|---|", *rows])


def plan_keys(properties: dict[str, Any], required: list[str]) -> str:
    """The keys of one kind of object in a plan file."""
    rows = []
    for key, schema in properties.items():
        kind = schema.get("type", "object")
        kinds = [name for name in ([kind] if isinstance(kind, str) else kind) if name != "null"]
        default = f" Default: `{json.dumps(schema['default'])}`." if "default" in schema else ""
        needed = "yes" if key in required else ""
        rows.append(f"| `{key}` | {needed} | {' or '.join(kinds)} | {schema['description']}{default} |")
    return "\n".join(["| key | required | type | meaning |", "|---|---|---|---|", *rows])


def keys_of(kind: str) -> Callable[[], str]:
    """The keys of a task, a check, a repo target or an origin."""
    schema = json_schema()["$defs"][kind]
    return lambda: plan_keys(schema["properties"], schema["required"])


def script_steps() -> str:
    """What a scripted agent can do."""
    rows = [f"| `{name}` | {kind.takes.replace('|', '/')} | {kind.does} |" for name, kind in script.STEPS.items()]
    rows.append('| `on_attempt` | `{"1": […], "2": […]}` | Does the steps for the attempt; see below. |')
    return "\n".join(["| step | takes | does |", "|---|---|---|", *rows])


def plan_schema() -> str:
    """The JSON Schema, as `whilly plan schema` prints it."""
    return f"```json\n{json.dumps(json_schema(), indent=2, ensure_ascii=False)}\n```"


BLOCKS: dict[str, Callable[[], str]] = {
    "commands": command_reference,
    "errors": error_family,
    "failure-catalogue": failure_catalogue,
    "gate-rules": gate_rules,
    "http": http_reference,
    "http-errors": http_errors,
    "http-types": http_types,
    "lifecycle": lifecycle_drawing,
    "metrics": metrics_table,
    "script-steps": script_steps,
    "plan-check-keys": keys_of("check"),
    "plan-keys": lambda: plan_keys(json_schema()["properties"], json_schema()["required"]),
    "plan-origin-keys": keys_of("origin"),
    "plan-repo-target-keys": keys_of("repo_target"),
    "plan-schema": plan_schema,
    "plan-task-keys": keys_of("task"),
    "settings": settings_table,
    "task-events": task_events,
    "triz-categories": triz_categories,
    "triz-weights": triz_weights,
}
