"""The page, by what a person would see, and by what a hostile text would do."""

import asyncio
import re
from html.parser import HTMLParser

import pytest

from tests.builders import a_report, a_result
from tests.control_plane import Server
from whilly.core.outcome import Outcome
from whilly.core.plan import Review, Status, TaskSpec
from whilly.operations.read_plans import list_plans
from whilly.server.dashboard.present import short
from whilly.server.dashboard.rendering import assets, render
from whilly.wire.work import AttemptEvent, ClaimRequest, Heartbeat, Start

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "' onmouseover='alert(1)",
    "{{7*7}}",
    "</textarea></pre></details><script>alert(1)</script>",
    "javascript:alert(1)",
    '" hx-get="/evil" hx-trigger="load" x="',
    "\x1b[31m\u202egnp.exe",
)


class Tags(HTMLParser):
    """Which elements and attributes a page has, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


async def run_one(server: Server, plan: str, report: object, words: str) -> None:
    plane = await server.control_plane(f"worker {words}")
    assignment = await plane.claim(ClaimRequest("c", plan, ("scripted",)))
    assert assignment is not None
    await plane.start(assignment.key, Start(words, words, words))
    await plane.heartbeat(assignment.key, Heartbeat(words, words))
    await plane.events(assignment.key, [AttemptEvent("verification.failed", {"name": words})])
    await plane.finish(assignment.key, report)  # type: ignore[arg-type]


@pytest.mark.parametrize("words", HOSTILE)
async def test_a_hostile_text_is_text(server: Server, words: str) -> None:
    specs = (
        TaskSpec("T-1", words, acceptance_criteria=(words,), review=Review.RESULT),
        TaskSpec("T-2", words, review=Review.BEFORE),
        TaskSpec("T-3", words),
    )
    await server.store("p", *specs, project=words)
    result = a_result("unit", note=words, output_tail=words, command=words)
    await run_one(server, "p", a_report(summary=words, branch=words, checks=(result,)), words)
    http = await server.session()
    await http.post("/api/v1/pause", json={"plan": "p", "reason": words})
    await http.post("/api/v1/plans/p/tasks/T-3/skip", json={"reason": words})
    await server.numbered()

    for path in ("/", "/?plan=p&fragment=board"):
        page = (await http.get(path)).text
        tags = Tags(page)
        assert not [tag for tag, _ in tags.found if tag in {"img", "iframe", "object"} and path != "/"]
        assert all("src" in attributes for tag, attributes in tags.found if tag == "script")
        names = {name for _, attributes in tags.found for name in attributes}
        assert not [name for name in names if name.startswith("on") or name == "style"]
        links = [attributes.get("href") or "" for tag, attributes in tags.found if tag == "a"]
        assert all(link.startswith("/") and not link.startswith("//") for link in links)
        assert "49" not in tags.text or words != "{{7*7}}"
        gets = [attributes["hx-get"] for _, attributes in tags.found if "hx-get" in attributes]
        assert all((target or "").startswith("/?") for target in gets)
        assert "\x1b" not in page
        assert "\u202e" not in page


async def test_the_page_shows_what_there_is_and_approving_works(server: Server) -> None:
    await server.store(
        "p",
        TaskSpec("T-1", "Write the thing", review=Review.RESULT),
        TaskSpec("T-2", "Then this", dependencies=("T-1",)),
    )
    await run_one(server, "p", a_report(summary="I did it", checks=(a_result(),)), "scripted")
    http = await server.session()
    text = Tags((await http.get("/?plan=p")).text).text
    for expected in ("Needs you now", "Write the thing", "your decision", "Approve", "I did it", "unit", "waiting"):
        assert expected in text

    answer = await http.post("/plans/p/tasks/T-1", data={"decision": "approved", "words": ""})
    assert (answer.status_code, answer.headers["location"]) == (303, "/?plan=p")
    assert (await list_plans(server.database))[0].counts == {Status.DONE: 1, Status.PENDING: 1}
    text = Tags((await http.get("/?plan=p")).text).text
    assert "Needs you now" not in text


async def test_a_decision_that_came_too_late_is_explained_on_the_page(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.session()
    answer = await http.post(
        "/plans/p/tasks/T-1", data={"decision": "approved"}, headers={"HX-Request": "true", "Accept": "text/html"}
    )
    assert answer.status_code == 200
    assert "does not wait for a decision" in answer.text
    assert "<html" not in answer.text


async def test_a_failed_task_can_be_retried_from_the_page(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    await run_one(server, "p", a_report(Outcome.NO_CHANGES), "scripted")
    http = await server.session()
    assert "Retry" in (await http.get("/")).text
    await http.post("/plans/p/tasks/T-1", data={"decision": "retry"})
    assert (await list_plans(server.database))[0].counts == {Status.PENDING: 1}


async def test_a_plan_is_paused_and_resumed_from_the_page(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.session()
    await http.post("/plans/p", data={"decision": "pause"})
    assert "Paused:" in (await http.get("/")).text
    await http.post("/plans/p", data={"decision": "resume"})
    assert "Paused:" not in (await http.get("/")).text


async def test_many_open_tabs_share_a_rendering(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    http = await server.session()
    await http.get("/")
    rendered = []

    def counted(template: str, **values: object) -> str:
        rendered.append(template)
        return render(template, **values)

    monkeypatch.setattr("whilly.server.dashboard.boards.render", counted)
    answers = await asyncio.gather(*(http.get("/?plan=p&fragment=board") for _ in range(90)))
    assert len({answer.text for answer in answers}) == 1
    assert len(rendered) <= 4


async def test_no_plans_yet(server: Server) -> None:
    http = await server.session()
    assert "No plans yet" in (await http.get("/")).text
    assert (await http.get("/?plan=nope")).status_code == 404


async def test_a_large_plan_makes_no_large_page(server: Server) -> None:
    await server.store("p", *(TaskSpec(f"T-{n}", "A description of some length. " * 20) for n in range(2_000)))
    await server.numbered()
    http = await server.session()
    page = await http.get("/")
    assert len(page.content) < 60_000
    assert "1950 more tasks" in page.text
    assert len(re.findall(r'id="task-', (await http.get("/?plan=p&rows=500")).text)) == 500


async def test_first_paint_is_small_and_comes_from_us_alone(server: Server) -> None:
    await server.store("p", *(TaskSpec(f"T-{n}", "Some words about a task") for n in range(12)))
    http = await server.session()
    page = await http.get("/")
    total = len(page.content)
    for _, attributes in Tags(page.text).found:
        address = attributes.get("src") or (attributes.get("href") if attributes.get("rel") else None)
        if address:
            assert address.startswith("/static/")
            answer = await http.get(address, headers={"Accept-Encoding": "gzip"})
            assert answer.status_code == 200
            total += int(answer.headers["content-length"])
    assert total < 60_000


def test_the_scripts_of_others_come_with_their_licence() -> None:
    names = set(assets())
    assert {"htmx.min.js", "hx-sse.min.js", "htmx.LICENSE.txt"} <= names
    assert all(b"eval(" not in assets()[name].content for name in ("hx-sse.min.js", "page.js"))


def test_long_text_is_cut_and_marked() -> None:
    assert short("a" * 300) == "a" * 279 + "…"
    assert short("a" * 280) == "a" * 280
