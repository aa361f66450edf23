"""Tasks go through a worker: what comes out, and what is told about it."""

from pathlib import Path

import pytest

from tests.builders import a_check, a_plan, a_task
from tests.worker.workshop import workshop
from whilly.core.outcome import Outcome
from whilly.store.database import Database

WRITES = "echo working on $TASK; echo $TASK > $TASK.txt"


async def test_a_task_becomes_a_verified_commit_on_its_branch(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        before = shop.repository.footprint()
        await shop.work(a_plan(a_task("T1"), checks=(a_check(command="test -f T1.txt && pwd"),)))

        (ended,) = shop.ended
        assert (ended.task, ended.outcome, ended.status) == ("T1", Outcome.COMPLETED, "DONE")
        task = await shop.room.task("T1")
        assert (task["status"], task["result_branch"]) == ("DONE", "whilly/p/T1")
        assert shop.repository.git("rev-parse", "whilly/p/T1") == task["result_commit"]
        assert shop.repository.file("whilly/p/T1", "T1.txt") == "T1"
        assert shop.repository.footprint() == before
        assert shop.leftovers() == []
        assert shop.journal.due() == []


async def test_the_log_tells_the_whole_story(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        checks = (a_check("unit", command="true"), a_check("style", command="false", required=False))
        await shop.work(a_plan(a_task("T1"), checks=checks))

        told = await shop.room.told("T1")
        assert [kind for kind in told if kind != "task.created"] == [
            "CLAIM",
            "workspace.prepared",
            "START",
            "llm.run_started",
            "llm.run_finished",
            "verification.started",
            "verification.succeeded",
            "verification.warning",
            "COMPLETE",
        ]
        (attempt,) = await shop.room.attempts("T1")
        assert (attempt["agent"], attempt["agent_version"], attempt["outcome"]) == ("shell", "1.0", "completed")
        assert attempt["base_commit"] == shop.repository.git("rev-parse", "main")
        assert await shop.room.transcript("T1") == "working on T1\n"


async def test_the_events_carry_the_promised_fields(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        await shop.work(a_plan(a_task("T1"), checks=(a_check("unit", command="echo fine"),)))

        events = dict(await shop.room.events("T1"))
        ended = events["llm.run_finished"]
        assert ended["schema"] == "whilly.llm_ops.v1"
        assert {"session_id", "model", "attempt", "exit_code", "is_complete", "output_chars", "usage"} <= ended.keys()
        assert ended["usage"]["cost_usd"] == "0"
        check = events["verification.succeeded"]
        assert (check["name"], check["command"], check["returncode"], check["succeeded"]) == (
            "unit",
            "echo fine",
            0,
            True,
        )
        assert (check["required"], check["timed_out"], check["stdout_truncated"]) == (True, False, False)
        assert events["workspace.prepared"]["branch"] == "whilly/p/T1"


async def test_a_dependant_starts_from_the_result_of_its_prerequisite(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"A": WRITES, "B": "cat A.txt > B.txt"}) as shop:
        await shop.work(a_plan(a_task("A"), a_task("B", ("A",)), checks=(a_check(command="test -f A.txt"),)))
        assert shop.repository.file("whilly/p/B", "B.txt") == "A"


async def test_slots_work_side_by_side(database: Database, tmp_path: Path) -> None:
    both = f"[ -f {tmp_path}/A -a -f {tmp_path}/B ]"
    meet = f"touch {tmp_path}/$TASK; for i in $(seq 500); do {both} && break; sleep 0.02; done"
    async with workshop(database, tmp_path, {"*": f"{meet}; {both} && {WRITES}"}) as shop:
        await shop.work(a_plan(a_task("A"), a_task("B")), slots=2)
        assert {ended.outcome for ended in shop.ended} == {Outcome.COMPLETED}


async def test_saying_done_without_a_change_is_no_success(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "echo implemented"}) as shop:
        await shop.work(a_plan(a_task("T1"), checks=(a_check(command="true"),)))
        task = await shop.room.task("T1")
        assert task["status"] == "FAILED"
        assert "nothing differs" in task["reason"]
        assert "verification.started" not in await shop.room.told("T1")


async def test_a_failed_check_starts_a_repair_that_goes_on_from_the_work(database: Database, tmp_path: Path) -> None:
    script = "if [ -f draft.txt ]; then echo good > result.txt; else echo bad > draft.txt; fi"
    async with workshop(database, tmp_path, {"*": script}) as shop:
        await shop.work(
            a_plan(a_task("T1"), checks=(a_check(command="echo looking for a result; test -f result.txt"),))
        )

        first, second = await shop.room.attempts("T1")
        assert (first["outcome"], second["outcome"]) == ("checks_failed", "completed")
        assert "looking for a result" in shop.agent.briefs[1].prompt
        assert shop.repository.file("whilly/p/T1", "draft.txt") == "bad"
        assert "repair.attempt.requested" in await shop.room.told("T1")


async def test_a_check_that_always_fails_ends_after_its_repairs(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "date +%N >> T1.txt"}) as shop:
        await shop.work(a_plan(a_task("T1"), checks=(a_check(command="false", repair_max_attempts=1),)))
        assert (await shop.room.task("T1"))["status"] == "FAILED"
        assert len(await shop.room.attempts("T1")) == 2
        assert shop.repository.branches() == {"main"}
        assert shop.repository.git("rev-parse", "refs/whilly/p/T1/e2")


