"""Guards of what comes over HTTP, and the test that fails when one is taken away."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from tests.control_plane import Server
from tests.server import test_access as access
from tests.server import test_guard as guards
from tests.server import test_live as streams
from tests.server import test_wakeups as wakeups
from tests.server import test_work_routes as work_tests
from whilly.server import auth, route
from whilly.server.auth import Access
from whilly.server.claims import Claims
from whilly.server.guard import Guard
from whilly.server.live import LiveEvents, _Subscriber
from whilly.server.ownership import Ownership
from whilly.server.routes import work
from whilly.server.wakeups import Wakeups


@dataclass(frozen=True)
class Mutant:
    """A guard in a function, and what stands there without it."""

    where: Callable[..., object]
    guard: str
    without: str
    killed_by: Callable[[Server], Awaitable[None]]


def _alone(test: Callable[[], Awaitable[None]]) -> Callable[[Server], Awaitable[None]]:
    return lambda _server: test()


ATTEMPTS = {
    "an attempt that is anybody's": Mutant(
        Ownership.check, "if worker != caller.name:", "if False:", work_tests.test_an_attempt_is_nobody_elses
    ),
    "an epoch that is not the address's": Mutant(
        work._attempt, 'min(path["epoch"], 2**31 - 1)', "2", work_tests.test_an_earlier_attempt_is_not_the_present_one
    ),
    "a plan that is any plan": Mutant(
        auth.admit_to_plan,
        "if caller.plan is not None",
        "if False",
        work_tests.test_a_token_for_one_plan_opens_no_other,
    ),
}

CLAIMS = {
    "a task that is kept by a client who left": Mutant(
        Claims._wait,
        "self._give_back(found, worker)",
        "pass",
        work_tests.test_a_task_whose_client_leaves_while_it_is_handed_out_goes_back,
    ),
    "a repeated claim that waits for news": Mutant(
        Claims.claim,
        "known, math.ceil(time.monotonic() / TOGETHER_SECONDS) * TOGETHER_SECONDS",
        "known, math.inf",
        work_tests.test_a_claim_whose_answer_was_lost_is_answered_again_although_there_is_nothing_else,
    ),
    "a wake-up that comes too early": Mutant(
        Wakeups.wait,
        "self.generation(line[0]) != seen",
        "False",
        _alone(wakeups.test_a_wake_up_between_nothing_found_and_parked_is_not_lost),
    ),
}

STREAMS = {
    "a replay that joins too early": Mutant(
        LiveEvents._try_to_join,
        "if self._position > subscriber.position:",
        "if False:",
        streams.test_what_happens_while_a_replay_ends_is_not_passed_over,
    ),
    "a replay that is repeated": Mutant(
        _Subscriber.offer,
        "frame.position > self.position and ",
        "",
        streams.test_who_read_further_than_the_others_hears_nothing_twice,
    ),
}

PEOPLE = {
    "a server that answers to any name": Mutant(
        Guard.__call__,
        "if known or",
        "if True or",
        partial(guards.test_a_name_that_is_not_ours_is_refused_everywhere, host="evil.example", fine=False),
    ),
    "a page of another site that acts": Mutant(
        auth.admitted, "not same_origin(request)", "False", guards.test_a_page_of_another_site_cannot_act
    ),
    "a kind of token that opens everything": Mutant(
        auth.admitted,
        "if caller.kind not in allowed:",
        "if False:",
        partial(access.test_who_may_take_which_way_in, caller="worker"),
    ),
    "a token that is believed for ever": Mutant(
        Access._holder, "if known.until <= now:", "if False:", access.test_a_revoked_token_is_refused_within_two_seconds
    ),
    "a way in without a look at the token": Mutant(
        route._guarded,
        "if route.allowed is not None:",
        "if False:",
        partial(access.test_who_may_take_which_way_in, caller="nobody"),
    ),
}

MUTANTS = {**ATTEMPTS, **CLAIMS, **STREAMS, **PEOPLE}
