"""Every field of every body with values that nobody expects: an answer that says so, and never a crash."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.access_matrix import CALLERS, MAY, grounds
from tests.control_plane import running_server
from whilly.server.app import ROUTES
from whilly.server.engine import Timing
from whilly.server.openapi import document, plain_path
from whilly.server.route import Route
from whilly.store.database import Database

DOCUMENT = document(ROUTES)
NUMBERS = ("-1", "0", "1e300", "-1e300", "NaN", "Infinity", "2147483648", "9223372036854775808", "1" * 400, "0.0000001")
TEXTS = ('""', '"\\u0000"', '"\\ud800"', '"\u202e\u0007"', '"../../etc/passwd"', f'"{"x" * 600}"')
OTHERS = ("null", "true", "[]", "{}", "[[[]]]", '{"a":{"b":[1]}}')


def example(schema: dict[str, Any]) -> str:
    """The smallest JSON that the schema allows."""
    match schema:
        case {"$ref": str(reference)}:
            return example(DOCUMENT["components"]["schemas"][reference.rpartition("/")[2]])
        case {"anyOf": [first, *_]}:
            return example(first)
        case {"enum": [first, *_]}:
            return f'"{first}"'
        case {"type": "object"}:
            needed = schema.get("required", [])
            return "{" + ",".join(f'"{name}":{example(schema["properties"][name])}' for name in needed) + "}"
        case {"type": "array"}:
            return "[" + example(schema["items"]) + "]" if "items" in schema else "[]"
        case {"type": "number" | "integer"}:
            return "1"
        case {"type": "boolean"}:
            return "false"
        case _:
            return '"p"'


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def hostile(schema: dict[str, Any]) -> Iterator[str]:
    """Bodies that are right but for one field."""
    schema = resolved(schema)
    if schema.get("type") == "array":
        yield from (f"[{each}]" for each in hostile(schema["items"]))
        yield "[" + ",".join([example(schema["items"])] * 3) + "]"
        return
    fields = schema.get("properties", {})
    needed = {name: example(fields[name]) for name in schema.get("required", [])}
    for name in fields:
        for value in (*NUMBERS, *TEXTS, *OTHERS):
            body = needed | {name: value}
            yield "{" + ",".join(f'"{field}":{content}' for field, content in body.items()) + "}"


def caller_for(route: Route) -> str:
    allowed = MAY[route.method, route.path].split()
    return "operator" if "operator" in allowed or allowed == ["anybody"] else allowed[0]


@pytest.mark.parametrize(
    "route",
    [route for route in ROUTES if route.body is not None],
    ids=lambda route: f"{route.method} {route.path}".replace("/api/v1", ""),
)
async def test_no_value_is_a_crash(database: Database, route: Route) -> None:
    body = DOCUMENT["paths"][plain_path(route)][route.method.lower()]["requestBody"]
    async with running_server(database, Timing(longest_wait=0.01)) as server:
        place = await grounds(server)
        http = await CALLERS[caller_for(route)](server)
        headers = {"Content-Type": "application/json"}
        for content in hostile(body["content"]["application/json"]["schema"]):
            data = content.encode("utf-8", "surrogatepass")
            answer = await http.request(route.method, place.address(route), content=data, headers=headers)
            assert answer.status_code < 500, (content[:200], answer.text)
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json", content[:200]
                assert set(answer.json()) == {"type", "title", "status", "detail", "remedy", "errors"}
                assert len(answer.content) < 10_000, content[:200]
