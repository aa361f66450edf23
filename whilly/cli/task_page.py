"""One task on a screen."""

from typing import TYPE_CHECKING

from whilly.cli.badges import badge
from whilly.core.evidence import CheckResult
from whilly.core.money import shown
from whilly.core.terminal import clean, one_line

if TYPE_CHECKING:
    from whilly.operations.read_attempts import AttemptView, TaskDetail

OUTPUT_LINES = 15
"""Of a failed check; the rest is in `--json`."""


def task_page(plan: str, detail: "TaskDetail", *, colour: bool) -> str:
    """The task, why it is where it is, and its attempts."""
    view = detail.view
    spec = view.spec
    lines = [
        f"{badge(view.task.status, colour=colour)} {plan} / {spec.id}  ({spec.priority.word})",
        "",
        clean(spec.description).rstrip(),
        "",
        view.why.sentence,
    ]
    if view.why.remedy:
        lines.append(view.why.remedy)
    for title, entries in (
        ("Needs", spec.dependencies),
        ("Key files", spec.key_files),
        ("Criteria", spec.acceptance_criteria),
        ("Test steps", spec.test_steps),
    ):
        if entries:
            lines += ["", f"{title}:", *(f"  - {one_line(entry)}" for entry in entries)]
    if view.task.result_branch:
        lines += ["", f"Result: {view.task.result_branch} ({view.task.result_commit[:12]})"]
    for attempt in detail.attempts:
        lines += ["", *_attempt(attempt)]
    return "\n".join(lines)


def _attempt(attempt: "AttemptView") -> list[str]:
    ended = attempt.outcome or f"running ({attempt.phase})"
    agent = " ".join(part for part in (attempt.agent, attempt.agent_version, attempt.model) if part) or "no agent"
    cost = "$0.00" if attempt.started_at is None and attempt.usage.cost is None else shown(attempt.usage.cost)
    told = f"Attempt {attempt.epoch}: {ended}, {agent}, {cost}, on {attempt.worker}"
    lines = [one_line(told, 300)]
    if attempt.reason:
        lines.append(f"  {one_line(attempt.reason, 300)}")
    if attempt.ended_at:
        lines.append(f"  took {(attempt.ended_at - attempt.claimed_at).total_seconds():.1f} s")
    if attempt.head_commit:
        files = "1 file" if attempt.files_changed == 1 else f"{attempt.files_changed} files"
        lines.append(f"  commit {attempt.head_commit[:12]}, {files}, base {attempt.base_commit[:12]}")
    if attempt.kept_ref:
        lines.append(f"  everything it left: {one_line(attempt.kept_ref)}")
    for check in attempt.checks:
        lines += _check(check)
    return lines


def _check(check: CheckResult) -> list[str]:
    verdict = "passed" if check.passed else f"failed ({one_line(check.note) or f'exit code {check.exit_code}'})"
    optional = "" if check.required else ", optional"
    lines = [f"  check {one_line(check.name)}{optional}: {verdict} in {check.duration_ms / 1000:.1f} s"]
    if not check.passed:
        output = clean(check.output_tail or check.output_head).rstrip().splitlines()[-OUTPUT_LINES:]
        lines += [f"    | {line}" for line in output]
    return lines
