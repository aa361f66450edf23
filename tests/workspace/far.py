"""What tests of repositories elsewhere share: a copy of one, and attempts that work from it."""

from pathlib import Path
from typing import Any

from tests.workspace.forge import TOKEN, Forge
from tests.workspace.ground import NO_FLOOR
from whilly.core.git_address import parse_address
from whilly.workspace.access import GitAccess
from whilly.workspace.attempt import Workspace
from whilly.workspace.clone import prepare
from whilly.workspace.mirror import Fresh, Mirror
from whilly.workspace.remote import Remote
from whilly.workspace.result import collect


def access(forge: Forge, token: str = TOKEN, **more: Any) -> GitAccess:
    return GitAccess(tokens={forge.site: token} if token else {}, **more)


def mirror(forge: Forge, tmp_path: Path, *, branch: str = "", name: str = "shop", **how: Any) -> Mirror:
    remote = Remote(parse_address(forge.address(name)), how.pop("access", access(forge)))
    return Mirror(remote, branch, tmp_path / "repositories", tmp_path / "workspaces")


async def attempt(fresh: Fresh, tmp_path: Path, files: dict[str, str], *, epoch: int = 1, task: str = "A") -> Workspace:
    """A workspace in which an agent has written files."""
    workspace = await prepare(
        fresh.source, root=tmp_path / "workspaces", plan="p", task=task, epoch=epoch, floor=NO_FLOOR
    )
    for name, content in files.items():
        (workspace.path / name).write_text(content, encoding="utf-8")
    return workspace


async def result(fresh: Fresh, tmp_path: Path, files: dict[str, str], **how: Any) -> tuple[Workspace, str]:
    """The workspace of an attempt that is over, and the commit of its result."""
    workspace = await attempt(fresh, tmp_path, files, **how)
    commit = (await collect(workspace)).head_commit
    assert commit
    return workspace, commit
