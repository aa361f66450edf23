"""`python -m bench [NAME…] [--quick]`: measure, and print a table per bench."""

import argparse
import asyncio
import importlib
import sys
import time

from bench.sizes import FULL, QUICK

BENCHES = (
    "queue",
    "backlog",
    "imports",
    "reaction",
    "overhead",
    "start",
    "http",
    "idle",
    "wake",
    "busy",
    "stream",
    "log",
    "worker",
)


def main() -> int:
    """Run the benches that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Whilly against named contenders.")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(BENCHES)}; all without one")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: only to see that it runs")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in BENCHES]:
        parser.error(f"there is no bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    for name in asked.names or BENCHES:
        began = time.monotonic()
        bench = importlib.import_module(f"bench.{name}")
        table = asyncio.run(bench.measure(QUICK if asked.quick else FULL))
        print(f"{table}\n\n({name}: {time.monotonic() - began:.0f} s)\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
