"""Bodies in and out, counted and timed while they arrive."""

import asyncio
import json
import re
from functools import cache
from typing import Any, TypeVar, cast
from urllib.parse import parse_qs

from pydantic import TypeAdapter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from whilly.core.redaction import is_storable, storable
from whilly.server.errors import Denied
from whilly.server.texts import bounded
from whilly.wire.codec import encode

Value = TypeVar("Value")

LARGEST = 1_000_000
LARGEST_LOG = 8_000_000
"""Bytes: for transcripts and reports, which carry output."""

RECEIPT_SECONDS = 10.0

_UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
"""What a text that Postgres refuses has to contain, as JSON; other texts may contain it, too."""


async def body_of(request: Request, largest: int = LARGEST) -> bytes:
    """The whole body. Raises Denied when it is too large or too slow in coming."""
    too_large = Denied(413, "too_large", f"The body is larger than {largest:,} bytes.", "Send it in parts.")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and len(announced) < 20 and int(announced) > largest:
        raise too_large
    received = bytearray()
    try:
        async with asyncio.timeout(RECEIPT_SECONDS):
            async for chunk in request.stream():
                received += chunk
                if len(received) > largest:
                    raise too_large
    except TimeoutError:
        raise Denied(408, "too_slow", f"The body did not arrive within {RECEIPT_SECONDS:.0f} s.") from None
    except ClientDisconnect:
        raise Denied(400, "incomplete", "The body did not arrive completely.") from None
    return bytes(received)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


async def read(request: Request, kind: type[Value], largest: int = LARGEST) -> Value:
    """The JSON body as a value. Raises ValidationError, and Denied for another content type."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise Denied(415, "not_json", "The body must be sent as application/json.")
    body = _storable(await body_of(request, largest))
    # Strictly: what a guess makes of the text "5" or of true is not what somebody meant.
    return bounded(cast(Value, _adapter(cast(Any, kind)).validate_json(body, strict=True)))


def _storable(body: bytes) -> bytes:
    """The JSON with NUL and half characters spelled out in its texts: a result must not be lost for such a byte."""
    if not _UNSTORABLE.search(body):
        return body
    try:
        return json.dumps(_with_storable_texts(json.loads(body))).encode()
    except (ValueError, RecursionError):
        return body


def _with_storable_texts(value: Any) -> Any:
    match value:
        case str():
            return value if is_storable(value) else storable(value)
        case list():
            return [_with_storable_texts(each) for each in value]
        case dict():
            return {_with_storable_texts(key): _with_storable_texts(each) for key, each in value.items()}
        case _:
            return value


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a posted form; of a repeated field the last one."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/x-www-form-urlencoded":
        raise Denied(415, "not_a_form", "The body must be sent as a form.")
    fields = parse_qs((await body_of(request)).decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50)
    return {name: values[-1] for name, values in fields.items()}


def answer(value: Any, status: int = 200) -> Response:
    """The value as a JSON response."""
    return Response(encode(value), status, media_type="application/json")


async def large_answer(value: Any) -> Response:
    """The same for one that takes long to write: others are served meanwhile."""
    return Response(await asyncio.to_thread(encode, value), media_type="application/json")


NOTHING = Response(status_code=204)
"""Done, and there is nothing to say."""
