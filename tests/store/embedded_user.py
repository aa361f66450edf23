"""A process that uses the embedded server of a folder, for test_embedded.py: says what happens, does what it is told.

Commands on stdin: `ask` runs a query, `leave` leaves, `cycle N` starts and leaves N times. The end of stdin is an exit
without leaving. An interrupt is told and survived.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import FrameType

import asyncpg

from whilly.core.errors import WhillyError
from whilly.store import embedded


async def _postmaster_started(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        return str(await connection.fetchval("select pg_postmaster_start_time()"))
    finally:
        await connection.close()


def say(*words: object) -> None:
    # Not through a buffer: an interrupt may come while that is being written.
    os.write(1, " ".join([*map(str, words), "\n"]).encode())


def interrupted(_signal: int, _frame: FrameType | None) -> None:
    say("interrupted")


def main(folder: Path) -> None:
    signal.signal(signal.SIGINT, interrupted)
    try:
        running = embedded.start(folder, durable=False)
    except WhillyError as problem:
        say("refused", problem)
        return
    say("running", running.url)
    for line in sys.stdin:
        match line.split():
            case ["ask"]:
                say("answer", asyncio.run(_postmaster_started(running.url)))
            case ["leave"]:
                running.leave()
                say("left")
            case ["cycle", times]:
                running.leave()
                for _ in range(int(times)):
                    with embedded.start(folder, durable=False) as running:
                        asyncio.run(_postmaster_started(running.url))
                say("cycled")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
