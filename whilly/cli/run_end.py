"""How a run ended: the exit code, and what to do next."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whilly.core.money import shown

if TYPE_CHECKING:
    from whilly.operations.read_progress import Progress

ALL_DONE, SOMETHING_FAILED, CANNOT_GO_ON, PERSON_DECIDES, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass(frozen=True, slots=True)
class RunEnd:
    """An exit code with its sentence and the command that comes next."""

    code: int
    sentence: str
    next_command: str = ""


def judge_run(
    plan: str,
    progress: "Progress",
    *,
    again: str,
    interrupted: bool,
    missing: Collection[str] = (),
    default_agent: str = "",
    unusable: str = "",
    elsewhere: bool = False,
    spent_all: str = "",
) -> RunEnd:
    """Decide how a run ended. `again` is the command that began it.

    `missing` are agents whose programs are not here; why, was said when that was found out. `progress` is as a worker
    without them sees it. `unusable` says why the repository could not be worked in; it is empty when it could.
    `elsewhere`: results may be in other repositories than the one of `--repo`.
    `spent_all` says how much this run has spent, if that is all that it may.
    """
    show = f"whilly plan show {plan}"
    if interrupted:
        return RunEnd(INTERRUPTED, "Interrupted; unfinished tasks are back in the queue.", again)
    if unusable:
        return RunEnd(CANNOT_GO_ON, unusable, again)
    if spent_all and (left := progress.pending):
        return RunEnd(CANNOT_GO_ON, f"{spent_all} are spent; {_tasks(left)} left for another run.", again)
    if default_agent in missing and (left := progress.ready + progress.parked):
        return RunEnd(CANNOT_GO_ON, f"Without the agent {default_agent} {_tasks(left)} cannot run.", again)
    if progress.ready and progress.plan_spent_up:
        spent = f"{shown(progress.spent)} of {shown(progress.budget)}"
        return RunEnd(
            CANNOT_GO_ON,
            f"The budget is used up ({spent} spent) and {_tasks(progress.ready)} could still run.",
            f"whilly budget set {plan} USD",
        )
    if progress.ready and progress.day_spent_up:
        spent = f"{shown(progress.spent_today)} of {shown(progress.daily_budget)}"
        return RunEnd(
            CANNOT_GO_ON,
            f"The budget for today is used up ({spent} spent since midnight UTC) and {_tasks(progress.ready)} could "
            "still run.",
            f"whilly budget set {plan} USD --per-day",
        )
    if progress.unserved:
        agent = progress.unserved_agent
        wanted = f"the agent {agent}" if agent else progress.unserved_because
        named = f"{_tasks(progress.unserved)} {'asks' if progress.unserved == 1 else 'ask'} for {wanted}"
        if agent in missing:
            return RunEnd(CANNOT_GO_ON, f"{named}, which is missing here.", again)
        return RunEnd(
            CANNOT_GO_ON, f"{named}, which this run does not have; change it in the plan and import it again.", show
        )
    if progress.spent_up:
        return RunEnd(CANNOT_GO_ON, f"The own budgets of {_tasks(progress.spent_up)} are used up.", show)
    if progress.failed or progress.blocked:
        return RunEnd(
            SOMETHING_FAILED, f"{progress.failed} failed, {progress.blocked} blocked, {progress.done} done.", show
        )
    if progress.waiting_for_person:
        waiting = progress.waiting_for_person
        return RunEnd(
            PERSON_DECIDES,
            f"{_tasks(waiting)} {'waits' if waiting == 1 else 'wait'} for a person's decision.",
            f"whilly review approve {plan} {progress.waiting_task}",
        )
    if progress.pending:
        return RunEnd(ALL_DONE, f"{_tasks(progress.pending)} left for another run.", again)
    return RunEnd(
        ALL_DONE,
        f"All done: {progress.done} done, {progress.skipped} skipped.",
        show if elsewhere else f"git log --graph --branches='whilly/{plan}/*'",
    )


def _tasks(count: int) -> str:
    return f"{count} task{'s' if count != 1 else ''}"
