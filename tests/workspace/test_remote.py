"""Repositories elsewhere, over real HTTP: copies of them, pushes to them, and what is said when they refuse."""

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.far import access, attempt, mirror, result
from tests.workspace.forge import TOKEN, Forge, commit_on, forge
from tests.workspace.ground import git
from whilly.core.git_address import parse_address
from whilly.workspace.access import GitAccess
from whilly.workspace.errors import RemoteFailed, Trouble
from whilly.workspace.gitcmd import Git
from whilly.workspace.mirror import Mirror, Wanted
from whilly.workspace.pushing import push_result
from whilly.workspace.remote import Remote


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Forge]:
    with forge(tmp_path / "forge") as served:
        served.add()
        yield served


async def test_an_attempt_starts_from_what_the_repository_has_now(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    await copy.refresh()
    commit_on(hub.repository(), "main", "Go on", new="n\n")
    commit_on(hub.repository(), "side", "Beside", side="s\n")
    commit_on(hub.repository(), "whilly/p/OTHER", "A result", result="r\n")

    workspace = await attempt(await copy.refresh(), tmp_path, {})

    assert (workspace.path / "new").read_text(encoding="utf-8") == "n\n"
    assert workspace.base_commit == hub.repository().git("rev-parse", "main")
    refs = git(workspace.path, "for-each-ref", "--format=%(refname)").split()
    assert refs == [
        "refs/heads/main",
        "refs/heads/whilly/p/A",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
        "refs/remotes/origin/side",
    ]
    assert git(workspace.path, "remote") == ""
    assert TOKEN not in (workspace.path / ".git/config").read_text(encoding="utf-8")


async def test_another_branch_than_the_default_one_can_be_the_base(hub: Forge, tmp_path: Path) -> None:
    tip = commit_on(hub.repository(), "release", "Release", release="1\n")

    workspace = await attempt(await mirror(hub, tmp_path, branch="release").refresh(), tmp_path, {})

    assert workspace.base_commit == tip


async def test_a_branch_that_is_not_there_is_named(hub: Forge, tmp_path: Path) -> None:
    with pytest.raises(RemoteFailed, match="has no branch 'trunk'; correct the plan's default_branch"):
        await mirror(hub, tmp_path, branch="trunk").refresh()


async def test_an_empty_repository_can_be_begun(hub: Forge, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", str(hub.root / "empty.git"))
    git(hub.root / "empty.git", "config", "http.receivepack", "true")
    copy = mirror(hub, tmp_path, name="empty")
    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})

    assert await push_result(workspace, commit, copy.remote) == "whilly/p/A"
    assert hub.repository("empty").file("whilly/p/A", "a") == "1"


async def test_a_repository_with_long_names_is_worked_on(hub: Forge, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", "-b", "main", str(hub.root / "long.git"))
    git(hub.root / "long.git", "config", "http.receivepack", "true")
    empty_tree = git(hub.root / "long.git", "hash-object", "-t", "tree", "-w", "--stdin")
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    commit = git(hub.root / "long.git", "commit-tree", empty_tree, "-m", "x", environment=identity)
    git(hub.root / "long.git", "update-ref", "refs/heads/main", commit)
    copy = mirror(hub, tmp_path, name="long")

    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    await copy.refresh()

    assert len(commit) == 64
    await push_result(workspace, commit, copy.remote)


async def test_the_result_is_pushed_and_pushing_it_again_harms_nobody(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})

    for _ in range(2):
        assert await push_result(workspace, commit, copy.remote) == "whilly/p/A"

    assert hub.repository().git("rev-parse", "whilly/p/A") == commit
    assert hub.repository().branches() == {"main", "whilly/p/A"}


async def test_a_later_attempt_replaces_the_result_of_an_earlier_one_of_another_worker(
    hub: Forge, tmp_path: Path
) -> None:
    for number, folder in enumerate(("one", "two"), start=1):
        copy = mirror(hub, tmp_path / folder)
        workspace, commit = await result(await copy.refresh(), tmp_path / folder, {"a": f"{number}\n"}, epoch=number)
        await push_result(workspace, commit, copy.remote)

    assert hub.repository().file("whilly/p/A", "a") == "2"


async def test_an_older_attempt_does_not_replace_a_newer_result(hub: Forge, tmp_path: Path) -> None:
    old = mirror(hub, tmp_path / "old")
    late, late_commit = await result(await old.refresh(), tmp_path / "old", {"a": "old\n"}, epoch=1)
    new = mirror(hub, tmp_path / "new")
    workspace, commit = await result(await new.refresh(), tmp_path / "new", {"a": "new\n"}, epoch=2)
    await push_result(workspace, commit, new.remote)

    with pytest.raises(RemoteFailed, match="attempt 2, which is newer than attempt 1"):
        await push_result(late, late_commit, old.remote)

    assert hub.repository().file("whilly/p/A", "a") == "new"


