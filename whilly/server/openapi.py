"""The OpenAPI document, made from the route table and from the types of what goes in and out."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from whilly import __version__
from whilly.core.tokens import TokenKind
from whilly.server.route import Route
from whilly.server.texts import CUT, LONGEST, LONGEST_OTHER
from whilly.wire.protocol import HEADER, VERSION, oldest_served
from whilly.wire.work import Problem

Json = dict[str, Any]
Mode = Literal["validation", "serialization"]

PATH_WORDS = {
    "plan": "The plan's id.",
    "task": "The task's id.",
    "epoch": "Number of the attempt.",
    "worker": "The worker's identity.",
    "token": "The token's public id.",
    "code": "The one-time code.",
    "name": "Name of the file.",
    "number": "Number of the part, counted from 0.",
}
RESOURCES = {
    "work": "Workers: tasks and reports",
    "presence": "Workers: presence and orders",
    "workers": "Workers",
    "registration": "Workers: registration",
    "bundles": "Results that travel as bundles",
    "tokens": "Tokens",
    "plans": "Plans",
    "planfiles": "Plan files",
    "tasks": "Tasks",
    "attempts": "Attempts and evidence",
    "steering": "Decisions of people",
    "control": "Pause and resume",
    "events": "The log",
    "health": "Health",
    "metrics": "Metrics",
    "login": "Login",
    "description": "This description",
    "pages": "Pages for people",
}
GENERAL = {
    400: "A parameter, a header or the protocol version makes no sense.",
    401: "Nobody known sends this.",
    403: "The caller may not do this, or not in this plan.",
    404: "There is no such thing.",
    408: "The body did not arrive in time.",
    409: "The rules do not allow this now.",
    413: "The body is too large.",
    415: "The body has another type than agreed.",
    422: "The body is not what was agreed.",
    429: "Too many requests or streams; `Retry-After` says when to ask again.",
    503: "The control plane cannot answer now; `Retry-After` says when to ask again.",
}
_OF_BODIES = (408, 413, 415, 422)


def document(routes: Iterable[Route]) -> Json:
    """The description of all ways in (OpenAPI 3.1)."""
    table = tuple(routes)
    components = _Components(table)
    paths: dict[str, Json] = {}
    for route in table:
        paths.setdefault(plain_path(route), {})[route.method.lower()] = _operation(route, components)
    used = dict.fromkeys(route.resource for route in table)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Whilly",
            "version": __version__,
            "summary": "The control plane's API.",
            "description": (
                f"Errors are problem details (RFC 9457). Callers may say which protocol they speak in `{HEADER}`: "
                f"this server speaks {oldest_served()} to {VERSION}."
            ),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": RESOURCES[resource]} for resource in used],
        "paths": paths,
        "components": {
            "schemas": components.schemas,
            "responses": {
                f"Problem{status}": _problem_response(components, meaning) for status, meaning in GENERAL.items()
            }
            | {"Problem": _problem_response(components, "Any other error.")},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "whl_<kind>_<secret><checksum>"},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "__Host-whilly",
                    "description": "A browser's session, by a one-time link. Over plain HTTP: `whilly_<port>`.",
                },
            },
        },
    }


def plain_path(route: Route) -> str:
    """The address without the types of its parts."""
    return re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path)


def refusals(route: Route) -> tuple[int, ...]:
    """Statuses of the problems that it may answer with, besides what every way in may."""
    wanted = {400, 503}
    if route.allowed is not None:
        wanted |= {401, 403}
    if "{" in route.path or any(parameter.name.startswith("plan") for parameter in route.query):
        wanted.add(404)
    if route.body is not None or route.form:
        wanted.update(_OF_BODIES)
    if route.method != "GET":
        wanted.update((409, 422))
    if route.media == "text/event-stream":
        wanted.add(429)
    return tuple(sorted(wanted - set(route.also)))


def _operation(route: Route, components: "_Components") -> Json:
    operation: Json = {
        "operationId": f"{route.resource}.{route.endpoint.__name__}",
        "tags": [RESOURCES[route.resource]],
        "summary": route.summary,
        "description": route.description,
        "parameters": [*_path_parameters(route), *_parameters(route)],
        "responses": {
            **_answers(route, components),
            **{str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in refusals(route)},
            "default": {"$ref": "#/components/responses/Problem"},
        },
        "security": _security(route),
        "x-callers": sorted(kind.value for kind in route.allowed) if route.allowed is not None else ["anybody"],
        "x-vital": route.vital,
    }
    if route.body is not None:
        schema = components.of(route.body, "validation")
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    elif route.form:
        fields = {name: {"type": "string", "description": means} for name, means in route.form.items()}
        form = {"schema": {"type": "object", "properties": fields}}
        operation["requestBody"] = {"required": True, "content": {"application/x-www-form-urlencoded": form}}
    return operation


def _path_parameters(route: Route) -> Iterator[Json]:
    for name, kind in re.findall(r"\{(\w+)(?::(\w+))?\}", route.path):
        schema = {"type": "integer", "minimum": 0} if kind == "int" else {"type": "string", "minLength": 1}
        yield {"name": name, "in": "path", "required": True, "description": PATH_WORDS[name], "schema": schema}


def _parameters(route: Route) -> Iterator[Json]:
    for parameter in route.query:
        yield {
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.required,
            "description": parameter.means,
            "schema": parameter.schema,
        }


def _answers(route: Route, components: "_Components") -> dict[str, Json]:
    content: Json = {}
    if route.gives is not None:
        content = {"content": {"application/json": {"schema": components.of(route.gives, "serialization")}}}
    elif route.media:
        content = {"content": {route.media: {"schema": {"type": "string"}}}}
    answers = {str(route.success): {"description": "Done.", **content}}
    if route.or_nothing:
        answers["204"] = {"description": "There was nothing."}
    for status, meaning in route.also.items():
        answers[str(status)] = {"description": meaning, **({} if 300 <= status < 400 else content)}
    return answers


def _security(route: Route) -> list[Json]:
    if route.allowed is None:
        return []
    schemes: list[Json] = [{"bearer": []}] if route.allowed - {TokenKind.SESSION} else []
    return [*schemes, {"session": []}] if TokenKind.SESSION in route.allowed else schemes


def _problem_response(components: "_Components", meaning: str) -> Json:
    schema = components.of(Problem, "serialization")
    return {"description": meaning, "content": {"application/problem+json": {"schema": schema}}}


class _Schemas(GenerateJsonSchema):
    """Knows that an answer has all its fields, also those that a request may leave out."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Whether the field is always there."""
        return self.mode == "serialization" or super().field_is_required(field, total)


