"""How long texts may be, and that no result is lost for one."""

import pytest

from tests.control_plane import Server
from whilly.core.evidence import CheckResult, Report
from whilly.core.outcome import Outcome
from whilly.core.plan import Status, TaskSpec
from whilly.operations.read_attempts import task_detail
from whilly.server.errors import Denied
from whilly.server.texts import LONGEST_OTHER, bounded
from whilly.wire.presence import Presence
from whilly.wire.steering import PauseRequest
from whilly.wire.work import ClaimRequest, Heartbeat, TranscriptChunk

LONG = "x" * 300_000


@pytest.mark.parametrize(
    "value",
    [
        ClaimRequest(LONG, "p", ("scripted",)),
        ClaimRequest("c", "p", (LONG,)),
        ClaimRequest("c", "p", ("scripted",), tags=("t",) * 1_001),
        Presence("i", "host", agents={"claude": LONG}),
        Presence("i", "host", agents={str(number): "1" for number in range(600)}),
        PauseRequest(None, LONG),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_too_long_is_refused_by_name(value: object) -> None:
    with pytest.raises(Denied) as refused:
        bounded(value)
    assert refused.value.problem.status == 422
    assert "than" in refused.value.problem.detail


def test_what_an_attempt_says_is_cut() -> None:
    check = CheckResult(LONG, LONG, True, True, 0, "c" * 40, 1, output_head=LONG)
    report = bounded(Report(Outcome.COMPLETED, reason=LONG, summary=LONG, head_commit="c" * 40, checks=(check,)))
    assert (len(report.reason), len(report.summary), report.head_commit) == (4_000, 20_000, "c" * 40)
    assert (len(report.checks[0].name), len(report.checks[0].output_head)) == (LONGEST_OTHER, 200_000)
    assert len(bounded(Heartbeat("agent", LONG)).last_line) == 2_000


def test_what_fits_is_passed_on_as_it_is() -> None:
    values = [Heartbeat("agent", "fine"), [TranscriptChunk(0, LONG)], ClaimRequest("c", "p", ("scripted",))]
    for value in values:
        assert bounded(value) == value
    assert bounded(values[0]) is values[0]


async def test_a_long_report_counts_and_repeats_the_same(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    plane = await server.control_plane()
    held = await plane.claim(ClaimRequest("c", "p", ("scripted",)))
    assert held is not None
    report = Report(Outcome.COMPLETED, summary=LONG, head_commit="c" * 40, files_changed=1)
    for _ in range(2):
        assert (await plane.finish(held.key, report)).status is Status.DONE
    assert len((await task_detail(server.database, "p", "T-1")).attempts[0].summary) == 20_000
