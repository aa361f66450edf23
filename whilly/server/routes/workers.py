"""Who works here."""

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.read_workers import list_workers
from whilly.server.auth import PEOPLE
from whilly.server.bodies import answer
from whilly.server.engine import engine_of
from whilly.server.query import Number, Word
from whilly.server.route import Route
from whilly.server.told import told_worker
from whilly.wire.log import WorkerList

PLAN = Word("plan", "Only workers that may work on this plan.")
LIMIT = Number("limit", "How many workers at most.", 100, least=1, most=1_000)


async def workers(request: Request) -> Response:
    """Workers with what they offer, those seen last first."""
    plan = PLAN.of(request)
    found = await list_workers(engine_of(request).database, plan, LIMIT.of(request))
    return answer(WorkerList(tuple(told_worker(worker) for worker in found)))


ROUTES = (Route("GET", "/api/v1/workers", workers, PEOPLE, gives=WorkerList, query=(PLAN, LIMIT)),)
