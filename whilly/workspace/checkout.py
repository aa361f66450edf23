"""Clean checkouts for the checks: the files of a commit and nothing that the agent's run left around them."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from whilly.workspace.attempt import Workspace
from whilly.workspace.carry import bring, exclude_patterns
from whilly.workspace.gitdir import make_git_dir, write_ref
from whilly.workspace.objects import add_objects, copy_objects
from whilly.workspace.packing import pack_of_loose
from whilly.workspace.removal import remove_tree

CHECKS = "checks-"
"""How the folders of clean checkouts begin, in the folder of the attempt: a crash leaves them to `garbage.sweep`."""


@asynccontextmanager
async def clean_checkout(workspace: Workspace, commit: str) -> AsyncIterator[Path]:
    """Have a folder with exactly the files of the commit, and what is carried in; removed at the end.

    Checks may ask git about it: it is a repository of its own, with the history, on the task's branch. Raises
    WorkspaceFailed, NoSpace.
    """
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=CHECKS, dir=workspace.home))
    try:
        git_dir = folder / ".git"
        refs, shallow = workspace.trusted / "packed-refs", workspace.trusted / "shallow"
        make_git_dir(
            git_dir,
            object_format=workspace.object_format,
            head=workspace.ref,
            packed_refs=refs.read_bytes() if refs.exists() else b"",
            shallow=shallow.read_bytes() if shallow.exists() else None,
            excludes=(workspace.trusted / "info/exclude").read_bytes() + exclude_patterns(workspace.carried),
        )
        pack = await pack_of_loose(workspace.repository, workspace.object_format, workspace.home.parent)
        index = workspace.trusted / f"{folder.name}-index"
        await asyncio.gather(
            asyncio.to_thread(
                copy_objects, workspace.repository / "objects", git_dir / "objects", pack, lambda _: None
            ),
            workspace.git(index=index, work_tree=folder).run("read-tree", "--reset", "-u", commit),
        )
        await asyncio.to_thread(add_objects, workspace.trusted / "objects", git_dir / "objects")
        write_ref(git_dir, workspace.ref, commit)
        await asyncio.to_thread(shutil.move, index, git_dir / "index")
        await asyncio.to_thread(bring, workspace.carried, workspace.source, folder)
        yield folder
    finally:
        await asyncio.to_thread(remove_tree, folder)
