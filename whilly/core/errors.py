"""The family of errors a caller may want to tell apart.

WhillyError
├── PlanRejected        a plan cannot be accepted as written
├── UnknownPlan         there is no plan by that name
├── UnknownTask         there is no task by that name
├── IllegalTransition   this cannot happen to a task in this status
├── LeaseLost           a report names an epoch that is no longer the task's own
├── IdentityInUse       another process works under the same worker's identity
├── Superseded          another process has taken over the worker's identity from this one
├── UnknownWorker       there is no worker by that name
├── ConflictingReport   the same attempt was already finished with a different report
├── Refused             a person's request that the rules do not allow, with the reason
├── SchemaMismatch      the database is older or newer than this program
├── DatabaseUnavailable the database cannot be started or reached
├── MigrationFailed     a step of a schema change was rolled back
└── BadSetting          an environment variable or an option has a value that cannot be used
"""


class WhillyError(Exception):
    """Something that a person can understand and act on; its text is one sentence fit to be shown."""


class PlanRejected(WhillyError):
    """A plan cannot be accepted as written."""


class UnknownPlan(WhillyError):
    """There is no plan by that name."""

    def __init__(self, plan: str) -> None:
        super().__init__(f"There is no plan {plan!r}; `whilly plan list` shows those that exist.")
        self.plan = plan


class UnknownTask(WhillyError):
    """There is no task by that name."""

    def __init__(self, plan: str, task: str) -> None:
        super().__init__(f"Plan {plan!r} has no task {task!r}; `whilly plan show {plan}` lists its tasks.")
        self.plan = plan
        self.task = task


class IllegalTransition(WhillyError):
    """This cannot happen to a task in this status."""

    def __init__(self, task: str, status: str, happening: str) -> None:
        super().__init__(f"Task {task} is {status}, so {happening} cannot happen to it now.")
        self.task = task
        self.status = status
        self.happening = happening


class LeaseLost(WhillyError):
    """A report names an epoch that is no longer the task's own: somebody else may be working on it."""

    def __init__(self, task: str, epoch: int, current: int) -> None:
        super().__init__(
            f"Attempt {epoch} of task {task} is over (its current epoch is {current}); stop working on it."
        )
        self.task = task
        self.epoch = epoch
        self.current = current


class ConflictingReport(WhillyError):
    """The same attempt was already finished with a different report."""


class IdentityInUse(WhillyError):
    """Another process works under the same worker's identity."""

    def __init__(self, worker: str, hostname: str, ago: str) -> None:
        super().__init__(
            f"Worker {worker} is at work already, as a process on {hostname or 'another host'} that was heard of "
            f"{ago} ago; stop that one first, or start this one with --take-over."
        )


class Superseded(WhillyError):
    """Another process has taken over the worker's identity from this one."""

    def __init__(self, worker: str) -> None:
        super().__init__(f"Another process works as {worker} now and this one must not go on; give each its own token.")


class UnknownWorker(WhillyError):
    """There is no worker by that name."""

    def __init__(self, worker: str) -> None:
        super().__init__(f"There is no worker {worker!r}; `whilly worker list` shows those that exist.")


class Refused(WhillyError):
    """A person's request that the rules do not allow."""


class SchemaMismatch(WhillyError):
    """The database is older or newer than this program."""


class DatabaseUnavailable(WhillyError):
    """The database cannot be started or reached."""


class MigrationFailed(WhillyError):
    """A step of a schema change was rolled back; the database is as the last good step left it."""


class BadSetting(WhillyError):
    """An environment variable or an option has a value that cannot be used."""
