"""Of all that an agent can plant in its clone, trusted git runs nothing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace.ground import Agent, Ground, git, needs
from whilly.workspace.errors import WorkspaceFailed
from whilly.workspace.garbage import discard
from whilly.workspace.result import collect, publish

HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc",
    "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive",
    "push-to-checkout", "reference-transaction", "sendemail-validate", "update",
)  # fmt: skip

SETTINGS = (
    "core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.pager", "core.editor",
    "core.alternateRefsCommand", "sequence.editor", "credential.helper", "gpg.program", "filter.evil.clean",
    "filter.evil.smudge", "filter.evil.process", "merge.evil.driver", "diff.evil.textconv", "diff.evil.command",
    "diff.external", "interactive.diffFilter", "uploadpack.packObjectsHook", "remote.evil.uploadpack",
    "alias.add", "alias.commit-tree", "alias.write-tree", "pager.diff-index", "trailer.x.command",
)  # fmt: skip


class Evil:
    """Plants commands, each of which leaves a file named after it."""

    def __init__(self, folder: Path) -> None:
        self.canaries = folder / "canaries"
        self.canaries.mkdir()
        self.programs = folder / "programs"
        self.programs.mkdir()

    def program(self, name: str) -> str:
        path = self.programs / name
        # It stands in for a filter too, so it passes its input on.
        path.write_text(
            f"#!/bin/sh\n/bin/touch '{self.canaries}/{name}'\n/bin/cat 2>/dev/null\nexit 0\n", encoding="utf-8"
        )
        path.chmod(0o755)
        return str(path)

    def in_repository(self, git_dir: Path, label: str) -> None:
        """Hooks, settings and included settings of one git directory."""
        for hook in HOOKS:
            (git_dir / "hooks").mkdir(exist_ok=True)
            (git_dir / "hooks" / hook).symlink_to(self.program(f"{label}-hook-{hook}"))
        included = git_dir / "included"
        for number, setting in enumerate(SETTINGS):
            # Half of them directly, half from a file that the configuration includes.
            file = git_dir / "config" if number % 2 else included
            git(git_dir, "config", "--file", str(file), setting, self.program(f"{label}-{setting}"))
        git(git_dir, "config", "--file", str(git_dir / "config"), "include.path", str(included))
        git(git_dir, "config", "--file", str(git_dir / "config"), "commit.gpgSign", "true")
        (git_dir / "info").mkdir(exist_ok=True)
        (git_dir / "info/attributes").write_text("* filter=evil diff=evil merge=evil\n", encoding="utf-8")

    @property
    def seen(self) -> list[str]:
        return sorted(path.name for path in self.canaries.iterdir())

    def forget(self) -> None:
        for path in self.canaries.iterdir():
            path.unlink()


async def planted(ground: Ground, evil: Evil) -> Agent:
    """An agent's clone with every trap in it, and some work."""
    ground.users.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},libs/sub")
    ground.users.git("commit", "-q", "--no-verify", "-m", "A submodule")
    agent = Agent(await ground.prepare())
    agent.commit("The agent's own", {"own.txt": "own\n"})
    agent.write(
        {
            "README.md": "changed\n",
            ".gitattributes": "* filter=evil diff=evil merge=evil\n",
            ".gitmodules": '[submodule "x"]\n\tpath = libs/sub\n\turl = ./x\n\tupdate = none\n',
            "evilhooks/pre-commit": "#!/bin/sh\n",
            "nested/inside.txt": "inside\n",
            "libs/sub/inside.txt": "inside\n",
        }
    )
    for name in ("nested", "libs/sub"):
        folder = agent.path / name
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x")
        (folder / "inside.txt").write_text("changed\n", encoding="utf-8")
        evil.in_repository(folder / ".git", name.replace("/", "-"))
    own = agent.path / ".git"
    evil.in_repository(own, "own")
    # A partial clone that wants to fetch what is missing, by a program.
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.url": f"ext::{evil.program('own-ext')} %S",
        "remote.evil.promisor": "true",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "extensions.worktreeConfig": "true",
    }.items():
        git(own, "config", "--file", str(own / "config"), name, value)
    (own / "config.worktree").write_text(
        f"[core]\n\tfsmonitor = {evil.program('own-worktree-config')}\n", encoding="utf-8"
    )
    (own / "objects/info/alternates").write_text(f"{ground.folder / 'elsewhere'}\n", encoding="utf-8")
    return agent


