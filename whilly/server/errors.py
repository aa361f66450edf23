"""Errors to answers: one shape for all (RFC 9457), a name that programs may rely on, and never a traceback."""

import logging
import secrets

import asyncpg
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from whilly.core.errors import (
    ConflictingReport,
    IdentityInUse,
    IllegalTransition,
    LeaseLost,
    PlanRejected,
    Refused,
    SchemaMismatch,
    Superseded,
    UnknownPlan,
    UnknownTask,
    UnknownWorker,
    WhillyError,
)
from whilly.store.database import AWAY, Busy
from whilly.wire.codec import encode
from whilly.wire.work import Problem

log = logging.getLogger(__name__)

STATUS: dict[type[WhillyError], int] = {
    PlanRejected: 422,
    UnknownPlan: 404,
    UnknownTask: 404,
    IllegalTransition: 409,
    LeaseLost: 409,
    ConflictingReport: 409,
    IdentityInUse: 409,
    Superseded: 409,
    UnknownWorker: 404,
    Refused: 409,
    SchemaMismatch: 503,
}
"""The domain knows no status codes; here each of its errors gets one."""

RETRY_AFTER = "1"
MOST_FAULTS = 50


class Denied(Exception):
    """A request that is answered with a problem, whatever the domain would say to it."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        remedy: str = "",
        headers: dict[str, str] | None = None,
        errors: tuple[str, ...] = (),
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(kind, _title(kind), status, detail, remedy, errors)
        self.headers = headers or {}


def answer_to(error: Exception) -> Response:
    """The response that tells the client what went wrong and what to do about it."""
    match error:
        case Denied():
            return problem_answer(error.problem, error.headers)
        case WhillyError():
            status = next((STATUS[each] for each in type(error).__mro__ if each in STATUS), 400)
            return _problem_answer_of(error, status)
        case ValidationError():
            faults = _faults(error)
            detail = f"The body is not what was agreed: {'; '.join(faults[:5])}."
            return problem_answer(Problem("malformed", "Malformed", 422, detail, errors=faults))
        case asyncpg.DataError():
            detail = "The request holds characters that cannot be stored, such as NUL, or a number that is too large."
            return problem_answer(Problem("malformed", "Malformed", 422, detail))
        case HTTPException():
            detail = error.detail if error.status_code != 404 else "There is nothing under this address."
            kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
            return problem_answer(Problem(kind, _title(kind), error.status_code, detail), dict(error.headers or {}))
        case Busy() | asyncpg.LockNotAvailableError():
            detail = "Others are being served, and this cannot wait any longer; nothing was done."
            problem = Problem("busy", "Busy", 503, detail, "Ask again: every request may be repeated.")
            return problem_answer(problem, {"Retry-After": RETRY_AFTER})
        case _ if isinstance(error, AWAY):
            # The loops say it aloud, once; here it would be said for every request.
            log.info("the database cannot be asked: %s: %s", type(error).__name__, error)
            return problem_answer(
                Problem(
                    "unavailable",
                    "Unavailable",
                    503,
                    "The database cannot be asked at the moment; nothing was changed as far as is known.",
                    "Ask again: every request may be repeated.",
                ),
                {"Retry-After": RETRY_AFTER},
            )
        case _:
            reference = secrets.token_hex(4)
            log.error("a request failed (reference %s)", reference, exc_info=error)
            detail = f"The control plane failed; its log has the details under reference {reference}."
            return problem_answer(Problem("internal", "Internal error", 500, detail))


def problem_answer(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """The problem as a response."""
    return Response(encode(problem), problem.status, headers, media_type="application/problem+json")


def _problem_answer_of(error: WhillyError, status: int) -> Response:
    name = _snake(type(error).__name__)
    return problem_answer(Problem(name, _title(name), status, str(error)))


def _faults(error: ValidationError) -> tuple[str, ...]:
    """Where the body is wrong; never what was sent, which may be a secret."""
    faults = error.errors(include_url=False, include_input=False)[:MOST_FAULTS]
    return tuple(f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in faults)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _title(kind: str) -> str:
    return kind.replace("_", " ").capitalize()
