"""The OpenAPI document: complete, sound, and true of what the server really answers."""

import base64
import hashlib
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

import whilly.server
from tests.control_plane import Server
from whilly.client.connect import in_process
from whilly.core.evidence import CheckResult, Report, Usage
from whilly.core.outcome import Outcome
from whilly.core.plan import Review, TaskSpec
from whilly.operations.log_in import issue_login
from whilly.server.app import ROUTES, create_app
from whilly.server.openapi import PATH_WORDS, RESOURCES, document, plain_path
from whilly.store.database import Database
from whilly.wire.bundles import BundleOffer, BundlePart
from whilly.wire.codec import encode
from whilly.wire.presence import OrdersRequest, Presence
from whilly.wire.work import ClaimRequest, Heartbeat, Release, Start

Draft202012Validator: Any = importlib.import_module("jsonschema").Draft202012Validator
DOCUMENT = document(ROUTES)
PLAN = {
    "plan_id": "p",
    "project": "A plan",
    "tasks": [{"id": "T-1", "status": "pending", "priority": "low", "description": "One"}],
}
COMMIT = "1" * 40


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def references(value: Any) -> Iterator[str]:
    match value:
        case {"$ref": str(reference)}:
            yield reference
        case dict():
            for each in value.values():
                yield from references(each)
        case list():
            for each in value:
                yield from references(each)


def test_every_way_in_is_described() -> None:
    assert {(method, path) for method, path, _ in operations()} == {
        (route.method, plain_path(route)) for route in ROUTES
    }


def test_nothing_is_left_without_words() -> None:
    for method, path, operation in operations():
        assert operation["summary"].endswith((".", ":")) or operation["summary"].endswith("?"), (method, path)
        assert len(operation["summary"]) < 130, (method, path)
        for parameter in operation["parameters"]:
            assert parameter["description"].endswith("."), (method, path, parameter["name"])
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert schema.get("description") or name.startswith("PlanFile"), name


def test_every_answer_has_a_shape() -> None:
    for route in ROUTES:
        assert route.gives is not dict, (route.method, route.path)
        assert route.body is not dict, (route.method, route.path)


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(names)


def test_every_reference_leads_somewhere() -> None:
    for reference in references(DOCUMENT):
        place: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]


def test_schemas_are_json_schemas() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


async def test_numbers_in_texts_are_bounded_as_numbers(server: Server) -> None:
    await server.store("p", TaskSpec("T-1", "One"))
    described = DOCUMENT["components"]["schemas"]["PlanBudgetRequest"]["properties"]["budget_usd"]
    for amount, taken in (("0" * 600 + "2.50", True), ("9" * 600, False)):
        Draft202012Validator(described).validate(amount)
        answer = await (await server.operator()).put("/api/v1/plans/p/budget", json={"budget_usd": amount})
        assert answer.status_code == (204 if taken else 422), answer.text


def test_words_for_addresses_and_groups_are_all_in_use() -> None:
    used = {name for route in ROUTES for name in re.findall(r"\{(\w+)", route.path)}
    assert used <= set(PATH_WORDS)
    assert {route.resource for route in ROUTES} <= set(RESOURCES)


def test_no_endpoint_reads_a_parameter_that_is_not_described() -> None:
    folder = Path(inspect.getfile(whilly.server)).parent
    for file in [*folder.glob("routes/*.py"), *folder.glob("dashboard/*.py")]:
        assert "query_params" not in file.read_text(encoding="utf-8"), file.name


async def test_only_those_who_are_known_read_it(server: Server) -> None:
    assert (await server.nobody().get("/openapi.json")).status_code == 401
    for http in (await server.operator(), await server.worker(), await server.session()):
        told = (await http.get("/openapi.json")).json()
        assert (told["openapi"], set(told["paths"])) == ("3.1.0", set(DOCUMENT["paths"]))


def test_the_application_gives_the_same(database: Database) -> None:
    assert create_app(database).openapi() == DOCUMENT


