"""What a worker on its own says about its attempts, a line each as it happens."""

from datetime import UTC, datetime

from whilly.core.money import shown
from whilly.core.terminal import one_line
from whilly.worker.ended import Ended

LONGEST = 400


def worker_line(task: str, what: str) -> str:
    """The local time of now, the task and what there is to say about it."""
    return one_line(f"{datetime.now(UTC).astimezone():%H:%M:%S}  {task}: {what}", LONGEST)


def how_it_went(attempt: Ended) -> str:
    """Outcome, cost, what became of the task, and why."""
    said = [attempt.outcome.value]
    if attempt.usage.cost is not None:
        said.append(shown(attempt.usage.cost))
    if attempt.status is not None:
        said.append(f"the task is {attempt.status.value}")
    return ", ".join(said) + (f": {attempt.reason}" if attempt.reason else "")
