"""WHILLY_LOG_DIR: what is in the folder, and that it stops nothing."""

import json
import logging
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Whilly, write_plan
from whilly.cli.log_file import write_log_to


def test_a_run_mirrors_the_log(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}, {"id": "B", "dependencies": ["A"]}))
    logs = tmp_path / "logs"

    answer = whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted", WHILLY_LOG_DIR=str(logs))

    assert answer.code == 0, answer.err
    lines = [json.loads(line) for line in (logs / "whilly_events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["position"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["event"] for line in lines].count("COMPLETE") == 2
    assert whilly("events", "--json").out.count("\n") == len(lines)


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    yield logging.getLogger("whilly")
    handlers = logging.getLogger("whilly").handlers
    while handlers:
        handlers.pop().close()


def test_a_log_folder_that_is_gone_comes_back(tmp_path: Path, logger: logging.Logger) -> None:
    folder = tmp_path / "logs"
    write_log_to(folder)
    logger.warning("one")
    shutil.rmtree(folder)

    logger.warning("two")

    assert "two" in (folder / "whilly.log").read_text(encoding="utf-8")


def test_a_log_that_cannot_be_written_is_told_once(
    tmp_path: Path, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    write_log_to(folder)
    shutil.rmtree(folder)
    folder.write_text("in the way", encoding="utf-8")

    logger.warning("one")
    logger.warning("two")

    assert capsys.readouterr().err == f"whilly: {folder / 'whilly.log'} cannot be written.\n"
    folder.unlink()
    logger.warning("three")
    assert "three" in (folder / "whilly.log").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_run_goes_on_when_its_log_folder_is_full(whilly: Whilly, tmp_path: Path, repository: Path) -> None:
    whilly("plan", "import", write_plan(tmp_path, {"id": "A"}))
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "whilly_events.jsonl").symlink_to("/dev/full")

    answer = whilly("run", "--plan", "p", "--repo", repository, "--agent", "scripted", WHILLY_LOG_DIR=str(logs))

    assert answer.code == 0, answer.err
    assert answer.out.count("cannot be written") == 1
    assert "Traceback" not in answer.out + answer.err
