"""Transactions that take their time: events that commit in another order than that in which they were numbered."""

import asyncio
import random

from whilly.store.database import AWAY, Database

PLAN = "dawdlers"
LATEST_SECONDS = 0.15


async def dawdle(database: Database, chance: random.Random) -> None:
    """Until cancelled: write an event, wait, and commit or take it back."""
    number = 0
    while True:
        number += 1
        try:
            async with database.connection() as connection, asyncio.timeout(10):
                transaction = connection.transaction()
                await transaction.start()
                await connection.execute(
                    "insert into events (plan_id, type, payload) values ($1, 'dawdler.wrote', $2::jsonb)",
                    PLAN,
                    f'{{"number": {number}}}',
                )
                await asyncio.sleep(chance.random() * LATEST_SECONDS)
                await (transaction.rollback() if chance.random() < 0.2 else transaction.commit())
        except AWAY:
            await asyncio.sleep(0.1)
        await asyncio.sleep(chance.random() * LATEST_SECONDS)


async def out_of_order(database: Database) -> int:
    """How many events got their place after one that was numbered later: whoever reads by number misses them."""
    query = """select count(*) from (
        select event_id, max(event_id) over (
            order by position rows between unbounded preceding and 1 preceding
        ) as newest
        from event_log
    ) placed where event_id < newest"""
    async with database.connection() as connection:
        found: int = await connection.fetchval(query)
    return found
