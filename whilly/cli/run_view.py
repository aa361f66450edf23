"""What a person sees while a run goes on: a live table on a terminal, lines in a pipe, and a summary at the end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import typer

from whilly.cli.run_lines import line_for
from whilly.core.money import shown
from whilly.core.plan import Status
from whilly.core.terminal import one_line
from whilly.operations.read_events import end_of_log, events_after
from whilly.operations.read_plans import plan_overview
from whilly.operations.sequence_events import sequence_events

if TYPE_CHECKING:
    from rich.live import Live

    from whilly.cli.run_end import RunEnd
    from whilly.operations.read_progress import Progress
    from whilly.store.database import Database
    from whilly.worker.loop import Worked

PAGE = 500
MOST_BRANCHES = 20


@asynccontextmanager
async def run_view(database: "Database", plan: str, *, live: bool) -> AsyncIterator["RunView"]:
    """A view of the plan's run; `live` draws a table that changes, else lines are printed as things happen."""
    view = RunView(database, plan, position=await end_of_log(database))
    if not live:
        yield view
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(), refresh_per_second=4, transient=True) as table:
        view.table = table
        try:
            yield view
        finally:
            view.table = None


class RunView:
    """Follows the log from where it stood when the run began."""

    def __init__(self, database: "Database", plan: str, position: int) -> None:
        self._database = database
        self._plan = plan
        self._position = position
        self._looked = False
        self.table: Live | None = None

    def say(self, sentence: str) -> None:
        """A sentence for the person who watches."""
        self._print(one_line(sentence, 400))

    async def refresh(self, progress: "Progress") -> None:
        """Show what is new."""
        if not self._looked and progress.paused is not None and progress.pending:
            # A pause that begins later is an event, and told as one.
            why = progress.paused.rstrip(".")
            if progress.asks_about_budget:
                self.say(f"Plan {self._plan} is paused ({why}); `whilly budget set {self._plan} USD` goes on.")
            elif progress.plan_is_paused:
                self.say(f"Plan {self._plan} is paused ({why}); `whilly resume {self._plan}` goes on.")
            else:
                self.say(f"Everything is paused ({why}); `whilly resume` goes on.")
        self._looked = True
        while page := await events_after(self._database, self._position, self._plan, PAGE):
            for event in page:
                if line := line_for(event):
                    self._print(line)
            self._position = page[-1].position
        if self.table is not None:
            from whilly.cli.run_table import run_table

            overview = await plan_overview(self._database, self._plan, progress.running_tasks)
            self.table.update(run_table(self._plan, progress, overview))

    async def conclude(self, end: "RunEnd", worked: "Worked", *, seconds: float) -> None:
        """The last lines: what happened, what it cost, where the results are, what comes next."""
        from whilly.operations.read_progress import read_progress

        while await sequence_events(self._database):
            pass
        await self.refresh(await read_progress(self._database, self._plan, ()))
        overview = await plan_overview(self._database, self._plan)
        branches = [view.task for view in overview.tasks if view.task.result_branch]
        self._print("")
        self._print(end.sentence)
        attempts = worked.attempts
        spent = shown(overview.summary.spent)
        self._print(
            f"{attempts} attempt{'s' if attempts != 1 else ''} in {_duration(seconds)}, {spent} spent on the plan."
        )
        shown_ones = branches[:MOST_BRANCHES]
        width = max((len(task.result_branch) for task in shown_ones), default=0)
        for task in shown_ones:
            waits = "" if task.status is Status.DONE else f"  ({task.status.value})"
            self._print(f"  {task.result_branch:<{width}}  {task.result_commit[:12]}{waits}")
        if len(branches) > MOST_BRANCHES:
            self._print(f"  … and {len(branches) - MOST_BRANCHES} more: whilly plan show {self._plan}")
        if worked.undelivered:
            kept = "1 report is" if worked.undelivered == 1 else f"{worked.undelivered} reports are"
            self._print(f"{kept} kept on disk, and brought by the next run.")
        if end.next_command:
            self._print(f"Next: {end.next_command}")

    def _print(self, line: str) -> None:
        try:
            if self.table is None:
                typer.echo(line)
            else:
                from rich.text import Text

                self.table.console.print(Text(line))
        except BrokenPipeError:
            raise
        except OSError:
            # A full disk under the protocol of a run, or a terminal that is gone, is no reason to stop the run.
            return


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
