"""One run of a program: its output, its limits, its exit code."""

import asyncio
import hashlib
import os
import signal
import time
from pathlib import Path

import pytest

from tests.agents.families import PLAIN, python, shell
from whilly.agents.capture import Capture
from whilly.agents.command import CannotStart, Command, Ended, Limits
from whilly.agents.lines import Line, Lines
from whilly.agents.process import run_process


async def test_output_and_exit_code(tmp_path: Path) -> None:
    both = Capture()
    result = await run_process(shell("echo one; echo two >&2; echo three; exit 3", tmp_path), both)
    assert (result.ended, result.exit_code, result.killed, result.left) == (Ended.EXITED, 3, 0, 0)
    assert both.captured().text == "one\ntwo\nthree\n"


async def test_stderr_apart(tmp_path: Path) -> None:
    out, err = Capture(), Capture()
    await run_process(shell("echo one; echo two >&2", tmp_path), out, err)
    assert (out.captured().text, err.captured().text) == ("one\n", "two\n")


async def test_the_environment_is_what_was_given_and_the_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_SECRET", "canary")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    output = Capture()
    await run_process(Command(("/usr/bin/env",), tmp_path, {"ONE": "1"}), output)
    names = {line.split("=")[0] for line in output.captured().text.splitlines()}
    assert names == {"ONE", "WHILLY_ATTEMPT"}


async def test_each_run_has_its_own_marker(tmp_path: Path) -> None:
    seen = set()
    for _ in range(2):
        output = Capture()
        await run_process(shell('echo "$WHILLY_ATTEMPT"', tmp_path), output)
        seen.add(output.captured().text)
    assert len(seen) == 2


async def test_it_runs_where_it_was_told_with_its_arguments_untouched(tmp_path: Path) -> None:
    output = Capture()
    odd = ("a b", "", "$HOME", "`id`", "é\n", "-rf")
    await run_process(python("import os,sys; print(os.getcwd(), sys.argv[1:])", tmp_path, *odd), output)
    assert output.captured().text == f"{tmp_path.resolve()} {list(odd)}\n"


async def test_the_program_is_found_in_the_path_that_it_gets(tmp_path: Path) -> None:
    program = tmp_path / "greet"
    program.write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    program.chmod(0o755)
    output = Capture()
    await run_process(Command(("greet",), tmp_path, {"PATH": str(tmp_path)}), output)
    assert output.captured().text == "hello\n"


async def test_a_long_prompt_arrives_byte_for_byte(tmp_path: Path) -> None:
    prompt = ("'quotes' \"more\" $(id) `id` \\ \r\n é🚀 \x00 " * 8000).encode()
    assert len(prompt) > 200 * 1024
    output = Capture()
    program = "import hashlib,sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    await run_process(python(program, tmp_path, stdin=prompt), output)
    assert output.captured().text.strip() == hashlib.sha256(prompt).hexdigest()


async def test_a_prompt_that_nobody_reads_does_no_harm(tmp_path: Path) -> None:
    result = await run_process(Command(("/bin/true",), tmp_path, PLAIN, stdin=b"x" * 1_000_000), Capture())
    assert result.exit_code == 0


async def test_without_a_prompt_stdin_is_at_its_end(tmp_path: Path) -> None:
    output = Capture()
    await run_process(shell("cat; [ -t 0 ] || echo no terminal; tty <&1 || true", tmp_path), output)
    assert output.captured().text.startswith("no terminal\n")


async def test_it_has_no_terminal_to_ask_for_a_password(tmp_path: Path) -> None:
    result = await run_process(shell("exec 3</dev/tty", tmp_path), Capture())
    assert result.exit_code not in (0, None)


async def test_a_program_may_be_killed_by_a_signal(tmp_path: Path) -> None:
    result = await run_process(shell("kill -SEGV $$", tmp_path), Capture())
    assert (result.ended, result.exit_code) == (Ended.EXITED, -signal.SIGSEGV)


async def test_signals_have_their_usual_meaning_in_the_child(tmp_path: Path) -> None:
    """Python ignores SIGPIPE; a child that inherited this would make `yes | head` fail."""
    output = Capture()
    result = await run_process(shell("(yes; echo $? >&2) | head -1", tmp_path), output)
    assert sorted(output.captured().text.splitlines()) == ["141", "y"]
    assert result.exit_code == 0


async def test_all_of_a_fast_ending_childs_output_is_read(tmp_path: Path) -> None:
    class Slow(Capture):
        async def write(self, data: bytes) -> bool:
            await asyncio.sleep(0.01)
            return await super().write(data)

    output = Slow(head_bytes=10**6)
    await run_process(python("import os; os.write(1, b'x' * 60000); os._exit(0)", tmp_path), output)
    assert output.size == 60000
    output = Slow(head_bytes=10**6)
    program = "import os\ndata = b'y' * 307200\nwhile data: data = data[os.write(1, data):]\nos._exit(0)"
    await run_process(python(program, tmp_path), output)
    assert output.size == 307200


