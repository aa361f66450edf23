"""The decision before any money is spent: whether a task is written well enough for an agent.

Judging is pure and says everything at once. What a rule refuses and what to write instead is in `core.gate_rules`.
"""

from dataclasses import dataclass

from whilly.core.gate_complaints import COMPLAINTS, Case
from whilly.core.gate_rules import RULES, Rule, Verdict
from whilly.core.plan import Plan, Status, TaskSpec
from whilly.core.wording import normalised

__all__ = ["RULES", "Finding", "GateDecision", "Rule", "Verdict", "judge_plan"]

_NOTHING_TO_SPEND = frozenset({Status.DONE, Status.SKIPPED})


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that a task does not keep."""

    rule_id: str
    severity: Verdict
    """WARN or REJECT."""
    sentence: str
    """What is wrong, and what to write instead."""


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What the gate says about one task."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()

    @property
    def refused_by(self) -> tuple[str, ...]:
        """Ids of the rules that reject, for the `missing` list of `task.skipped`."""
        return tuple(finding.rule_id for finding in self.findings if finding.severity is Verdict.REJECT)


def judge_plan(plan: Plan) -> dict[str, GateDecision]:
    """A decision for each task id, in file order. Tasks that are DONE or SKIPPED cost nothing and are admitted."""
    first_work: dict[_Work, str] = {}
    first_description: dict[str, str] = {}
    decisions = {}
    for task in plan.tasks:
        work = _work_of(task)
        described = work[0]
        same = (first_work.get(work, ""), first_description.get(described, ""))
        decisions[task.id] = _judge(Case(plan, task, _words_of(task), *same))
        if described and task.status is not Status.SKIPPED:
            first_work.setdefault(work, task.id)
            first_description.setdefault(described, task.id)
    return decisions


_Work = tuple[str, str, frozenset[str], tuple[str, ...], tuple[str, ...]]


def _work_of(task: TaskSpec) -> _Work:
    files = frozenset(task.key_files)
    return normalised(task.description), task.repo_target_id, files, task.acceptance_criteria, task.test_steps


def _words_of(task: TaskSpec) -> str:
    return "\n".join((task.description, *task.acceptance_criteria, *task.test_steps, *task.key_files))


def _judge(case: Case) -> GateDecision:
    if case.task.status in _NOTHING_TO_SPEND:
        return GateDecision(Verdict.ADMIT)
    complaints = ((rule, COMPLAINTS[rule.id](case)) for rule in RULES)
    findings = [
        Finding(rule.id, rule.severity, f"{complaint} {rule.instead}") for rule, complaint in complaints if complaint
    ]
    severities = {finding.severity for finding in findings}
    if Verdict.REJECT in severities:
        return GateDecision(Verdict.REJECT, tuple(findings))
    return GateDecision(Verdict.WARN if severities else Verdict.ADMIT, tuple(findings))
