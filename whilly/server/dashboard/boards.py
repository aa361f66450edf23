"""The part of the page that changes. Open tabs that are nudged at once share a rendering."""

from collections.abc import Sequence
from dataclasses import dataclass

from whilly.operations.batching import Batcher
from whilly.operations.read_board import read_board
from whilly.operations.read_plans import list_plans
from whilly.server.dashboard.present import Page, page_of
from whilly.server.dashboard.rendering import render
from whilly.store.database import Database

Wanted = tuple[str | None, int]
"""A plan (None: the newest) and how many of its tasks."""


@dataclass(frozen=True, slots=True)
class Board:
    """What is printed, and as it is printed."""

    page: Page
    html: str


class Boards:
    """Whoever asks while one is being rendered shares the next one, so nobody gets a state from before the question."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batcher: Batcher[Wanted, Board] = Batcher(self._render_all)

    async def of(self, plan: str | None, rows: int) -> Board:
        """The board of a plan; one without a plan when there is none by that name."""
        return await self._batcher.submit((plan, rows))

    async def _render_all(self, wanted: Sequence[Wanted]) -> list[Board]:
        rendered = {each: await self._render(*each) for each in set(wanted)}
        return [rendered[each] for each in wanted]

    async def _render(self, plan: str | None, rows: int) -> Board:
        plans = await list_plans(self._database)
        chosen = plan if plan is not None else next((summary.id for summary in plans), None)
        known = chosen is not None and any(summary.id == chosen for summary in plans)
        page = page_of(plans, await read_board(self._database, chosen, rows) if chosen and known else None, rows)
        return Board(page, render("board.html", board=page))
