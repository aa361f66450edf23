"""What a person does to a task: cancel, retry, skip, decide."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.core.errors import Refused
from whilly.core.plan import Status
from whilly.operations.review_task import review_task
from whilly.operations.steer_task import cancel_task, retry_task, skip_task
from whilly.server.auth import PEOPLE
from whilly.server.bodies import answer, read
from whilly.server.engine import Engine, caller_of, engine_of
from whilly.server.route import Route
from whilly.wire.steering import ReviewRequest, StatusAnswer, SteerRequest

LONGEST_WORDS = 8_192


async def cancel(request: Request) -> Response:
    """End a task; a running one as soon as its worker has stopped the agent."""
    return await _steered(request, "cancel")


async def retry(request: Request) -> Response:
    """Give a failed, skipped or blocked task a fresh set of attempts."""
    return await _steered(request, "retry")


async def skip(request: Request) -> Response:
    """Take a task out of the plan's way."""
    return await _steered(request, "skip")


async def review(request: Request) -> Response:
    """Approve a task, reject it, or ask for changes."""
    asked, caller = await read(request, ReviewRequest), caller_of(request)
    status = await decide(
        engine_of(request),
        request.path_params["plan"],
        request.path_params["task"],
        asked.decision,
        asked.reviewer or caller.name,
        asked.comment,
    )
    return answer(StatusAnswer(status))


async def _steered(request: Request, decision: str) -> Response:
    asked = await read(request, SteerRequest)
    plan, task = request.path_params["plan"], request.path_params["task"]
    status = await decide(engine_of(request), plan, task, decision, caller_of(request).name, asked.reason)
    return answer(StatusAnswer(status))


async def decide(engine: Engine, plan: str, task: str, decision: str, by: str, words: str) -> Status:
    """Carry out a person's decision about a task, and wake whom it concerns. Raises UnknownTask, Refused."""
    if len(words) > LONGEST_WORDS:
        raise Refused(f"A comment may have {LONGEST_WORDS:,} characters; this one has {len(words):,}.")
    match decision:
        case "cancel":
            status = await cancel_task(engine.database, plan, task, by)
            engine.orders.look()
        case "retry":
            status = await retry_task(engine.database, plan, task, by)
        case "skip":
            status = await skip_task(engine.database, plan, task, by, words)
        case _:
            status = await review_task(engine.database, plan, task, decision, by, words)
    engine.freed(plan)
    return status


_TASK = "/api/v1/plans/{plan}/tasks/{task}"

ROUTES = (
    Route("POST", f"{_TASK}/cancel", cancel, PEOPLE, body=SteerRequest, gives=StatusAnswer),
    Route("POST", f"{_TASK}/retry", retry, PEOPLE, body=SteerRequest, gives=StatusAnswer),
    Route("POST", f"{_TASK}/skip", skip, PEOPLE, body=SteerRequest, gives=StatusAnswer),
    Route("POST", f"{_TASK}/review", review, PEOPLE, body=ReviewRequest, gives=StatusAnswer),
)