@pytest.mark.parametrize("on_top", [True, False])
async def test_somebody_elses_commits_on_the_branch_stay(hub: Forge, tmp_path: Path, on_top: bool) -> None:
    copy = mirror(hub, tmp_path)
    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    await push_result(workspace, commit, copy.remote)
    parent = "whilly/p/A" if on_top else "main"
    theirs = commit_on(hub.repository(), "whilly/p/A", "By hand", parent=parent, hand="made\n")

    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "2\n"}, epoch=2)
    with pytest.raises(RemoteFailed, match="commits that are not Whilly's") as refused:
        await push_result(workspace, commit, copy.remote)

    assert refused.value.trouble is Trouble.TAKEN
    assert hub.repository().git("rev-parse", "whilly/p/A") == theirs


async def test_a_branch_that_moves_between_look_and_push_is_not_overwritten(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    theirs: list[str] = []

    def meanwhile() -> bool:
        if not theirs:
            theirs.append(commit_on(hub.repository(), "whilly/p/A", "By hand", hand="made\n"))
        return True

    with pytest.raises(RemoteFailed, match="not Whilly's"):
        await push_result(workspace, commit, copy.remote, still_ours=meanwhile)

    assert hub.repository().git("rev-parse", "whilly/p/A") == theirs[0]


async def test_without_the_lease_nothing_is_pushed(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})

    with pytest.raises(RemoteFailed, match="lease"):
        await push_result(workspace, commit, copy.remote, still_ours=lambda: False)

    assert hub.repository().branches() == {"main"}


async def test_other_workers_results_come_by_branch_or_by_name(hub: Forge, tmp_path: Path) -> None:
    by_branch = commit_on(hub.repository(), "whilly/p/A", "A result", a="1\n")
    passed_by = commit_on(hub.repository(), "whilly/p/B", "An older result", b="1\n")
    commit_on(hub.repository(), "whilly/p/B", "A newer one", parent=passed_by, b="2\n")
    gone = "1" * 40

    fresh = await mirror(hub, tmp_path).refresh(
        [Wanted("p", "A", by_branch), Wanted("p", "B", passed_by), Wanted("p", "C", gone)]
    )

    assert fresh.missing == (Wanted("p", "C", gone),)


WRONG = "wrong-token-9e8d7c6b5a"


async def test_wrong_credentials_are_one_sentence_without_them(hub: Forge, tmp_path: Path) -> None:
    with pytest.raises(RemoteFailed, match="refused the token") as refused:
        await mirror(hub, tmp_path, access=access(hub, WRONG)).refresh()

    assert refused.value.trouble is Trouble.CREDENTIALS
    assert WRONG not in str(refused.value)


async def test_a_token_that_may_only_read_is_one_sentence(hub: Forge, tmp_path: Path) -> None:
    hub.readers.add(WRONG)
    copy = mirror(hub, tmp_path, access=access(hub, WRONG))
    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})

    with pytest.raises(RemoteFailed, match="does not take the branch") as refused:
        await push_result(workspace, commit, copy.remote)

    assert refused.value.trouble is Trouble.NOT_ALLOWED
    assert WRONG not in str(refused.value)


async def test_no_credentials_are_one_sentence(hub: Forge, tmp_path: Path) -> None:
    with pytest.raises(RemoteFailed, match="set WHILLY_GIT_TOKEN and name the host in WHILLY_GIT_TOKEN_HOSTS"):
        await mirror(hub, tmp_path, access=GitAccess(environment={})).refresh()


async def test_an_unknown_repository_is_one_sentence(hub: Forge, tmp_path: Path) -> None:
    with pytest.raises(RemoteFailed, match="there is no such repository") as refused:
        await mirror(hub, tmp_path, name="nothing").refresh()
    assert refused.value.trouble is Trouble.UNKNOWN


async def test_a_folder_that_is_no_repository_is_one_sentence(tmp_path: Path) -> None:
    remote = Remote(parse_address(str(tmp_path / "gone.git")), GitAccess(environment={}))
    with pytest.raises(RemoteFailed, match="there is no such repository") as refused:
        await Mirror(remote, "", tmp_path / "repositories", tmp_path / "locks").refresh()
    assert refused.value.trouble is Trouble.UNKNOWN