async def test_closing_stdout_is_not_the_end(tmp_path: Path) -> None:
    program = "import os,sys; os.close(1); os.close(2); open('late', 'w').write('x'); sys.exit(4)"
    result = await run_process(python(program, tmp_path), Capture(), Capture())
    assert result.exit_code == 4
    assert (tmp_path / "late").exists()


async def test_a_full_stderr_does_not_block_stdout(tmp_path: Path) -> None:
    out, err = Capture(), Capture()
    program = "import os\nfor _ in range(16): os.write(2, b'e' * 65536)\nos.write(1, b'done')"
    await run_process(python(program, tmp_path), out, err)
    assert (out.captured().text, err.size) == ("done", 1024 * 1024)


async def test_the_time_limit(tmp_path: Path) -> None:
    began = time.monotonic()
    result = await run_process(shell("echo on; sleep 60", tmp_path), Capture(), limits=Limits(timeout_seconds=0.2))
    assert result.ended is Ended.TIMED_OUT
    assert time.monotonic() - began < 5


async def test_silence_is_a_stall_and_output_is_not(tmp_path: Path) -> None:
    limits = Limits(stall_seconds=0.5)
    busy = await run_process(
        shell("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done", tmp_path), Capture(), limits=limits
    )
    assert busy.ended is Ended.EXITED
    silent = await run_process(shell("echo once; sleep 60", tmp_path), Capture(), limits=limits)
    assert silent.ended is Ended.STALLED


async def test_output_that_shows_no_work_does_not_prevent_a_stall(tmp_path: Path) -> None:
    async def take(line: Line) -> bool:
        return line.text != "retrying"

    chatter = shell("while :; do echo retrying; sleep 0.05; done", tmp_path)
    result = await run_process(chatter, Lines(take), limits=Limits(stall_seconds=0.5))
    assert result.ended is Ended.STALLED


async def test_a_stop_signal(tmp_path: Path) -> None:
    stop = asyncio.Event()

    async def take(line: Line) -> bool:
        stop.set()
        return True

    result = await run_process(shell("echo ready; sleep 60", tmp_path), Lines(take), stop=stop)
    assert (result.ended, result.exit_code) == (Ended.STOPPED, -signal.SIGTERM)


async def test_a_sink_that_fails_ends_the_run(tmp_path: Path) -> None:
    async def take(line: Line) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_process(shell("echo x; sleep 60", tmp_path), Lines(take))


@pytest.mark.parametrize(
    ("name", "content", "mode", "sentence"),
    [
        ("missing", None, 0, "it does not exist"),
        ("plain.txt", "echo hi\n", 0o644, "it is not executable"),
        ("no-first-line", "echo hi\n", 0o755, "it is not a program"),
    ],
)
async def test_what_cannot_be_started(tmp_path: Path, name: str, content: str | None, mode: int, sentence: str) -> None:
    program = tmp_path / name
    if content is not None:
        program.write_text(content, encoding="utf-8")
        program.chmod(mode)
    with pytest.raises(CannotStart, match=sentence) as caught:
        await run_process(Command((str(program),), tmp_path, PLAIN), Capture())
    assert str(program) in str(caught.value)


async def test_a_directory_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="not executable"):
        await run_process(Command((str(tmp_path),), tmp_path, PLAIN), Capture())


async def test_a_missing_working_directory(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="working directory"):
        await run_process(Command(("/bin/true",), tmp_path / "gone", PLAIN), Capture())


async def test_arguments_that_are_too_long(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="too long"):
        await run_process(Command(("/bin/true", "x" * 200_000), tmp_path, PLAIN), Capture())


async def test_many_files_stay_closed(tmp_path: Path) -> None:
    """Neither the control socket nor anything that the worker has open reaches the child."""
    with (tmp_path / "secret").open("w", encoding="utf-8") as open_file:
        os.set_inheritable(open_file.fileno(), True)
        output = Capture()
        await run_process(python("import os; print(sorted(os.listdir('/proc/self/fd')))", tmp_path), output)
    assert output.captured().text == "['0', '1', '2', '3']\n"


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_nothing_of_the_worker_leaks(tmp_path: Path) -> None:
    async def once() -> None:
        await run_process(shell("echo x; exit 1", tmp_path), Capture(), Capture())

    await once()
    before = open_files()
    await asyncio.gather(*(once() for _ in range(10)))
    assert open_files() == before
    assert asyncio.all_tasks() == {asyncio.current_task()}
