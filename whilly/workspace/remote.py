"""A repository elsewhere, as trusted git talks to it: its branches, fetching from it, pushing one branch to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from whilly.core.git_address import BadAddress, GitAddress, check_protocol
from whilly.core.redaction import Redactor
from whilly.workspace.access import GitAccess
from whilly.workspace.errors import GitFailed, NoSpace, RemoteFailed, Trouble
from whilly.workspace.gitcmd import Finished, Git, disk_is_full
from whilly.workspace.remote_trouble import remote_failed

LOOK_SECONDS = 60.0
TRANSFER_SECONDS = 3600.0
"""A stalled transfer ends much sooner: see `access`."""

LENIENT = {
    f"fetch.fsck.{fault}": "ignore"
    for fault in (
        "zeroPaddedFilemode",
        "missingSpaceBeforeDate",
        "badTimezone",
        "missingEmail",
        "badDate",
        "missingSpaceBeforeEmail",
    )
}
"""Faults that old versions of git made: they harm nobody, and well-known repositories have them."""


class Pushed(Enum):
    """What became of a push."""

    DONE = "the branch is where it should be"
    MOVED = "somebody else moved the branch meanwhile"


@dataclass(frozen=True, slots=True)
class Remote:
    """One repository elsewhere. All methods raise RemoteFailed, with a sentence that says what to do."""

    address: GitAddress
    access: GitAccess

    async def default_branch(self, git: Git) -> str:
        """The branch that it offers by itself, as a full name; empty when it has no commits."""
        answer = await self._run(
            git, "fetched from", "ls-remote", "--quiet", "--symref", "--", self.address.url, "HEAD"
        )
        for line in answer.text.splitlines():
            target, _, name = line.partition("\t")
            if name == "HEAD" and target.startswith("ref: refs/heads/"):
                return target.removeprefix("ref: ")
        return ""

    async def commit_of(self, git: Git, ref: str) -> str:
        """The commit that a ref has there; empty when there is no such ref."""
        answer = await self._run(git, "pushed to", "ls-remote", "--quiet", "--", self.address.url, ref)
        for line in answer.text.splitlines():
            commit, _, name = line.partition("\t")
            if name == ref:
                return commit
        return ""

    async def fetch(self, git: Git, refspecs: Sequence[str], *, prune: bool = False) -> None:
        """Bring refs and their objects into a repository of our own; every object is checked."""
        options = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance"]
        options += ["--prune"] if prune else []
        await self._run(git, "fetched from", "fetch", *options, "--", self.address.url, *refspecs)

    async def push(self, git: Git, commit: str, ref: str, expected: str) -> Pushed:
        """Set a ref there to a commit of ours, if it still has the expected one (empty: if it does not exist)."""
        options = ("--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
        lease = f"--force-with-lease={ref}:{expected}"
        try:
            await self._run(git, "pushed to", "push", *options, lease, "--", self.address.url, f"{commit}:{ref}")
        except _StaleLease:
            return Pushed.MOVED
        return Pushed.DONE

    async def _run(self, git: Git, doing: str, *arguments: str) -> Finished:
        try:
            check_protocol(self.address, self.access.protocols)
        except BadAddress as refusal:
            raise RemoteFailed(str(refusal), Trouble.ADDRESS) from None
        limit = TRANSFER_SECONDS if arguments[0] in ("fetch", "push") else LOOK_SECONDS
        git = Git(
            directory=git.directory,
            cwd=git.cwd,
            owner=git.owner,
            environment=git.environment,
            inherit=git.inherit,
            settings={**LENIENT, **git.settings},
        )
        async with self.access.opened(git, self.address) as opened:
            try:
                answer = await opened.run(*arguments, accept=range(-64, 256), limit=limit)
            except GitFailed as stopped:
                raise RemoteFailed(
                    self._safe(f"{self.address.url} cannot be {doing}: {stopped}"), Trouble.UNREACHABLE
                ) from None
        if answer.code == 0:
            return answer
        if disk_is_full(answer.err, git.cwd):
            raise NoSpace(f"The disk is full: git {arguments[0]} could not write for {git.cwd}.")
        said = self._safe(f"{answer.err}\n{answer.text}" if arguments[0] == "push" else answer.err)
        if arguments[0] == "push" and ("stale info" in said or "cannot lock ref" in said or "fetch first" in said):
            raise _StaleLease(said, Trouble.TAKEN)
        raise remote_failed(
            self.address,
            doing,
            said,
            has_token=bool(self.access.token_for(self.address)),
            own=self.access.own_credentials,
        )

    def _safe(self, said: str) -> str:
        """What git said, without any secret that it may have repeated."""
        return Redactor(tuple(self.access.tokens.values())).text(said)


class _StaleLease(RemoteFailed):
    """The branch there is not what it was expected to be."""
