"""The reference of the HTTP API, made from the OpenAPI document that the server gives."""

from typing import Any

from whilly.server.app import ROUTES
from whilly.server.openapi import GENERAL, document

Json = dict[str, Any]


def http_reference() -> str:
    """Every way in, by group."""
    described = document(ROUTES)
    parts = []
    for tag in described["tags"]:
        parts.append(f"## {tag['name']}")
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                if operation["tags"] == [tag["name"]]:
                    parts.append(_operation(method, path, operation))
    return "\n\n".join(parts)


def http_types() -> str:
    """Every type of what goes in and out."""
    schemas = document(ROUTES)["components"]["schemas"]
    return "\n\n".join(_type(name, schema) for name, schema in sorted(schemas.items()) if "PlanFile" not in name)


def http_errors() -> str:
    """What the statuses of problems mean."""
    rows = [f"| {status} | {meaning} |" for status, meaning in GENERAL.items()]
    return "\n".join(["| status | meaning |", "|---|---|", *rows])


def _operation(method: str, path: str, operation: Json) -> str:
    callers = ", ".join(operation["x-callers"])
    parts = [f"### `{method.upper()} {path}`", operation["description"], f"Callers: {callers}."]
    if parameters := [each for each in operation["parameters"] if each["in"] != "path"]:
        rows = [
            f"| `{each['name']}` | {each['in']} | {'yes' if each['required'] else ''} | {_kind(each['schema'])} "
            f"| {each['description']}{_bounds(each['schema'])} |"
            for each in parameters
        ]
        parts.append("\n".join(["| parameter | in | required | type | meaning |", "|---|---|---|---|---|", *rows]))
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(_form(content["schema"]) if "form" in media else f"Body: {_kind(content['schema'])}")
    parts.append("\n".join(f"- {status}: {told}" for status, told in _answers(operation)))
    return "\n\n".join(parts)


def _answers(operation: Json) -> list[tuple[str, str]]:
    answers, problems = [], []
    for status, answer in operation["responses"].items():
        if "$ref" in answer:
            problems.append(status)
            continue
        kinds = [
            _kind(content["schema"]) if media == "application/json" else media
            for media, content in answer.get("content", {}).items()
        ]
        answers.append(
            (status, " ".join([*kinds, *([answer["description"]] if answer["description"] != "Done." else [])]))
        )
    told = [(status, said or "nothing") for status, said in answers]
    return [*told, (", ".join(status for status in problems if status != "default"), "[Problem](#problem)")]


def _form(schema: Json) -> str:
    rows = [f"| `{name}` | {field['description']} |" for name, field in schema["properties"].items()]
    return "\n".join(["| form field | meaning |", "|---|---|", *rows])


def _type(name: str, schema: Json) -> str:
    parts = [f"### `{name}`", schema.get("description", "").strip()]
    if "enum" in schema:
        parts.append("One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + ".")
    elif "properties" in schema:
        needed = schema.get("required", [])
        rows = [
            f"| `{field}` | {_kind(content)} | {'yes' if field in needed else ''} | {_cell(content)} |"
            for field, content in schema["properties"].items()
        ]
        if rows:
            parts.append("\n".join(["| field | type | always | meaning |", "|---|---|---|---|", *rows]))
    return "\n\n".join(part for part in parts if part)


def _cell(schema: Json) -> str:
    return " ".join(schema.get("description", "").split()).replace("|", "\\|")


def _bounds(schema: Json) -> str:
    bounds = [f"from {schema['minimum']}"] if "minimum" in schema and "default" in schema else []
    if bounds and schema.get("maximum", 2**63 - 1) < 2**63 - 1:
        bounds.append(f"to {schema['maximum']}")
    if "default" in schema and bounds:
        bounds.append(f"(without it {schema['default']})")
    return " " + " ".join(bounds)[:1].upper() + " ".join(bounds)[1:] + "." if bounds else ""


def _kind(schema: Json) -> str:
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            if name.startswith("PlanFile"):
                return "[a plan file](plan-format.md)"
            return f"[{name}](#{name.lower()})"
        case {"anyOf": list(kinds)} | {"oneOf": list(kinds)}:
            return " or ".join(dict.fromkeys(_kind(each) for each in kinds))
        case {"type": "array", "prefixItems": list()}:
            return "list"
        case {"type": "array", "items": dict(items)}:
            return f"list of {_kind(items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"map to {_kind(values)}"
        case {"enum": list(values)}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": "string", "format": "date-time"}:
            return "time"
        case {"type": "string", "maxLength": int(longest)}:
            return f"string of up to {longest:,}"
        case {"type": str(kind)}:
            return kind
        case _:
            return "anything"