async def test_checks_from_the_command_line_count_as_well(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        extra = a_check("smoke", command="false", repair_max_attempts=0)
        await shop.work(a_plan(a_task("T1"), checks=(a_check(command="true"),)), checks=(extra,))
        task = await shop.room.task("T1")
        assert "Required check 'smoke' failed: exit code 1." in task["reason"]


async def test_an_agent_that_spends_too_much_is_stopped_and_its_work_is_kept(
    database: Database, tmp_path: Path
) -> None:
    spends = "for cents in 10 20 30 40 50 60 70 80 90; do echo USAGE 0.$cents; sleep 0.2; done; sleep 60"
    script = f"echo precious > T1.txt; {spends}"
    async with workshop(database, tmp_path, {"*": script}) as shop:
        await shop.work(a_plan(a_task("T1", budget=500_000)))
        (attempt,) = await shop.room.attempts("T1")
        assert (attempt["outcome"], attempt["cost_micros"]) == ("over_budget", 500_000)
        assert (await shop.room.task("T1"))["status"] == "BLOCKED"
        assert shop.repository.file(attempt["kept_ref"], "T1.txt") == "precious"


async def test_what_an_agent_leaves_when_it_crashes_is_kept(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "echo half > T1.txt; exit 3"}) as shop:
        await shop.room.submit(a_plan(a_task("T1")), shop.repository.path)
        async with shop.working(max_tasks=1) as (_, worker):
            await worker
        (attempt,) = await shop.room.attempts("T1")
        assert (attempt["outcome"], attempt["exit_code"]) == ("agent_failed", 3)
        assert shop.repository.file(attempt["kept_ref"], "T1.txt") == "half"


async def test_a_missing_agent_is_told_once_and_nothing_is_claimed(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {}) as shop:
        shop.agent.is_missing = True
        worked = await shop.work(a_plan(a_task("T1"), a_task("T2")))
        assert worked.missing == {"shell": "The shell is not installed; install one."}
        assert shop.said == ["The shell is not installed; install one."]
        assert (await shop.room.task("T1"))["epoch"] == 0


async def test_an_agent_that_goes_missing_gives_its_task_back(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": "missing"}) as shop:
        worked = await shop.work(a_plan(a_task("T1"), a_task("T2")))
        assert worked.missing == {"shell": "The shell was uninstalled; install it again."}
        assert shop.said == ["The shell was uninstalled; install it again."]
        task = await shop.room.task("T1")
        assert (task["status"], task["attempts"]) == ("PENDING", 0)
        assert (await shop.room.task("T2"))["epoch"] == 0


async def test_a_repository_that_is_gone_ends_the_worker_and_uses_up_no_attempt(
    database: Database, tmp_path: Path
) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        await shop.room.submit(a_plan(a_task("T1"), a_task("T2")), tmp_path / "nowhere")
        async with shop.working() as (_, worker):
            worked = await worker
        assert "does not exist" in worked.unusable
        (attempt,) = await shop.room.attempts("T1")
        assert (attempt["outcome"], attempt["reason"]) == ("released", worked.unusable)
        task = await shop.room.task("T1")
        assert (task["status"], task["attempts"]) == ("PENDING", 0)
        assert (await shop.room.task("T2"))["epoch"] == 0
        assert "workspace.prepare_failed" in await shop.room.told("T1")


async def test_enough_is_enough(database: Database, tmp_path: Path) -> None:
    async with workshop(database, tmp_path, {"*": WRITES}) as shop:
        worked = await shop.work(a_plan(a_task("A"), a_task("B"), a_task("C")), max_tasks=2, slots=3)
        assert worked.attempts == 2


@pytest.mark.parametrize("told", [True, False], ids=["a secret that it was told", "a secret in its environment"])
async def test_no_secret_leaves_in_transcript_output_or_line(database: Database, tmp_path: Path, told: bool) -> None:
    secret = "correct-horse-battery"
    script = f"echo the key is {secret}; echo x > T1.txt"
    async with workshop(database, tmp_path, {"*": script}) as shop:
        plan = a_plan(a_task("T1"), checks=(a_check(command=f"echo {secret}; false", repair_max_attempts=0),))
        await shop.work(plan, **({"secrets": (secret,)} if told else {"environment": {"BANK_API_KEY": secret}}))
        assert "the key is [redacted" in await shop.room.transcript("T1")
        stored = str(await shop.room.attempts("T1")) + str(await shop.room.events("T1"))
        assert secret not in stored.replace(f"echo {secret}; false", "")


async def test_a_hundred_megabytes_of_noise_do_no_harm(database: Database, tmp_path: Path) -> None:
    script = "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo done > T1.txt"
    async with workshop(database, tmp_path, {"*": script}) as shop:
        await shop.work(a_plan(a_task("T1"), checks=(a_check(command="true"),)))
        assert (await shop.room.task("T1"))["status"] == "DONE"
