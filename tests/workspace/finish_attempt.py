"""Collects, publishes and checks out the attempt in a folder: a program, so that it can be watched and killed."""

import asyncio
import json
import sys
from pathlib import Path

from whilly.workspace.attempt import load
from whilly.workspace.checkout import clean_checkout
from whilly.workspace.result import collect, publish


async def finish(home: Path) -> dict[str, object]:
    workspace = load(home)
    assert workspace is not None
    collected = await collect(workspace)
    branch = await publish(workspace, collected)
    names: list[str] = []
    if collected.head_commit:
        async with clean_checkout(workspace, collected.head_commit) as folder:
            names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {
        "head": collected.head_commit,
        "kept": collected.kept_ref,
        "branch": branch,
        "violated": collected.violated,
        "names": [name for name in names if not name.startswith(".git/")],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(finish(Path(sys.argv[1])))))
