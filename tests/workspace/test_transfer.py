"""How results get into the user's repository."""

from pathlib import Path

from tests.workspace.ground import Agent, Ground
from whilly.workspace.result import collect, publish
from whilly.workspace.transfer import FEW


def packs(ground: Ground) -> list[Path]:
    return list((ground.users.path / ".git/objects/pack").glob("*.pack"))


async def test_small_results_leave_no_packs_that_slow_down_all_that_follows(ground: Ground) -> None:
    for number in range(3):
        workspace = await ground.prepare(f"T{number}")
        Agent(workspace).write({"src/app.py": f"print({number})\n"})
        await publish(workspace, await collect(workspace))

    assert packs(ground) == []
    assert ground.users.files_of("whilly/demo/T2")["src/app.py"] == "print(2)"
    ground.users.is_sound()


async def test_a_large_result_is_one_pack(ground: Ground) -> None:
    workspace = await ground.prepare("T1")
    Agent(workspace).write({f"src/part_{number}.py": f"print({number})\n" for number in range(FEW)})
    await publish(workspace, await collect(workspace))

    assert len(packs(ground)) == 1
    assert len(ground.users.files_of("whilly/demo/T1")) == FEW + 3
    ground.users.is_sound()
