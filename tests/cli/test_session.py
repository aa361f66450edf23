"""What a command does is known at once to servers and to those who wait at them."""

import asyncio
from pathlib import Path
from unittest.mock import patch

from tests.cli.conftest import Whilly, write_plan
from tests.control_plane import eventually, running_server
from whilly.store.database import Database
from whilly.wire.work import ClaimRequest


async def test_an_idle_worker_gets_what_a_command_imports(whilly: Whilly, database: Database, tmp_path: Path) -> None:
    """The server itself numbers no events here and looks at nothing: it hears of it from the command."""
    file = write_plan(tmp_path, {"id": "T-1", "description": "One"})

    async def nothing(_database: Database) -> int:
        return 0

    with patch("whilly.server.loops.sequencer.sequence_events", nothing):
        async with running_server(database) as server:
            plane = await server.control_plane()
            with patch.object(server.engine.wakeups, "look_again"):
                waits = asyncio.create_task(plane.claim(ClaimRequest("c-1", "p", ("scripted",), 20)))

                async def parked() -> bool:
                    return len(server.engine.wakeups) == 1

                await eventually(parked)
                said = await asyncio.to_thread(whilly, "plan", "import", file)
                assert said.code == 0, said
                async with asyncio.timeout(10):
                    assert await waits is not None
