"""Which repositories a command works in: folders that were named, the one of `--repo`, or copies of those elsewhere."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whilly.core.errors import BadSetting
from whilly.core.git_address import BadAddress, address_of, check_protocol, parse_address

if TYPE_CHECKING:
    from whilly.core.plan import RepoTarget
    from whilly.operations.read_targets import Targets
    from whilly.settings import Settings
    from whilly.worker.repositories import Repositories
    from whilly.workspace.access import GitAccess

_USER_IN_URL = re.compile(r"(?<=://)[^/@]*@")


def folders_of(given: Sequence[str] | None) -> dict[str, Path]:
    """What `--repo-target ID=PATH` said. Raises BadSetting."""
    found = {}
    for text in given or ():
        target, equals, path = text.partition("=")
        if not (target.strip() and equals and path.strip()):
            raise BadSetting(f"--repo-target takes ID=PATH, such as shop=/home/me/shop, not {text!r}.")
        found[target.strip()] = Path(path.strip()).expanduser().absolute()
    return found


def access_of(settings: "Settings", environ: Mapping[str, str] = os.environ) -> "GitAccess":
    """What the settings allow git to use for repositories elsewhere."""
    from whilly.workspace.access import GitAccess

    return GitAccess(
        tokens=settings.git_tokens,
        user=settings.git_user,
        own_credentials=settings.git_own_credentials,
        protocols=settings.git_protocols,
        environment=environ,
    )


async def repositories_of_run(
    settings: "Settings", plan: str, targets: "Targets", repo: Path, given: Mapping[str, Path], *, in_place: bool
) -> "tuple[Repositories, list[str]]":
    """Where a run's tasks work, and sentences about it. Raises BadSetting and RepositoryUnusable before anything runs.

    In order: the folder that was named, the one that the target itself names, `--repo` when that is the very
    repository, and else a copy, from which results are pushed.
    """
    from whilly.worker.repositories import Repositories
    from whilly.workspace.source import Source, look_at

    declared = {target.id: target for target in targets.declared}
    if unknown := sorted(set(given) - set(declared)):
        known = f"it has {', '.join(sorted(declared))}" if declared else "it has none"
        raise BadSetting(f"Plan {plan} has no repo target {unknown[0]!r}: {known}.")
    local, said = dict(given), []
    if "" in targets.used or not targets.used:
        await look_at(Source(repo))
    if gone := sorted(targets.used - {""} - set(declared)):
        raise BadSetting(f"Plan {plan} has no repo target {gone[0]!r} any more; import it again.")
    # Also of targets whose tasks are finished: a person may want one tried again while the run goes on.
    for target_id, target in declared.items():
        if target_id in local:
            continue
        if folder := await _on_this_machine(target, repo):
            local[target_id] = folder
            where = f"in {folder}"
        elif target_id in targets.used:
            address = _checked(target, settings, in_place=in_place)
            where = f"in a copy of {address}, and their results are pushed there"
        if target_id in targets.used:
            said.append(f"Tasks of repo target {target_id} work {where}.")
    for target_id in sorted(set(local) & targets.used):
        await look_at(Source(local[target_id]))
    return Repositories(local=local, access=access_of(settings)), said


async def look_at_those_elsewhere(repositories: "Repositories", targets: "Targets", workspaces: Path) -> None:
    """Fetch them once before anything starts. Raises RemoteFailed with a sentence."""
    for target in targets.declared:
        if target.id in targets.used and target.id not in repositories.local:
            await repositories.look(target, workspaces)


def _checked(target: "RepoTarget", settings: "Settings", *, in_place: bool) -> str:
    name_one = f"name a folder for it with --repo-target {target.id}=PATH"
    try:
        address = address_of(target)
        check_protocol(address, settings.git_protocols)
    except BadAddress as bad:
        raise BadSetting(f"{str(bad).rstrip('.')}; or {name_one}.") from None
    if in_place:
        raise BadSetting(f"Repo target {target.id} is at {address.url}, where --in-place cannot work: {name_one}.")
    return address.url


async def _on_this_machine(target: "RepoTarget", repo: Path) -> Path | None:
    """The folder that the target names, or the repository of `--repo` when it is one with the target."""
    from whilly.workspace.errors import WorkspaceFailed
    from whilly.workspace.source import Source, look_at

    try:
        address = address_of(target)
    except BadAddress:
        return None
    if address.protocol == "file":
        return Path(address.path)
    try:
        repository = await look_at(Source(repo))
    except WorkspaceFailed:
        return None
    listed = await repository.git().run("config", "--null", "--get-regexp", r"^remote\..*\.url$", accept=(0, 1))
    for entry in listed.fields:
        try:
            own = parse_address(_USER_IN_URL.sub("", entry.partition("\n")[2]))
        except BadAddress:
            continue
        if own.is_same_repository(address):
            return repo
    return None
