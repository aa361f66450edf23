"""What one run of a worker may spend, whatever its plans and tasks may."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from whilly.core.assignment import AttemptKey
from whilly.core.budget import DEFAULT_ESTIMATE, EXCEEDED_PCT, WARNING_PCT, reached
from whilly.core.money import Micros, shown
from whilly.worker.halt import Cause, Halt


class Allowance:
    """Adds up what the agents of all attempts use, and halts those that run when the cap is reached.

    Attempts whose agent has ended go on to their verdict: that costs nothing, and their work would be lost.
    """

    def __init__(
        self,
        cap: Micros | None = None,
        *,
        warn: Callable[[str], None] = lambda _: None,
        used_up: Callable[[], None] = lambda: None,
    ) -> None:
        """`warn` takes a sentence at 80 %; `used_up` is called at 100 %, once, before the agents are halted."""
        self._cap = cap
        self._warn = warn
        self._used_up = used_up
        self._costs: dict[AttemptKey, Micros] = {}
        self._running: dict[AttemptKey, Halt] = {}
        self._told: frozenset[int] = frozenset()

    @property
    def spent(self) -> Micros:
        """By all attempts so far."""
        return sum(self._costs.values())

    @property
    def exhausted(self) -> bool:
        """Whether the cap is reached."""
        return EXCEEDED_PCT in self._told

    @property
    def sentence(self) -> str:
        """What is spent of what, for people."""
        return f"{shown(self.spent)} of the {shown(self._cap)} that WHILLY_BUDGET_USD allows this run"

    @contextmanager
    def covering(self, key: AttemptKey, halt: Halt) -> Iterator[None]:
        """While the agent of an attempt runs."""
        self._running[key] = halt
        if self.exhausted:
            self._halt(halt)
        try:
            yield
        finally:
            del self._running[key]

    def used(self, key: AttemptKey, cost: Micros | None) -> None:
        """An attempt has used so much so far."""
        if cost is not None:
            self._costs[key] = max(cost, self._costs.get(key, 0))
            self._judge()

    def ended(self, key: AttemptKey, cost: Micros | None) -> None:
        """The agent of an attempt has ended. What it does not say counts as the estimate, never as nothing."""
        self.used(key, DEFAULT_ESTIMATE if cost is None else cost)

    def _judge(self) -> None:
        new = reached(self._cap, self.spent) - self._told
        self._told |= new
        if EXCEEDED_PCT in new:
            self._used_up()
            for halt in self._running.values():
                self._halt(halt)
        elif WARNING_PCT in new:
            self._warn(f"{self.sentence} are spent.")

    def _halt(self, halt: Halt) -> None:
        halt.because(Cause.RUN_BUDGET, f"Stopped: {self.sentence} are spent. What it did is kept.")
