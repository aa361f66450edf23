"""What leaves the worker as text is clean, wherever it was cut and whoever said it."""

import pytest

from whilly.agents.runner import AgentResult
from whilly.core.evidence import Report
from whilly.core.outcome import Outcome
from whilly.wire.codec import encode
from whilly.wire.work import AttemptEvent
from whilly.worker.wording import LONGEST_SUMMARY, Wording

SECRET = "correct-horse-battery"
ODD = f"x\0 \ud83d {SECRET} "


@pytest.mark.parametrize("place", range(LONGEST_SUMMARY // 2 - 30, LONGEST_SUMMARY // 2 + 30, 7))
async def test_a_secret_across_the_cut_of_a_long_text_is_hidden_whole(place: int) -> None:
    for before in (place, 3 * LONGEST_SUMMARY - place):
        text = "." * before + SECRET + "." * (3 * LONGEST_SUMMARY - before)
        said = (await Wording((SECRET,)).agent_result(AgentResult(Outcome.COMPLETED, final_text=text))).final_text
        assert len(said) < LONGEST_SUMMARY + 100
        assert not any(SECRET[start : start + 6] in said for start in range(len(SECRET) - 5))


def test_an_event_can_be_sent_whatever_is_in_it() -> None:
    told = Wording((SECRET,)).event(AttemptEvent("llm.x", {"a": [ODD, {"b": ODD}], "n": 1, "none": None}))
    assert SECRET.encode() not in encode(told)
    assert told.payload["n"] == 1


def test_a_report_can_be_sent_whatever_is_in_it() -> None:
    report = Report(Outcome.AGENT_FAILED, reason=ODD, agent_version=ODD, model=ODD, session=ODD, head_commit="c0ffee")
    told = Wording((SECRET,)).report(report)
    assert SECRET.encode() not in encode(told)
    assert told.head_commit == "c0ffee"


def test_a_text_that_is_clean_stays_as_it_is() -> None:
    wording = Wording((SECRET,))
    once = wording.report(Report(Outcome.AGENT_FAILED, reason=ODD))
    assert wording.report(once) == once
