"""Plans come in, again and again."""

from dataclasses import replace

import pytest

from tests.builders import a_check, a_plan, a_task, claimed, done, row_of, running, statuses, told
from whilly.core.errors import Refused
from whilly.core.plan import Origin, Priority, RepoTarget, Review, Status
from whilly.operations.create_plan import create_plan
from whilly.operations.import_plan import import_plan
from whilly.operations.read_plans import export_plan, list_plans
from whilly.store.database import Database


async def test_a_plan_comes_out_as_it_went_in(database: Database) -> None:
    plan = a_plan(
        a_task("A", key_files=("ä.py",), priority=Priority.LOW, budget=5, timeout_minutes=3, review=Review.BEFORE),
        a_task("B", ("A",), checks=(a_check("own", required=False),), repo_target_id="r", agent="claude"),
        checks=(a_check(),),
        budget=1_000_000,
        origin=Origin("github_issue", "o/r/1"),
        repo_targets=(RepoTarget("r", "github", "o/r"),),
        review=Review.RESULT,
    )
    await import_plan(database, plan)

    out = await export_plan(database, "p")

    assert replace(out, tasks=()) == replace(plan, tasks=())
    assert out.tasks == (replace(plan.tasks[0], status=Status.HUMAN_LOOP), plan.tasks[1])


async def test_two_plans_may_have_a_task_of_the_same_name(database: Database) -> None:
    await import_plan(database, a_plan(plan="p"))
    await import_plan(database, a_plan(plan="q"))

    await done(database, "p")

    assert await statuses(database, "p") == {"T1": "DONE"}
    assert await statuses(database, "q") == {"T1": "PENDING"}


async def test_the_same_plan_again_changes_nothing(database: Database) -> None:
    plan = a_plan(a_task("A"), a_task("B", ("A",)))
    await import_plan(database, plan)
    events = await told(database)

    change = await import_plan(database, plan)

    assert (change.added, change.changed, change.removed, change.settings_changed) == ((), (), (), False)
    assert change.unchanged == ("A", "B")
    assert await told(database) == events


async def test_an_export_in_the_middle_of_a_run_changes_nothing_when_imported(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",)), a_task("C")))
    await done(database)
    await running(database)
    before = await statuses(database)

    change = await import_plan(database, await export_plan(database, "p"))

    assert change.unchanged == ("A", "B", "C")
    assert await statuses(database) == before


async def test_changes_apply_to_tasks_that_have_not_started(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", ("A",)), a_task("C"), a_task("D")))
    await done(database)
    plan = a_plan(
        a_task("A"),
        a_task("C", ("B",)),
        a_task("B", description="Something else altogether, in more words."),
        a_task("E", ("A",), priority=Priority.CRITICAL),
    )

    change = await import_plan(database, plan)

    assert (change.added, change.changed, change.unchanged, change.removed) == (("E",), ("C", "B"), ("A",), ("D",))
    assert await statuses(database) == {"A": "DONE", "C": "PENDING", "B": "PENDING", "E": "PENDING"}
    assert (await row_of(database, "C"))["unmet"] == 1
    assert [await done(database) for _ in range(3)] == ["E", "B", "C"]


@pytest.mark.parametrize("new", [("A", "changed"), ("B", "kept")])
async def test_tasks_that_have_started_are_refused_by_name_and_nothing_is_stored(
    database: Database, new: tuple[str, str]
) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B")))
    await running(database)
    before = await told(database)
    task = a_task("A", description="Another thing, described at length.") if new[1] == "changed" else a_task("B")

    with pytest.raises(Refused, match="A would"):
        await import_plan(database, a_plan(task, a_task("Z")))

    assert await told(database) == before
    assert "Z" not in await statuses(database)


async def test_a_plan_that_was_half_done_elsewhere_goes_on(database: Database) -> None:
    tasks = (
        a_task("A", status=Status.DONE),
        a_task("B", ("A",)),
        a_task("X", status=Status.FAILED),
        a_task("Y", ("X", "A")),
    )
    await import_plan(database, a_plan(*tasks))

    assert await statuses(database) == {"A": "DONE", "B": "PENDING", "X": "FAILED", "Y": "BLOCKED"}
    assert await done(database) == "B"
    assert (await row_of(database, "Y"))["unmet"] == 1


async def test_new_plan_settings_reach_tasks_that_take_them_over(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A"), a_task("B", agent="codex")))

    change = await import_plan(database, a_plan(a_task("A"), a_task("B", agent="codex"), agent="claude"))

    assert change.settings_changed
    assert (await row_of(database, "A"))["agent"] == "claude"
    assert (await row_of(database, "B"))["agent"] == "codex"


async def test_a_file_without_a_budget_leaves_the_budget_alone(database: Database) -> None:
    await create_plan(database, "p", "Project p", 7_000_000)

    await import_plan(database, a_plan())

    (summary,) = await list_plans(database)
    assert summary.budget == 7_000_000
    assert summary.counts == {Status.PENDING: 1}


async def test_a_plan_is_created_once(database: Database) -> None:
    await create_plan(database, "p", "Project p", None)

    with pytest.raises(Refused, match="exists already"):
        await create_plan(database, "p", "Project p", 5)


async def test_an_empty_plan_gives_nothing_to_do(database: Database) -> None:
    await create_plan(database, "p", "Project p", None)

    assert await claimed(database) is None


async def test_every_event_names_its_plan(database: Database) -> None:
    await import_plan(database, a_plan(a_task("A")))

    assert sorted(await told(database)) == ["plan.created", "task.created"]
