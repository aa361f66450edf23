import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from tests.worker.until import until
from whilly.agents.environment import clean_environment
from whilly.core.evidence import CheckResult
from whilly.core.plan import Check
from whilly.worker.halt import Cause, Halt
from whilly.worker.verification import run_checks

COMMIT = "c" * 40
ENVIRONMENT = clean_environment(os.environ)


async def checked(checkout: Path, *commands: str, timeout: int = 60, halt: Halt | None = None) -> list[CheckResult]:
    checks = [Check(f"check-{number}", command, timeout_seconds=timeout) for number, command in enumerate(commands)]

    async def told(check: Check, result: CheckResult) -> None:
        assert check.name == result.name

    ran = run_checks(checks, checkout, COMMIT, environment=ENVIRONMENT, halt=halt or Halt(), told=told)
    return list(await ran)


async def test_a_command_that_succeeds_has_passed_on_the_commit(tmp_path: Path) -> None:
    (tmp_path / "greeting.txt").write_text("hello\n", encoding="utf-8")
    (result,) = await checked(tmp_path, "cat greeting.txt | tr a-z A-Z; pwd >&2")
    assert result.passed
    assert result.commit == COMMIT
    assert result.output_head == f"HELLO\n{tmp_path}\n"
    assert result.output_bytes == len(result.output_head)
    assert (result.exit_code, result.note, result.output_tail) == (0, "", "")


async def test_all_run_though_one_fails(tmp_path: Path) -> None:
    results = await checked(tmp_path, "exit 3", "no-such-program-here", "true")
    assert [(each.passed, each.exit_code) for each in results] == [(False, 3), (False, 127), (True, 0)]


async def test_one_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    (result,) = await checked(
        tmp_path, "setsid sleep 300 & echo $! > child; trap '' TERM; sleep 300; sleep 300", timeout=1
    )
    assert not result.passed
    assert result.timed_out
    assert result.note == "stopped after 1 s"
    assert result.duration_ms >= 1000
    assert not psutil.pid_exists(int((tmp_path / "child").read_text(encoding="utf-8")))


async def test_what_a_check_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    (result,) = await checked(tmp_path, "setsid sleep 300 >/dev/null 2>&1 & echo $! > child")
    assert result.passed
    assert not psutil.pid_exists(int((tmp_path / "child").read_text(encoding="utf-8")))


async def test_output_of_any_size_keeps_its_two_ends(tmp_path: Path) -> None:
    (result,) = await checked(tmp_path, f"echo first; {sys.executable} -c 'print(\"x\" * 30_000_000)'; echo last")
    assert result.passed
    assert result.output_head.startswith("first\nxxx")
    assert result.output_tail.endswith("xxx\nlast\n")
    assert len(result.output_head) == len(result.output_tail) == 16 * 1024
    assert result.output_bytes == 30_000_012


async def test_many_checks_share_what_a_report_can_hold(tmp_path: Path) -> None:
    noise = f"{sys.executable} -c 'print(\"x\" * 100_000)'"
    results = await checked(tmp_path, *[noise] * 24)
    assert sum(len(each.output_head) + len(each.output_tail) for each in results) <= 2 * 192 * 1024


async def test_broken_bytes_do_no_harm(tmp_path: Path) -> None:
    (result,) = await checked(tmp_path, r"printf 'a\000b\377\376c\n'")
    assert result.passed
    assert result.output_head == "a\0b\ufffd\ufffdc\n"


async def test_a_run_without_tests_has_not_passed(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text("", encoding="utf-8")
    results = await checked(
        tmp_path,
        f"{sys.executable} -m pytest -q test_nothing.py",
        f"{sys.executable} -m pytest test_nothing.py || true",
    )
    assert [(each.passed, each.note) for each in results] == [(False, "no tests were collected")] * 2
    assert [each.exit_code for each in results] == [5, 0]


async def test_nobody_is_asked_anything(tmp_path: Path) -> None:
    (result,) = await checked(tmp_path, "read answer; test -t 0 || echo no terminal", timeout=20)
    assert result.output_head == "no terminal\n"


async def test_no_secret_of_the_worker_is_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "WHILLY_DATABASE_URL",
        "GIT_DIR",
        "PYTHONSTARTUP",
        "LD_PRELOAD_X",
    ):
        monkeypatch.setenv(name, "canary")
    environment = clean_environment(os.environ)
    assert "canary" not in environment.values()
    check = Check("env", "env")

    async def told(check: Check, result: CheckResult) -> None: ...

    (result,) = await run_checks([check], tmp_path, COMMIT, environment=environment, halt=Halt(), told=told)
    assert "canary" not in result.output_head
    assert f"PATH={os.environ['PATH']}\n" in result.output_head


async def test_a_halt_ends_the_running_check_and_starts_no_other(tmp_path: Path) -> None:
    halt = Halt()
    running = asyncio.create_task(checked(tmp_path, "touch begun; sleep 300", "touch never", halt=halt))
    await until((tmp_path / "begun").exists)
    halt.because(Cause.CANCELLED, "Cancelled.")
    (result,) = await running
    assert (result.passed, result.note) == (False, "stopped together with its attempt")
    assert not (tmp_path / "never").exists()


async def test_a_signal_is_named(tmp_path: Path) -> None:
    (result,) = await checked(tmp_path, "kill -SEGV $$")
    assert (result.passed, result.note) == (False, "killed by signal 11")


async def test_a_checkout_that_is_gone_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    (result,) = await checked(tmp_path / "gone", "true")
    assert not result.passed
    assert "gone" in result.note
