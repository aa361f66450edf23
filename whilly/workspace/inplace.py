"""For `--in-place`: the agent works in the user's own folder, on the branch that is checked out there.

Only on a clean folder, one attempt at a time. The result is committed on that branch by trusted git all the same: what
an agent configures in `.git` is not run by Whilly either here.
"""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from whilly.workspace.attempt import TRUSTED, Workspace, save
from whilly.workspace.dirt import uncommitted_changes
from whilly.workspace.errors import RepositoryUnusable, WorkspaceFailed
from whilly.workspace.excludes import users_excludes
from whilly.workspace.gitcmd import Git
from whilly.workspace.gitdir import make_git_dir
from whilly.workspace.liveness import new_home
from whilly.workspace.locks import held, lock_of
from whilly.workspace.merge import is_ancestor
from whilly.workspace.owner import owner_to_act_as
from whilly.workspace.publishing import Say
from whilly.workspace.refs import swap_ref
from whilly.workspace.removal import remove_tree
from whilly.workspace.snapshot import add_all, differing
from whilly.workspace.source import Repository, Source, look_at
from whilly.workspace.space import Floor, require_space
from whilly.workspace.tree import gitlinks_of

_ABOUT_FILES = r"^core\.(autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode)$"
"""Settings of the user's repository that say how its files look; none of them names a program."""

_PATIENCE_SECONDS = 10.0


@asynccontextmanager
async def work_in_place(
    source: Source,
    *,
    root: Path,
    plan: str,
    task: str,
    epoch: int,
    base: str | None = None,
    prerequisites: Sequence[tuple[str, str]] = (),
    resume_from: str | None = None,
    title: str = "",
    floor: Floor = Floor(),
) -> AsyncIterator[Workspace]:
    """Have the user's folder for one attempt. `base`: what an attempt that is continued began with.

    A folder that is exactly as the attempt `resume_from` left it counts as clean. Raises RepositoryUnusable,
    WorkspaceFailed, NoSpace.
    """
    require_space(root, floor)
    repository = await look_at(source)
    top = repository.top
    if top is None:
        raise RepositoryUnusable(f"{source.path} has no folder with files to work in; leave out --in-place.")
    if not repository.head:
        raise RepositoryUnusable(f"{top} has no commits yet; make a first one, or leave out --in-place.")
    if not repository.branch:
        raise RepositoryUnusable(f"{top} has no branch checked out; `git switch` to one, or leave out --in-place.")
    async with held(lock_of(root, top, "in-place"), patience=_PATIENCE_SECONDS):
        home = new_home(root, plan, task, epoch)
        try:
            git = await _trusted(repository, home, top)
            await _refuse_changes(git, repository, top, resume_from)
            for prerequisite, commit in prerequisites:
                if not await is_ancestor(git, commit, repository.head):
                    branch = repository.branch.removeprefix("refs/heads/")
                    raise WorkspaceFailed(f"{branch} lacks the result of {prerequisite}; merge it first.")
            seen = top.lstat()
            workspace = Workspace(
                path=top,
                plan=plan,
                task=task,
                epoch=epoch,
                title=title,
                base_commit=base if base and await is_ancestor(git, base, repository.head) else repository.head,
                start_commit=repository.head,
                branch=repository.branch.removeprefix("refs/heads/"),
                home=home,
                repository=repository.common_dir,
                object_format=repository.object_format,
                known=(repository.head,),
                identity=(seen.st_dev, seen.st_ino),
                created=time.time(),
                gitlinks=await gitlinks_of(git),
                source=top,
                in_place=True,
            )
            save(workspace)
            yield workspace
        finally:
            # The files are the user's; nothing else is in there.
            remove_tree(home)


async def publish_in_place(workspace: Workspace, head: str, kept_ref: str, say: Say) -> str:
    """Move the branch that is checked out to the result, and let the user's index say so."""
    repository = await look_at(Source(workspace.path))
    if repository.branch != workspace.ref:
        say(f"Branch {workspace.branch} is no longer checked out in {workspace.path}. The result is {kept_ref}.")
        return kept_ref
    # In the git directory of this very worktree, so that its HEAD remembers the step too.
    git = replace(workspace.users_git(), directory=repository.git_dir)
    if repository.head != head:
        reason = f"whilly: attempt {workspace.epoch} of {workspace.task}"
        root = workspace.home.parent
        if not await is_ancestor(git, repository.head, head) or not await swap_ref(
            git, root, workspace.ref, head, repository.head, reason
        ):
            say(f"Branch {workspace.branch} has moved meanwhile. The result is {kept_ref}.")
            return kept_ref
    if not await differing(workspace.git(), head):
        await _replace_index(repository.git_dir / "index", workspace.trusted / "index")
    return workspace.branch


async def _trusted(repository: Repository, home: Path, top: Path) -> Git:
    listed = await repository.git().run("config", "--local", "--get-regexp", _ABOUT_FILES, accept=(0, 1))
    settings = "".join(
        f"\t{name.removeprefix('core.')} = {value}\n"
        for name, _, value in (line.partition(" ") for line in listed.text.splitlines())
    )
    make_git_dir(
        home / TRUSTED,
        object_format=repository.object_format,
        head=repository.head,
        excludes=await users_excludes(repository),
        borrow_from=[repository.common_dir / "objects"],
        settings=f"[core]\n\tfsync = none\n{settings}",
    )
    index = home / TRUSTED / "index"
    with suppress(FileNotFoundError):
        shutil.copy2(repository.git_dir / "index", index)
    return Git(directory=home / TRUSTED, work_tree=top, index=index)


async def _refuse_changes(git: Git, repository: Repository, top: Path, resume_from: str | None) -> None:
    changed = await uncommitted_changes(git.head_file.parent, top, repository.git_dir / "index")
    if not changed:
        return
    if resume_from:
        said = await add_all(git, await gitlinks_of(git))
        if not said and not await differing(git, resume_from):
            return
    shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
    raise RepositoryUnusable(f"{top} has uncommitted changes ({shown}); commit or stash them, or leave out --in-place.")


async def _replace_index(users: Path, ours: Path) -> None:
    """As git does it: write `index.lock`, rename it. Raises WorkspaceFailed when somebody holds that lock."""
    lock = users.with_name("index.lock")
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
            break
        except FileExistsError:
            if time.monotonic() > deadline:
                raise WorkspaceFailed(
                    f"{lock} exists: another git is at work there; `git reset` when it has ended."
                ) from None
            await asyncio.sleep(0.05)
    with os.fdopen(descriptor, "wb") as file:
        file.write(ours.read_bytes())
    if owner := owner_to_act_as(users.parent):
        os.chown(lock, owner.user, owner.group)
    shutil.copystat(ours, lock)
    lock.replace(users)
