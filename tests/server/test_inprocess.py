"""The control plane inside a command, and what the command's worker may do there."""

from tests.builders import a_plan, a_report, a_task, running
from whilly.client.control_plane import ControlPlane
from whilly.core.plan import Status
from whilly.core.why import Code
from whilly.operations.explain_task import explain_task
from whilly.operations.import_plan import import_plan
from whilly.server.inprocess import control_plane_here
from whilly.store.database import Database
from whilly.wire.work import Registration


async def test_a_worker_brings_reports_of_plans_that_it_no_longer_works_on(database: Database) -> None:
    await import_plan(database, a_plan(a_task("T1")))
    earlier = await running(database, worker="laptop")
    async with control_plane_here(database, "laptop", Registration("laptop", ("scripted",))) as here:
        answer = await ControlPlane(here.http).finish(earlier.key, a_report())
    assert answer.status is Status.DONE


async def test_only_a_worker_that_is_there_and_takes_the_plan_counts_as_online(database: Database) -> None:
    for plan in ("p", "q"):
        await import_plan(database, a_plan(a_task("T1"), plan=plan))

    async def code(plan: str) -> Code:
        return (await explain_task(database, plan, "T1")).code

    assert await code("p") is Code.NO_WORKER
    async with control_plane_here(database, "laptop", Registration("laptop", ("scripted",)), plan="p"):
        assert [await code("p"), await code("q")] == [Code.READY, Code.NO_WORKER]
    assert await code("p") is Code.NO_WORKER
