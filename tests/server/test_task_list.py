"""`GET /api/v1/tasks`: pages that new tasks do not disturb."""

import base64

import httpx2
import pytest

from tests.control_plane import Server
from whilly.core.plan import Plan, Priority, Review, TaskSpec
from whilly.operations.import_plan import import_plan
from whilly.operations.review_task import review_task
from whilly.wire.work import ClaimRequest

FIELDS = {
    "id",
    "plan_id",
    "status",
    "priority",
    "claimed_by",
    "claimed_at",
    "version",
    "key_files",
    "description",
    "acceptance_criteria",
    "test_steps",
    "human_review",
}


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


async def ids(http: httpx2.AsyncClient, query: str) -> tuple[list[str], str | None]:
    answer = await http.get(f"/api/v1/tasks?plan_id=p{query}")
    assert answer.status_code == 200, answer.text
    told = answer.json()
    return [task["id"] for task in told["tasks"]], told["next_cursor"]


async def test_pages_by_priority_and_id_also_while_tasks_are_added(server: Server) -> None:
    specs = [TaskSpec(f"T-{n:03}", "x", priority=Priority(n % 4)) for n in range(40)]
    await server.store("p", *specs)
    http = await server.operator()
    expected = [spec.id for spec in sorted(specs, key=lambda spec: (spec.priority, spec.id))]

    first, cursor = await ids(http, "&limit=15")
    await import_plan(server.database, Plan("p", "A plan", (*specs, TaskSpec("T-000a", "x", priority=Priority(0)))))
    second, cursor = await ids(http, f"&limit=15&cursor={cursor}")
    third, end = await ids(http, f"&limit=15&cursor={cursor}")
    assert first + second + third == expected
    assert end is None


async def test_a_hundred_by_default_and_five_hundred_at_most(server: Server) -> None:
    await server.store("p", *(TaskSpec(f"T-{n:03}", "x") for n in range(120)))
    http = await server.operator()
    page, cursor = await ids(http, "")
    assert (len(page), cursor is None) == (100, False)
    assert len((await ids(http, "&limit=500"))[0]) == 120
    for limit in ("0", "501", "-1", "x", "1e2", "٣"):
        answer = await http.get(f"/api/v1/tasks?plan_id=p&limit={limit}")
        assert (answer.status_code, answer.json()["type"]) == (400, "bad_limit")


async def test_the_fields_that_clients_rely_on(server: Server) -> None:
    spec = TaskSpec("T-1", "Do it", Priority.CRITICAL, key_files=("a.py",), acceptance_criteria=("ok",))
    await server.store("p", spec)
    plane = await server.control_plane("w-7")
    await plane.claim(ClaimRequest("c", "p", ("scripted",)))
    (told,) = (await (await server.operator()).get("/api/v1/tasks?plan_id=p")).json()["tasks"]
    assert set(told) == FIELDS
    assert (told["status"], told["priority"], told["claimed_by"]) == ("CLAIMED", "critical", "w-7")
    assert told["claimed_at"] is not None
    assert told["human_review"] == {
        "required": False,
        "decision": None,
        "stage_id": None,
        "reason": None,
        "reviewer": None,
    }


async def test_a_review_is_told(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "Do it", review=Review.BEFORE))
    http = await server.operator()
    (told,) = (await http.get("/api/v1/tasks?plan_id=p&status=HUMAN_LOOP")).json()["tasks"]
    assert told["human_review"]["required"] is True
    assert told["human_review"]["decision"] is None
    await review_task(server.database, "p", "T-1", "approved", "ada")
    (told,) = (await http.get("/api/v1/tasks?plan_id=p")).json()["tasks"]
    assert (told["human_review"]["decision"], told["human_review"]["reviewer"]) == ("approved", "ada")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "!!!!",
        "W10",
        "WzEsMl0",
        "eyJhIjoxfQ",
        "%00",
        "WzksICJUIl0",
        base64.urlsafe_b64encode(b'[1,"a\\u0000"]').decode(),
    ],
)
async def test_a_cursor_that_is_not_ours(server: Server, cursor: str) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    answer = await (await server.operator()).get(f"/api/v1/tasks?plan_id=p&cursor={cursor}")
    assert (answer.status_code, answer.json()["type"]) == (400, "bad_cursor")


async def test_what_cannot_be_asked(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    for query, status, kind in (
        ("", 400, "bad_plan_id"),
        ("?plan_id=p&status=done", 400, "bad_status"),
        ("?plan_id=p&status=", 400, "bad_status"),
        ("?plan_id=q", 404, "unknown_plan"),
    ):
        answer = await http.get(f"/api/v1/tasks{query}")
        assert (answer.status_code, answer.json()["type"]) == (status, kind)
    assert (await http.get("/api/v1/tasks?plan_id=p&status=DONE")).json() == {"tasks": [], "next_cursor": None}
