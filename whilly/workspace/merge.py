"""Where an attempt starts: the user's commit, the prerequisites' results, its own earlier work, merged in this order.

The same ingredients give the same commit, date included, so that a repair attempt finds its earlier work on top of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from whilly.workspace.errors import GitFailed, MergeConflict
from whilly.workspace.gitcmd import Git


@dataclass(frozen=True, slots=True)
class Start:
    """Two commits: what the result is compared with, and what the agent finds."""

    base: str
    commit: str


async def check_out_start(
    git: Git, base: str, prerequisites: Sequence[tuple[str, str]], earlier: str, dates: Mapping[str, int]
) -> Start:
    """Fill the empty work tree. `dates` has the seconds of every commit named. Raises MergeConflict, GitFailed."""
    if earlier and not prerequisites and await is_ancestor(git, base, earlier):
        await _check_out(git, earlier)
        return Start(base, earlier)
    await _check_out(git, base)
    newest = dates.get(base, 0)
    for task, commit in sorted(prerequisites):
        newest = max(newest, dates[commit])
        await _merge(git, f"The result of {task}", commit, newest)
    merged = _head(git)
    if not earlier:
        return Start(merged, merged)
    if await is_ancestor(git, merged, earlier):
        await _check_out(git, earlier)
    else:
        await _merge(git, "The earlier attempt's work", earlier, max(newest, dates[earlier]))
    return Start(merged, _head(git))


async def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Whether one commit is in the history of the other, or is the other."""
    answer = await git.run("merge-base", "--is-ancestor", older, newer, accept=(0, 1))
    return answer.code == 0


async def root_commit(git: Git) -> str:
    """The commit without files that work starts from in a repository without commits: the same one every time."""
    tree = (await git.run("mktree")).text
    git = _dated(git, 0)
    return (await git.run("commit-tree", tree, "-m", "Begin with nothing")).text


async def _check_out(git: Git, commit: str) -> None:
    await git.run("read-tree", "--reset", "-u", commit)
    _set_head(git, commit)


async def _merge(git: Git, what: str, commit: str, at: int) -> None:
    git = _dated(git, at)
    message = f"Merge {what[0].lower()}{what[1:]}"
    options = ("--no-edit", "--no-stat", "--quiet", "--allow-unrelated-histories")
    try:
        await git.run("merge", *options, "-m", message, commit)
    except GitFailed:
        unmerged = await git.run("ls-files", "--unmerged", "-z")
        files = dict.fromkeys(entry.split("\t", 1)[1] for entry in unmerged.fields)
        if not files:
            raise
        raise MergeConflict(what, tuple(files)) from None


def _dated(git: Git, seconds: int) -> Git:
    date = f"@{seconds} +0000"
    return replace(git, environment={"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date})


def _set_head(git: Git, commit: str) -> None:
    git.head_file.write_text(f"{commit}\n", encoding="ascii")


def _head(git: Git) -> str:
    return git.head_file.read_text(encoding="ascii").strip()