async def test_a_host_that_does_not_answer_is_one_sentence(hub: Forge, tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = parse_address(f"http://127.0.0.1:{nobody.getsockname()[1]}/shop.git")
        remote = Remote(address, GitAccess(environment={}))
        with pytest.raises(RemoteFailed, match="does not answer as it should") as refused:
            await Mirror(remote, "", tmp_path / "repositories", tmp_path / "locks").refresh()
    assert refused.value.trouble is Trouble.UNREACHABLE
    hub.broken = True
    with pytest.raises(RemoteFailed, match="does not answer as it should") as refused:
        await mirror(hub, tmp_path).refresh()
    assert refused.value.trouble is Trouble.UNREACHABLE


async def test_a_protected_branch_is_one_sentence(hub: Forge, tmp_path: Path) -> None:
    copy = mirror(hub, tmp_path)
    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    hub.hook("echo 'this branch is protected' >&2; exit 1")

    with pytest.raises(RemoteFailed, match=r"does not take the branch.*declined") as refused:
        await push_result(workspace, commit, copy.remote)
    assert refused.value.trouble is Trouble.NOT_ALLOWED


async def test_a_forbidden_protocol_starts_no_git(tmp_path: Path) -> None:
    remote = Remote(parse_address("git@example.org:a/b"), GitAccess(protocols=frozenset({"https"}), environment={}))
    with pytest.raises(RemoteFailed, match="WHILLY_GIT_PROTOCOLS"):
        await remote.default_branch(Git(cwd=tmp_path))


FAKE_SSH = """#!/bin/sh
printf '%s\\n' "$@" > {log}
env > {log}.env
for last; do :; done
exec sh -c "$last"
"""


async def test_ssh_gets_no_token_asks_nothing_and_takes_no_option_from_an_address(
    hub: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ssh that runs on this machine what the other one would run."""
    program, log = tmp_path / "bin/ssh", tmp_path / "ssh.log"
    program.parent.mkdir()
    program.write_text(FAKE_SSH.format(log=log), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    address = parse_address(f"ssh://git@git.example.org:2222{hub.root}/shop.git")
    own = {"HOME": str(tmp_path), "SSH_AUTH_SOCK": "/run/agent"}
    given = GitAccess(tokens={"git.example.org": TOKEN}, environment=own)
    copy = Mirror(Remote(address, given), "", tmp_path / "repositories", tmp_path / "workspaces")

    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    await push_result(workspace, commit, copy.remote)

    assert hub.repository().git("rev-parse", "whilly/p/A") == commit
    arguments = log.read_text(encoding="utf-8").splitlines()
    assert "BatchMode=yes" in arguments
    assert arguments[-4:-1] == ["-p", "2222", "git@git.example.org"]
    environment = (tmp_path / "ssh.log.env").read_text(encoding="utf-8")
    assert "SSH_AUTH_SOCK=/run/agent" in environment
    assert TOKEN not in environment


async def test_a_folder_of_somebody_elses_is_fetched_and_pushed_to(hub: Forge, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    bare = hub.repository()
    for path in (bare.path, *bare.path.rglob("*")):
        os.chown(path, 12345, 12345)
    remote = Remote(parse_address(f"file://{bare.path}"), GitAccess(environment={}))
    copy = Mirror(remote, "", tmp_path / "repositories", tmp_path / "workspaces")

    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})

    assert await push_result(workspace, commit, remote) == "whilly/p/A"


async def test_a_token_is_sent_to_no_other_host(hub: Forge, tmp_path: Path) -> None:
    with forge(tmp_path / "thief") as thief:
        thief.add()
        thief.readers = {"only-with-this"}
        hub.readers = set()
        hub.redirect_to = thief.url
        with pytest.raises(RemoteFailed):
            await mirror(hub, tmp_path, access=access(hub)).refresh()
        assert thief.requests
        assert {token for _, token in thief.requests} == {""}


async def test_the_operators_own_helper_is_asked_only_when_allowed(hub: Forge, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    asked = tmp_path / "asked"
    (home / ".gitconfig").write_text(
        f'[credential "{hub.url}"]\n'
        f'\thelper = "!f() {{ touch {asked}; echo username=me; echo \\"password={TOKEN}\\"; }}; f"\n'
        '[core]\n\thooksPath = /nonexistent\n[url "http://evil.invalid/"]\n\tinsteadOf = http://127.0.0.1\n',
        encoding="utf-8",
    )
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_DIR": "/nonexistent"}

    with pytest.raises(RemoteFailed, match="wants credentials"):
        await mirror(hub, tmp_path, access=GitAccess(environment=environment)).refresh()
    assert not asked.exists()
    await mirror(hub, tmp_path, access=GitAccess(environment=environment, own_credentials=True)).refresh()
    assert asked.exists()


async def test_the_token_is_in_no_argument_and_no_environment_of_any_program(
    hub: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every program that git starts is watched by the system itself."""
    log = tmp_path / "strace"
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    real = shutil.which("git")
    wrapper.write_text(
        f'#!/bin/sh\nexec strace -f -qq -v -s 100000 -e trace=execve -o {log}.$$ {real} "$@"\n', encoding="utf-8"
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    copy = mirror(hub, tmp_path)

    workspace, commit = await result(await copy.refresh(), tmp_path, {"a": "1\n"})
    await push_result(workspace, commit, copy.remote)

    traced = "".join(file.read_text(encoding="utf-8", errors="replace") for file in tmp_path.glob("strace.*"))
    assert "git_credential.py" in traced
    assert "receive-pack" in traced or "remote-http" in traced
    assert TOKEN not in traced
    assert any(token == TOKEN for _, token in hub.requests)
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert kept == []
