"""The real application on a real database."""

from collections.abc import AsyncIterator

import pytest

from tests.control_plane import Server, running_server
from whilly.store.database import Database


@pytest.fixture
async def server(database: Database) -> AsyncIterator[Server]:
    async with running_server(database) as running:
        yield running
