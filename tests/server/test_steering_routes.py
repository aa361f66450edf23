"""Reading and steering through the API."""

from tests.control_plane import Server
from whilly.core.plan import Check, Origin, Plan, Review, TaskSpec
from whilly.operations.import_plan import import_plan
from whilly.server.routes.steering import LONGEST_WORDS
from whilly.wire.work import ClaimRequest, Start, TranscriptChunk


async def test_plans_and_tasks_can_be_read(server: Server) -> None:
    origin = Origin("github", "owner/repo#7", prd_file="docs/prd.md")
    checks = (Check("unit", "python -m unittest"),)
    await import_plan(server.database, Plan("p", "A plan", (TaskSpec("T-1", "One"),), checks, 2_500_000, origin=origin))
    http = await server.operator()

    (listed,) = (await http.get("/api/v1/plans")).json()["plans"]
    assert (listed["id"], listed["name"], listed["budget_usd"], listed["counts"]) == (
        "p",
        "A plan",
        2.5,
        {"PENDING": 1},
    )
    plan = (await http.get("/api/v1/plans/p")).json()
    assert (plan["github_issue_ref"], plan["prd_file"]) == ("owner/repo#7", "docs/prd.md")
    assert plan["verification_commands"][0]["command"] == "python -m unittest"

    plane = await server.control_plane()
    assignment = await plane.claim(ClaimRequest("c", "p", ("scripted",)))
    assert assignment is not None
    await plane.start(assignment.key, Start("scripted", "1.0"))
    await plane.transcript(assignment.key, [TranscriptChunk(0, "<b>hello</b>")])
    task = (await http.get("/api/v1/plans/p/tasks/T-1")).json()
    assert (task["status"], task["history"][0]["agent"], task["history"][0]["outcome"]) == (
        "IN_PROGRESS",
        "scripted",
        None,
    )
    assert (await http.get("/api/v1/plans/p/tasks/T-1/why")).json()["sentence"]
    said = await http.get("/api/v1/plans/p/tasks/T-1/attempts/1/transcript")
    assert (said.text, said.headers["content-type"]) == ("<b>hello</b>", "text/plain; charset=utf-8")


async def test_what_does_not_exist(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    for path, kind in (
        ("/api/v1/plans/q", "unknown_plan"),
        ("/api/v1/plans/q/tasks/T-1", "unknown_plan"),
        ("/api/v1/plans/p/tasks/T-9", "unknown_task"),
        ("/api/v1/plans/p/tasks/T-9/why", "unknown_task"),
    ):
        answer = await http.get(path)
        assert (answer.status_code, answer.json()["type"]) == (404, kind), path


async def test_a_task_is_cancelled_retried_and_skipped(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.operator()
    for verb, status in (("cancel", "FAILED"), ("retry", "PENDING"), ("skip", "SKIPPED")):
        answer = await http.post(f"/api/v1/plans/p/tasks/T-1/{verb}", json={"reason": "because"})
        assert answer.json() == {"status": status}
    answer = await http.post("/api/v1/plans/p/tasks/T-1/cancel", json={})
    assert (answer.status_code, answer.json()["type"]) == (409, "refused")


async def test_a_review_is_decided_once(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One", review=Review.BEFORE))
    http = await server.operator()
    answer = await http.post("/api/v1/plans/p/tasks/T-1/review", json={"decision": "changes_requested"})
    assert (answer.status_code, "Say what shall change" in answer.json()["detail"]) == (409, True)
    answer = await http.post("/api/v1/plans/p/tasks/T-1/review", json={"decision": "approved"})
    assert answer.json() == {"status": "PENDING"}
    answer = await http.post("/api/v1/plans/p/tasks/T-1/review", json={"decision": "approved"})
    assert answer.status_code == 409
    await server.numbered()
    events = (await http.get("/api/v1/events?plan=p&limit=1000")).json()["events"]
    assert [event["payload"]["reviewer"] for event in events if event["event_type"] == "human_review.approved"] == [
        "olga"
    ]


async def test_pausing_stops_claims_and_resuming_wakes_those_who_wait(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http, plane = await server.operator(), await server.control_plane()
    assert (await http.post("/api/v1/pause", json={"plan": "p", "reason": "lunch"})).status_code == 204
    assert (await http.get("/api/v1/plans/p")).json()["paused"] == "lunch"
    assert await plane.claim(ClaimRequest("c-1", "p", ("scripted",))) is None
    assert (await http.post("/api/v1/resume", json={"plan": "p"})).status_code == 204
    assert await plane.claim(ClaimRequest("c-2", "p", ("scripted",))) is not None


async def test_the_log_page_by_page(server: Server) -> None:
    await server.store("p", *(TaskSpec(f"T-{n}", "x") for n in range(30)))
    await server.numbered()
    http = await server.operator()
    seen: list[int] = []
    after = 0
    while True:
        page = (await http.get(f"/api/v1/events?after={after}&limit=7&plan=p")).json()
        if not page["events"]:
            break
        seen += [event["event_id"] for event in page["events"]]
        after = page["next"]
    assert seen == list(range(1, 32))
    assert (await http.get("/api/v1/events?after=x")).status_code == 400


async def test_the_words_of_a_form_have_their_limit(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One", review=Review.BEFORE))
    session = await server.session()
    form = {"decision": "approved", "words": "x" * (LONGEST_WORDS + 1)}
    assert "8,192 characters" in (await session.post("/plans/p/tasks/T-1", data=form)).text
    assert (await session.get("/api/v1/plans/p/tasks/T-1")).json()["status"] == "HUMAN_LOOP"