class _Components:
    """The schemas of all types in the table, each once."""

    def __init__(self, routes: Iterable[Route]) -> None:
        wanted: dict[tuple[Any, Mode], None] = {(Problem, "serialization"): None}
        written: dict[str, Callable[[], Json]] = {}
        for route in routes:
            for kind, mode in ((route.body, "validation"), (route.gives, "serialization")):
                if inspect.isfunction(kind):
                    written[_name_of(kind)] = kind
                elif kind is not None:
                    wanted[kind, mode] = None  # type: ignore[index]  # mypy makes a str of the two literals
        kinds = {kind: TypeAdapter(kind) for kind, _ in wanted}
        self._found, defined = TypeAdapter.json_schemas(
            [(kind, mode, kinds[kind]) for kind, mode in wanted],
            ref_template="#/components/schemas/{model}",
            schema_generator=_Schemas,
        )
        self.schemas: Json = defined.get("$defs", {})
        _describe(self.schemas, kinds)
        _bound(self.schemas, [kind for kind, mode in wanted if mode == "validation"])
        for name, kind in written.items():
            self._lift(name, kind())

    def of(self, kind: Any, mode: Mode) -> Json:
        """The schema of a type, or where it stands."""
        if inspect.isfunction(kind):
            return {"$ref": f"#/components/schemas/{_name_of(kind)}"}
        return self._found[kind, mode]

    def _lift(self, name: str, schema: Json) -> None:
        """Take in a schema that was written by hand, with its parts."""
        schema.pop("$schema", None)
        parts = schema.pop("$defs", {})
        for part, content in {name: schema, **{f"{name}.{part}": each for part, each in parts.items()}}.items():
            self.schemas[part] = _with_references(content, f"#/components/schemas/{name}.")


def _name_of(written: Callable[[], Json]) -> str:
    return "".join(word.capitalize() for word in written()["title"].removeprefix("Whilly ").split()) + "File"


def _with_references(schema: Any, place: str) -> Any:
    match schema:
        case {"$ref": str(reference)}:
            return {**schema, "$ref": reference.replace("#/$defs/", place)}
        case dict():
            return {key: _with_references(each, place) for key, each in schema.items()}
        case list():
            return [_with_references(each, place) for each in schema]
        case _:
            return schema


def _describe(schemas: Json, kinds: Iterable[Any]) -> None:
    """Give each field the words that stand under it in the code."""
    classes = {cls.__name__: cls for kind in kinds for cls in _dataclasses_in(kind)}
    for name, schema in schemas.items():
        cls = classes.get(name.partition("-")[0])
        if cls is None:
            continue
        words = field_words(cls)
        for field, content in schema.get("properties", {}).items():
            content.pop("title", None)
            if field in words:
                content["description"] = words[field]


def _bound(schemas: Json, bodies: Iterable[Any]) -> None:
    """Say how long the texts of a request may be, where longer ones are refused. Numbers have bounds of their own."""
    for cls in {cls for kind in bodies for cls in _dataclasses_in(kind)} - set(CUT):
        schema: Json = schemas.get(f"{cls.__name__}-Input") or schemas.get(cls.__name__) or {}
        numbers = {field for field, kind in get_type_hints(cls).items() if Decimal in (kind, *get_args(kind))}
        for field, content in schema.get("properties", {}).items():
            longest = None if field in numbers else LONGEST.get(field, LONGEST_OTHER)
            for text in (content, *content.get("anyOf", ()), content.get("items", {})):
                if longest is not None and text.get("type") == "string":
                    text["maxLength"] = longest


def _dataclasses_in(kind: Any, seen: set[Any] | None = None) -> Iterator[type]:
    seen = set() if seen is None else seen
    if kind in seen:
        return
    seen.add(kind)
    for part in get_args(kind):
        yield from _dataclasses_in(part, seen)
    if is_dataclass(kind) and isinstance(kind, type):
        yield kind
        for part in get_type_hints(kind).values():
            yield from _dataclasses_in(part, seen)


@cache
def field_words(cls: type) -> Mapping[str, str]:
    """What stands under the fields of a dataclass, its own and those that it inherits."""
    words: dict[str, str] = {}
    for each in reversed(cls.__mro__[:-1]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(tree, ast.ClassDef)  # noqa: S101 - the source of a class
        for field, after in zip(tree.body, tree.body[1:], strict=False):
            match field, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                    words[name] = " ".join(said.split())
    return words
