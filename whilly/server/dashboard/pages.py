"""The page of the people, and what its buttons do."""

from dataclasses import replace
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from whilly.core.errors import UnknownPlan, WhillyError
from whilly.operations.pause import pause, resume
from whilly.server.auth import PEOPLE
from whilly.server.bodies import read_form
from whilly.server.dashboard.boards import Board, Boards
from whilly.server.dashboard.present import MOST_ROWS, ROWS
from whilly.server.dashboard.rendering import Trusted, assets, bare_page, render
from whilly.server.engine import caller_of, engine_of
from whilly.server.errors import Denied
from whilly.server.query import Number, Word
from whilly.server.route import Route
from whilly.server.routes.steering import decide

HTML = "text/html"
PLAN_FORM = {"decision": "`pause` or `resume`."}
TASK_FORM = {
    "decision": "`cancel`, `retry`, `skip`, `approved`, `rejected` or `changes_requested`.",
    "words": "The reason or the comment.",
}
AFTER = {303: "Done; the page shows what came of it."}

PLAN = Word("plan", "Show this plan; without it the newest one.")
FRAGMENT = Word("fragment", "`board`: only the part of the page that changes.")
ROWS_SHOWN = Number("rows", "How many tasks to show.", ROWS, least=1, most=MOST_ROWS)


async def index(request: Request) -> Response:
    """The plan named by `?plan=`, or the newest one. `?fragment=board` gives the part that changes."""
    plan = PLAN.of(request)
    board = await _board(request, plan)
    if plan is not None and board.page.plan is None:
        raise UnknownPlan(plan)
    return _shown(request, board)


async def act_on_plan(request: Request) -> Response:
    """Pause or resume."""
    ROWS_SHOWN.of(request)  # Nothing is done when the answer could not be given.
    form, plan, by = await read_form(request), request.path_params["plan"], caller_of(request).name
    engine = engine_of(request)
    if form.get("decision") == "resume":
        await resume(engine.database, plan, by)
    else:
        await pause(engine.database, plan, "", by)
    engine.freed(plan)
    return await _after_action(request, plan, "")


async def act_on_task(request: Request) -> Response:
    """A person's decision about a task."""
    ROWS_SHOWN.of(request)
    form, path = await read_form(request), request.path_params
    notice = ""
    try:
        await decide(
            engine_of(request),
            path["plan"],
            path["task"],
            form.get("decision", ""),
            caller_of(request).name,
            form.get("words", ""),
        )
    except WhillyError as refusal:
        notice = str(refusal)
    return await _after_action(request, path["plan"], notice)


async def static(request: Request) -> Response:
    """A file that pages refer to. Its address changes with its content, so browsers may keep it."""
    asset = assets().get(request.path_params["name"])
    if asset is None:
        raise Denied(404, "not_found", "There is nothing under this address.")
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.zipped, headers={**headers, "Content-Encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.content, headers=headers, media_type=asset.media_type)


def stranger(request: Request) -> Response:
    """For a browser that is not logged in."""
    response = bare_page("stranger.html", 401, "Log in to see your plans.")
    if "hx-request" in request.headers:
        # A page that was open when its session ended shall show this instead of the part it asked for.
        response.headers["HX-Refresh"] = "true"
    return response


async def _board(request: Request, plan: str | None) -> Board:
    boards: Boards = request.app.state.boards
    return await boards.of(plan, ROWS_SHOWN.of(request))


def _shown(request: Request, board: Board) -> Response:
    if FRAGMENT.of(request) is not None or "hx-request" in request.headers:
        return HTMLResponse(board.html)
    return HTMLResponse(render("page.html", board=board.page, content=Trusted(board.html)))


async def _after_action(request: Request, plan: str, notice: str) -> Response:
    if not notice and "hx-request" not in request.headers:
        return RedirectResponse(f"/?{urlencode({'plan': plan})}", 303)
    board = await _board(request, plan)
    if notice:
        page = replace(board.page, notice=notice)
        board = Board(page, render("board.html", board=page))
    return _shown(request, board)


ROUTES = (
    Route("GET", "/", index, PEOPLE, query=(PLAN, FRAGMENT, ROWS_SHOWN), media=HTML),
    Route("POST", "/plans/{plan}", act_on_plan, PEOPLE, query=(ROWS_SHOWN,), media=HTML, form=PLAN_FORM, also=AFTER),
    Route(
        "POST",
        "/plans/{plan}/tasks/{task}",
        act_on_task,
        PEOPLE,
        query=(ROWS_SHOWN,),
        media=HTML,
        form=TASK_FORM,
        also=AFTER,
    ),
    Route("GET", "/static/{name}", static, PEOPLE, media="*/*", minds_plan=True),
)
