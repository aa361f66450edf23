"""What a person does with the page, and what a hostile text or a hostile page can do with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visitor
from tests.builders import a_report, a_result
from tests.control_plane import eventually
from whilly.core.assignment import Assignment
from whilly.core.plan import Review, Status, TaskSpec
from whilly.operations.read_plans import list_plans
from whilly.wire.work import AttemptEvent, ClaimRequest, Heartbeat, Start

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "' autofocus onfocus='alert(1)",
    "<iframe srcdoc='<script>parent.alert(1)</script>'>",
    "</textarea><script>alert(1)</script>",
    "<a href=javascript:alert(1)>x</a>",
    "<form action=/logout method=post><button>x</button></form>",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    '<div hx-get="/logout" hx-trigger="load" hx-on:htmx:load="alert(1)">x</div>',
    "{{constructor.constructor('alert(1)')()}}",
)


async def claimed(visitor: Visitor, claim_id: str, words: str = "scripted") -> Assignment:
    plane = await visitor.server.control_plane()
    assignment = await plane.claim(ClaimRequest(claim_id, "p", ("scripted",)))
    assert assignment is not None
    await plane.start(assignment.key, Start(words))
    return assignment


async def test_log_in_watch_and_approve(visitor: Visitor, tmp_path: Path) -> None:
    result = TaskSpec("T-1", "Write the thing", review=Review.RESULT)
    await visitor.server.store("p", result, TaskSpec("T-2", "Then this", dependencies=("T-1",)))
    page = await visitor.log_in()
    await expect(page.locator("#live")).to_have_attribute("data-state", "on")
    await expect(page.locator("#task-T-1 .badge")).to_have_text("waiting")

    assignment = await claimed(visitor, "c-1")
    await expect(page.locator("#task-T-1 .badge")).to_have_text("running")
    plane = await visitor.server.control_plane()
    await plane.heartbeat(assignment.key, Heartbeat("agent", "reading the manual"))
    await expect(page.locator("#task-T-1 .last-line")).to_have_text("reading the manual")

    await plane.finish(assignment.key, a_report(summary="I did it", checks=(a_result(),)))
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await page.fill("#words-T-1", "well do")
    await page.focus("#words-T-1")
    await page.locator("#summary-T-1 summary").click()
    await page.focus("#words-T-1")
    await visitor.server.store("q", TaskSpec("T-9", "Another plan"))
    visitor.server.engine.live.touch("p")
    await expect(page.get_by_role("navigation", name="Plans")).to_contain_text("q")
    await page.keyboard.press("End")
    await page.keyboard.type("ne")
    assert await page.input_value("#words-T-1") == "well done"
    await expect(page.locator("#summary-T-1 pre")).to_have_text("I did it")
    await page.screenshot(path=tmp_path / "approve.png", full_page=True)

    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator("#task-T-1 .badge")).to_have_text("done")
    await expect(page.locator(".card")).to_have_count(0)
    await expect(page.locator(".events")).to_contain_text("was approved by ada: well done")
    assert not visitor.complaints
    assert all(url.startswith(visitor.address) for url in visitor.requests)
    assert not [url for url in visitor.requests if "whl_" in url]


async def test_the_page_can_be_read_and_used_without_javascript(visitor: Visitor) -> None:
    await visitor.server.store("p", TaskSpec("T-1", "Write the thing", review=Review.BEFORE))
    browser = visitor.context.browser
    assert browser is not None
    visitor.context = await browser.new_context(java_script_enabled=False)
    page = await visitor.log_in()
    await expect(page.locator("#task-T-1")).to_contain_text("Write the thing")
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator("#task-T-1 .badge")).to_have_text("waiting")


async def test_the_page_finds_back_after_the_server_was_away(visitor: Visitor) -> None:
    await visitor.server.store("p", TaskSpec("T-1", "Write the thing"))
    page = await visitor.log_in()
    await expect(page.locator("#live")).to_have_attribute("data-state", "on")
    await visitor.context.set_offline(True)
    visitor.server.engine.live.close()
    await expect(page.locator("#live")).to_have_attribute("data-state", "off")
    visitor.server.engine.live._closed.clear()
    await visitor.context.set_offline(False)
    await expect(page.locator("#live")).to_have_attribute("data-state", "on", timeout=20_000)
    await claimed(visitor, "c-1")
    await expect(page.locator("#task-T-1 .badge")).to_have_text("running")


async def test_without_a_stream_the_page_looks_again_by_itself(visitor: Visitor) -> None:
    await visitor.server.store("p", TaskSpec("T-1", "Write the thing"))
    await visitor.context.route("**/changes*", lambda route: route.abort())
    page = await visitor.log_in()
    await expect(page.locator("#live")).to_have_attribute("data-state", "off")
    await claimed(visitor, "c-1")
    await expect(page.locator("#task-T-1 .badge")).to_have_text("running", timeout=10_000)


async def test_a_hostile_text_stays_text(visitor: Visitor) -> None:
    specs = [TaskSpec(f"T-{n}", words, review=Review.RESULT) for n, words in enumerate(HOSTILE)]
    await visitor.server.store("p", *specs, project=HOSTILE[1])
    page = await visitor.log_in()
    await expect(page.locator("#live")).to_have_attribute("data-state", "on")
    plane = await visitor.server.control_plane()
    for number, words in enumerate(HOSTILE):
        assignment = await claimed(visitor, f"c-{number}", words)
        await plane.heartbeat(assignment.key, Heartbeat(words, words))
        await plane.events(assignment.key, [AttemptEvent("verification.failed", {"name": words})])
        check = a_result(note=words, output_tail=words)
        await plane.finish(assignment.key, a_report(summary=words, branch=words, checks=(check,)))
    await expect(page.locator(".card")).to_have_count(len(HOSTILE))
    for summary in await page.locator("summary").all():
        await summary.click()
    await expect(page.locator("#card-T-0")).to_contain_text(HOSTILE[0])
    assert not visitor.complaints
    assert all(url.startswith(visitor.address) for url in visitor.requests)


async def test_a_page_of_another_origin_gets_and_does_nothing(visitor: Visitor) -> None:
    """Same host, another port: the browser even sends the cookie along, for ports do not make a site."""
    await visitor.server.store("p", TaskSpec("T-1", "a secret thing"))
    await visitor.log_in()
    attack = f"""<!doctype html><title>attack</title>
    <form id=f method=post action="{visitor.address}/plans/p/tasks/T-1" target=i><input name=decision value=skip></form>
    <iframe name=i></iframe><iframe src="{visitor.address}/"></iframe><img src="{visitor.address}/static/icon.svg">
    <script>
    const url = "{visitor.address}", told = [];
    document.getElementById("f").submit();
    const tries = [
      () => fetch(url + "/api/v1/plans", {{credentials: "include"}}).then(a => a.text()),
      () => fetch(url + "/api/v1/plans/p/tasks/T-1/skip", {{method: "POST", credentials: "include",
        headers: {{"Content-Type": "text/plain"}}, body: "{{}}"}}).then(a => a.text()),
      () => fetch(url + "/plans/p/tasks/T-1", {{method: "POST", mode: "no-cors", credentials: "include",
        body: new URLSearchParams({{decision: "skip"}})}}).then(a => a.text()),
      () => new Promise((good, bad) => {{
        const stream = new EventSource(url + "/events/stream", {{withCredentials: true}});
        stream.onopen = () => good("stream"); stream.onerror = () => {{ stream.close(); bad(); }};
      }}),
    ];
    Promise.allSettled(tries.map(one => one())).then(all => {{
      document.title = JSON.stringify(all.map(one => one.value ?? "nothing"));
    }});
    </script>"""
    async with hosted(attack) as elsewhere:
        page = await visitor.context.new_page()
        await page.goto(elsewhere)
        await expect(page).not_to_have_title("attack")
        title = await page.title()
        frames = [await frame.content() for frame in page.frames[1:]]
    assert "secret" not in title
    assert "stream" not in title
    assert not [content for content in frames if "secret" in content]
    assert (await list_plans(visitor.server.database))[0].counts == {Status.PENDING: 1}
    await eventually(lambda: _nobody_watches(visitor))


@asynccontextmanager
async def hosted(html: str) -> AsyncIterator[str]:
    """A web server of somebody else."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = html.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


async def _nobody_watches(visitor: Visitor) -> bool:
    return len(visitor.server.engine.live) <= 1
