"""Schemathesis sends what the OpenAPI document allows and what it forbids, and compares the answers with it."""

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx2
import pytest

from tests.control_plane import Server, running_server
from whilly.core.plan import TaskSpec
from whilly.core.tokens import TokenKind
from whilly.operations.issue_token import issue_token
from whilly.server.app import ROUTES
from whilly.server.engine import Timing
from whilly.server.openapi import document
from whilly.server.serve import serving
from whilly.store.database import Database
from whilly.wire.work import ClaimRequest

LEFT_OUT = {
    "/events/stream": "never ends",
    "/changes": "never ends",
    "/logout": "ends the right to send the next request",
    "/static/{name}": "gives files of many types",
}
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "ignored_auth",
)
SECONDS = 12
"""For each caller."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TokenKind.OPERATOR, TokenKind.WORKER])
async def test_the_server_does_what_its_document_says(database: Database, tmp_path: Path, kind: TokenKind) -> None:
    async with running_server(database, Timing(longest_wait=0.1)) as server:
        said = await _attacked(server, tmp_path, kind)
    assert said is None, said


async def _attacked(server: Server, folder: Path, kind: TokenKind) -> str | None:
    """What it found in this server, asking as such a caller."""
    await server.store("0", TaskSpec("0", "One"), TaskSpec("1", "Two"))
    plane = await server.control_plane("ada")
    assert await plane.claim(ClaimRequest("c", "0", ("scripted",)))
    token = await issue_token(server.database, kind, worker="ada")
    routes = [route for route in ROUTES if route.allowed and kind in route.allowed and route.path not in LEFT_OUT]
    described = folder / "openapi.json"
    described.write_text(json.dumps(document(routes)), encoding="utf-8")
    async with serving(server.app) as address:
        said = await _schemathesis(described, address, token.bearer)
        async with httpx2.AsyncClient(base_url=address) as http:
            assert (await http.get("/health")).status_code == 200
    return said


async def _schemathesis(described: Path, address: str, bearer: str) -> str | None:
    """Run it; what it found, or None."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", str(described), "--url", address),
        *("--header", f"Authorization: Bearer {bearer}", "--checks", ",".join(CHECKS)),
        *("--phases", "coverage,fuzzing", "--max-examples", "8", "--max-time", str(SECONDS), "--seed", "7"),
        *("--suppress-health-check", "all", "--no-shrink", "--warnings", "off", "--request-timeout", "10"),
        "--no-color",
        cwd=described.parent,
        env=os.environ | {"PYTHONWARNINGS": "ignore", "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await program.communicate()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    return None if program.returncode == 0 else output.decode("utf-8", "replace")[-20_000:]
