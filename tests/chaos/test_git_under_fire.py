"""Real workers on real clones, killed and stopped at any moment: every result arrives, and nothing is left behind."""

import json
import os
import random
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.builders import a_check, a_plan, a_task
from tests.chaos import git_worker, server
from tests.chaos.books import check_books
from tests.chaos.crew import Crew, free_ports
from tests.chaos.fire import POCKET_MONEY, SCALE, SEED, Amount, Fire
from tests.worker.repository import GIT_ENVIRONMENT, Repository, new_repository
from tests.worker.until import until
from whilly.agents.command import MARKER
from whilly.core.plan import Plan
from whilly.core.tokens import TokenKind
from whilly.operations.import_plan import import_plan
from whilly.operations.issue_token import issue_token
from whilly.operations.set_repository import set_repository
from whilly.store.database import Database
from whilly.workspace.attempt import OWNER
from whilly.workspace.packing import FOLDER as PACKS

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300 * max(SCALE, 1))]

SHARED = ("locks", PACKS)
"""What belongs to no attempt and stays: locks, and a pack of each repository that serves all its clones."""

TASKS, WORKERS = int(40 * SCALE), 3
LEASE = 2.0
AMOUNT = Amount(
    kills=int(14 * SCALE),
    stops=int(5 * SCALE),
    server_kills=1,
    database_kills=0,
    stop_seconds=(LEASE * 1.1, LEASE * 1.5),
    patience=240 * max(SCALE, 1),
)


def the_plan() -> Plan:
    """Each task needs up to two of those before it, and proves that it has their files."""
    tasks = []
    for number in range(TASKS):
        needs = tuple({f"T{number // 2}", f"T{number - 6}"} if number > 6 else ())
        files = " && ".join(f"test -s {task}.txt" for task in (f"T{number}", *needs))
        tasks.append(a_task(f"T{number}", needs, checks=(a_check("files", command=files),)))
    return a_plan(*tasks, plan="fire", budget=POCKET_MONEY)


def the_scripts(chance: random.Random) -> str:
    """Each agent works for a moment and starts something that would outlive it."""
    return json.dumps(
        {
            f"T{number}": [
                {"print": "At work."},
                {"shell": "setsid sleep 600 >/dev/null 2>&1 &"},
                {"sleep": round(chance.uniform(0.1, 0.6), 2)},
                {"write": {"path": f"T{number}.txt", "content": f"The result of T{number}.\n"}},
                {"usage": {"cost_usd": "0.01"}},
            ]
            for number in range(TASKS)
        }
    )


async def test_every_result_arrives_and_nothing_is_left_behind(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    print(f"\nWHILLY_CHAOS_SEED={SEED} WHILLY_CHAOS_SCALE={SCALE:g}", flush=True)  # noqa: T201 - repeats a failure
    chance, plan = random.Random(SEED), the_plan()
    repository = new_repository(tmp_path / "repository")
    before = repository.footprint()
    await import_plan(database, plan)
    await set_repository(database, plan.id, str(repository.path))
    folder = tmp_path / "machine"
    folder.mkdir()
    (port,) = free_ports(1)
    address, scripts = f"http://127.0.0.1:{port}", the_scripts(chance)
    places = []
    for number in range(WORKERS):
        token = await issue_token(database, TokenKind.WORKER, worker=f"w{number}", plan=plan.id)
        places.append((address, token.bearer, plan.id, f"w{number}", str(folder), scripts))
    fire = Fire(database, None, plan, AMOUNT, chance)
    began = time.monotonic()
    servers = Crew(server.serve, [(database_url, port, LEASE, str(tmp_path / "server.log"))])
    workers = Crew(git_worker.work, places)
    try:
        await until(lambda: agents_of(folder), "the agents are seen where they are looked for")
        await fire.burn(workers, servers, [address])
        seconds = time.monotonic() - began
        workers.close()
        await until(lambda: not agents_of(folder), "the agents of killed workers are gone", within=15)
        grow_old(folder / "workspaces")
        workers = Crew(git_worker.work, places)
        await until(lambda: not leftovers(folder), f"all is tidied up: {leftovers(folder)}", within=60)
    finally:
        workers.close()
        servers.close()
    await check_books(database, plan)
    await check_branches(database, repository, plan)
    assert repository.footprint() == before
    check_repository(repository)
    async with database.connection() as connection:
        attempts = await connection.fetchval("select count(*) from attempts")
    print(  # noqa: T201 - for whoever reads the output of CI
        f"chaos with git: {TASKS} tasks in {seconds:.1f} s ({attempts} attempts); every branch is its task's result; "
        f"no agent, no clone, no report left; {fire.burnt}"
    )


def agents_of(folder: Path) -> list[int]:
    """Processes that an attempt has started on this machine of ours, whoever their parent is."""
    return [process.pid for process in psutil.process_iter() if _is_agents(process, folder)]


def _is_agents(process: psutil.Process, folder: Path) -> bool:
    try:
        environment = process.environ()
    except (psutil.Error, OSError):
        return False
    return MARKER in environment and environment.get("TMPDIR") == str(folder)


def grow_old(workspaces: Path) -> None:
    """A clone whose owner was killed before it could sign is collected a minute later; this is the minute."""
    for home in workspaces.iterdir():
        if home.name not in SHARED and not (home / OWNER).exists():
            with suppress(FileNotFoundError):
                os.utime(home, (time.time() - 120, time.time() - 120))


def leftovers(folder: Path) -> list[str]:
    """Clones, and reports that were not delivered."""
    clones = [each.name for each in (folder / "workspaces").iterdir() if each.name not in SHARED]
    # Which process this is, and the claim that it waits with, stay noted as long as it lives.
    reports = [str(each) for kind in ("json", "open") for each in folder.glob(f"w*/journal/*/*.{kind}")]
    return clones + reports


async def check_branches(database: Database, repository: Repository, plan: Plan) -> None:
    """Each task's branch is the commit that was accepted, and has its own file and those it builds upon."""
    async with database.connection() as connection:
        rows = await connection.fetch("select id, result_commit, result_branch from tasks")
    results = {row["id"]: row for row in rows}
    for spec in plan.tasks:
        result = results[spec.id]
        branch = f"whilly/{plan.id}/{spec.id}"
        assert result["result_branch"] == branch, f"{spec.id}: {dict(result)}"
        assert repository.git("rev-parse", branch) == result["result_commit"], spec.id
        files = set(repository.git("ls-tree", "--name-only", branch).split())
        assert {f"{task}.txt" for task in (spec.id, *spec.dependencies)} <= files, spec.id
    assert repository.branches() == {"main", *(f"whilly/{plan.id}/{spec.id}" for spec in plan.tasks)}


def check_repository(repository: Repository) -> None:
    """It is sound, and nobody left a lock in it."""
    git = repository.path / ".git"
    subprocess.run(
        ["git", "fsck", "--strict"], cwd=repository.path, env=GIT_ENVIRONMENT, check=True, capture_output=True
    )
    assert list(git.rglob("*.lock")) == []