class Watched:
    """Sends requests and compares each answer with the document, in which nothing else may be said."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()
        self._components = _closed(DOCUMENT["components"])

    async def __call__(self, http: httpx2.AsyncClient, method: str, path: str, **more: Any) -> Any:
        where = {"plan": "p", "task": "T-1", "epoch": more.pop("epoch", 1), "worker": "w-1", "number": 0} | more.pop(
            "at", {}
        )
        query = more.pop("query", "")
        value = more.pop("value", None)
        if value is not None:
            more |= {"content": encode(value), "headers": {"Content-Type": "application/json"}}
        answer = await http.request(method, path.format(**where) + query, **more)
        self.check(method, path, answer)
        return answer.json() if "json" in answer.headers.get("content-type", "") else answer.text

    def check(self, method: str, path: str, answer: httpx2.Response) -> None:
        described = DOCUMENT["paths"][path][method.lower()]["responses"]
        assert str(answer.status_code) in described, (method, path, answer.status_code, answer.text)
        if answer.is_success or answer.status_code == 303:
            self.seen.add((method, path))
        place = ["paths", path, method.lower(), "responses", str(answer.status_code)]
        if reference := described[str(answer.status_code)].get("$ref"):
            place = reference.removeprefix("#/").split("/")
        contents: Any = DOCUMENT
        for step in place:
            contents = contents[step]
        kind = answer.headers.get("content-type", "").partition(";")[0]
        if answer.status_code in (204, 303):
            assert not answer.content
            return
        assert kind in contents["content"] or "*/*" in contents["content"], (method, path, kind)
        if "json" not in kind:
            return
        schema = contents["content"][kind]["schema"] | {"components": self._components}
        validator = Draft202012Validator(schema)
        faults = [fault.message for fault in validator.iter_errors(answer.json())]
        assert not faults, (method, path, faults[:3])


def _closed(schema: Any) -> Any:
    """The same in which objects have no properties that are not described."""
    match schema:
        case {"type": "object", "properties": dict(), "title": str()}:
            return {key: _closed(value) for key, value in schema.items()} | {"additionalProperties": False}
        case dict():
            return {key: _closed(value) for key, value in schema.items()}
        case list():
            return [_closed(each) for each in schema]
        case _:
            return schema


TASK = "/api/v1/plans/{plan}/tasks/{task}"
ATTEMPT = TASK + "/attempts/{epoch}"

ENDLESS = {"/events/stream", "/changes"}
"""See test_live.py."""


async def work(ask: Watched, worker: httpx2.AsyncClient) -> None:
    """A worker's whole life."""
    told = await ask(worker, "POST", "/api/v1/presence", value=Presence("i-1", "host", {"scripted": "1"}))
    await ask(worker, "POST", "/api/v1/orders", value=OrdersRequest(told["session"]))
    request = ClaimRequest("c-1", "p", ("scripted",), session=told["session"])
    assert (await ask(worker, "POST", "/api/v1/claim", value=request))["spec"]["id"] == "T-1"
    await ask(worker, "POST", f"{ATTEMPT}/start", value=Start("scripted", "1"))
    await ask(worker, "POST", f"{ATTEMPT}/heartbeat", value=Heartbeat("agent", "hello", Usage(5)))
    await ask(worker, "POST", f"{ATTEMPT}/events", json=[{"type": "llm.run_started", "payload": {"a": 1}, "number": 1}])
    await ask(worker, "POST", f"{ATTEMPT}/transcript", json=[{"number": 0, "text": "hello"}])
    await bundle(ask, worker)
    check = CheckResult("unit", "make", True, True, 0, COMMIT, 12)
    report = Report(Outcome.COMPLETED, "", "done", "0" * 40, COMMIT, "whilly/p/T-1", checks=(check,), usage=Usage(7))
    await ask(worker, "POST", f"{ATTEMPT}/finish", value=report)
    await ask(worker, "POST", f"{ATTEMPT}/finish", value=report)
    await ask(worker, "POST", f"{ATTEMPT}/heartbeat", value=Heartbeat("agent"))
    second = await ask(worker, "POST", "/api/v1/claim", value=ClaimRequest("c-2", "p", ("scripted",), session=1))
    at = {"task": second["spec"]["id"], "epoch": second["epoch"]}
    await ask(worker, "POST", f"{ATTEMPT}/release", value=Release("shutdown"), at=at)
    await ask(worker, "POST", "/api/v1/claim", value=ClaimRequest("c-3", "q", ("scripted",), session=1))
    await ask(worker, "GET", "/api/v1/plans/{plan}")


async def bundle(ask: Watched, worker: httpx2.AsyncClient) -> None:
    """A result that travels through the control plane."""
    data = b"a bundle"
    offer = BundleOffer(COMMIT, len(data), hashlib.sha256(data).hexdigest())
    await ask(worker, "POST", f"{ATTEMPT}/bundle", value=offer)
    await ask(worker, "POST", f"{ATTEMPT}/bundle/parts", value=BundlePart(0, base64.b64encode(data).decode()))
    await ask(worker, "POST", f"{ATTEMPT}/bundle", value=offer)
    await ask(worker, "GET", f"{TASK}/bundle")
    await ask(worker, "GET", TASK + "/bundle/{epoch}/parts/{number}")


async def join(ask: Watched, server: Server, person: httpx2.AsyncClient) -> None:
    """Tokens: minted, used, rotated, revoked."""
    pass_ = await ask(person, "POST", "/api/v1/tokens", json={"kind": "bootstrap", "owner": "ada"})
    newcomer = in_process(server.app, pass_["bearer"])
    worker = await ask(newcomer, "POST", "/workers/register", json={"hostname": "host"})
    await ask(newcomer, "POST", "/workers/register", json={"hostname": "host"})
    await ask(in_process(server.app, worker["token"]), "POST", "/api/v1/token/rotate")
    await ask(person, "GET", "/api/v1/tokens", query="?ended=true")
    token = await ask(person, "POST", "/api/v1/tokens/{token}/rotate", at={"token": worker["token_id"]})
    await ask(person, "POST", "/api/v1/tokens/{token}/revoke", at={"token": token["id"]})
    await ask(person, "POST", "/api/v1/tokens/{token}/revoke", at={"token": "t-none"})
    await ask(person, "POST", "/api/v1/workers/{worker}/revoke", at={"worker": worker["worker_id"]})
    await ask(server.nobody(), "GET", "/api/v1/identity")
    challenge = {"nonce": "n" * 32, "address": "http://localhost"}
    await ask(server.nobody(), "POST", "/api/v1/identity/proof", json=challenge)


