"""Plans through the API: in, out, over again."""

import json

import httpx2
import pytest

from tests.control_plane import Server
from whilly.core.plan import Review, TaskSpec
from whilly.planfile.limits import Limits

TASK = {
    "id": "T-1",
    "status": "pending",
    "priority": "high",
    "description": "Let basket.py add up the prices of its books",
    "acceptance_criteria": ["basket.total() is the sum of all prices"],
    "test_steps": ["python -m unittest"],
    "key_files": ["basket.py"],
}
PLAN = {"plan_id": "shop", "project": "A shop", "tasks": [TASK]}


async def events(server: Server, http: httpx2.AsyncClient, plan: str) -> list[str]:
    await server.numbered()
    told = (await http.get(f"/api/v1/events?plan={plan}&limit=1000")).json()["events"]
    return [event["event_type"] for event in told]


async def test_a_plan_goes_in_and_comes_out(server: Server) -> None:
    http = await server.operator()
    told = (await http.post("/api/v1/plans/import", json=PLAN)).json()
    assert (told["plan_id"], told["created"], told["added"]) == ("shop", True, ["T-1"])
    told = (await http.post("/api/v1/plans/import", json=PLAN)).json()
    assert (told["created"], told["unchanged"], told["settings_changed"]) == (False, ["T-1"], False)

    exported = await http.get("/api/v1/plans/shop/export")
    assert exported.json()["tasks"][0]["description"] == TASK["description"]
    told = (await http.post("/api/v1/plans/import", content=exported.content)).json()
    assert (told["unchanged"], told["changed"], told["settings_changed"]) == (["T-1"], [], False)


async def test_all_that_is_wrong_with_a_file_is_said_at_once(server: Server) -> None:
    http = await server.operator()
    faulty = {"plan_id": "shop", "tasks": [TASK | {"status": "soon"}, TASK | {"id": "T 2", "dependencies": ["T-9"]}]}
    answer = await http.post("/api/v1/plans/import", content=json.dumps(faulty, indent=2))
    assert (answer.status_code, answer.json()["type"]) == (422, "plan_rejected")
    told = answer.json()["errors"]
    assert len(told) >= 3
    assert all(line.startswith("the plan:") for line in told)
    assert (await http.get("/api/v1/plans")).json() == {"plans": []}


@pytest.mark.parametrize(("size", "status"), [(Limits().file_bytes + 1, 413), (Limits().file_bytes, 422)])
async def test_a_file_may_be_as_large_as_on_the_command_line(server: Server, size: int, status: int) -> None:
    http = await server.operator()
    answer = await http.post("/api/v1/plans/import", content=b"x" * size)
    assert answer.status_code == status


async def test_the_gate_judges_what_is_applied(server: Server) -> None:
    http = await server.operator()
    vague = TASK | {"id": "T-2", "description": "Fix it", "acceptance_criteria": [], "test_steps": []}
    told = (await http.post("/api/v1/plans/apply", json=PLAN | {"tasks": [TASK, vague]})).json()
    assert (told["skipped"], told["decisions"]["T-1"]["verdict"]) == ([], "ADMIT")
    assert told["decisions"]["T-2"]["verdict"] == "REJECT"
    told = (await http.post("/api/v1/plans/apply?strict=true", json=PLAN | {"tasks": [TASK, vague]})).json()
    assert told["skipped"] == ["T-2"]
    answer = await http.post("/api/v1/plans/apply?strict=yes", json=PLAN)
    assert (answer.status_code, answer.json()["type"]) == (400, "bad_strict")


async def test_an_empty_plan_is_created_once(server: Server) -> None:
    http = await server.operator()
    answer = await http.post("/api/v1/plans", json={"id": "shop", "name": "A shop", "budget_usd": 2.5})
    assert (answer.status_code, answer.json()) == (201, {"id": "shop"})
    assert (await http.get("/api/v1/plans/shop")).json()["budget_usd"] == 2.5
    answer = await http.post("/api/v1/plans", json={"id": "shop", "name": "A shop"})
    assert (answer.status_code, answer.json()["type"]) == (409, "refused")
    for wrong in ({"id": "a shop", "name": "x"}, {"id": "b", "name": " "}):
        answer = await http.post("/api/v1/plans", json=wrong)
        assert (answer.status_code, answer.json()["type"]) == (422, "malformed"), wrong
    assert "a-shop" in (await http.post("/api/v1/plans", json={"id": "a shop", "name": "x"})).json()["remedy"]


