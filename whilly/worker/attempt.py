"""The life of one attempt, from the claim to the answer to its report."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

from whilly.agents.environment import clean_environment
from whilly.agents.runner import AgentMissing, AgentResult, AgentRunner
from whilly.core.assignment import Assignment
from whilly.core.evidence import CheckResult, Report
from whilly.core.outcome import Outcome
from whilly.core.plan import Check, checks_of
from whilly.wire.work import Start
from whilly.worker.agent_run import run_agent
from whilly.worker.conclusion import OUTCOME_OF_HALT, conclude
from whilly.worker.contact import Contact
from whilly.worker.delivery import Delivery
from whilly.worker.ended import Ended
from whilly.worker.equipment import Equipment
from whilly.worker.halt import Cause
from whilly.worker.interrupt import Interrupted, unless
from whilly.worker.orders import Orders
from whilly.worker.place import Place
from whilly.worker.roster import Roster
from whilly.worker.stop import Stop
from whilly.worker.verification import run_checks
from whilly.workspace.attempt import Workspace
from whilly.workspace.errors import MergeConflict, NoSpace, RemoteFailed, RepositoryUnusable, WorkspaceFailed
from whilly.workspace.result import Collected

log = logging.getLogger(__name__)


class Attempt:
    """Works on one assignment. Whatever goes wrong with the task is in its report, not raised."""

    def __init__(
        self,
        assignment: Assignment,
        equipment: Equipment,
        roster: Roster,
        delivery: Delivery,
        *,
        orders: Orders,
        claimed_at: float,
        note: Callable[[str], None],
    ) -> None:
        """`claimed_at`: when the claim was sent, by `clock.now`. `note` takes sentences that may repeat themselves."""
        self._orders = orders
        self._assignment = assignment
        self._equipment = equipment
        self._roster = roster
        self._contact = Contact(assignment, equipment, delivery, claimed_at)
        self._place = Place(assignment, equipment, note)
        self._checks = checks_of(assignment.checks, equipment.checks)
        self._agent = assignment.agent or roster.default
        self._unusable = False

    async def run(self, stop: Stop) -> Ended:
        """Work until the report is answered, or kept for later. Cancelling it ends the agent at once."""
        with self._orders.reaching(self._assignment.key, self._contact.halt):
            return await self._run(stop)

    async def _run(self, stop: Stop) -> Ended:
        async with self._contact.opened(stop):
            try:
                report = await self._work()
            except asyncio.CancelledError:
                await self._contact.last_words("shutdown", self._report(Outcome.RELEASED, "Ended in a hurry."))
                await self._place.let_go()
                raise
            except AgentMissing as missing:
                self._roster.strike(self._agent, str(missing))
                report = self._report(Outcome.AGENT_MISSING, str(missing))
            except (MergeConflict, NoSpace, WorkspaceFailed) as failure:
                report = self._without_workspace(failure)
            except Exception as failure:
                log.exception("The worker failed at task %s", self._assignment.spec.id)
                report = self._report(Outcome.WORKSPACE_ERROR, f"The worker itself failed: {failure!r}.")
            ended = await self._hand_in(report)
        await self._place.leave()
        return ended

    async def _work(self) -> Report:
        runner = self._roster.runner(self._agent)
        version = self._roster.version(self._agent)
        try:
            workspace = await unless(self._contact.halt, self._place.prepare())
        except Interrupted:
            return self._halted()
        except (MergeConflict, NoSpace, WorkspaceFailed) as failure:
            report = self._without_workspace(failure)
            if isinstance(failure, RepositoryUnusable):
                self._unusable = True
                report = replace(report, outcome=Outcome.RELEASED)
            self._contact.tell(self._contact.happenings.workspace_prepare_failed(report.outcome, report.reason))
            return report
        happenings = self._contact.happenings
        self._contact.tell(happenings.workspace_prepared(str(workspace.path), workspace.branch, workspace.base_commit))
        if not await self._contact.begin(Start(self._agent, version, "", workspace.base_commit)):
            return self._halted()
        agent = await self._run_agent(runner, version, workspace)
        self._contact.pulse.phase = "checks"
        collected = await self._place.collect()
        checks = await self._verify(collected, agent)
        self._contact.pulse.phase = "reporting"
        return await self._conclude(workspace, collected, agent, checks)

    async def _run_agent(self, runner: AgentRunner, version: str, workspace: Workspace) -> AgentResult:
        key, contact, allowance = self._assignment.key, self._contact, self._equipment.allowance
        with allowance.covering(key, contact.halt):
            agent = await run_agent(
                runner, version, self._place.as_prepared(), workspace.path, self._equipment, contact
            )
        contact.pulse.meter.close()
        allowance.ended(key, agent.usage.cost)
        if agent.outcome is Outcome.COMPLETED:
            contact.halt.forgive_money()
        return agent

    async def _verify(self, collected: Collected, agent: AgentResult) -> Sequence[CheckResult]:
        """Run the checks, when there is something that they could prove."""
        contact, commit = self._contact, collected.head_commit
        provable = agent.outcome is Outcome.COMPLETED and commit and collected.files_changed and not collected.violated
        if not provable or not commit or not self._checks:
            return ()
        contact.tell(contact.happenings.verification_started(self._checks, commit))
        results: list[CheckResult] = []

        async def told(check: Check, result: CheckResult) -> None:
            results.append(await contact.wording.check_result(result))
            contact.tell(contact.happenings.verified(check, results[-1]))

        environment = clean_environment(self._equipment.environment)
        async with self._place.clean_checkout(commit) as checkout:
            await run_checks(self._checks, checkout, commit, environment=environment, halt=contact.halt, told=told)
        return results

    async def _conclude(
        self, workspace: Workspace, collected: Collected, agent: AgentResult, checks: Sequence[CheckResult]
    ) -> Report:
        changed, violated = collected.files_changed > 0, collected.violated
        outcome, reason = conclude(agent, self._contact.halt, changed=changed, violated=violated, checks=checks)
        branch, retry_after, holds = "", agent.retry_after_seconds, self._contact.pulse.holds
        if outcome is Outcome.COMPLETED:
            # A branch that others see may only move while nobody else can have the task.
            if holds():
                try:
                    branch, reason = await self._contact.publishing(self._place.publish(holds))
                except Interrupted:
                    outcome, reason = self._given_up()
                except RemoteFailed as failure:
                    outcome, reason = Outcome.REPOSITORY_UNAVAILABLE, str(failure)
                    retry_after = ceil(failure.retry_seconds)
            if not holds() and not branch:
                outcome, reason = Outcome.LOST_WORKER, "The lease ran out before the result could be published."
        return Report(
            outcome,
            reason=reason,
            summary=agent.final_text,
            base_commit=workspace.base_commit,
            head_commit=collected.head_commit or "",
            branch=branch,
            kept_ref=collected.kept_ref,
            files_changed=collected.files_changed,
            checks=tuple(checks),
            usage=agent.usage,
            agent=self._agent,
            agent_version=agent.version,
            model=agent.model,
            session=agent.session,
            exit_code=agent.exit_code,
            retry_after_seconds=retry_after,
        )

    def _given_up(self) -> tuple[Outcome, str]:
        """How an attempt ended whose result was on its way."""
        halt = self._contact.halt
        if halt.cause is None or halt.cause is Cause.OVER_BUDGET:
            return Outcome.RELEASED, "The worker was told to stop."
        return OUTCOME_OF_HALT[halt.cause], halt.reason

    def _halted(self) -> Report:
        """The report of an attempt that was halted before its agent ran."""
        halt = self._contact.halt
        outcome = OUTCOME_OF_HALT[halt.cause] if halt.cause else Outcome.RELEASED
        return self._report(outcome, halt.reason)

    def _without_workspace(self, failure: MergeConflict | NoSpace | WorkspaceFailed) -> Report:
        outcomes = {
            MergeConflict: Outcome.MERGE_CONFLICT,
            NoSpace: Outcome.NO_SPACE,
            RemoteFailed: Outcome.REPOSITORY_UNAVAILABLE,
        }
        outcome = outcomes.get(type(failure), Outcome.WORKSPACE_ERROR)
        report = self._report(outcome, self._contact.wording.reason(str(failure)))
        if isinstance(failure, RemoteFailed):
            return replace(report, retry_after_seconds=ceil(failure.retry_seconds))
        return report

    def _report(self, outcome: Outcome, reason: str) -> Report:
        """One without a result."""
        return Report(
            outcome,
            reason=reason,
            kept_ref=self._place.kept_ref,
            usage=self._contact.pulse.meter.usage,
            agent=self._agent,
            agent_version=self._roster.version(self._agent),
        )

    async def _hand_in(self, told: Report) -> Ended:
        report = self._contact.wording.report(told)
        match report.outcome:
            case Outcome.RELEASED:
                cause = Outcome.WORKSPACE_ERROR.value if self._unusable else "shutdown"
                answer = await self._contact.give_back(cause, report)
            case Outcome.AGENT_MISSING:
                answer = await self._contact.give_back(Outcome.AGENT_MISSING.value, report)
            case _:
                answer = await self._contact.hand_in(report)
        reason = (answer.reason if answer else "") or report.reason
        status = answer.status if answer else None
        return Ended(self._assignment.spec.id, report.outcome, status, reason, report.usage, self._unusable)
