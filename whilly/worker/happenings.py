"""The events of an attempt that its worker tells. docs/reference/events.md describes their fields."""

from typing import Any

from whilly.agents.runner import AgentResult
from whilly.core.assignment import Assignment
from whilly.core.evidence import CheckResult, Usage
from whilly.core.money import to_usd
from whilly.core.outcome import Outcome
from whilly.core.plan import Check
from whilly.wire.work import AttemptEvent

LLM_SCHEMA = "whilly.llm_ops.v1"

PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "google"}
"""Who is behind an agent, where there is one answer."""

STATUS_OF = {Outcome.COMPLETED: "finished", Outcome.CANCELLED: "cancelled", Outcome.RELEASED: "cancelled"}


class Happenings:
    """Builds the events of one attempt and numbers them, so that sending one twice stores it once."""

    def __init__(self, assignment: Assignment, worker: str) -> None:
        self._assignment = assignment
        self._worker = worker
        self._number = 0

    def workspace_prepared(self, path: str, branch: str, base_commit: str) -> AttemptEvent:
        """The private clone is ready."""
        return self._event(
            "workspace.prepared",
            {"path": path, "branch": branch, "base_commit": base_commit, "repo_target_id": self._repo_target},
        )

    def workspace_prepare_failed(self, outcome: Outcome, reason: str) -> AttemptEvent:
        """There is no workspace."""
        return self._event(
            "workspace.prepare_failed",
            {"reason": outcome.value, "error": reason, "repo_target_id": self._repo_target},
        )

    def llm_started(self, agent: str, version: str, prompt: str) -> AttemptEvent:
        """The agent begins. The prompt is kept, so that it can be read what the agent was told."""
        return self._event("llm.run_started", self._run(agent, "started", version=version), {"prompt": prompt})

    def llm_ended(self, agent: str, result: AgentResult, seconds: float, characters: int) -> AttemptEvent:
        """The agent ended, was stopped or failed."""
        status = STATUS_OF.get(result.outcome, "failed")
        payload = self._run(agent, status, result.version, result.model, result.session)
        payload.update(
            {
                "outcome": result.outcome.value,
                "reason": result.reason,
                "exit_code": result.exit_code,
                "is_complete": result.outcome is Outcome.COMPLETED,
                "output_chars": characters,
                "duration_s": round(seconds, 3),
                "usage": _usage(result.usage),
                "gen_ai.usage.input_tokens": result.usage.input_tokens,
                "gen_ai.usage.output_tokens": result.usage.output_tokens,
            }
        )
        return self._event(f"llm.run_{status}", payload)

    def verification_started(self, checks: tuple[Check, ...], commit: str) -> AttemptEvent:
        """The checks begin."""
        return self._event(
            "verification.started",
            {"commit": commit, "checks": [{"name": check.name, "required": check.required} for check in checks]},
        )

    def verified(self, check: Check, result: CheckResult) -> AttemptEvent:
        """One check ended: `succeeded`, `failed`, or `warning` for an optional one that did not pass."""
        warning = not result.passed and not check.required
        kind = "succeeded" if result.passed else "warning" if warning else "failed"
        cut = bool(result.output_tail)
        return self._event(
            f"verification.{kind}",
            {
                "name": check.name,
                "source": check.source,
                "command": result.command,
                "required": check.required,
                "succeeded": result.passed,
                "warning": warning,
                "returncode": result.exit_code,
                "duration_s": result.duration_ms / 1000,
                "timed_out": result.timed_out,
                "blocked": False,
                "commit": result.commit,
                "note": result.note,
                "stdout_truncated": cut,
                "output_bytes": result.output_bytes,
            },
            {"stdout": f"{result.output_head}\n[…]\n{result.output_tail}" if cut else result.output_head, "stderr": ""},
        )

    @property
    def _repo_target(self) -> str | None:
        return self._assignment.repo_target.id if self._assignment.repo_target else None

    def _run(self, agent: str, status: str, version: str = "", model: str = "", session: str = "") -> dict[str, Any]:
        plan, task, epoch = self._assignment.plan, self._assignment.spec.id, self._assignment.epoch
        provider = PROVIDERS.get(agent, "")
        return {
            "schema": LLM_SCHEMA,
            "worker_id": self._worker,
            "attempt": epoch,
            "session_id": session,
            "status": status,
            "agent": agent,
            "agent_version": version,
            "provider": provider,
            "model": model,
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "artifact_ref": f"/api/v1/plans/{plan}/tasks/{task}/attempts/{epoch}/transcript",
        }

    def _event(self, kind: str, payload: dict[str, Any], detail: dict[str, Any] | None = None) -> AttemptEvent:
        self._number += 1
        shared = {"plan_id": self._assignment.plan, "task_id": self._assignment.spec.id}
        return AttemptEvent(kind, {**shared, **payload}, detail, self._number)


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "cost_usd": None if usage.cost is None else str(to_usd(usage.cost)),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
    }
