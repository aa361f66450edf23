"""Plans about several repositories, as people run them: `whilly run`, `whilly-worker`, `whilly task fetch`."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Whilly, git, write_plan, write_scripts
from tests.worker.repository import new_repository
from tests.workspace.forge import TOKEN, Forge, commit_on, forge
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.server.app import create_app
from whilly.server.serve import serving
from whilly.store.database import Database

RUN = ("run", "--plan", "p", "--agent", "scripted")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Forge]:
    with forge(tmp_path / "forge") as served:
        served.add()
        yield served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The worker's own things: mirrors and clones."""
    return tmp_path / "data"


def environment(hub: Forge, folder: Path) -> dict[str, str]:
    return {
        "WHILLY_DATA_DIR": str(folder),
        "WHILLY_GIT_TOKEN": TOKEN,
        "WHILLY_GIT_TOKEN_HOSTS": hub.site,
    }


def target(hub: Forge, **more: Any) -> dict[str, Any]:
    return {"id": "shop", "provider": "git", "repo": "acme/shop", "clone_url": hub.address(), **more}


def imported(whilly: Whilly, tmp_path: Path, *tasks: dict[str, Any], **more: Any) -> None:
    write_scripts(tmp_path)
    answer = whilly("plan", "import", write_plan(tmp_path, *tasks, **more))
    assert answer.code == 0, answer.err


SHOP = {"repo_target_id": "shop"}


def test_a_run_works_in_a_copy_and_pushes(
    whilly: Whilly, hub: Forge, tmp_path: Path, folder: Path, repository: Path
) -> None:
    imported(
        whilly, tmp_path, {"id": "A", **SHOP}, {"id": "B", "dependencies": ["A"], **SHOP}, repo_targets=[target(hub)]
    )

    check = f"sees=env > {tmp_path}/seen-by-check"
    answer = whilly(*RUN, "--repo", repository, "--verify-command", check, **environment(hub, folder))

    assert answer.code == 0, answer.out + answer.err
    assert TOKEN not in (tmp_path / "seen-by-check").read_text(encoding="utf-8")
    assert hub.repository().branches() == {"main", "whilly/p/A", "whilly/p/B"}
    assert git(repository, "branch", "--format=%(refname:short)") == "main"
    assert "work in a copy of" in answer.err
    assert TOKEN not in answer.out + answer.err


def test_a_run_on_targets_alone_needs_no_repository(whilly: Whilly, hub: Forge, tmp_path: Path, folder: Path) -> None:
    imported(whilly, tmp_path, {"id": "A", **SHOP}, repo_targets=[target(hub)])
    answer = whilly(*RUN, "--repo", tmp_path / "nothing", **environment(hub, folder))
    assert answer.code == 0, answer.out + answer.err


def test_a_folder_can_stand_for_a_target(whilly: Whilly, hub: Forge, tmp_path: Path, repository: Path) -> None:
    mine = new_repository(tmp_path / "mine")
    imported(whilly, tmp_path, {"id": "A", **SHOP}, {"id": "B"}, repo_targets=[target(hub)])

    answer = whilly(*RUN, "--repo", repository, "--repo-target", f"shop={mine.path}")

    assert answer.code == 0, answer.out + answer.err
    assert mine.branches() == {"main", "whilly/p/A"}
    assert git(repository, "branch", "--format=%(refname:short)").split() == ["main", "whilly/p/B"]
    assert hub.requests == []


def test_a_target_that_is_a_folder_is_worked_in(whilly: Whilly, hub: Forge, tmp_path: Path) -> None:
    mine = new_repository(tmp_path / "mine")
    imported(whilly, tmp_path, {"id": "A", **SHOP}, repo_targets=[target(hub, clone_url=str(mine.path))])

    answer = whilly(*RUN, "--repo", tmp_path / "nothing")

    assert answer.code == 0, answer.out + answer.err
    assert mine.branches() == {"main", "whilly/p/A"}


def test_the_repository_of_repo_is_used_for_the_target_that_it_is(
    whilly: Whilly, hub: Forge, tmp_path: Path, repository: Path
) -> None:
    git(repository, "remote", "add", "origin", "http://me:secret@" + hub.address().removeprefix("http://"))
    imported(whilly, tmp_path, {"id": "A", **SHOP}, repo_targets=[target(hub)])

    answer = whilly(*RUN, "--repo", repository)

    assert answer.code == 0, answer.out + answer.err
    assert git(repository, "branch", "--format=%(refname:short)").split() == ["main", "whilly/p/A"]
    assert f"Tasks of repo target shop work in {repository}." in answer.err


