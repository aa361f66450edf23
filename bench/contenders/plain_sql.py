"""The least that a queue in PostgreSQL can be: one table, SKIP LOCKED, held connections. No events, no dependencies."""

import asyncio
import time

import asyncpg

from bench.drain import CONCURRENT, Drained
from bench.postgres import Postgres
from bench.processes import own_cpu

NAME = "plain SQL"

TABLE = """
create table if not exists jobs (
    id bigint generated always as identity primary key,
    priority smallint not null,
    status text not null,
    worker text,
    payload jsonb not null,
    updated_at timestamptz not null default clock_timestamp()
);
create index if not exists jobs_ready on jobs (priority, id) where status = 'ready';
"""

FILL = """
insert into jobs (priority, status, payload)
select 2, 'ready', jsonb_build_object('description', 'Write the function number ' || n || ' of the library')
from generate_series(1, $1::int) n
"""

CLAIM = """
with next as materialized (
    select id from jobs where status = 'ready' order by priority, id limit 1 for update skip locked
)
update jobs set status = 'running', worker = $1, updated_at = clock_timestamp()
from next where jobs.id = next.id
returning jobs.id, jobs.payload
"""

FINISH = "update jobs set status = 'done', updated_at = clock_timestamp() where id = $1"


class PlainSql:
    """The jobs of one database."""

    def __init__(self, server: Postgres, url: str) -> None:
        self._server = server
        self._url = url

    async def drain(self, jobs: int) -> Drained:
        """Add jobs and work them off, 16 workers with a connection each."""
        connections = [await asyncpg.connect(self._url) for _ in range(CONCURRENT)]
        try:
            await connections[0].execute(TABLE)
            await connections[0].execute(FILL, jobs)
            await connections[0].execute("vacuum analyze jobs")
            await self._server.settle()
            theirs, mine, began = self._server.cpu(), own_cpu(), time.perf_counter()
            done = await asyncio.gather(*(_worker(f"w{n}", each) for n, each in enumerate(connections)))
            took, mine = time.perf_counter() - began, own_cpu() - mine
            return Drained(sum(done), took, self._server.cpu() - theirs, mine)
        finally:
            for connection in connections:
                await connection.close()


async def _worker(name: str, connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    claim, finish = await connection.prepare(CLAIM), await connection.prepare(FINISH)
    done = 0
    while job := await claim.fetchrow(name):
        await finish.fetch(job["id"])
        done += 1
    return done
