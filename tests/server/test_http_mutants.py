"""Each guard of the HTTP side, taken away, makes the test named beside it fail."""

import asyncio

import pytest

from tests.control_plane import running_server
from tests.operations.test_mutants import DIES_WITHIN, FAILURES, mutate_function
from tests.server.http_mutants import MUTANTS, Mutant
from whilly.client.errors import ControlPlaneError
from whilly.store.database import Database


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
async def test_without_its_guard_the_test_fails_over_http(
    database: Database, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate_function(mutant.where, mutant.guard, mutant.without, monkeypatch)
    async with running_server(database) as server:
        with pytest.raises((*FAILURES, ControlPlaneError, TimeoutError)):
            async with asyncio.timeout(DIES_WITHIN):
                await mutant.killed_by(server)
