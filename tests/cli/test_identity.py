"""Which worker a run is."""

from pathlib import Path

import pytest

from whilly.cli.identity import worker_identity
from whilly.core.errors import BadSetting


def test_each_process_has_a_name_of_its_own_and_gives_it_back(tmp_path: Path) -> None:
    with worker_identity(tmp_path, "desk") as (first, folder), worker_identity(tmp_path, "desk") as (second, _):
        assert (first, second) == ("desk", "desk-1")
        assert folder.is_dir()
    with worker_identity(tmp_path, "desk") as (again, same):
        assert (again, same) == ("desk", folder)


def test_a_folder_that_cannot_be_used_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "workers").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(BadSetting, match=r"cannot be used: .+; point WHILLY_DATA_DIR"), worker_identity(tmp_path):
        pass
