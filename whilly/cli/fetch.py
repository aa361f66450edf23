"""`whilly task fetch`: bring a task's result into a repository of one's own, wherever it was made."""

from pathlib import Path
from typing import TYPE_CHECKING

from whilly.core.errors import Refused
from whilly.core.git_address import address_of
from whilly.core.names import branch_of

if TYPE_CHECKING:
    from whilly.core.plan import RepoTarget
    from whilly.settings import Settings
    from whilly.store.database import Database
    from whilly.workspace.gitcmd import Git
    from whilly.workspace.source import Repository

_MOST_COMMITS = 20_000


async def fetch_result(database: "Database", settings: "Settings", plan: str, task: str, repo: Path) -> str:
    """Set branch `whilly/<plan>/<task>` in the repository to the task's result; gives a sentence about it.

    Raises UnknownPlan, UnknownTask, Refused when there is no result or the branch is somebody else's, and
    WorkspaceFailed.
    """
    from whilly.operations.read_plans import task_view
    from whilly.operations.read_targets import read_targets
    from whilly.workspace.refs import value_of
    from whilly.workspace.source import Source, look_at

    view = await task_view(database, plan, task)
    commit = view.task.result_commit
    if not commit:
        raise Refused(f"Task {task} has no result to fetch: it is {view.task.status.value}.")
    repository = await look_at(Source(repo))
    git = repository.git()
    if await value_of(git, f"{commit}^{{commit}}") != commit:
        targets = (await read_targets(database, plan)).declared
        target = next((each for each in targets if each.id == view.spec.repo_target_id), None)
        await _bring(database, settings, git, plan, task, commit, target, repo)
    await _set_branch(git, repository, settings.data_dir / "workers", plan, task, commit)
    branch = branch_of(plan, task)
    return f"The result of {task} is branch {branch} of {repo}; look at it with `git log -p ..{branch}`."


async def _bring(
    database: "Database",
    settings: "Settings",
    git: "Git",
    plan: str,
    task: str,
    commit: str,
    target: "RepoTarget | None",
    repo: Path,
) -> None:
    from whilly.cli.repositories import access_of
    from whilly.operations.read_bundle import bundle_part, newest_bundle
    from whilly.workspace.bundle import take_bundle
    from whilly.workspace.errors import WorkspaceFailed
    from whilly.workspace.refs import value_of
    from whilly.workspace.remote import Remote

    bundle = await newest_bundle(database, plan, task)
    if bundle is not None and bundle.commit == commit:
        parts = [await bundle_part(database, plan, task, bundle.epoch, number) for number in range(bundle.parts)]
        await take_bundle(git, b"".join(part or b"" for part in parts), commit, str(repo))
        return
    if target is None:
        raise Refused(
            f"The result of {task}, commit {commit}, is in the repository that the plan was run on, "
            f"which is not {repo}."
        )
    remote = Remote(address_of(target), access_of(settings))
    await remote.fetch(git, [f"+refs/heads/{branch_of(plan, task)}:refs/whilly/{plan}/{task}/fetched"])
    if await value_of(git, f"{commit}^{{commit}}") != commit:
        raise WorkspaceFailed(
            f"Branch {branch_of(plan, task)} of {remote.address.url} does not have commit {commit} any more."
        )


async def _set_branch(git: "Git", repository: "Repository", locks: Path, plan: str, task: str, commit: str) -> None:
    from whilly.workspace.gitcmd import AUTHOR
    from whilly.workspace.merge import is_ancestor
    from whilly.workspace.refs import swap_ref, value_of

    branch = branch_of(plan, task)
    ref = f"refs/heads/{branch}"
    there = await value_of(git, ref)
    if there == commit:
        return
    kept = f"refs/whilly/{plan}/{task}/fetched"
    before = await value_of(git, kept)
    if before != commit:
        await swap_ref(git, locks, kept, commit, before, "whilly task fetch")
    if there:
        worktree = (await git.run("for-each-ref", "--format=%(worktreepath)", ref)).text
        if worktree:
            raise Refused(f"Branch {branch} is checked out in {worktree} and was left as it is; the result is {kept}.")
        if not await is_ancestor(git, there, commit):
            listed = await git.run("log", "--format=%ce", f"--max-count={_MOST_COMMITS}", there, f"^{commit}")
            if set(listed.text.split()) - {AUTHOR[1]}:
                raise Refused(
                    f"Branch {branch} of {repository.top or repository.common_dir} has commits that are not "
                    f"Whilly's and was left as it is; the result is {kept}."
                )
    if not await swap_ref(git, locks, ref, commit, there, "whilly task fetch"):
        raise Refused(f"Branch {branch} has just been moved by somebody else; the result is {kept}.")
