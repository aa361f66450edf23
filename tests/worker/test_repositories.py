"""Workers on repositories that the plan names: over real HTTP, with credentials, refusals and several machines."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_check, a_plan, a_task
from tests.worker.repository import Repository, new_repository
from tests.worker.workshop import Workshop, workshop
from tests.workspace.forge import TOKEN, Forge, commit_on, forge
from whilly.core.plan import Plan, RepoTarget
from whilly.operations.explain_task import explain_task
from whilly.store.database import Database
from whilly.worker import repositories as module
from whilly.worker.repositories import Repositories
from whilly.workspace.access import GitAccess

WRITE = 'echo "$TASK" > "$TASK.txt"; ls > seen-by-$TASK'


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Forge]:
    with forge(tmp_path / "forge") as served:
        served.add()
        yield served


def target(hub: Forge, name: str = "shop", **more: Any) -> RepoTarget:
    return RepoTarget(name, "git", f"acme/{name}", clone_url=hub.address(name), **more)


def plan(hub: Forge, *tasks: Any, targets: tuple[RepoTarget, ...] = (), **more: Any) -> Plan:
    return a_plan(*tasks, repo_targets=targets or (target(hub),), **more)


def known(hub: Forge, token: str = TOKEN) -> Repositories:
    return Repositories(access=GitAccess(tokens={hub.site: token}, environment={}))


def machine(tmp_path: Path, name: str) -> dict[str, Any]:
    """The folders of a worker elsewhere: it has none of what another one fetched or kept."""
    return {"workspaces": tmp_path / name / "workspaces", "state": tmp_path / name / "state"}


async def attempts(shop: Workshop, task: str) -> list[tuple[str, str]]:
    return [(each["outcome"], each["reason"]) for each in await shop.room.attempts(task)]


async def test_tasks_work_in_the_repository_that_they_name(hub: Forge, database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        before = shop.repository.footprint()
        tasks = plan(
            hub,
            a_task("A", repo_target_id="shop", checks=(a_check("there", command="test -f A.txt"),)),
            a_task("B", ("A",), repo_target_id="shop"),
        )

        await shop.work(tasks, repositories=known(hub))

        for task in ("A", "B"):
            assert (await shop.room.task(task))["status"] == "DONE", (await attempts(shop, task), shop.said)
            assert (await shop.room.task(task))["result_branch"] == f"whilly/p/{task}"
        assert hub.repository().file("whilly/p/B", "seen-by-B").split() == [
            "A.txt", "B.txt", "README.md", "seen-by-A", "seen-by-B",
        ]  # fmt: skip
        assert shop.repository.footprint() == before
        assert shop.repository.branches() == {"main"}
        assert shop.leftovers() == []


async def test_another_machine_goes_on_from_what_was_pushed(hub: Forge, database: Database, tmp_path: Path) -> None:
    tasks = plan(hub, a_task("A", repo_target_id="shop"), a_task("B", ("A",), repo_target_id="shop"))
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.room.submit(tasks)
        for name in ("one", "two"):
            async with shop.working(max_tasks=1, repositories=known(hub), **machine(tmp_path, name)) as (_, worker):
                await worker

        assert hub.repository().file("whilly/p/B", "A.txt") == "A"


async def test_two_workers_at_once_share_the_repository(hub: Forge, database: Database, tmp_path: Path) -> None:
    tasks = plan(hub, *(a_task(f"T{number}", repo_target_id="shop") for number in range(8)))
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.room.submit(tasks)
        async with shop.working(slots=3, repositories=known(hub)):
            for number in range(8):
                await shop.reached(f"T{number}", "DONE")

        assert len(hub.repository().branches()) == 9


async def test_a_prerequisite_in_another_repository_is_not_merged_and_that_is_said(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    hub.add("site")
    tasks = plan(
        hub,
        a_task("A", repo_target_id="shop"),
        a_task("B", ("A",), repo_target_id="site"),
        a_task("C", ("B",)),
        targets=(target(hub), target(hub, "site")),
    )
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.work(tasks, repositories=known(hub))

        assert (await shop.room.task("C"))["status"] == "DONE", (await attempts(shop, "B"), shop.said)
        assert hub.repository("site").file("whilly/p/B", "seen-by-B").split() == ["B.txt", "README.md", "seen-by-B"]
        assert any("B needs A, whose result is in another repository" in said for said in shop.said)
        prompts = {brief.task: brief.prompt for brief in shop.agent.briefs}
        assert "Done in another repository, and not to be found in this one: A." in prompts["B"]
        assert "merged already" not in prompts["B"]


async def test_a_target_can_stand_for_a_folder_of_this_machine(hub: Forge, database: Database, tmp_path: Path) -> None:
    local = new_repository(tmp_path / "mine")
    tasks = plan(hub, a_task("A", repo_target_id="shop"), a_task("B", ("A",), repo_target_id="shop"))
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.work(tasks, repositories=Repositories(local={"shop": local.path}))

        assert local.file("whilly/p/B", "A.txt") == "A"
        assert hub.requests == []


async def test_a_result_that_is_on_another_machine_only_burns_no_attempts(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    local = new_repository(tmp_path / "mine")
    tasks = plan(hub, a_task("A", repo_target_id="shop"), a_task("B", ("A",), repo_target_id="shop"))
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.room.submit(tasks)
        here = Repositories(local={"shop": local.path})
        async with shop.working(max_tasks=1, repositories=here) as (_, worker):
            await worker
        other = new_repository(tmp_path / "other")
        for elsewhere in (known(hub), Repositories(local={"shop": other.path})):
            async with shop.working(max_tasks=1, repositories=elsewhere) as (_, worker):
                await worker
            outcome, reason = (await attempts(shop, "B"))[-1]
            assert outcome == "repository_unavailable"
            assert "push whilly/p/A there from where it was made" in reason
            assert (await shop.room.task("B"))["attempts"] == 0
            async with database.connection() as connection:
                await connection.execute("update tasks set parked_until = null")


async def test_wrong_credentials_use_up_no_attempts_and_are_tried_seldom(
    hub: Forge, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAITS", (4,))
    wrong = "wrong-token-9e8d7c6b5a"
    tasks = plan(hub, *(a_task(f"T{number}", repo_target_id="shop") for number in range(10)))
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.room.submit(tasks)
        async with shop.working(repositories=known(hub, wrong)):
            for number in range(10):
                await shop.attempt_ended(f"T{number}")
        tried = sum(token == wrong for _, token in hub.requests)
        why = await explain_task(database, "p", "T9")

        assert tried <= 4
        assert {(await shop.room.task(f"T{number}"))["attempts"] for number in range(10)} == {0}
        assert {each for each, _ in await attempts(shop, "T9")} == {"repository_unavailable"}
        assert "refused the token" in why.sentence
        assert shop.agent.briefs == []
        async with database.connection() as connection:
            stored = str(await connection.fetch("select * from events")) + str(
                await connection.fetch("select * from attempts")
            )
        assert wrong not in stored + "".join(shop.said)

        await shop.work(tasks, repositories=known(hub))
        assert (await shop.room.task("T9"))["status"] == "DONE"


@pytest.mark.parametrize("policy", ["", "read_only"])
async def test_what_cannot_be_pushed_travels_as_a_bundle(
    hub: Forge, database: Database, tmp_path: Path, policy: str
) -> None:
    if not policy:
        hub.writers = set()
    tasks = plan(
        hub,
        a_task("A", repo_target_id="shop"),
        a_task("B", ("A",), repo_target_id="shop"),
        a_task("C", ("A", "B"), repo_target_id="shop"),
        targets=(target(hub, credential_policy=policy),),
    )
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.room.submit(tasks)
        for name in ("one", "two", "three"):
            async with shop.working(max_tasks=1, repositories=known(hub), **machine(tmp_path, name)) as (_, worker):
                await worker

        done = await shop.room.task("C")
        assert (done["status"], done["result_branch"]) == ("DONE", "bundle:whilly/p/C"), await attempts(shop, "C")
        assert hub.repository().branches() == {"main"}
        (copy,) = (tmp_path / "three/repositories").glob("*/1")
        listed = Repository(copy).git("ls-tree", "--name-only", done["result_commit"]).split()
        assert listed == ["A.txt", "B.txt", "C.txt", "README.md", "seen-by-A", "seen-by-B", "seen-by-C"]
        (why,) = {reason for _, reason in await attempts(shop, "C")}
        assert ("nothing is pushed" if policy else "does not take the branch") in why
        assert "whilly task fetch p C" in (await explain_task(database, "p", "C")).remedy


async def test_somebody_elses_branch_stays_and_the_result_is_a_bundle(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    theirs = commit_on(hub.repository(), "whilly/p/A", "By hand", hand="made\n")
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.work(plan(hub, a_task("A", repo_target_id="shop")), repositories=known(hub))

        assert (await shop.room.task("A"))["result_branch"] == "bundle:whilly/p/A"
        assert hub.repository().git("rev-parse", "whilly/p/A") == theirs
        assert any("commits that are not Whilly's" in said for said in shop.said)


async def test_a_protected_branch_burns_no_attempts(hub: Forge, database: Database, tmp_path: Path) -> None:
    hub.hook("echo 'GH006: Protected branch update failed' >&2; exit 1")
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.work(plan(hub, a_task("A", repo_target_id="shop")), repositories=known(hub))

        assert await attempts(shop, "A") == [("completed", (await attempts(shop, "A"))[0][1])]
        assert (await shop.room.task("A"))["result_branch"] == "bundle:whilly/p/A"


async def test_a_repository_that_disappears_in_between_loses_no_work(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    script = f"{WRITE}; mv {hub.root}/shop.git {hub.root}/elsewhere.git"
    async with workshop(database, tmp_path, {"A": script, "*": WRITE}) as shop:
        tasks = plan(hub, a_task("A", repo_target_id="shop"), a_task("B", ("A",), repo_target_id="shop"))
        await shop.room.submit(tasks)
        async with shop.working(repositories=known(hub)):
            await shop.reached("A", "DONE")
            await shop.attempt_ended("B")
            assert (await attempts(shop, "B"))[0][0] == "repository_unavailable"
            assert (await shop.room.task("B"))["attempts"] == 0


async def test_without_any_way_the_work_is_kept_and_the_task_waits(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    hub.writers = set()
    async with workshop(database, tmp_path, {"*": f"{WRITE}; head -c 3000 /dev/urandom > big"}) as shop:
        shop.room.app.state.largest_bundle = 1000
        await shop.room.submit(plan(hub, a_task("A", repo_target_id="shop")))
        async with shop.working(repositories=known(hub), max_tasks=1) as (_, worker):
            await worker

        ((outcome, reason),) = await attempts(shop, "A")
        assert outcome == "repository_unavailable"
        assert "may not push" in reason or "does not take" in reason
        assert "WHILLY_BUNDLE_LIMIT_MB" in reason
        (attempt,) = await shop.room.attempts("A")
        assert attempt["kept_ref"]
        assert attempt["head_commit"]
        assert (await shop.room.task("A"))["status"] == "PENDING"


async def test_a_plan_that_lost_its_target_runs_nowhere(hub: Forge, database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.room.submit(plan(hub, a_task("A", repo_target_id="shop")), shop.repository.path)
        async with database.connection() as connection:
            await connection.execute("update plans set repo_targets = '[]'")
        async with shop.working(repositories=known(hub)):
            await shop.attempt_ended("A")

        assert (await attempts(shop, "A"))[0][0] == "repository_unavailable"
        assert shop.repository.branches() == {"main"}


async def test_the_agent_sees_nothing_of_the_credentials(hub: Forge, database: Database, tmp_path: Path) -> None:
    """Its environment, its clone, and whatever it can read of the programs that run meanwhile."""
    script = f"""
    env > {tmp_path}/env; cat .git/config > {tmp_path}/config; git remote -v > {tmp_path}/remotes
    cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ > {tmp_path}/processes 2>/dev/null
    {WRITE}
    """
    tasks = plan(hub, *(a_task(f"T{number}", repo_target_id="shop") for number in range(3)))
    async with workshop(database, tmp_path, {"*": script}) as shop:
        await shop.work(tasks, slots=3, repositories=known(hub))

        assert (await shop.room.task("T0"))["status"] == "DONE"
        for name in ("env", "config", "remotes", "processes"):
            assert TOKEN.encode() not in (tmp_path / name).read_bytes()
        copies = [path for path in (tmp_path / "repositories").rglob("*") if path.is_file()]
        assert copies
        assert not [path for path in copies if TOKEN.encode() in path.read_bytes()]


async def test_a_damaged_copy_is_noticed_and_the_attempt_goes_on(
    hub: Forge, database: Database, tmp_path: Path
) -> None:
    async with workshop(database, tmp_path, {"*": WRITE}) as shop:
        await shop.work(plan(hub, a_task("A", repo_target_id="shop")), repositories=known(hub))
        (copy,) = (tmp_path / "repositories").glob("*/1")
        for pack in (copy / "objects/pack").iterdir():
            pack.unlink()
        shutil.rmtree(copy / "objects/info")

        tasks = plan(hub, a_task("A", repo_target_id="shop"), a_task("B", repo_target_id="shop"))
        await asyncio.wait_for(shop.work(tasks, repositories=known(hub)), 60)

        assert (await shop.room.task("B"))["status"] == "DONE"
