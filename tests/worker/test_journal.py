import os
import stat
from pathlib import Path

from whilly.core.assignment import AttemptKey
from whilly.core.evidence import CheckResult, Report, Usage
from whilly.core.outcome import Outcome
from whilly.wire.work import TranscriptChunk
from whilly.worker.journal import Entry, Journal

CHECK = CheckResult("tests", "make test", True, True, 0, "c" * 40, 900, output_head="ok\n", output_bytes=3)


def entry(task: str = "T-1", epoch: int = 1) -> Entry:
    report = Report(Outcome.COMPLETED, summary="héllo", head_commit="c" * 40, checks=(CHECK,), usage=Usage(1200, 5))
    return Entry(AttemptKey("payments", task, epoch), report, (TranscriptChunk(7, "last words\n"),))


def journal(tmp_path: Path, control_plane: str = "http://one.example") -> Journal:
    return Journal(tmp_path / "state", control_plane)


def test_what_is_kept_is_read_back_whole_by_another_process(tmp_path: Path) -> None:
    journal(tmp_path).keep(entry())
    assert journal(tmp_path).due() == [entry()]


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = journal(tmp_path).keep(entry())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_settled_is_gone(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    kept.keep(entry())
    kept.settle(entry().key)
    kept.settle(entry().key)
    assert kept.due() == []


def test_the_oldest_comes_first(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    for number, task in enumerate(("T-3", "T-1", "T-2")):
        os.utime(kept.keep(entry(task)), (1_000 + number, 1_000 + number))
    assert [each.key.task for each in kept.due()] == ["T-3", "T-1", "T-2"]


def test_another_control_plane_never_gets_it(tmp_path: Path) -> None:
    journal(tmp_path).keep(entry())
    assert journal(tmp_path, "http://two.example").due() == []


def test_names_that_differ_in_case_only_are_two_reports(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    paths = {kept.keep(entry(task)).name.lower() for task in ("T-1", "t-1")}
    assert len(paths) == 2


def test_attempts_of_one_task_are_two_reports(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    kept.keep(entry(epoch=1))
    kept.keep(entry(epoch=2))
    assert sorted(each.key.epoch for each in kept.due()) == [1, 2]


def test_a_damaged_file_is_set_aside_and_hides_no_other(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    kept.keep(entry())
    (kept.folder / "T-9-e1-broken.json").write_bytes(b'{"key": {"plan"')
    assert kept.due() == [entry()]
    assert (kept.folder / "T-9-e1-broken.set-aside").exists()


def test_half_written_drafts_are_not_read(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    kept.keep(entry())
    (kept.folder / "T-2-e1-0123.77.draft").write_bytes(b"{")
    assert kept.due() == [entry()]


def test_a_report_set_aside_stays_on_disk_and_is_not_due(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    kept.keep(entry())
    assert kept.set_aside(entry().key).exists()
    assert kept.due() == []


def test_a_journal_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert journal(tmp_path).due() == []


def test_a_folder_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    kept = journal(tmp_path)
    kept.folder.mkdir(parents=True, mode=0o755)
    kept.keep(entry())
    assert [stat.S_IMODE(each.stat().st_mode) for each in (kept.folder, kept.folder.parent)] == [0o700, 0o700]
