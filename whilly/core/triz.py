"""A challenge to the plan as a whole, before it runs: contradictions, waste and work that is not ready to be done.

Deterministic and pure. The categories are named after the inventive principle (TRIZ) that resolves them.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from whilly.core.contradictions import CATEGORIES, Category, Severity
from whilly.core.gate import GateDecision, Verdict, judge_plan
from whilly.core.graph import layers, loops
from whilly.core.order import unordered
from whilly.core.over_engineering import grand_word
from whilly.core.plan import FINISHED, Plan, TaskSpec
from whilly.core.wording import normalised

WEIGHTS = {Severity.CRITICAL: 4.0, Severity.HIGH: 2.0, Severity.MEDIUM: 1.0, Severity.LOW: 0.5}
"""What a finding takes away from the ideality of a plan; three per task take everything."""


class Judgement(StrEnum):
    """What the preflight says about a plan."""

    APPROVE = "approve"
    REVISE = "revise"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One finding of the preflight."""

    category: Category
    severity: Severity
    task_ids: tuple[str, ...]
    title: str
    recommendation: str

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        row = CATEGORIES[self.category]
        return {
            "severity": self.severity.value,
            "category": self.category.value,
            "task_ids": list(self.task_ids),
            "title": self.title,
            "recommendation": self.recommendation,
            "triz_principle": {"number": row.principle, "name": row.principle_name},
        }


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found, and what follows."""

    plan_id: str
    task_count: int
    verdict: Judgement
    ideality_score: float
    """1.0 for a plan without findings, down to 0.0; two decimals."""
    findings: tuple[Contradiction, ...] = ()
    """Worst first."""
    mergeable_groups: tuple[tuple[str, ...], ...] = ()
    """Tasks that could be one: they say the same, or change exactly the same files in no order."""
    removable_tasks: tuple[str, ...] = ()
    """Tasks that repeat an earlier one."""
    summary: str = ""

    def as_json(self) -> dict[str, Any]:
        """For programs: `whilly plan triz --json`."""
        plain = asdict(self) | {"findings": [finding.as_json() for finding in self.findings]}
        return plain | {
            "verdict": self.verdict.value,
            "mergeable_groups": [list(group) for group in self.mergeable_groups],
            "removable_tasks": list(self.removable_tasks),
        }


def preflight(plan: Plan) -> Preflight:
    """Challenge a plan. Tasks that are DONE, FAILED or SKIPPED are left out of what only matters while work is open."""
    look = _Look(plan)
    findings = sorted(
        (
            *_loops(look),
            *_missing_dependencies(look),
            *_weak_tasks(look),
            *_duplicates(look),
            *_shared_files(look),
            *_priorities(look),
            *_over_engineering(look),
        ),
        key=lambda finding: list(Severity).index(finding.severity),
    )
    verdict = _verdict(findings)
    score = _ideality(findings, len(plan.tasks))
    return Preflight(
        plan.id,
        len(plan.tasks),
        verdict,
        score,
        tuple(findings),
        tuple(dict.fromkeys((*look.alike, *_same_files(look)))),
        tuple(task for group in look.alike for task in group[1:]),
        _summary(verdict, score, findings),
    )


@dataclass(slots=True)
class _Look:
    """The plan with what several questions need."""

    plan: Plan
    tasks: dict[str, TaskSpec] = field(init=False)
    open_tasks: list[TaskSpec] = field(init=False)
    decisions: dict[str, GateDecision] = field(init=False)
    alike: list[tuple[str, ...]] = field(init=False)
    """Open tasks that say the same, in file order."""
    loops: list[tuple[str, ...]] = field(init=False)
    unordered_files: dict[str, list[str]] = field(init=False)
    """Open tasks that change the same file, by its name, as far as another one could run at the same moment."""

    def __post_init__(self) -> None:
        self.tasks = {task.id: task for task in self.plan.tasks}
        self.open_tasks = [task for task in self.plan.tasks if task.status not in FINISHED]
        self.decisions = judge_plan(self.plan)
        self.alike = _alike(self.open_tasks)
        graph = {task.id: task.dependencies for task in self.plan.tasks}
        self.loops = loops(graph)
        looped = {task for loop in self.loops for task in loop}
        self.unordered_files = {}
        shared = _tasks_by_file(self.open_tasks)
        if shared and not looped:
            order = [task for layer in layers(graph) for task in layer]
            self.unordered_files = unordered(graph, order, shared)


def _alike(tasks: list[TaskSpec]) -> list[tuple[str, ...]]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for task in tasks:
        if words := normalised(task.description):
            groups[words, task.repo_target_id].append(task.id)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _tasks_by_file(tasks: list[TaskSpec]) -> dict[str, list[str]]:
    by_file: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        prefix = f"{task.repo_target_id}: " if task.repo_target_id else ""
        for path in dict.fromkeys(_plain_path(path) for path in task.key_files):
            by_file[prefix + path].append(task.id)
    return {path: group for path, group in by_file.items() if len(group) > 1}


def _plain_path(path: str) -> str:
    return "/".join(part for part in path.strip().replace("\\", "/").split("/") if part not in ("", "."))


def _same_files(look: _Look) -> list[tuple[str, ...]]:
    groups: dict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
    for task in dict.fromkeys(task for group in look.unordered_files.values() for task in group):
        spec = look.tasks[task]
        groups[spec.repo_target_id, frozenset(map(_plain_path, spec.key_files))].append(task)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _finding(category: Category, tasks: tuple[str, ...], title: str, severity: Severity | None = None) -> Contradiction:
    row = CATEGORIES[category]
    return Contradiction(category, severity or row.severity, tasks, title, row.recommendation)


def _loops(look: _Look) -> Iterator[Contradiction]:
    for loop in look.loops:
        title = f"Tasks depend on each other in a loop: {' → '.join(loop)}."
        yield _finding(Category.DEPENDENCY_CONTRADICTION, tuple(dict.fromkeys(loop)), title)


def _missing_dependencies(look: _Look) -> Iterator[Contradiction]:
    for task in look.plan.tasks:
        for dependency in dict.fromkeys(task.dependencies):
            if dependency not in look.tasks:
                title = f"{task.id} depends on {dependency}, which is not in the plan."
                yield _finding(Category.MISSING_DEPENDENCY_RESOURCE, (task.id,), title)


def _weak_tasks(look: _Look) -> Iterator[Contradiction]:
    for task in look.open_tasks:
        decision = look.decisions[task.id]
        refusals = [f for f in decision.findings if f.severity is Verdict.REJECT and f.rule_id != "duplicate"]
        if refusals:
            rules = {finding.rule_id for finding in refusals}
            severity = Severity.HIGH if rules & {"description", "placeholder", "monotonous"} else Severity.MEDIUM
            title = f"{task.id} would be refused by the gate ({', '.join(f.rule_id for f in refusals)})."
            advice = " ".join(finding.sentence for finding in refusals)
            yield Contradiction(Category.WEAK_TASK_DEFINITION, severity, (task.id,), title, advice)


def _duplicates(look: _Look) -> Iterator[Contradiction]:
    for group in look.alike:
        yield _finding(Category.DUPLICATE_WORK, group, f"{_listed(group)} have the same description.")


def _shared_files(look: _Look) -> Iterator[Contradiction]:
    for path, group in look.unordered_files.items():
        title = f"{_listed(tuple(group))} change {path} in no order."
        yield _finding(Category.RESOURCE_CONFLICT, tuple(group), title)


def _priorities(look: _Look) -> Iterator[Contradiction]:
    for task in look.open_tasks:
        for dependency in dict.fromkeys(task.dependencies):
            needed = look.tasks.get(dependency)
            if needed and needed.status not in FINISHED and needed.priority > task.priority:
                title = (
                    f"{task.id} is {task.priority.word}, but needs {needed.id}, which is only {needed.priority.word}."
                )
                yield _finding(Category.PRIORITY_CONTRADICTION, (task.id, needed.id), title)


def _over_engineering(look: _Look) -> Iterator[Contradiction]:
    for task in look.open_tasks:
        proved = any(map(str.strip, task.acceptance_criteria)) and any(map(str.strip, task.test_steps))
        if not proved and (word := grand_word(task.description)):
            title = f'{task.id} asks for something "{word}" without saying how it is proved.'
            yield _finding(Category.OVER_ENGINEERING_RISK, (task.id,), title)


def _listed(tasks: tuple[str, ...]) -> str:
    if len(tasks) > 5:
        return f"{', '.join(tasks[:4])} and {len(tasks) - 4} more"
    return f"{', '.join(tasks[:-1])} and {tasks[-1]}"


def _verdict(findings: list[Contradiction]) -> Judgement:
    severities = {finding.severity for finding in findings}
    if Severity.CRITICAL in severities:
        return Judgement.REJECT
    return Judgement.REVISE if severities & {Severity.HIGH, Severity.MEDIUM} else Judgement.APPROVE


def _ideality(findings: list[Contradiction], tasks: int) -> float:
    if not tasks:
        return 1.0
    return round(max(0.0, 1 - sum(WEIGHTS[finding.severity] for finding in findings) / (3 * tasks)), 2)


def _summary(verdict: Judgement, score: float, findings: list[Contradiction]) -> str:
    if not findings:
        return "Nothing stands against this plan."
    counts = [
        f"{count} {severity.value}"
        for severity in Severity
        if (count := sum(finding.severity is severity for finding in findings))
    ]
    total = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
    advice = {
        Judgement.REJECT: "the plan cannot run as it is",
        Judgement.REVISE: "revise the plan before you spend money on it",
        Judgement.APPROVE: "nothing that has to be changed",
    }[verdict]
    return f"{total} ({', '.join(counts)}): {advice}. Ideality {score:.2f}."
