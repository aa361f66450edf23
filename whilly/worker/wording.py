"""What leaves the worker as text: without secrets, storable, and of a bearable length."""

import asyncio
from dataclasses import replace

from whilly.agents.runner import AgentResult
from whilly.core.evidence import CheckResult
from whilly.core.redaction import Redactor, storable
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
        return await asyncio.to_thread(self._clean, shortened(text, LONGEST_PROMPT))

    async def agent_result(self, result: AgentResult) -> AgentResult:
        """With clean closing words; shortened, for they are only shown."""
        said = await asyncio.to_thread(self._clean, shortened(result.final_text, LONGEST_SUMMARY))
        return replace(result, reason=self.reason(result.reason), final_text=said)

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

    def _clean(self, text: str) -> str:
        return storable(self._redactor.text(text))