async def test_the_traps_are_alive(ground: Ground, tmp_path: Path) -> None:
    evil = Evil(tmp_path)
    agent = await planted(ground, evil)
    (agent.path / ".git/objects/info/alternates").unlink()
    agent.git("status", check=False)
    agent.git("add", "README.md", check=False)
    agent.git("commit", "-m", "x", check=False)
    assert {"own-core.fsmonitor", "own-filter.evil.clean"} <= set(evil.seen) or "own-worktree-config" in evil.seen
    assert len(evil.seen) >= 3, evil.seen


async def test_nothing_of_it_is_run(ground: Ground, tmp_path: Path) -> None:
    evil = Evil(tmp_path)
    agent = await planted(ground, evil)
    evil.forget()
    before = ground.users.snapshot()
    collected = await collect(agent.workspace)
    assert await publish(agent.workspace, collected) == "whilly/demo/T1"
    assert await discard(agent.workspace)
    assert evil.seen == []
    assert ground.users.snapshot() == before
    files = ground.users.files_of("whilly/demo/T1")
    assert files["README.md"] == "changed"
    assert files["nested/inside.txt"] == "changed"
    assert files["own.txt"] == "own"
    assert "libs/sub/inside.txt" not in files
    ground.users.is_sound()


@needs("strace")
async def test_git_starts_nothing_but_git(ground: Ground, tmp_path: Path) -> None:
    evil = Evil(tmp_path)
    agent = await planted(ground, evil)
    evil.forget()
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-qq", "-e", "trace=execve", "-s", "200", "-o", str(trace)]
    program = [sys.executable, "-m", "tests.workspace.finish_attempt", str(agent.workspace.home)]
    done = subprocess.run([*strace, *program], capture_output=True, check=False, cwd=Path(__file__).parents[2])  # noqa: ASYNC221
    if b"ptrace" in done.stderr.lower():
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr.decode()
    result = json.loads(done.stdout)
    assert result["branch"] == "whilly/demo/T1"
    assert "nested/inside.txt" in result["names"]
    started = re.findall(r'execve\("([^"]+)"[^\n]* = 0$', trace.read_text(encoding="utf-8"), re.MULTILINE)
    assert {Path(name).name for name in started[1:]} == {"git"}, set(started)
    assert evil.seen == []


@pytest.mark.parametrize(
    "spoil",
    [
        "pipe for alternates",
        "pipes for refs",
        "links",
        "garbage pack",
        "lying pack",
        "missing tree",
        "huge refs",
        "loop",
    ],
)
async def test_a_spoiled_git_directory_costs_the_history_at_most(ground: Ground, tmp_path: Path, spoil: str) -> None:
    agent = Agent(await ground.prepare())
    agent.commit("Mine", {"own.txt": "own\n", "passing.txt": "passing\n"})
    blob = agent.git("rev-parse", "HEAD:passing.txt")
    (agent.path / "passing.txt").unlink()
    own = agent.commit("Mine too", {})
    agent.write({"more.txt": "more\n"})
    git_dir = agent.path / ".git"
    if spoil == "pipe for alternates":
        os.mkfifo(git_dir / "objects/info/alternates")
    elif spoil == "pipes for refs":
        for name in ("refs/heads/a", "logs/refs/heads/b", "refs/tags/c"):
            os.mkfifo(git_dir / name)
        (git_dir / "packed-refs").unlink()
        os.mkfifo(git_dir / "packed-refs")
    elif spoil == "links":
        secret = tmp_path / "secret"
        secret.write_text(f"{'2' * 40}\n", encoding="utf-8")
        (git_dir / "refs/heads/a").symlink_to(secret)
        (git_dir / "refs/heads/up").symlink_to("/")
        (git_dir / "objects" / own[:2] / own[2:]).unlink()
        (git_dir / "objects" / own[:2] / own[2:]).symlink_to(secret)
    elif spoil == "garbage pack":
        for part in (".pack", ".idx", ".rev"):
            (git_dir / f"objects/pack/pack-{'a' * 40}{part}").write_bytes(os.urandom(5000))
    elif spoil == "lying pack":
        # An object whose content is not what its name says.
        other = agent.git("rev-parse", "HEAD:README.md")
        target = git_dir / "objects" / blob[:2] / blob[2:]
        target.chmod(0o644)
        target.write_bytes((git_dir / "objects" / other[:2] / other[2:]).read_bytes())
    elif spoil == "missing tree":
        tree = agent.git("rev-parse", "HEAD^{tree}")
        (git_dir / "objects" / tree[:2] / tree[2:]).unlink()
    elif spoil == "huge refs":
        lines = "".join(f"{number:040x} refs/heads/x{number}\n" for number in range(100_000))
        (git_dir / "packed-refs").write_text(lines, encoding="utf-8")
    elif spoil == "loop":
        (git_dir / "refs/heads/self").write_text("ref: refs/heads/self\n", encoding="utf-8")
        (git_dir / "HEAD").write_text("ref: refs/heads/self\n", encoding="utf-8")
    collected = await collect(agent.workspace)
    head = collected.head_commit or ""
    assert set(ground.users.files_of(head)) >= {"README.md", "own.txt"}
    assert ground.users.git("show", f"{head}:own.txt") == "own"
    assert "more" in ground.users.reachable_files(collected.kept_ref)
    assert bool(collected.violated) == (spoil in ("links", "lying pack", "missing tree", "loop"))
    assert (own in ground.users.git("rev-list", head)) == (spoil not in ("links", "lying pack", "missing tree"))
    assert await publish(agent.workspace, collected) == "whilly/demo/T1"
    assert await discard(agent.workspace)
    ground.users.is_sound()


