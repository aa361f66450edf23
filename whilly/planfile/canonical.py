"""A plan as text that depends on nothing but the plan: the same plan gives the same bytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from json.encoder import encode_basestring as quoted_json
from typing import TypeAlias

from whilly.core.money import Micros, to_usd
from whilly.core.plan import Check, Origin, Plan, RepoTarget, Review, TaskSpec


@dataclass(frozen=True, slots=True)
class _Number:
    """A JSON number, digit for digit."""

    digits: str


_Value: TypeAlias = "str | bool | int | _Number | Mapping[str, _Value] | Sequence[_Value]"


def export_plan(plan: Plan) -> str:
    """JSON with sorted keys, indented by two, ending with a line break; reading it gives the same plan.

    What every task has is always written, also when it is empty; what only some have is written when it is set.
    """
    return "".join(_written(_plan(plan), "\n")) + "\n"


def _plan(plan: Plan) -> dict[str, _Value]:
    values: dict[str, _Value] = {
        "plan_id": plan.id,
        "project": plan.project,
        "tasks": [_task(task) for task in plan.tasks],
    }
    values |= _work_settings(plan)
    if plan.daily_budget is not None:
        values["budget_usd_per_day"] = _dollars(plan.daily_budget)
    if plan.review is not Review.NONE:
        values["review"] = plan.review.value
    if plan.origin is not None:
        values["origin"] = _filled(plan.origin)
    if plan.repo_targets:
        values["repo_targets"] = [_filled(target) for target in plan.repo_targets]
    return values


def _task(task: TaskSpec) -> dict[str, _Value]:
    values: dict[str, _Value] = {
        "id": task.id,
        "status": task.status.value,
        "priority": task.priority.word,
        "description": task.description,
        "dependencies": task.dependencies,
        "key_files": task.key_files,
        "acceptance_criteria": task.acceptance_criteria,
        "test_steps": task.test_steps,
        "prd_requirement": task.prd_requirement,
    }
    values |= _work_settings(task)
    if task.review is not None:
        values["review"] = task.review.value
    if task.repo_target_id:
        values["repo_target_id"] = task.repo_target_id
    return values


def _work_settings(owner: Plan | TaskSpec) -> dict[str, _Value]:
    values: dict[str, _Value] = {}
    if owner.agent:
        values["agent"] = owner.agent
    if owner.budget is not None:
        values["budget_usd"] = _dollars(owner.budget)
    if owner.timeout_minutes is not None:
        values["timeout_minutes"] = owner.timeout_minutes
    if owner.worker_tags:
        values["worker_tags"] = owner.worker_tags
    if owner.isolation:
        values["isolation"] = owner.isolation
    if owner.checks:
        values["verification_commands"] = [_check(check) for check in owner.checks]
    return values


def _check(check: Check) -> dict[str, _Value]:
    return {
        "name": check.name,
        "command": check.command,
        "required": check.required,
        "source": check.source,
        "repair_max_attempts": check.repair_max_attempts,
        "timeout_seconds": check.timeout_seconds,
    }


def _filled(value: Origin | RepoTarget) -> dict[str, _Value]:
    texts = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: text for name, text in texts.items() if text}


def _dollars(amount: Micros) -> _Number:
    digits = f"{to_usd(amount):f}"
    return _Number(digits.rstrip("0").rstrip(".") if "." in digits else digits)


def _written(value: _Value, line_break: str) -> Iterator[str]:
    """The standard library's encoder is several times slower when it indents, and cannot write an exact decimal."""
    if isinstance(value, str):
        yield quoted_json(value)
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, int):
        yield str(value)
    elif isinstance(value, _Number):
        yield value.digits
    elif not value:
        yield "{}" if isinstance(value, Mapping) else "[]"
    else:
        yield from _written_inside(value, line_break)


def _written_inside(value: Mapping[str, _Value] | Sequence[_Value], line_break: str) -> Iterator[str]:
    deeper = line_break + "  "
    comma = deeper
    if isinstance(value, Mapping):
        yield "{"
        for key in sorted(value):
            yield f"{comma}{quoted_json(key)}: "
            yield from _written(value[key], deeper)
            comma = "," + deeper
        yield line_break + "}"
    else:
        yield "["
        for item in value:
            yield comma
            yield from _written(item, deeper)
            comma = "," + deeper
        yield line_break + "]"