async def look(ask: Watched, person: httpx2.AsyncClient) -> None:
    """Everything that can be looked at."""
    for path in ("plans", "workers", "control", "events", "events/verification"):
        await ask(person, "GET", f"/api/v1/{path}")
    for path in ("", "/overview", "/export", "/triz", "/reviews"):
        await ask(person, "GET", "/api/v1/plans/{plan}" + path)
    for path in ("", "/why", "/attempts", "/transcript"):
        await ask(person, "GET", TASK + path)
    for path in ("", "/evidence", "/transcript"):
        await ask(person, "GET", ATTEMPT + path)
        await ask(person, "GET", ATTEMPT + path, epoch=77)
    await ask(person, "GET", "/api/v1/tasks", query="?plan_id=p&limit=1")
    await ask(person, "GET", "/api/v1/tasks", query="?plan_id=p&limit=0")
    for path in ("/health", "/health/live", "/health/ready", "/", "/openapi.json"):
        await ask(person, "GET", path)


async def steer(ask: Watched, person: httpx2.AsyncClient) -> None:
    """Everything that a person can do."""
    await ask(person, "POST", "/api/v1/plans", json={"id": "q", "name": "Another", "budget_usd": 2.5})
    await ask(person, "POST", "/api/v1/plans", json={"id": "q", "name": "Another"})
    await ask(person, "POST", "/api/v1/plans/import", json=PLAN | {"plan_id": "r"})
    await ask(person, "POST", "/api/v1/plans/import", json={"tasks": 5})
    await ask(person, "POST", "/api/v1/plans/apply", json=PLAN | {"plan_id": "r"}, query="?strict=true")
    await ask(person, "PUT", "/api/v1/plans/{plan}/budget", json={"budget_usd": 9.25})
    await ask(person, "PUT", f"{TASK}/budget", json={"budget_usd": None})
    for verb in ("retry", "cancel", "skip"):
        await ask(person, "POST", f"{TASK}/{verb}", json={}, at={"plan": "r"})
    await ask(person, "POST", f"{TASK}/review", json={"decision": "approved"}, at={"task": "T-3"})
    await ask(person, "POST", f"{TASK}/review", json={"decision": "approved"}, at={"task": "T-3"})
    await ask(person, "POST", "/api/v1/logins")
    for path in ("pause", "resume"):
        await ask(person, "POST", f"/api/v1/{path}", json={"reason": "lunch"})
    for path in ("drain", "resume"):
        await ask(person, "POST", "/api/v1/workers/{worker}/" + path)
    await ask(person, "POST", "/api/v1/plans/{plan}/reset", json={"hard": True}, at={"plan": "r"})


async def browse(ask: Watched, server: Server) -> None:
    """What a person's browser does, and what Prometheus asks for."""
    code = await issue_login(server.database, "ada")
    await ask(server.nobody(), "GET", "/login/{code}", at={"code": code})
    await ask(server.nobody(), "GET", "/login/{code}", at={"code": code})
    browser = await server.session()
    page = await ask(browser, "GET", "/", query="?plan=p")
    (name, *_) = re.findall(r'"/static/([^"]+)"', page)
    await ask(browser, "GET", "/static/{name}", at={"name": name})
    for decision in ("pause", "resume"):
        await ask(browser, "POST", "/plans/{plan}", data={"decision": decision})
    await ask(browser, "POST", "/plans/{plan}/tasks/{task}", data={"decision": "skip"}, at={"task": "T-2"})
    await ask(browser, "POST", "/plans/{plan}/tasks/{task}", data={"decision": "skip"}, at={"task": "T-1"})
    await ask(browser, "POST", "/logout")
    await ask(browser, "GET", "/")
    await ask(await server.scraper(), "GET", "/metrics")


async def test_answers_are_as_described(server: Server) -> None:
    tasks = (TaskSpec("T-1", "One"), TaskSpec("T-2", "Two"), TaskSpec("T-3", "Three", review=Review.BEFORE))
    await server.store("p", *tasks)
    await server.store("q-empty")
    ask, person, worker = Watched(), await server.operator(), await server.worker()
    await work(ask, worker)
    await server.numbered()
    await look(ask, person)
    await join(ask, server, person)
    await browse(ask, server)
    await steer(ask, person)
    await ask(worker, "POST", "/api/v1/presence/end", json={"session": 1})
    await ask(server.nobody(), "GET", "/health")
    await ask(server.nobody(), "GET", "/api/v1/plans")
    await ask(worker, "GET", "/api/v1/plans")
    await ask(worker, "POST", "/api/v1/claim", json=[])
    missing = {(method, path) for method, path, _ in operations() if path not in ENDLESS} - ask.seen
    assert not missing
