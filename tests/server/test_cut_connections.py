"""A connection to the database that is cut at any byte: each report counts once, and whoever sent it learns so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import pytest

from tests.builders import a_plan, a_report, a_request, a_task, told
from tests.control_plane import running_server
from whilly.client.back_off import BackOff
from whilly.client.control_plane import ControlPlane
from whilly.core.plan import Status
from whilly.operations.import_plan import import_plan
from whilly.operations.read_plans import list_plans
from whilly.store.database import Database

CUTS = {"to the database": range(1, 5000, 311), "from the database": range(1, 1500, 97)}


class Wire:
    """Passes bytes on, and cuts its connections after so many bytes in one direction."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self.direction = ""
        self.left = 0
        self.cuts = 0

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """One connection."""
        server, to_server = await asyncio.open_unix_connection(self._upstream)
        passing = [
            asyncio.create_task(self._pass("to the database", client, to_server)),
            asyncio.create_task(self._pass("from the database", server, to_client)),
        ]
        await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        for end in (to_client, to_server):
            end.transport.abort()
        await asyncio.gather(*passing, return_exceptions=True)

    async def _pass(self, direction: str, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            cut = direction == self.direction and len(data) >= self.left
            if direction == self.direction:
                data, self.left = data[: self.left], self.left - len(data)
            target.write(data)
            await target.drain()
            if cut:
                self.direction = ""
                self.cuts += 1
                return


@asynccontextmanager
async def wired(url: str, folder: Path) -> AsyncIterator[tuple[str, Wire]]:
    """A wire to the database, and the URL that leads through it."""
    parts = urlsplit(url)
    place = parse_qs(parts.query)
    if "host" not in place:
        pytest.skip("this database has no socket file to put a wire in front of")
    port = place.get("port", ["5432"])[0]
    wire = Wire(f"{place['host'][0]}/.s.PGSQL.{port}")
    async with await asyncio.start_unix_server(wire.serve, folder / f".s.PGSQL.{port}"):
        yield urlunsplit(parts._replace(query=urlencode({"host": folder, "port": port}))), wire


@pytest.mark.slow
@pytest.mark.parametrize("direction", CUTS)
async def test_a_report_counts_once_wherever_the_connection_is_cut(
    database: Database, tmp_path: Path, direction: str
) -> None:
    cuts = CUTS[direction]
    await import_plan(database, a_plan(*(a_task(f"T{number}") for number in range(len(cuts))), budget=10**9))
    async with wired(database.url, tmp_path) as (url, wire):
        opened = await Database.open(url)
        async with running_server(opened) as server:
            plane = ControlPlane(await server.worker(), back_off=BackOff(0.01, 0.05))
            for cut in cuts:
                assignment = await plane.claim(a_request(), within=20)
                assert assignment is not None
                wire.left, wire.direction = cut, direction
                answer = await plane.finish(assignment.key, a_report(cost=1000), within=20)
                wire.direction = ""
                assert answer.status is Status.DONE
        await opened.close()

    assert wire.cuts > len(cuts) / 4
    assert (await told(database)).count("COMPLETE") == len(cuts)
    (plan,) = await list_plans(database)
    assert (plan.spent, plan.reserved) == (1000 * len(cuts), 0)
