"""Lets the agent work on an assignment in its workspace, and tells of it."""

import time
from dataclasses import replace
from pathlib import Path

from whilly.agents.runner import AgentResult, AgentRunner, Brief
from whilly.core.assignment import Assignment
from whilly.core.evidence import Usage
from whilly.core.outcome import Outcome
from whilly.core.prompt import prompt_for
from whilly.worker.conclusion import OUTCOME_OF_HALT
from whilly.worker.contact import Contact
from whilly.worker.equipment import Equipment


async def run_agent(
    runner: AgentRunner, version: str, assignment: Assignment, workspace: Path, equipment: Equipment, contact: Contact
) -> AgentResult:
    """What the agent's side says about its end, in clean words and with all that it used. Raises AgentMissing.

    The limit is not in the brief: it may be raised while the agent runs, so the meter holds it.
    """
    prompt = prompt_for(assignment, workspace=str(workspace), commits=False)
    brief = Brief(
        prompt=prompt,
        workspace=workspace,
        key_files=assignment.spec.key_files,
        task=assignment.spec.id,
        epoch=assignment.epoch,
        timeout_seconds=(assignment.timeout_minutes or equipment.timeout_minutes) * 60,
        stall_seconds=equipment.stall_seconds,
    )
    contact.tell(contact.happenings.llm_started(runner.name, version, await contact.wording.prompt(prompt)))
    contact.pulse.phase = "agent"
    began = time.monotonic()
    ended = await runner.run(brief, contact.hear, contact.halt)
    contact.pulse.check()
    said = await contact.wording.agent_result(ended)
    result = replace(said, usage=_all_used(said.usage, contact.pulse.meter.usage), version=said.version or version)
    contact.pulse.meter.usage = result.usage
    if contact.halt.cause and result.outcome is not Outcome.COMPLETED:
        result = replace(result, outcome=OUTCOME_OF_HALT[contact.halt.cause], reason=contact.halt.reason)
    seconds = time.monotonic() - began
    contact.tell(contact.happenings.llm_ended(runner.name, result, seconds, contact.characters))
    return result


def _all_used(at_the_end: Usage, on_the_way: Usage) -> Usage:
    """The final account, or where it lacks something (a stopped agent gives none) what was heard before."""
    known = [usage.cost for usage in (at_the_end, on_the_way) if usage.cost is not None]
    return Usage(
        cost=max(known, default=None),
        input_tokens=max(at_the_end.input_tokens, on_the_way.input_tokens),
        output_tokens=max(at_the_end.output_tokens, on_the_way.output_tokens),
        cache_read_tokens=max(at_the_end.cache_read_tokens, on_the_way.cache_read_tokens),
        cache_write_tokens=max(at_the_end.cache_write_tokens, on_the_way.cache_write_tokens),
    )
