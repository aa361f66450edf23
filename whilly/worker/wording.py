"""What leaves the worker as text: without secrets, storable, and of a bearable length."""

import asyncio
from dataclasses import replace
from typing import Any

from whilly.agents.runner import AgentResult
from whilly.core.evidence import CheckResult, Report
from whilly.core.redaction import Redactor, is_storable, storable
from whilly.wire.work import AttemptEvent
from whilly.worker.plain import newest_line, shortened

LONGEST_SUMMARY = 4_000
LONGEST_REASON = 2_000
LONGEST_PROMPT = 64 * 1024


class Wording:
    """Cleans the texts of one attempt, the long ones off the event loop."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._redactor = Redactor(secrets)

    def line(self, printed: str) -> str:
        """The newest line of what was printed, for a list; empty when nothing can be read."""
        return self._clean(newest_line(printed))

    def reason(self, text: str) -> str:
        """Why something ended."""
        return self._clean(shortened(text, LONGEST_REASON))

    async def prompt(self, text: str) -> str:
        """What the agent was told."""
        return await asyncio.to_thread(self._clean_and_short, text, LONGEST_PROMPT)

    async def agent_result(self, result: AgentResult) -> AgentResult:
        """With clean closing words; shortened, for they are only shown."""
        said = await asyncio.to_thread(self._clean_and_short, result.final_text, LONGEST_SUMMARY)
        return replace(result, reason=self.reason(result.reason), final_text=said)

    def event(self, event: AttemptEvent) -> AttemptEvent:
        """With clean words in its payload, wherever they come from; its detail was cleaned before."""
        return replace(event, payload=self._made_safe(event.payload))

    def report(self, report: Report) -> Report:
        """With clean words in the fields that others than Whilly fill; summary and checks were cleaned before."""
        return replace(
            report,
            reason=self._safe(report.reason),
            agent_version=self._safe(report.agent_version),
            model=self._safe(report.model),
            session=self._safe(report.session),
        )

    async def check_result(self, result: CheckResult) -> CheckResult:
        """With clean output."""
        return await asyncio.to_thread(self._clean_check, result)

    def _clean_check(self, result: CheckResult) -> CheckResult:
        return replace(
            result,
            command=self._clean(result.command),
            output_head=self._clean(result.output_head),
            output_tail=self._clean(result.output_tail),
            note=self._clean(result.note),
        )

    def _clean_and_short(self, text: str, most: int) -> str:
        # In this order: of a secret that was cut in two, the second half would not be known.
        return storable(shortened(self._redactor.text(text), most))

    def _clean(self, text: str) -> str:
        return storable(self._redactor.text(text))

    def _safe(self, text: str) -> str:
        """The same for a text that may be clean already."""
        told = self._redactor.text(text)
        return told if is_storable(told) else storable(told)

    def _made_safe(self, value: Any) -> Any:
        match value:
            case str():
                return self._safe(value)
            case dict():
                return {name: self._made_safe(each) for name, each in value.items()}
            case list() | tuple():
                return [self._made_safe(each) for each in value]
            case _:
                return value
