"""What all attempts of one worker share, put together by whoever starts the worker."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from whilly.agents.runner import AgentRunner
from whilly.client.control_plane import ControlPlane
from whilly.core.assignment import Assignment
from whilly.core.plan import Check
from whilly.worker.allowance import Allowance
from whilly.worker.ended import Ended
from whilly.worker.repositories import Repositories
from whilly.workspace.space import Floor


@dataclass(frozen=True, slots=True)
class Equipment:
    """A worker's connections, places and limits. Settings are read elsewhere; these are values."""

    control_plane: ControlPlane
    address: str
    """Tells control planes apart: the reports kept for one are never sent to another. A URL, for instance."""
    worker: str
    """The name by which the control plane knows this worker. Keep it over restarts: reports kept are its own."""
    plan: str
    runners: Mapping[str, AgentRunner]
    """By name; the first is for tasks that name no agent."""
    workspaces: Path
    """Where the private clones live."""
    state: Path
    """Where reports wait until the control plane has taken them."""
    environment: Mapping[str, str]
    """Of the worker itself; checks see an allowed part of it, and what it names as a secret is hidden everywhere."""
    secrets: tuple[str, ...] = ()
    """Further values that must not leave the machine in a transcript or an output."""
    checks: tuple[Check, ...] = ()
    """In addition to the plan's and the tasks'; the same name replaces."""
    floor: Floor = Floor()
    """What must be free on the disk of the workspaces; below it nothing new is claimed."""
    repositories: Repositories = field(default_factory=Repositories)
    """Where tasks of repo targets work."""
    in_place: bool = False
    """Work in the user's own tree, one task at a time."""
    tags: tuple[str, ...] = ()
    """What the machine is tagged with: tasks may ask for tags."""
    take_over: bool = False
    """Take the worker's identity from a process that may still be at work."""
    heartbeat_seconds: float = 15
    claim_wait_seconds: float = 30
    timeout_minutes: int = 60
    """For tasks and plans that name none."""
    stall_seconds: float = 900
    shutdown_seconds: float = 10
    """How long the end may take after the first order to stop."""
    allowance: Allowance = field(default_factory=Allowance)
    """What this run may spend."""
    tell: Callable[[str], None] = lambda _: None
    """Sentences for the person who watches."""
    admitted: Callable[[str], None] = lambda _: None
    """Told once, when the control plane lets it work, under which identity."""
    began: Callable[[Assignment], None] = lambda _: None
    """Told of each attempt before anything is done for it."""
    ended: Callable[[Ended], None] = lambda _: None
    """Told of each attempt that is over."""

    @property
    def isolation(self) -> str:
        """The rung of `core.capabilities.RUNGS` on which agents work here."""
        return "none" if self.in_place else "clone"
