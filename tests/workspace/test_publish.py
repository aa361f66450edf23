"""The result goes where people look for it, and never over something of theirs."""

import asyncio
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.workspace.ground import Agent, Ground
from whilly.workspace.attempt import Workspace
from whilly.workspace.result import Collected, collect, publish


async def worked(ground: Ground, text: str = "a\n", **how: Any) -> tuple[Workspace, Collected]:
    workspace = await ground.prepare(**how)
    Agent(workspace).write({"a.txt": text})
    return workspace, await collect(workspace)


async def test_publishing_again_changes_nothing(ground: Ground) -> None:
    workspace, collected = await worked(ground)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    refs = ground.users.refs()
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert (
        ground.users.refs()
        == refs
        == {
            "refs/heads/main": ground.users.head,
            "refs/heads/whilly/demo/T1": collected.head_commit,
            "refs/whilly/demo/T1/e1": collected.head_commit,
        }
    )
    assert len(ground.users.git("reflog", "whilly/demo/T1").splitlines()) == 1
    assert "whilly: attempt 1 of T1" in ground.users.git("reflog", "whilly/demo/T1")


async def test_without_a_result_there_is_nothing_to_publish(ground: Ground) -> None:
    workspace = await ground.prepare()
    assert await publish(workspace, await collect(workspace)) == ""
    assert set(ground.users.refs()) == {"refs/heads/main"}


async def test_a_later_attempt_replaces_an_earlier_one(ground: Ground) -> None:
    workspace, collected = await worked(ground, "first\n")
    await publish(workspace, collected)
    workspace, again = await worked(ground, "from scratch\n", epoch=2)
    assert await publish(workspace, again) == "whilly/demo/T1"
    assert ground.users.refs()["refs/heads/whilly/demo/T1"] == again.head_commit
    assert ground.users.refs()["refs/whilly/demo/T1/e1"] == collected.head_commit, "the earlier one is still there"


async def test_an_earlier_attempt_does_not_replace_a_later_one(ground: Ground) -> None:
    zombie, late = await worked(ground, "late\n")
    workspace, collected = await worked(ground, "newer\n", epoch=2)
    await publish(workspace, collected)
    said: list[str] = []
    assert await publish(zombie, late, said.append) == "refs/whilly/demo/T1/e1"
    assert said == ["Attempt 2 of T1 is newer than attempt 1. The result is refs/whilly/demo/T1/e1."]
    assert ground.users.refs()["refs/heads/whilly/demo/T1"] == collected.head_commit


async def test_epochs_of_an_earlier_life_of_the_plan_are_no_obstacle(ground: Ground) -> None:
    ground.users.git("update-ref", "refs/whilly/demo/T1/e7", "HEAD")
    old = ground.users.git("log", "-1", "--format=%ct")
    workspace, collected = await worked(ground)
    if int(old) < int(workspace.created):
        assert await publish(workspace, collected) == "whilly/demo/T1"


async def test_a_branch_that_is_checked_out_is_left_alone(ground: Ground) -> None:
    workspace, collected = await worked(ground)
    await publish(workspace, collected)
    linked = ground.folder / "linked"
    ground.users.git("worktree", "add", "-q", str(linked), "whilly/demo/T1")
    before = ground.users.snapshot()
    workspace, again = await worked(ground, "second\n", epoch=2)
    said: list[str] = []
    assert await publish(workspace, again, said.append) == "refs/whilly/demo/T1/e2"
    assert said == [
        f"Branch whilly/demo/T1 is checked out in {linked} and was left as it is. The result is refs/whilly/demo/T1/e2."
    ]
    assert ground.users.refs()["refs/heads/whilly/demo/T1"] == collected.head_commit
    assert ground.users.snapshot() == before


async def test_a_checked_out_branch_that_already_is_the_result_is_fine(ground: Ground) -> None:
    workspace, collected = await worked(ground)
    await publish(workspace, collected)
    ground.users.git("checkout", "-q", "whilly/demo/T1")
    assert await publish(workspace, collected) == "whilly/demo/T1"


async def test_a_person_about_to_begin_that_branch_is_not_moved(ground: Ground) -> None:
    workspace, collected = await worked(ground)
    ground.users.git("checkout", "-q", "--orphan", "whilly/demo/T1")
    before = ground.users.snapshot()
    assert await publish(workspace, collected) == "refs/whilly/demo/T1/e1"
    assert ground.users.snapshot() == before


async def test_a_persons_commits_on_the_branch_are_not_dropped(ground: Ground) -> None:
    workspace, collected = await worked(ground)
    await publish(workspace, collected)
    ground.users.git("checkout", "-q", "whilly/demo/T1")
    fix = ground.users.commit("A person's fix", {"fix.txt": "fix\n"})
    ground.users.git("checkout", "-q", "main")
    said: list[str] = []
    workspace, again = await worked(ground, "second\n", epoch=2)
    assert await publish(workspace, again, said.append) == "refs/whilly/demo/T1/e2"
    assert "not Whilly's" in said[0]
    assert ground.users.refs()["refs/heads/whilly/demo/T1"] == fix
    # An attempt that goes on from the person's commit contains it.
    workspace, third = await worked(ground, "third\n", epoch=3, resume_from=fix)
    assert await publish(workspace, third) == "whilly/demo/T1"


async def test_a_branch_in_the_way_of_the_name(ground: Ground) -> None:
    ground.users.git("branch", "whilly/demo")
    workspace, collected = await worked(ground)
    said: list[str] = []
    assert await publish(workspace, collected, said.append) == "refs/whilly/demo/T1/e1"
    assert "cannot be made beside a branch of yours" in said[0]


@pytest.fixture
def busy_user(ground: Ground) -> Iterator[subprocess.Popen[bytes]]:
    """Commits and packs refs as fast as git can, until the end or until something refuses."""
    script = "while :; do git commit -q --allow-empty -m x && git pack-refs --all || exit 1; done"
    busy = subprocess.Popen(["sh", "-c", script], cwd=ground.users.path, stderr=subprocess.PIPE)
    yield busy
    busy.kill()
    busy.communicate()


async def test_twenty_tasks_at_once_while_the_user_works(ground: Ground, busy_user: subprocess.Popen[bytes]) -> None:
    made = await asyncio.gather(*(worked(ground, f"{n}\n", task=f"T{n}") for n in range(20)))
    branches = await asyncio.gather(*(publish(workspace, collected) for workspace, collected in made))
    assert busy_user.poll() is None, "the user was held up"
    assert branches == [f"whilly/demo/T{n}" for n in range(20)]
    for number, (_, collected) in enumerate(made):
        assert ground.users.git("rev-parse", f"whilly/demo/T{number}") == collected.head_commit
