"""Which process works under a worker's identity, and what is wanted of it at once."""

import asyncio
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from whilly.operations.admit_worker import admit_worker, leave
from whilly.operations.drain_worker import drain_worker
from whilly.server.auth import PEOPLE, WORKERS
from whilly.server.bodies import NOTHING, answer, read
from whilly.server.claims import disconnected
from whilly.server.engine import caller_of, engine_of
from whilly.server.route import Route
from whilly.wire.presence import Admission, Farewell, Orders, OrdersRequest, Presence


async def present(request: Request) -> Response:
    """A process begins to work, or has news: 409 while another one works under the same identity."""
    engine, caller, told = engine_of(request), caller_of(request), await read(request, Presence)
    if not caller.token:
        # The one bearer of the environment that all workers share: one identity, and any number of processes.
        told = replace(told, incarnation="shared", session=0)
    admission = await admit_worker(engine.database, caller.name, told, plan=caller.plan)
    if not caller.token:
        admission = replace(admission, session=0)
    engine.is_here(caller.name)
    engine.wrote()
    engine.orders.look()
    return answer(admission)


async def farewell(request: Request) -> Response:
    """The process ends by itself."""
    await leave(engine_of(request).database, caller_of(request).name, (await read(request, Farewell)).session)
    return NOTHING


async def orders(request: Request) -> Response:
    """Wait for what is wanted of the process: 200 when something is, 204 when nothing was for as long as asked."""
    engine, caller = engine_of(request), caller_of(request)
    asked = await read(request, OrdersRequest)
    seconds = min(asked.wait_seconds, engine.timing.longest_wait) if asked.wait_seconds > 0 else 0.0
    engine.is_here(caller.name)
    waiting = asyncio.ensure_future(engine.orders.wait(caller.name, asked, seconds))
    gone = asyncio.ensure_future(disconnected(request.receive))
    try:
        await asyncio.wait((waiting, gone), return_when=asyncio.FIRST_COMPLETED)
        found = waiting.result() if waiting.done() else None
    finally:
        waiting.cancel()
        gone.cancel()
    return NOTHING if found is None else answer(found)


async def drain(request: Request) -> Response:
    """The worker takes no more tasks; what it works on goes on."""
    return await _drained(request, draining=True)


async def resume(request: Request) -> Response:
    """The worker takes tasks again."""
    return await _drained(request, draining=False)


async def _drained(request: Request, *, draining: bool) -> Response:
    engine = engine_of(request)
    await drain_worker(engine.database, request.path_params["worker"], caller_of(request).name, draining=draining)
    engine.freed(None)
    return NOTHING


ROUTES = (
    Route("POST", "/api/v1/presence", present, WORKERS, body=Presence, gives=Admission, minds_plan=True),
    Route("POST", "/api/v1/presence/end", farewell, WORKERS, body=Farewell, minds_plan=True),
    Route(
        "POST",
        "/api/v1/orders",
        orders,
        WORKERS,
        body=OrdersRequest,
        gives=Orders,
        or_nothing=True,
        minds_plan=True,
        vital=True,
    ),
    Route("POST", "/api/v1/workers/{worker}/drain", drain, PEOPLE),
    Route("POST", "/api/v1/workers/{worker}/resume", resume, PEOPLE),
)
