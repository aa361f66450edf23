"""Where the control plane can be reached from outside: written by whoever keeps the tunnel, read by workers.

Both hold no connection in between, and neither looks at the schema's version: one row is all that they share.
"""

from typing import Any

import asyncpg

from whilly.store.statements import statement

CONNECT_SECONDS = 5.0


async def read_published_address(database_url: str) -> str | None:
    """The newest address; None when none was published. Raises what the database raises."""
    connection = await _connected(database_url)
    try:
        found = await connection.fetchval(statement("published_address"))
        return None if found is None else str(found)
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def publish_address(database_url: str, address: str) -> None:
    """From now on it is this one."""
    connection = await _connected(database_url)
    try:
        await connection.execute(statement("publish_address"), address)
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def _connected(database_url: str) -> Any:
    return await asyncpg.connect(database_url, timeout=CONNECT_SECONDS, command_timeout=CONNECT_SECONDS)