@pytest.mark.parametrize(
    ("change", "arguments", "said"),
    [
        ({"clone_url": "ext::sh -c true"}, (), ""),
        ({"clone_url": ""}, (), "add its clone_url"),
        ({"clone_url": "http://example.org/x.git"}, (), "use https"),
        ({"clone_url": "/nonexistent/shop"}, (), "does not exist"),
        ({}, ("--in-place",), "--in-place cannot work"),
        ({}, ("--repo-target", "web=/tmp"), "has no repo target 'web': it has shop"),
        ({}, ("--repo-target", "shop"), "ID=PATH"),
        ({}, ("--repo-target", "shop=/nonexistent"), "does not exist"),
    ],
)
def test_what_cannot_be_worked_in_is_one_sentence_and_nothing_runs(
    whilly: Whilly, hub: Forge, tmp_path: Path, change: dict[str, str], arguments: tuple[str, ...], said: str
) -> None:
    path = write_plan(tmp_path, {"id": "A", **SHOP}, repo_targets=[target(hub, **change)])
    if whilly("plan", "import", path).code != 0:
        assert "ext" in change["clone_url"]
        return

    answer = whilly(*RUN, *arguments)

    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert whilly("task", "show", "p", "A", "--json").json["attempts"] == []


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "WHILLY_GIT_TOKEN_HOSTS"),
        ({"WHILLY_GIT_TOKEN": "wrong-token-1234"}, "refused the token"),
    ],
)
def test_credentials_are_tried_before_anything_runs(
    whilly: Whilly, hub: Forge, tmp_path: Path, folder: Path, variables: dict[str, str], said: str
) -> None:
    imported(whilly, tmp_path, {"id": "A", **SHOP}, repo_targets=[target(hub)])
    if variables:
        variables["WHILLY_GIT_TOKEN_HOSTS"] = hub.site

    answer = whilly(*RUN, WHILLY_DATA_DIR=str(folder), **variables)

    assert answer.code == 2
    assert said in answer.err
    assert "wrong-token" not in answer.err + answer.out


def test_fetch_brings_a_pushed_result(whilly: Whilly, hub: Forge, tmp_path: Path, folder: Path) -> None:
    imported(whilly, tmp_path, {"id": "A", **SHOP}, repo_targets=[target(hub)])
    assert whilly(*RUN, **environment(hub, folder)).code == 0
    mine = new_repository(tmp_path / "mine")

    for _ in range(2):
        answer = whilly("task", "fetch", "p", "A", "--repo", mine.path, **environment(hub, folder))
        assert answer.code == 0, answer.err

    assert mine.git("rev-parse", "whilly/p/A") == hub.repository().git("rev-parse", "whilly/p/A")
    assert mine.git("status", "--porcelain") == ""
    assert "whilly task fetch p A" in whilly("why", "p", "A").out


def test_fetch_brings_a_bundle(whilly: Whilly, hub: Forge, tmp_path: Path, folder: Path) -> None:
    imported(whilly, tmp_path, {"id": "A", **SHOP}, repo_targets=[target(hub, credential_policy="read_only")])
    assert whilly(*RUN, **environment(hub, folder)).code == 0
    assert hub.repository().branches() == {"main"}
    mine = tmp_path / "mine"
    subprocess.run(["git", "clone", "-q", str(hub.repository().path), str(mine)], check=True)

    answer = whilly("task", "fetch", "p", "A", "--repo", mine)

    assert answer.code == 0, answer.err
    assert git(mine, "log", "-1", "--format=%an", "whilly/p/A") == "Whilly"
    other = new_repository(tmp_path / "other", unrelated="x\n")
    refused = whilly("task", "fetch", "p", "A", "--repo", other.path)
    assert refused.code == 2
    assert "fetch into it first" in refused.err


def test_fetch_leaves_what_is_not_whillys(whilly: Whilly, hub: Forge, tmp_path: Path, folder: Path) -> None:
    imported(whilly, tmp_path, {"id": "A", **SHOP}, {"id": "B", **SHOP}, repo_targets=[target(hub)])
    assert whilly(*RUN, "--max-tasks", "1", **environment(hub, folder)).code == 0
    mine = hub.root / "mine"
    subprocess.run(["git", "clone", "-q", "--bare", str(hub.repository().path), str(mine)], check=True)
    git(mine, "update-ref", "-d", "refs/heads/whilly/p/A")
    git(mine, "fetch", "-q", "--prune", str(hub.repository().path), "+refs/heads/main:refs/heads/main")
    theirs = commit_on(hub.repository(), "hand", "By hand", hand="made\n")
    git(mine, "fetch", "-q", str(hub.repository().path), "hand:refs/heads/whilly/p/A")

    answer = whilly("task", "fetch", "p", "A", "--repo", mine, **environment(hub, folder))

    assert answer.code == 1
    assert "not Whilly's" in answer.err
    assert git(mine, "rev-parse", "whilly/p/A") == theirs
    assert "has no result to fetch: it is PENDING" in whilly("task", "fetch", "p", "B", "--repo", mine).err


async def test_a_worker_elsewhere_clones_and_pushes(
    whilly: Whilly, database: Database, hub: Forge, tmp_path: Path, folder: Path
) -> None:
    await asyncio.to_thread(imported, whilly, tmp_path, {"id": "A", **SHOP}, repo_targets=[target(hub)])
    app = create_app(database)
    async with app.router.lifespan_context(app), serving(app) as address:
        token = tmp_path / "token"
        issued = await issue_token(database, TokenKind.WORKER, worker="w1", plan="p", label="here", lifetime=None)
        token.write_text(issued.bearer + "\n", encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "whilly.cli.worker_main",
            "--connect", address, "--token-file", str(token), "--plan", "p", "--agent", "scripted", "--once",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **environment(hub, folder)},
        )  # fmt: skip
        out, _ = await asyncio.wait_for(process.communicate(), 60)

    assert process.returncode == 0, out.decode()
    assert hub.repository().branches() == {"main", "whilly/p/A"}
    assert TOKEN not in out.decode()
    assert not [path for path in folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
