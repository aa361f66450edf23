"""What was tried: attempts, their evidence, and what the agents printed."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.read_attempts import AttemptView, task_detail, transcript
from whilly.server.auth import PEOPLE
from whilly.server.bodies import answer
from whilly.server.engine import engine_of
from whilly.server.errors import Denied
from whilly.server.route import Route
from whilly.server.told import told_attempt, told_evidence
from whilly.wire.tasks import AttemptList, AttemptTold, EvidenceTold


async def attempts(request: Request) -> Response:
    """All attempts of a task, oldest first."""
    path = request.path_params
    detail = await task_detail(engine_of(request).database, path["plan"], path["task"])
    return answer(AttemptList(tuple(told_attempt(attempt) for attempt in detail.attempts)))


async def attempt(request: Request) -> Response:
    """One attempt: who worked, with what, at what cost, and how it ended."""
    return answer(told_attempt(await _attempt(request)))


async def evidence(request: Request) -> Response:
    """What an attempt proved: its commits, and each check with its exit code and output."""
    path = request.path_params
    return answer(told_evidence(path["plan"], path["task"], await _attempt(request)))


async def attempt_transcript(request: Request) -> Response:
    """What the agent printed in an attempt, as text."""
    return await _transcript(request, (await _attempt(request)).epoch)


async def newest_transcript(request: Request) -> Response:
    """What the agent printed in the newest attempt, as text."""
    return await _transcript(request, None)


async def _transcript(request: Request, epoch: int | None) -> Response:
    path = request.path_params
    said = await transcript(engine_of(request).database, path["plan"], path["task"], epoch)
    return Response(said.encode("utf-8", "replace"), media_type="text/plain; charset=utf-8")


async def _attempt(request: Request) -> AttemptView:
    path = request.path_params
    detail = await task_detail(engine_of(request).database, path["plan"], path["task"])
    for found in detail.attempts:
        if found.epoch == path["epoch"]:
            return found
    known = ", ".join(str(each.epoch) for each in detail.attempts)
    raise Denied(
        404,
        "unknown_attempt",
        f"Task {path['task']} has no attempt {path['epoch']}.",
        f"It has {known}." if known else "It has not been tried yet.",
    )


_TASK = "/api/v1/plans/{plan}/tasks/{task}"
_ATTEMPT = f"{_TASK}/attempts/{{epoch:int}}"

ROUTES = (
    Route("GET", f"{_TASK}/attempts", attempts, PEOPLE, gives=AttemptList),
    Route("GET", _ATTEMPT, attempt, PEOPLE, gives=AttemptTold),
    Route("GET", f"{_ATTEMPT}/evidence", evidence, PEOPLE, gives=EvidenceTold),
    Route("GET", f"{_ATTEMPT}/transcript", attempt_transcript, PEOPLE, media="text/plain"),
    Route("GET", f"{_TASK}/transcript", newest_transcript, PEOPLE, media="text/plain"),
)
