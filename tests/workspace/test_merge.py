"""Dependants start from the results of their prerequisites, and later attempts from the earlier one's work."""

from typing import Any

import pytest

from tests.workspace.ground import Agent, Ground
from whilly.workspace.errors import MergeConflict, WorkspaceFailed
from whilly.workspace.result import collect, publish


async def result_of(ground: Ground, task: str, files: dict[str, str], **how: Any) -> tuple[str, str]:
    workspace = await ground.prepare(task, **how)
    Agent(workspace).write(files)
    collected = await collect(workspace)
    await publish(workspace, collected)
    assert collected.head_commit
    return task, collected.head_commit


async def test_one_prerequisite_is_the_start(ground: Ground) -> None:
    first = await result_of(ground, "T1", {"one.txt": "1\n"})
    workspace = await ground.prepare("T2", prerequisites=[first])
    assert workspace.base_commit == first[1], "no merge commit where none is needed"
    assert (workspace.path / "one.txt").exists()


async def test_three_prerequisites_and_a_moved_base_are_merged(ground: Ground) -> None:
    results = [await result_of(ground, f"T{n}", {f"{n}.txt": f"{n}\n"}) for n in (1, 2, 3)]
    ground.users.commit("Meanwhile", {"meanwhile.txt": "m\n"})
    workspace = await ground.prepare("T4", prerequisites=results)
    names = {path.name for path in workspace.path.iterdir()}
    assert names >= {"1.txt", "2.txt", "3.txt", "meanwhile.txt"}
    agent = Agent(workspace)
    assert agent.git("status", "--porcelain") == ""
    assert agent.git("fsck", "--full") == ""
    collected = await collect(workspace)
    assert collected.head_commit is None, "a merge is no work of the agent"
    assert collected.kept_ref == ""


async def test_work_on_a_merge_can_be_published(ground: Ground) -> None:
    results = [await result_of(ground, f"T{n}", {f"{n}.txt": f"{n}\n"}) for n in (1, 2)]
    _, head = await result_of(ground, "T3", {"3.txt": "3\n"}, prerequisites=results)
    assert set(ground.users.files_of(head)) >= {"1.txt", "2.txt", "3.txt"}
    assert ground.users.git("log", "-1", "--format=%s", f"{head}~1") == "Merge the result of T2"
    ground.users.is_sound()


async def test_the_same_ingredients_give_the_same_base(ground: Ground) -> None:
    results = [await result_of(ground, f"T{n}", {f"{n}.txt": f"{n}\n"}) for n in (1, 2, 3)]
    one = await ground.prepare("T4", prerequisites=results)
    two = await ground.prepare("T4", epoch=2, prerequisites=list(reversed(results)))
    assert one.base_commit == two.base_commit


async def test_a_diamond_is_merged_once(ground: Ground) -> None:
    root = await result_of(ground, "T1", {"1.txt": "1\n"})
    sides = [await result_of(ground, f"T{n}", {f"{n}.txt": f"{n}\n"}, prerequisites=[root]) for n in (2, 3)]
    workspace = await ground.prepare("T4", prerequisites=[*sides, root])
    assert {path.name for path in workspace.path.iterdir()} >= {"1.txt", "2.txt", "3.txt"}


async def test_a_conflict_names_the_task_and_the_files(ground: Ground) -> None:
    results = [await result_of(ground, f"T{n}", {"README.md": f"{n}\n", "修复.txt": f"{n}\n"}) for n in (1, 2)]
    with pytest.raises(MergeConflict) as conflict:
        await ground.prepare("T3", prerequisites=results)
    assert conflict.value.files == ("README.md", "修复.txt")
    assert (
        str(conflict.value) == "The result of T2 conflicts with what it is to be merged with, in README.md, 修复.txt."
    )
    assert ground.leftovers() == [name for name in ground.leftovers() if "T3" not in name]


async def test_a_conflict_of_kinds_is_one_too(ground: Ground) -> None:
    one = await result_of(ground, "T1", {"thing": "a file\n"})
    two = await result_of(ground, "T2", {"thing/inside": "a folder\n"})
    with pytest.raises(MergeConflict):
        await ground.prepare("T3", prerequisites=[one, two])


async def test_a_missing_result_is_named(ground: Ground) -> None:
    with pytest.raises(WorkspaceFailed, match=r"The result of T9, commit 1{40}, is not in"):
        await ground.prepare("T2", prerequisites=[("T9", "1" * 40)])
    with pytest.raises(WorkspaceFailed, match="not the full name of a commit"):
        await ground.prepare("T2", prerequisites=[("T9", "--all")])


async def test_a_later_attempt_goes_on_from_the_earlier_one(ground: Ground) -> None:
    _, head = await result_of(ground, "T1", {"one.txt": "1\n"})
    workspace = await ground.prepare(epoch=2, resume_from=head)
    assert (workspace.base_commit, workspace.start_commit) == (ground.users.head, head)
    Agent(workspace).write({"two.txt": "2\n"})
    collected = await collect(workspace)
    assert (collected.files_changed, collected.unchanged) == (2, False)
    assert await publish(workspace, collected) == "whilly/demo/T1"
    assert set(ground.users.files_of("whilly/demo/T1")) >= {"one.txt", "two.txt"}


async def test_a_later_attempt_that_adds_nothing_still_has_the_earlier_work(ground: Ground) -> None:
    _, head = await result_of(ground, "T1", {"one.txt": "1\n"})
    collected = await collect(await ground.prepare(epoch=2, resume_from=head))
    assert (collected.head_commit, collected.files_changed, collected.unchanged) == (head, 1, True)
    assert collected.kept_ref == "refs/whilly/demo/T1/e2"


async def test_a_later_attempt_stays_where_the_earlier_one_began(ground: Ground) -> None:
    began = ground.users.head
    _, head = await result_of(ground, "T1", {"one.txt": "1\n"})
    ground.users.commit("Meanwhile", {"README.md": "changed\n"})
    workspace = await ground.prepare(epoch=2, resume_from=head)
    assert (workspace.base_commit, workspace.start_commit) == (began, head)


async def test_a_later_attempt_on_merged_results_finds_its_own_base_again(ground: Ground) -> None:
    results = [await result_of(ground, f"T{n}", {f"{n}.txt": f"{n}\n"}) for n in (1, 2)]
    first = await ground.prepare("T3", prerequisites=results)
    Agent(first).write({"3.txt": "3\n"})
    head = (await collect(first)).head_commit
    ground.users.commit("Meanwhile", {"meanwhile.txt": "m\n"})
    second = await ground.prepare("T3", epoch=2, prerequisites=results, resume_from=head)
    assert (second.base_commit, second.start_commit) == (first.base_commit, head)


async def test_a_prerequisite_that_was_redone_is_merged_under_the_earlier_work(ground: Ground) -> None:
    old = await result_of(ground, "T1", {"one.txt": "old\n"})
    _, head = await result_of(ground, "T2", {"two.txt": "2\n"}, prerequisites=[old])
    new = await result_of(ground, "T1", {"more.txt": "new\n"}, epoch=2, resume_from=old[1])
    workspace = await ground.prepare("T2", epoch=2, prerequisites=[new], resume_from=head)
    assert {path.name for path in workspace.path.iterdir()} >= {"one.txt", "two.txt", "more.txt"}
    assert (await collect(workspace)).files_changed == 1, "compared with the new base"


async def test_an_earlier_attempt_that_is_gone_is_noted(ground: Ground) -> None:
    workspace = await ground.prepare(epoch=2, resume_from="1" * 40)
    assert workspace.start_commit == ground.users.head
    assert "is gone" in workspace.notes[0]
