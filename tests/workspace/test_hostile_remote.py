"""Repositories elsewhere that mean harm, and an environment that would have git run something."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.far import attempt, mirror, result
from tests.workspace.forge import TOKEN, Forge, commit_on, forge
from tests.workspace.ground import git
from whilly.core.git_address import parse_address
from whilly.workspace.access import GitAccess
from whilly.workspace.errors import RemoteFailed
from whilly.workspace.mirror import Mirror
from whilly.workspace.pushing import push_result
from whilly.workspace.remote import Remote

GITS_OWN = {
    "git",
    "git-remote-http",
    "git-remote-https",
    "git-upload-pack",
    "git-receive-pack",
    "sh",
    "python3",
    "python",
}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Forge]:
    with forge(tmp_path / "forge") as served:
        served.add()
        yield served


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which every program is noted that any git of this process starts."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    notes, wrapper = tmp_path / "notes", tmp_path / "bin/git"
    notes.mkdir()
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\nexec strace -f -qq -e trace=execve -o {notes}/$$ {shutil.which("git")} "$@"\n', encoding="utf-8"
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    return notes


def programs(notes: Path) -> set[str]:
    """The names of those that were started."""
    found = set()
    for note in notes.iterdir():
        for line in note.read_text(encoding="utf-8", errors="replace").splitlines():
            if "execve(" in line and line.rstrip().endswith("= 0"):
                found.add(Path(line.partition('execve("')[2].partition('"')[0]).name)
    return found


async def test_what_a_tree_asks_git_to_run_is_not_run(hub: Forge, tmp_path: Path, watched: Path) -> None:
    commit_on(
        hub.repository(),
        "main",
        "Asks for much",
        **{
            ".gitattributes": "* filter=lfs diff=evil merge=evil text=auto\n",
            ".lfsconfig": "[lfs]\n\turl = http://127.0.0.1:1/\n",
            ".gitmodules": '[submodule "s"]\n\tpath = s\n\turl = https://git.example.org/s.git\n',
            "--upload-pack=touch pwned": "x\n",
            "hooks/post-checkout": "#!/bin/sh\ntouch pwned\n",
        },
    )
    copy = mirror(hub, tmp_path)

    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    await push_result(workspace, commit, copy.remote)

    started = {name.rstrip("0123456789.") or name for name in programs(watched)}
    assert started <= GITS_OWN | {"python3", "python"}, started
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize(
    "modules",
    [
        '[submodule "s"]\n\tpath = s\n\turl = https://git.example.org/s\n\tupdate = !touch pwned\n',
        '[submodule "s"]\n\tpath = -s\n\turl = -u./payload\n',
        '[submodule "../../x"]\n\tpath = s\n\turl = https://git.example.org/s\n',
    ],
)
async def test_objects_that_are_made_to_harm_are_refused_at_the_border(
    hub: Forge, tmp_path: Path, modules: str
) -> None:
    commit_on(hub.repository(), "main", "Harmful", **{".gitmodules": modules})

    with pytest.raises(RemoteFailed):
        await mirror(hub, tmp_path).refresh()
    with pytest.raises(RemoteFailed):
        await mirror(hub, tmp_path).refresh()


async def test_nothing_in_the_environment_makes_git_run_or_ask_anything(
    hub: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "asked"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\necho secret\n", encoding="utf-8")
    program.chmod(0o755)
    for name in ("GIT_ASKPASS", "SSH_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(program))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_TRACE_CURL", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "credential.helper")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"!{program}")

    for own in (False, True):
        given = GitAccess(own_credentials=own)
        with pytest.raises(RemoteFailed, match="wants credentials"):
            await mirror(hub, tmp_path, access=given).refresh()
    await attempt(await mirror(hub, tmp_path).refresh(), tmp_path, {})

    assert not (tmp_path / "pwned").exists()
    assert not (tmp_path / "trace").exists()


async def test_branches_with_odd_names_are_only_names(hub: Forge, tmp_path: Path) -> None:
    bare = hub.repository()
    for name in ("-x", "--upload-pack=x", "a;touch${IFS}pwned", "名前", "x'y", "$(id)"):
        git(bare.path, "update-ref", f"refs/heads/{name}", "refs/heads/main", check=False)

    workspace = await attempt(await mirror(hub, tmp_path).refresh(), tmp_path, {})

    listed = git(workspace.path, "for-each-ref", "--format=%(refname)", "refs/remotes/origin")
    assert "refs/remotes/origin/$(id)" in listed
    assert not list(tmp_path.rglob("pwned"))


async def test_a_branch_name_of_a_plan_is_no_option(hub: Forge, tmp_path: Path) -> None:
    for branch in ("--upload-pack=touch pwned", "x;touch pwned", "../../etc", "a b", "x:refs/heads/main"):
        remote = Remote(parse_address(hub.address()), GitAccess(tokens={"127.0.0.1": TOKEN}))
        with pytest.raises(RemoteFailed, match="has no branch"):
            await Mirror(remote, branch, tmp_path / "repositories", tmp_path / "workspaces").refresh()
    assert not list(tmp_path.rglob("pwned"))
