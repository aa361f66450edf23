"""A person is logged in, and opens a page of somebody else: by no way does it read, act or listen in their name.

Names are resolved by the browser as an attacker's name server would: a name of his own that leads to our address.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from playwright.async_api import BrowserContext, Page, async_playwright

from tests.browser.conftest import CHROMIUM
from tests.control_plane import Server, eventually
from whilly.core.plan import Status, TaskSpec
from whilly.operations.log_in import issue_login
from whilly.operations.read_plans import list_plans
from whilly.server.serve import serving

pytestmark = [pytest.mark.browser, pytest.mark.timeout(90)]

SECRET = "a-secret-in-the-plan"
ATTACKER = "attacker.example"
REBOUND = "rebound.example"

ATTACKS = """
const url = %s;
const got = {};
const note = (name, value) => { got[name] = String(value ?? "").slice(0, 2000); };
const text = answer => answer.text();
const post = (path, options) => fetch(url + path, {method: "POST", ...options}).then(text);
const json = {headers: {"Content-Type": "application/json"}};
const tries = {
  "fetch with cookies": () => fetch(url + "/api/v1/plans", {credentials: "include"}).then(text),
  "fetch without": () => fetch(url + "/api/v1/plans").then(text),
  "opaque fetch": () => fetch(url + "/", {mode: "no-cors", credentials: "include"}).then(text),
  "fetch of the page": () => fetch(url + "/", {credentials: "include", headers: {Accept: "text/html"}}).then(text),
  "fetch of the metrics": () => fetch(url + "/metrics", {credentials: "include"}).then(text),
  "fetch of the description": () => fetch(url + "/openapi.json", {credentials: "include"}).then(text),
  "post as a form": () => post("/plans/p/tasks/T-1", {mode: "no-cors", credentials: "include",
    body: new URLSearchParams({decision: "skip"})}),
  "post as text": () => post("/api/v1/plans/p/tasks/T-1/skip", {mode: "no-cors", credentials: "include",
    headers: {"Content-Type": "text/plain"}, body: "{}"}),
  "post as JSON": () => post("/api/v1/plans/p/tasks/T-1/skip", {...json, credentials: "include", body: "{}"}),
  "claim": () => post("/api/v1/claim", {mode: "no-cors", credentials: "include",
    body: '{"claim_id": "evil", "plan": "p", "agents": ["scripted"]}'}),
  "register": () => post("/workers/register", {mode: "no-cors", credentials: "include", body: '{"hostname": "evil"}'}),
  "pause": () => post("/api/v1/pause", {mode: "no-cors", credentials: "include", body: '{"reason": "evil"}'}),
  "log out": () => post("/logout", {mode: "no-cors", credentials: "include"}),
  "beacon": async () => navigator.sendBeacon(url + "/api/v1/pause", '{"reason": "evil"}') && "",
  "event source": () => new Promise((good, bad) => {
    const stream = new EventSource(url + "/events/stream", {withCredentials: true});
    stream.onopen = () => good("opened"); stream.onmessage = event => good(event.data);
    stream.onerror = () => { stream.close(); bad("error"); };
  }),
  "nudges": () => new Promise((good, bad) => {
    const stream = new EventSource(url + "/changes", {withCredentials: true});
    stream.onopen = () => good("opened"); stream.onerror = () => { stream.close(); bad("error"); };
  }),
  "web socket": () => new Promise((good, bad) => {
    const socket = new WebSocket(url.replace("http", "ws") + "/events/stream");
    socket.onopen = () => good("opened"); socket.onerror = () => bad("error");
  }),
  "img": () => new Promise((good, bad) => {
    const image = new Image();
    image.onload = () => good("loaded"); image.onerror = () => bad("error"); image.src = url + "/static/icon.svg";
  }),
  "script": () => new Promise((good, bad) => {
    const script = document.createElement("script");
    script.onload = () => good("loaded"); script.onerror = () => bad("error"); script.src = url + "/static/page.js";
    document.body.append(script);
  }),
  "frame": () => new Promise(good => {
    const frame = document.createElement("iframe");
    frame.onload = () => { try { good(frame.contentDocument.body.textContent); } catch { good(""); } };
    frame.src = url + "/"; document.body.append(frame);
  }),
  "form": () => new Promise(good => {
    const frame = Object.assign(document.createElement("iframe"), {name: "target"});
    const form = Object.assign(document.createElement("form"),
      {method: "post", action: url + "/plans/p/tasks/T-1", target: "target"});
    form.append(Object.assign(document.createElement("input"), {name: "decision", value: "skip"}));
    document.body.append(frame, form);
    frame.onload = () => { try { good(frame.contentDocument.body.textContent); } catch { good(""); } };
    form.submit();
  }),
  "window": () => new Promise(good => {
    const other = window.open(url + "/");
    setTimeout(() => { try { good(other.document.body.textContent); } catch { good(""); } }, 500);
  }),
};
Promise.all(Object.entries(tries).map(async ([name, attack]) => {
  const late = new Promise(good => setTimeout(() => good("late"), 5000));
  try { note(name, await Promise.race([attack(), late])); } catch (error) { note(name, ""); }
})).then(() => { window.got = JSON.stringify(got); });
"""

MAY = {"img": {""}, "script": {""}, "event source": {""}, "nudges": {""}, "web socket": {""}}
"""What an attack may have got at most, where it is not enough that there is no secret in it."""


@dataclass
class Victim:
    """A person's browser, and the server that it is logged in to."""

    server: Server
    address: str
    context: BrowserContext
    page: Page

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


