"""The one runner of git: what it starts, what it passes on, what it says when that fails."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from tests.worker.until import until
from tests.workspace.ground import Ground
from whilly.workspace.errors import GitFailed, NoSpace, WorkspaceFailed
from whilly.workspace.gitcmd import Git, clean_environment, quoted
from whilly.workspace.source import look_at


def a_git(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something else under git's name."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


async def test_the_environment_is_built_from_nothing(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "GIT_DIR",
        "GIT_CONFIG_COUNT",
        "GIT_ASKPASS",
        "SSH_AUTH_SOCK",
        "ANTHROPIC_API_KEY",
        "EDITOR",
        "LANGUAGE",
    ):
        monkeypatch.setenv(name, "canary")
    a_git(tmp_path / "bin", "env", monkeypatch)
    said = (await Git(cwd=tmp_path).run("status")).text
    assert "canary" not in said
    names = {line.partition("=")[0] for line in said.splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == set(clean_environment())


async def test_programs_are_switched_off_on_the_command_line(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_git(tmp_path / "bin", 'printf "%s\\n" "$@"', monkeypatch)
    said = (await Git(cwd=tmp_path).run("status")).text.splitlines()
    for setting in ("core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.allow=never", "gc.auto=0"):
        assert setting in said
    assert "--no-optional-locks" in said


async def test_a_failure_is_told_in_gits_own_words(ground: Ground) -> None:
    git = (await look_at(ground.users.source)).git()
    with pytest.raises(GitFailed) as failed:
        await git.run("cat-file", "-p", "nowhere")
    assert (
        str(failed.value) == f"git cat-file failed for {ground.users.path / '.git'}: Not a valid object name nowhere."
    )
    assert failed.value.command == "cat-file"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'fatal: one' >&2; echo 'error: two' >&2; echo hint >&2; exit 128", "two"),
        ("exit 3", "exit code 3 and no explanation"),
        ("kill -9 $$", "stopped by signal 9"),
        ("printf '\\377 broken' >&2; exit 1", "\ufffd broken"),
    ],
)
async def test_every_way_to_fail_makes_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    a_git(tmp_path / "bin", script, monkeypatch)
    with pytest.raises(GitFailed) as failed:
        await Git(cwd=tmp_path).run("status")
    assert str(failed.value) == f"git status failed for {tmp_path}: {words}."


async def test_a_full_disk_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_git(tmp_path / "bin", "echo 'fatal: write error: No space left on device' >&2; exit 128", monkeypatch)
    with pytest.raises(NoSpace):
        await Git(cwd=tmp_path).run("status")


async def test_a_command_that_takes_too_long_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_git(tmp_path / "bin", f"sleep 1000 & echo $! > {tmp_path}/child; wait", monkeypatch)
    with pytest.raises(GitFailed, match=r"took longer than 0\.5 s"):
        await Git(cwd=tmp_path).run("status", limit=0.5)
    child = int((tmp_path / "child").read_text(encoding="ascii"))
    await until(lambda: not alive(child))


async def test_who_cancels_a_command_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_git(
        tmp_path / "bin",
        f"echo $$ > {tmp_path}/child.new; mv {tmp_path}/child.new {tmp_path}/child; sleep 1000",
        monkeypatch,
    )
    running = asyncio.create_task(Git(cwd=tmp_path).run("status"))
    await until((tmp_path / "child").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    child = int((tmp_path / "child").read_text(encoding="ascii"))
    await until(lambda: not alive(child))


async def test_of_two_commands_the_one_that_knows_the_reason_is_asked(ground: Ground) -> None:
    git = (await look_at(ground.users.source)).git()
    with pytest.raises(GitFailed, match=r"git pack-objects failed .*bad object"):
        await git.pipe("pack-objects", "--revs", "--stdout", into=git, then=("index-pack", "--stdin"), feed=b"1" * 40)
    with pytest.raises(GitFailed, match=r"git index-pack failed"):
        await git.pipe("cat-file", "-p", "HEAD", into=git, then=("index-pack", "--stdin"))


async def test_a_place_that_is_gone_makes_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceFailed, match="git could not be started"):
        await Git(cwd=tmp_path / "gone").run("status")


@pytest.mark.skipif(os.name != "posix", reason="how paths are separated")
def test_folders_of_objects_are_quoted_as_git_reads_them() -> None:
    assert quoted(Path("/plain/ü 修")) == "/plain/ü 修"
    assert quoted(Path('/a:b/"c"\n\\')) == '"/a:b/\\"c\\"\\n\\\\"'


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
