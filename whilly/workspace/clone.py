"""Prepares the private clone in which one attempt works. The user's repository is only read."""

import asyncio
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from whilly.core.names import branch_of, check_id
from whilly.workspace.attempt import TRUSTED, WORK, Workspace, save
from whilly.workspace.carry import Carried, bring, exclude_patterns
from whilly.workspace.dirt import uncommitted_changes
from whilly.workspace.errors import GitFailed, WorkspaceFailed
from whilly.workspace.excludes import users_excludes
from whilly.workspace.gitcmd import Git
from whilly.workspace.gitdir import make_git_dir, write_ref
from whilly.workspace.liveness import new_home
from whilly.workspace.merge import Start, check_out_start, root_commit
from whilly.workspace.objects import add_objects, copy_objects
from whilly.workspace.packing import pack_of_loose
from whilly.workspace.removal import remove_tree
from whilly.workspace.source import COMMIT_ID, Repository, Source, committed_at, look_at, refs_for_a_clone
from whilly.workspace.space import Floor, require_space
from whilly.workspace.tree import gitlinks_of

_FOR_THE_AGENT = """\
[user]
\tname = Whilly agent
\temail = whilly@localhost
[commit]
\tgpgsign = false
[tag]
\tgpgsign = false
[gc]
\tauto = 0
"""
"""An agent without an identity could not commit; one with the user's key would wait for the passphrase."""

_NOTE_SECONDS = 10.0
"""So long the look for uncommitted changes may take; the note about them is then left out."""


async def prepare(
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
    carry: Sequence[Carried] = (),
    floor: Floor = Floor(),
) -> Workspace:
    """Make the clone, on its own branch, at the base merged with the prerequisites' results.

    `base`: a commit of the user's repository; None: what the user has checked out. `prerequisites`: task and commit.
    `resume_from`: an earlier attempt's commit to go on from. `title`: the first line of the task's description.
    Raises WorkspaceFailed, MergeConflict, NoSpace, and leaves nothing behind then.
    """
    for name in (plan, task):
        if wrong := check_id(name):
            raise WorkspaceFailed(f"{name!r} cannot be part of a branch name: it {wrong}.")
    require_space(root, floor)
    repository = await look_at(source)
    home = new_home(root, plan, task, epoch)
    try:
        clone = _Clone(source, repository, home, floor, f"refs/heads/{branch_of(plan, task)}")
        await clone.fill()
        start = await clone.check_out(base, prerequisites, resume_from or "")
        await asyncio.to_thread(clone.hand_over, start.commit, carry)
        seen = clone.work.lstat()
        workspace = Workspace(
            path=clone.work,
            plan=plan,
            task=task,
            epoch=epoch,
            title=title,
            base_commit=start.base,
            start_commit=start.commit,
            branch=branch_of(plan, task),
            home=home,
            repository=repository.common_dir,
            object_format=repository.object_format,
            known=tuple(clone.known),
            identity=(seen.st_dev, seen.st_ino),
            created=time.time(),
            gitlinks=await gitlinks_of(clone.git),
            carried=clone.carried,
            source=repository.top,
            notes=tuple(clone.notes),
        )
        save(workspace)
    except BaseException:
        remove_tree(home)
        raise
    return workspace


