"""What an HTTP answer means: a value, a refusal, or nothing usable."""

import httpx2
from pydantic import ValidationError

from whilly.client.errors import LeaseLostRemotely, Rejected
from whilly.wire.codec import decode
from whilly.wire.work import Problem

ASK_AGAIN = frozenset({408, 425, 429})
"""Refusals that are about the moment, not about the request."""

LONGEST_REQUESTED_WAIT = 60.0
"""Seconds: a `Retry-After` beyond this is taken for this."""


class NoUsableAnswer(Exception):
    """Something else than the control plane's own yes or no came back."""

    def __init__(self, why: str, wait_seconds: float = 0) -> None:
        super().__init__(why)
        self.wait_seconds = wait_seconds


def accepted(response: httpx2.Response) -> None:
    """Return for a 2xx answer. Raises Rejected or LeaseLostRemotely for the control plane's no, else NoUsableAnswer.

    Only a problem document counts as a no: a proxy's 404 page must not make a worker give up its result.
    """
    if response.is_success:
        return
    status = response.status_code
    problem = _problem(response)
    if problem is None or status >= 500 or status in ASK_AGAIN:
        said = f": {problem.detail}" if problem and problem.detail else ""
        raise NoUsableAnswer(f"it answered {status}{said}".rstrip("."), _requested_wait(response))
    refusal = Rejected(problem)
    raise LeaseLostRemotely(problem) if refusal.kind == "lease_lost" else refusal


def _problem(response: httpx2.Response) -> Problem | None:
    if "problem+json" not in response.headers.get("content-type", ""):
        return None
    try:
        return decode(Problem, response.content)
    except ValidationError:
        return None


def _requested_wait(response: httpx2.Response) -> float:
    try:
        return min(max(float(response.headers.get("retry-after", "0")), 0), LONGEST_REQUESTED_WAIT)
    except ValueError:
        return 0
