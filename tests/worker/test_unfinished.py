"""What the next process of a worker learns about what the last one had under way."""

import stat
from dataclasses import replace
from pathlib import Path

from tests.builders import a_task
from whilly.core.assignment import Assignment, EarlierAttempt
from whilly.worker.unfinished import DIED, Left, Unfinished


def assignment(task: str = "T-1", epoch: int = 1) -> Assignment:
    return Assignment("payments", "Payments", a_task(task), epoch, f"claim-{task}", 60, (), "", None, None)


def test_an_attempt_that_was_begun_and_never_ended_is_left(tmp_path: Path) -> None:
    earlier = Unfinished(tmp_path / "j")
    earlier.begin(assignment("T-1"))
    earlier.begin(assignment("T-2"))
    earlier.end(assignment("T-2").key)
    assert Unfinished(tmp_path / "j").left() == [Left(assignment("T-1").key, "claim-T-1", again=False)]
    (note,) = (tmp_path / "j").glob("*.open")
    assert stat.S_IMODE(note.stat().st_mode) == 0o600


def test_a_task_whose_last_worker_died_too_is_marked(tmp_path: Path) -> None:
    died = EarlierAttempt(1, "released", DIED, "", "", "")
    Unfinished(tmp_path).begin(replace(assignment(epoch=2), earlier=died))
    assert [left.again for left in Unfinished(tmp_path).left()] == [True]


def test_a_note_that_was_cut_off_is_forgotten(tmp_path: Path) -> None:
    notes = Unfinished(tmp_path)
    notes.begin(assignment())
    (note,) = tmp_path.glob("*.open")
    note.write_bytes(note.read_bytes()[:10])
    assert notes.left() == []
    assert not note.exists()


def test_where_nothing_can_be_written_an_attempt_begins_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be", encoding="utf-8")
    notes = Unfinished(tmp_path / "state" / "j")
    notes.begin(assignment())
    notes.ask(0, "c")
    assert notes.left() == []
    assert notes.asked(0) == ""


def test_a_claim_without_an_answer_is_asked_again_by_the_next_process(tmp_path: Path) -> None:
    Unfinished(tmp_path).ask(1, "c-1")
    assert Unfinished(tmp_path).asked(1) == "c-1"
    assert Unfinished(tmp_path).asked(0) == ""
    Unfinished(tmp_path).answered(1)
    assert Unfinished(tmp_path).asked(1) == ""


def test_a_claim_whose_attempt_was_begun_is_not_asked_again(tmp_path: Path) -> None:
    notes = Unfinished(tmp_path)
    notes.ask(0, "claim-T-1")
    notes.begin(assignment())
    assert Unfinished(tmp_path).asked(0) == ""