class _Clone:
    """One clone while it is made."""

    def __init__(self, source: Source, repository: Repository, home: Path, floor: Floor, branch: str) -> None:
        self.source = source
        self.repository = repository
        self.home = home
        self.floor = floor
        self.branch = branch
        self.trusted = home / TRUSTED
        self.work = home / WORK
        self.git = Git(directory=self.trusted, work_tree=self.work, index=self.trusted / "index")
        self.known: list[str] = [repository.head] if repository.head else []
        self.carried: tuple[Carried, ...] = ()
        self.notes: list[str] = []

    async def fill(self) -> None:
        """Make both git directories: the agent's with copies of all objects, the trusted one reading the user's."""
        objects = self.repository.common_dir / "objects"
        # Refs first, objects second: whatever a ref names is then among the objects.
        refs = await refs_for_a_clone(self.repository, self.source.branches)
        excludes = await users_excludes(self.repository)
        shallow = (self.repository.common_dir / "shallow").read_bytes() if self.repository.shallow else None
        make_git_dir(
            self.trusted,
            object_format=self.repository.object_format,
            head=self.repository.head or self.branch,
            packed_refs=refs,
            shallow=shallow,
            excludes=excludes,
            borrow_from=[objects],
            # All of it can be made again, up to the moment when it is put into the user's repository.
            settings="[core]\n\tfsync = none\n",
        )
        make_git_dir(
            self.work / ".git",
            object_format=self.repository.object_format,
            head=self.branch,
            packed_refs=refs,
            shallow=shallow,
            excludes=excludes,
            settings=_FOR_THE_AGENT,
        )
        if self.repository.branch:
            theirs = self.repository.branch.replace("refs/heads/", "refs/remotes/origin/", 1)
            if os.fsencode(f" {theirs}\n") in refs:
                # As after `git clone`: what the user has checked out is there by its own name too.
                write_ref(self.work / ".git", "refs/remotes/origin/HEAD", f"ref: {theirs}")
                local = theirs.replace("refs/remotes/origin/", "refs/heads/", 1)
                write_ref(self.work / ".git", local, self.repository.head)
        pack = await pack_of_loose(self.repository.common_dir, self.repository.object_format, self.home.parent)
        await asyncio.gather(
            asyncio.to_thread(copy_objects, objects, self.work / ".git/objects", pack, self._require),
            self._note_uncommitted_changes(),
        )

    async def check_out(self, base: str | None, prerequisites: Sequence[tuple[str, str]], earlier: str) -> Start:
        """Fill the work tree with what the attempt starts from."""
        base, earlier, dates = await self._resolved(base, prerequisites, earlier)
        if not base:
            base = await root_commit(self.git)
            self.notes.append("The repository has no commits yet; the work starts from an empty one.")
        try:
            return await check_out_start(self.git, base, prerequisites, earlier, dates)
        except GitFailed as error:
            if "unable to read" in error.said or "missing" in error.said:
                raise WorkspaceFailed(
                    f"{self.source.path} lacks objects of commit {base}, as a partial clone does; "
                    "`git fetch --refetch --no-filter` there completes it."
                ) from error
            raise

    def hand_over(self, commit: str, carry: Sequence[Carried]) -> None:
        """Make `work/.git` the repository of what is in the work tree, and bring what is to be carried in."""
        own = self.work / ".git"
        add_objects(self.trusted / "objects", own / "objects")
        write_ref(own, self.branch, commit)
        shutil.copy2(self.trusted / "index", own / "index")
        self.carried, notes = bring(carry, self.repository.top, self.work)
        self.notes += notes
        for git_dir in (self.trusted, own):
            with (git_dir / "info/exclude").open("ab") as file:
                file.write(exclude_patterns(self.carried))

    async def _resolved(
        self, base: str | None, prerequisites: Sequence[tuple[str, str]], earlier: str
    ) -> tuple[str, str, dict[str, int]]:
        """Base and earlier attempt as commits that exist (empty: none), and the dates of all commits involved."""
        if base is None and not prerequisites and not earlier:
            return self.repository.head, "", {}
        users = self.repository.git()
        if base is not None and not COMMIT_ID.fullmatch(base):
            asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
            base = (await users.run(*asked, accept=range(256))).text or base
        start = self.repository.head if base is None else base
        wanted = [each for each in (start, *(commit for _, commit in prerequisites), earlier) if each]
        found = await committed_at(users, list(dict.fromkeys(wanted)))
        dates = {commit: at for commit, at in found.items() if at is not None}
        if start and start not in dates:
            raise WorkspaceFailed(f"{self.source.path} has no commit {start} to start from.")
        for task, commit in prerequisites:
            if commit not in dates:
                raise WorkspaceFailed(f"The result of {task}, commit {commit}, is not in {self.source.path}.")
        self.known = list(dict.fromkeys([*self.known, *dates]))
        if earlier and earlier not in dates:
            self.notes.append(f"The earlier attempt's commit {earlier} is gone; the work starts again from the base.")
            earlier = ""
        if earlier and base is None and start:
            # The user may have gone on meanwhile. An attempt that continues another stays where that one began.
            common = await users.run("merge-base", start, earlier, accept=(0, 1))
            start = common.text or start
            dates |= {commit: at or 0 for commit, at in (await committed_at(users, [start])).items()}
        return start, earlier, dates

    async def _note_uncommitted_changes(self) -> None:
        if self.repository.top is None or not self.repository.head:
            return
        try:
            index = self.repository.git_dir / "index"
            changed = await uncommitted_changes(self.trusted, self.repository.top, index, limit=_NOTE_SECONDS)
        except (GitFailed, OSError):
            return
        if changed:
            shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
            self.notes.append(f"Uncommitted changes in {self.repository.top} are not included: {shown}.")

    def _require(self, size: int) -> None:
        require_space(self.home, self.floor, size)