@pytest.fixture
async def victim(server: Server) -> AsyncIterator[Victim]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    # Without the browser's own rules about local addresses, which others do not have, so that ours are tried.
    arguments.append("--disable-features=LocalNetworkAccessChecks")
    arguments.append(f"--host-resolver-rules=MAP {ATTACKER} 127.0.0.1, MAP {REBOUND} 127.0.0.1")
    async with async_playwright() as playwright, serving(server.app) as address:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        context = await browser.new_context()
        try:
            await server.store("p", TaskSpec("T-1", SECRET))
            page = await context.new_page()
            await page.goto(f"{address}/login/{await issue_login(server.database, 'ada')}")
            await page.wait_for_url(f"{address}/")
            yield Victim(server, address, context, page)
        finally:
            await browser.close()


@pytest.mark.parametrize("host", [ATTACKER, "127.0.0.1"], ids=["another site", "another port of the same host"])
async def test_a_page_elsewhere_gets_nothing_and_does_nothing(victim: Victim, host: str) -> None:
    async with hosted() as port:
        got = await attacked(victim, f"http://{host}:{port}/", victim.address)
    check_nothing_was_got(got)
    await check_nothing_was_done(victim)


async def test_a_name_that_was_turned_to_our_address_gets_nothing_and_does_nothing(victim: Victim) -> None:
    """DNS rebinding: the page's own origin leads to our server, so no rule of the browser is in the way."""
    own = f"http://{REBOUND}:{victim.port}"
    page = await victim.context.new_page()
    answer = await page.goto(f"{own}/")
    assert answer is not None
    assert answer.status == 421
    assert SECRET not in await page.content()
    # As if the page had been loaded from there before the name was turned: scripts run in that very origin.
    await page.route(f"{own}/lure", lambda route: route.fulfill(content_type="text/html", body="<body>lure</body>"))
    got = await attacked(victim, f"{own}/lure", own, page)
    check_nothing_was_got({name: value for name, value in got.items() if name != "opaque fetch"})
    assert "Unknown host" in got["fetch of the page"]
    await check_nothing_was_done(victim)


async def attacked(victim: Victim, lure: str, target: str, page: Page | None = None) -> dict[str, str]:
    """What each attack of a page at `lure` got."""
    page = page or await victim.context.new_page()
    await page.goto(lure)
    await page.evaluate(ATTACKS % json.dumps(target))
    await page.wait_for_function("window.got !== undefined", timeout=30_000)
    got: dict[str, str] = json.loads(await page.evaluate("window.got"))
    frames = [await frame.content() for frame in page.frames[1:] if not frame.is_detached()]
    return {**got, **{f"frame {number}": content for number, content in enumerate(frames)}}


def check_nothing_was_got(got: dict[str, str]) -> None:
    assert len(got) >= 20
    assert not {name: value for name, value in got.items() if SECRET in value or "T-1" in value}
    assert not {name: got[name] for name, allowed in MAY.items() if got[name] not in allowed}


async def check_nothing_was_done(victim: Victim) -> None:
    """The task waits as before, nothing is paused, nobody listens, and the person is still logged in."""
    (plan,) = await list_plans(victim.server.database)
    assert plan.counts == {Status.PENDING: 1}
    async with victim.server.database.connection() as connection:
        told = await connection.fetch("select type from events where type ~ 'pause|regist|claim|CLAIM|SKIP|logged_out'")
        ended = await connection.fetchval("select count(*) from tokens where revoked_at is not null")
    assert [row["type"] for row in told] == []
    assert ended == 0
    for page in victim.context.pages:
        if page != victim.page:
            await page.close()
    await victim.page.reload()
    assert SECRET in await victim.page.content()

    async def only_the_person_watches() -> bool:
        return len(victim.server.engine.live) <= 1

    await eventually(only_the_person_watches)


@asynccontextmanager
async def hosted() -> AsyncIterator[int]:
    """A web server of somebody else; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"<!doctype html><title>win a prize</title><body></body>"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