@pytest.mark.parametrize("amount", ["-1", "1e30", "0.0000001", '"NaN"', '"Infinity"', "true", '"five"'])
async def test_an_amount_that_is_none_is_refused(server: Server, amount: str) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    body = f'{{"budget_usd": {amount}}}'.encode()
    for path in ("/api/v1/plans/p/budget", "/api/v1/plans/p/tasks/T-1/budget"):
        answer = await http.put(path, content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["type"]) == (422, "malformed")
    assert (await http.get("/api/v1/plans/p")).json()["budget_usd"] is None


async def test_budgets_are_set_and_lifted(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    for amount in (9.25, None):
        assert (await http.put("/api/v1/plans/p/budget", json={"budget_usd": amount})).status_code == 204
        assert (await http.get("/api/v1/plans/p")).json()["budget_usd"] == amount
        assert (await http.put("/api/v1/plans/p/tasks/T-1/budget", json={"budget_usd": amount})).status_code == 204
    assert (await http.put("/api/v1/plans/p/budget", json={"budget_usd": 3, "daily": True})).status_code == 204
    kinds = await events(server, http, "p")
    assert kinds.count("plan.budget_set") == kinds.count("task.budget_set") == 2
    assert "plan.daily_budget_set" in kinds


async def test_a_plan_starts_over_or_goes(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    await http.post("/api/v1/plans/p/tasks/T-1/cancel", json={})
    assert (await http.post("/api/v1/plans/p/reset", json={})).json() == {"tasks": 1}
    assert (await http.get("/api/v1/plans/p/tasks/T-1")).json()["status"] == "PENDING"
    assert (await http.post("/api/v1/plans/p/reset", json={"hard": True})).json() == {"tasks": 1}
    assert (await http.get("/api/v1/plans/p")).status_code == 404
    assert "plan.deleted" in await events(server, http, "p")


async def test_a_plan_is_challenged_and_shown(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two", dependencies=("T-1",)))
    http = await server.operator()
    assert (await http.get("/api/v1/plans/p/triz")).json()["task_count"] == 2
    told = (await http.get("/api/v1/plans/p/overview")).json()
    assert [(task["id"], task["why"]["code"]) for task in told["tasks"]] == [("T-1", "no_worker"), ("T-2", "waiting")]


async def test_those_who_wait_for_a_person_are_listed(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"), TaskSpec("T-2", "Two", review=Review.BEFORE))
    http = await server.operator()
    (told,) = (await http.get("/api/v1/plans/p/reviews")).json()["tasks"]
    assert (told["id"], told["status"], told["epoch"]) == ("T-2", "HUMAN_LOOP", None)
    assert (await http.get("/api/v1/plans/nope/reviews")).status_code == 404


async def test_whether_anything_is_handed_out(server: Server) -> None:
    http = await server.operator()
    assert (await http.get("/api/v1/control")).json() == {"paused": False, "reason": None}
    await http.post("/api/v1/pause", json={"reason": "lunch"})
    assert (await http.get("/api/v1/control")).json() == {"paused": True, "reason": "lunch"}
    await http.post("/api/v1/resume", json={})
    assert (await http.get("/api/v1/control")).json()["paused"] is False


async def test_an_attempt_that_never_was(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    assert (await http.get("/api/v1/plans/p/tasks/T-1/attempts")).json() == {"attempts": []}
    for path in ("", "/evidence", "/transcript"):
        answer = await http.get(f"/api/v1/plans/p/tasks/T-1/attempts/{10**17}{path}")
        assert (answer.status_code, answer.json()["type"]) == (404, "unknown_attempt")


async def test_a_log_that_was_changed_is_found_out(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    await server.numbered()
    http = await server.operator()
    told = (await http.get("/api/v1/events/verification")).json()
    assert (told["sound"], told["broken_at"]) == (True, None)
    async with server.database.connection() as connection:
        await connection.execute("alter table events disable trigger all")
        await connection.execute("update events set payload = '{}' where type = 'task.created'")
    told = (await http.get("/api/v1/events/verification")).json()
    assert told["sound"] is False
    assert told["broken_at"] >= 1