async def test_what_no_repository_should_have_stays_where_it_is(ground: Ground) -> None:
    """A `.gitmodules` by which an old git would run a command does not get into the user's repository."""
    agent = Agent(await ground.prepare())
    agent.write({".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch /tmp/whilly-pwned\n'})
    collected = await collect(agent.workspace)
    assert collected.head_commit is None
    assert "not fit for a repository" in collected.violated
    assert str(agent.workspace.home) in collected.violated
    assert not await discard(agent.workspace)
    assert (agent.path / ".gitmodules").exists(), "nothing else has it"
    assert [ref for ref in ground.users.refs() if "whilly" in ref] == []


async def test_a_malformed_commit_of_the_agent_is_not_taken_over(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.write({"a.txt": "work\n"})
    agent.git("add", "-A")
    tree = agent.git("write-tree")
    broken = f"tree {tree}\nparent {agent.workspace.start_commit}\nauthor x <x> 0 +0000\ncommitter nobody\n\nx\n"
    (agent.path / "../broken").write_text(broken, encoding="utf-8")
    commit = agent.git("hash-object", "-t", "commit", "-w", "--literally", "../broken")
    agent.git("update-ref", "refs/heads/whilly/demo/T1", commit)
    collected = await collect(agent.workspace)
    assert "could not be kept" in collected.violated
    assert ground.users.git("show", f"{collected.head_commit}:a.txt") == "work"
    assert commit not in ground.users.git("rev-list", "--all")
    ground.users.is_sound()


async def test_names_that_git_refuses_are_reported(ground: Ground) -> None:
    agent = Agent(await ground.prepare())
    agent.write({"a.txt": "a\n", ".GIT/config": "[core]\n", "git~1/x": "x\n"})
    collected = await collect(agent.workspace)
    assert collected.files_changed == 1
    assert "Not everything could be recorded" in collected.notes[0]


async def test_a_title_or_a_name_is_never_an_option(ground: Ground) -> None:
    agent = Agent(await ground.prepare(title='"; touch /tmp/whilly-pwned; echo "'))
    agent.write(
        {"--upload-pack=touch whilly-pwned": "1\n", ":(exclude)*": "2\n", "-rf": "3\n", "$(touch pwned)": "4\n"}
    )
    collected = await collect(agent.workspace)
    assert collected.files_changed == 4
    assert not Path("/tmp/whilly-pwned").exists()
    with pytest.raises(WorkspaceFailed):
        await ground.prepare("T2", base="--upload-pack=touch /tmp/whilly-pwned")
