"""The plan format as JSON Schema, for editors and for programs that write plans.

The reader knows exactly the keys that stand here. It is stricter than a schema can be (references, loops, collisions)
and, with the case of words, more lenient.
"""

import json
from typing import Any

from whilly.core.capabilities import RUNGS
from whilly.core.names import LONGEST, PATTERN
from whilly.core.plan import Priority, Review, Status

Schema = dict[str, Any]

STATUSES = tuple(status.value for status in Status)
PRIORITIES = tuple(priority.word for priority in Priority)
REVIEWS = tuple(review.value for review in Review)

LONGEST_TIMEOUT_MINUTES = 7 * 24 * 60
LONGEST_CHECK_SECONDS = 24 * 60 * 60
MOST_REPAIRS = 10
MOST_TAGS = 16


def json_schema() -> Schema:
    """A new copy of the schema (draft 2020-12) of a plan file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Whilly plan",
        **_PLAN,
        "$defs": {"task": _TASK, "check": _CHECK, "repo_target": _REPO_TARGET, "origin": _ORIGIN},
    }
    copy: Schema = json.loads(json.dumps(schema))
    return copy


def _text(description: str, **more: object) -> Schema:
    return {"type": "string", "description": description, **more}


def _optional(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _texts(description: str, **more: object) -> Schema:
    return {"type": ["array", "null"], "items": {"type": "string"}, "description": description, **more}


def _id(description: str) -> Schema:
    return _text(description, pattern=f"^{PATTERN}$", maxLength=LONGEST)


def _word(description: str, words: tuple[str, ...]) -> Schema:
    both = dict.fromkeys([*words, *(word.lower() for word in words), *(word.upper() for word in words)])
    return _text(description, enum=list(both))


def _budget(description: str) -> Schema:
    return {
        "type": ["number", "string", "null"],
        "minimum": 0,
        "maximum": 1_000_000_000,
        "pattern": r"^[0-9]{1,12}(\.[0-9]{1,12})?$",
        "description": description,
    }


def _whole(description: str, lowest: int, highest: int | None = None, **more: object) -> Schema:
    limits = {"minimum": lowest} if highest is None else {"minimum": lowest, "maximum": highest}
    return {"type": ["integer", "null"], **limits, "description": description, **more}


def _object(required: tuple[str, ...], properties: Schema, **more: object) -> Schema:
    return {"type": "object", "required": list(required), "properties": properties, **more}


def _checks(description: str) -> Schema:
    return {"type": ["array", "null"], "items": {"$ref": "#/$defs/check"}, "description": description}


def _work_settings(*, left_out: str, money: str, checks: str, tags: str, any_rung: str) -> Schema:
    """What a plan sets for all of its tasks, and a task for itself."""
    isolation = _word(f"The weakest isolation that the work may run in. Left out: {any_rung}.", RUNGS)
    review = _word(f"When a person is asked about the work. Left out: {left_out}.", REVIEWS)
    return {
        "agent": _optional(_text(f"The agent that does the work. Left out: {left_out}.")),
        "budget_usd": _budget(f"The most that {money} may spend, in dollars. Left out: no limit."),
        "timeout_minutes": _whole(f"How long one attempt may take. Left out: {left_out}.", 1, LONGEST_TIMEOUT_MINUTES),
        "review": {**_optional(review), "enum": [*review["enum"], None]},
        "worker_tags": _texts(f"Tags that a worker must have to be given the work. {tags}", maxItems=MOST_TAGS),
        "isolation": {**_optional(isolation), "enum": [*isolation["enum"], None]},
        "verification_commands": _checks(checks),
        "checks": _checks("Another name for verification_commands; only one of the two may be given."),
    }


_CHECK = _object(
    ("name", "command"),
    {
        "name": _text("Unique in its list; a task's check replaces the plan's of the same name.", maxLength=100),
        "command": _text("Run by the shell in a clean checkout of the recorded commit."),
        "required": {
            "type": ["boolean", "null"],
            "default": True,
            "description": "Whether the task is done only if this passes.",
        },
        "source": _optional(_text("Who asked for the check.", default="profile")),
        "repair_max_attempts": _whole("How many repair attempts a failure may start.", 0, MOST_REPAIRS, default=1),
        "timeout_seconds": _whole("How long it may take.", 1, LONGEST_CHECK_SECONDS, default=600),
    },
)

_REPO_TARGET = _object(
    ("id", "provider"),
    {
        "id": _id("What a task's repo_target_id names."),
        "provider": _text("Where the repository lives: github, gitlab …"),
        "repo_full_name": _optional(_text("The owner and the name: acme/shop.")),
        "repo": _optional(_text("Another name for repo_full_name; only one of the two may be given.")),
        "clone_url": _optional(_text("Where to clone from. Left out: what provider and name say.")),
        "default_branch": _optional(_text("The branch to start from. Left out: the repository's own.")),
        "credential_policy": _optional(_text("read_only: results are not pushed, they go through the control plane.")),
    },
    anyOf=[{"required": ["repo_full_name"]}, {"required": ["repo"]}],
)

_SYSTEM_NAMES = ("system", "origin_system", "type")
_REF_NAMES = ("ref", "origin_ref", "external_ref")

_ORIGIN = _object(
    (),
    {
        "system": _optional(_text("Where the plan came from: github, jira, prd …")),
        "origin_system": _optional(_text("Another name for system.")),
        "type": _optional(_text("Another name for system.")),
        "ref": _optional(_text("Its name there: acme/shop#17, PAY-17.")),
        "origin_ref": _optional(_text("Another name for ref.")),
        "external_ref": _optional(_text("Another name for ref.")),
        "url": _optional(_text("Its address.")),
        "title": _optional(_text("Its title.")),
        "content_hash": _optional(_text("A fingerprint of the text that the plan was made from.")),
        "prd_file": _optional(_text("The requirements document.")),
        "decomposition_mode": _optional(_text("How the text was split into tasks.")),
    },
    allOf=[{"anyOf": [{"required": [name]} for name in names]} for names in (_SYSTEM_NAMES, _REF_NAMES)],
)

_TASK = _object(
    ("id", "status", "priority", "description"),
    {
        "id": _id("Unique in the plan, also when case is ignored; part of the branch name."),
        "status": _word("Where the task stands; statuses of a run in progress start again as PENDING.", STATUSES),
        "priority": _word("Lower priorities wait for higher ones; ties go by place in the file.", PRIORITIES),
        "description": _text("What to do, for the agent to read."),
        "dependencies": _texts("Ids of tasks that must be DONE before this one starts."),
        "key_files": _texts("Files that the task will change; two tasks that share one never run at the same time."),
        "acceptance_criteria": _texts("What must be true afterwards."),
        "test_steps": _texts("How a person or an agent can see that it is."),
        "prd_requirement": _optional(_text("The requirement that the task serves.")),
        "repo_target_id": _optional(_text("The repository it works in, one of repo_targets.")),
        "version": _whole("Accepted from older files, and not used.", 0),
        **_work_settings(
            left_out="the plan's",
            money="all attempts at this task together",
            checks="Checks of this task, beside the plan's.",
            tags="In addition to the plan's.",
            any_rung="the plan's",
        ),
    },
)

_PLAN = _object(
    ("tasks",),
    {
        "$schema": _optional(_text("For editors; not used.")),
        "plan_id": _optional(_id("The plan's id. Left out: made from project.")),
        "project": _optional(_text("The name to show. Left out: plan_id.")),
        "tasks": {"type": "array", "items": {"$ref": "#/$defs/task"}, "description": "The tasks, in order."},
        "origin": {"anyOf": [{"$ref": "#/$defs/origin"}, {"type": "null"}], "description": "Where it came from."},
        "repo_targets": {
            "type": ["array", "null"],
            "items": {"$ref": "#/$defs/repo_target"},
            "description": "Repositories that tasks may name.",
        },
        **_work_settings(
            left_out="the worker's own",
            money="all tasks together",
            checks="Checks that decide about each task.",
            tags="They hold for all tasks.",
            any_rung="any",
        ),
        "budget_usd_per_day": _budget(
            "The most that all tasks together may spend from one midnight UTC to the next, in dollars. "
            "Left out: no limit."
        ),
    },
    anyOf=[{"required": ["project"]}, {"required": ["plan_id"]}],
)

PLAN_KEYS = frozenset(_PLAN["properties"])
TASK_KEYS = frozenset(_TASK["properties"])
CHECK_KEYS = frozenset(_CHECK["properties"])
REPO_TARGET_KEYS = frozenset(_REPO_TARGET["properties"])
ORIGIN_KEYS = frozenset(_ORIGIN["properties"])
