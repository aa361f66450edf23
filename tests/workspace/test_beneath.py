"""What an agent wrote is read without being led anywhere."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whilly.workspace.beneath import names_beneath, read_beneath

SECRET = b"the secret"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of an agent's, beside a secret."""
    (tmp_path / "secret").write_bytes(SECRET)
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub/file").write_bytes(b"content")
    return inside


def test_a_regular_file_is_read_up_to_the_limit(folder: Path) -> None:
    assert read_beneath(folder, "sub/file", 100) == b"content"
    assert read_beneath(folder, "sub/file", 3) == b"con"


@pytest.mark.parametrize(
    "name", ["../secret", "sub/../../secret", "", ".", "sub", "none", "sub/file/x", "a\0b", "x" * 5000]
)
def test_other_paths_give_nothing(folder: Path, name: str) -> None:
    assert read_beneath(folder, name, 100) is None
    assert read_beneath(folder, str(folder / name), 100) is None


def test_links_pipes_and_devices_give_nothing(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent / "secret")
    (folder / "up").symlink_to(folder.parent)
    (folder / "device").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe")
    for name in ("link", "up/secret", "device", "pipe"):
        assert read_beneath(folder, name, 100) is None
    assert sorted(names_beneath(folder, "sub", 10)) == ["sub/file"]
    assert list(names_beneath(folder, "up", 10)) == []


@given(
    parts=st.lists(
        st.sampled_from(["..", ".", "", "/", "sub", "file", "up", "secret", "~", "\\", "%2e%2e"]), max_size=8
    )
)
def test_no_shape_of_a_path_leads_out(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    top = tmp_path_factory.mktemp("shapes", numbered=True)
    (top / "secret").write_bytes(SECRET)
    (top / "inside/sub").mkdir(parents=True)
    (top / "inside/up").symlink_to(top)
    assert read_beneath(top / "inside", "/".join(parts), 100) != SECRET


def test_a_folder_that_becomes_a_link_between_two_looks(folder: Path) -> None:
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside/file").write_bytes(SECRET)
    (folder / "link").symlink_to(folder.parent / "outside")
    ended = threading.Event()

    def exchange() -> None:
        while not ended.is_set():
            (folder / "sub").rename(folder / "real")
            (folder / "link").rename(folder / "sub")
            (folder / "sub").rename(folder / "link")
            (folder / "real").rename(folder / "sub")

    swapping = threading.Thread(target=exchange)
    swapping.start()
    try:
        seen = {read_beneath(folder, "sub/file", 100) for _ in range(10_000)}
    finally:
        ended.set()
        swapping.join()
    assert seen <= {b"content", None}
    assert b"content" in seen
