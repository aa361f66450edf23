"""The scripted agent's own process: does what a script says in the current folder, and tells of it line by line.

Started as `python -I -S scripted_program.py`. Reads one JSON object from stdin: `task`, `attempt`, `key_files`,
`prompt` and `steps` (null without a script). Writes one JSON object to a line: `{"text": …}`, `{"usage": {…}}` and in
the end `{"result": {…}}`. It imports nothing of Whilly; `script.py` has checked the steps.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from typing import Any

COMPLETE = "<promise>COMPLETE</promise>"
BLOCKED = "<promise>BLOCKED: {}</promise>"

COMMENTS = {
    "#": "py pyi rb sh bash zsh pl r yaml yml toml ini cfg conf env tf cmake dockerfile makefile gitignore",
    "//": "js jsx ts tsx mjs c h cc cpp hpp cs java kt go rs swift scala php proto dart",
    "--": "sql lua hs elm ada",
    ";": "lisp clj el scm asm",
    "%": "tex erl",
}
"""How a line is said in a language without changing what the file means."""


class Fault(Exception):
    """The script cannot be followed here; the text says why."""


def tell(**line: Any) -> None:
    """One line for the runner."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def inside(path: str) -> str:
    """The path, if it stays in the workspace, links included."""
    here = os.path.realpath(".")
    if os.path.commonpath([here, os.path.realpath(path)]) != here or os.path.realpath(path) == here:
        raise Fault(f"{path} leads out of the workspace")
    if ".git" in os.path.relpath(os.path.realpath(path), here).split(os.sep):
        raise Fault(f"{path} belongs to git")
    return path


def put(path: str, content: str, mode: str) -> None:
    """Write or append; folders are made."""
    folder = os.path.dirname(inside(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, mode, encoding="utf-8", newline="") as file:
        file.write(content)


def remove(path: str) -> None:
    """A file, or a folder with all it holds."""
    if os.path.isdir(inside(path)) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def run(command: str | list[str]) -> int:
    """Run a command to its end and tell what it prints; what it leaves in the background is not waited for."""
    import codecs
    import subprocess

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    process = subprocess.Popen(
        command,
        shell=isinstance(command, str),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if process.stdout is not None:
        for data in output_of(process, process.stdout.fileno()):
            tell(text=decoder.decode(data))
    code = process.wait()
    if code:
        tell(text=f"(exit code {code})\n")
    return code


def output_of(process: subprocess.Popen[bytes], pipe: int) -> Iterator[bytes]:
    """What comes while the process lives, though others may hold its pipe for longer."""
    import select

    while True:
        ended = process.poll() is not None
        # Windows cannot wait for a pipe: there the end of the output is the end.
        if os.name != "nt" and not select.select([pipe], [], [], 0 if ended else 0.02)[0]:
            if ended:
                return
            continue
        data = os.read(pipe, 65536)
        if not data:
            return
        yield data


def commit(message: str) -> None:
    """Commit everything that differs, as the scripted agent."""
    who = ["-c", "user.name=Scripted agent", "-c", "user.email=scripted@whilly.invalid", "-c", "commit.gpgsign=false"]
    for command in (["add", "--all"], ["commit", "--quiet", "--message", message]):
        if run(["git", *who, *command]):
            raise Fault(f"git {command[0]} failed")


def crash(how: int | str) -> None:
    """End without a result."""
    import signal

    sys.stdout.flush()
    if isinstance(how, str):
        number = getattr(signal, how)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(60)
    os._exit(how if isinstance(how, int) else 1)


def hang() -> None:
    """For ever."""
    while True:
        time.sleep(3600)


def ignore_term() -> None:
    """Be one of those programs."""
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)


class Play:
    """One run of a script."""

    def __init__(self, attempt: int, prompt: str) -> None:
        self.attempt = attempt
        self.prompt = prompt
        self.said = "Done."
        self.complete = True
        self.blocked = ""
        self.end: dict[str, Any] = {}

    def follow(self, steps: list[dict[str, Any]]) -> None:
        """Do the steps, up to an `end`."""
        for step in steps:
            if not self.end:
                ((name, value),) = step.items()
                self.do(name, value)

    def do(self, name: str, value: Any) -> None:
        """One step."""
        if name in ("write", "append"):
            put(value["path"], value["content"], name[0])
            tell(text=f"{name} {value['path']}\n")
        elif name == "delete":
            remove(value)
            tell(text=f"delete {value}\n")
        elif name == "shell":
            tell(text=f"$ {value}\n")
            run(value)
        elif name == "print":
            tell(text=value if value.endswith("\n") else value + "\n")
        elif name == "raw":
            sys.stdout.write(value)
            sys.stdout.flush()
        elif name == "usage":
            tell(usage=value)
        elif name == "on_attempt":
            fitting = [int(number) for number in value if int(number) <= self.attempt]
            self.follow(value[str(max(fitting))] if fitting else [])
        else:
            self.do_the_rest(name, value)

    def do_the_rest(self, name: str, value: Any) -> None:
        """One step that is about how the run ends."""
        if name == "sleep":
            time.sleep(value)
        elif name == "commit":
            commit(value)
        elif name == "print_prompt":
            tell(text=self.prompt + "\n")
        elif name == "hang":
            hang()
        elif name == "ignore_term":
            ignore_term()
        elif name == "crash":
            crash(value)
        elif name == "say":
            self.said = value
        elif name == "complete":
            self.complete = value
        elif name == "blocked":
            self.blocked = value
        else:
            self.end = value

    def result(self) -> dict[str, Any]:
        """What is told in the end."""
        marker = BLOCKED.format(self.blocked) if self.blocked else COMPLETE if self.complete else ""
        return {"text": f"{self.said}\n{marker}".strip(), **self.end}


def without_a_script(task: str, attempt: int, key_files: list[str]) -> None:
    """Add one line to each key file, or to a file named after the task when there are none."""
    for name in key_files or [f"{task}.md"]:
        path = name
        if name.endswith("/") or os.path.isdir(name) or any(sign in name for sign in "*?["):
            # A folder or a pattern: the line goes into a file of the task's own there.
            fixed = [part for part in name.split("/") if part and not any(sign in part for sign in "*?[")]
            path = "/".join([*fixed, f"{task}.md"])
        line = in_language(path, f"{task}, attempt {attempt}: done by the scripted agent.")
        before = ""
        if os.path.exists(inside(path)) and os.path.getsize(path):
            with open(path, "rb") as file:
                file.seek(-1, os.SEEK_END)
                before = "" if file.read() == b"\n" else "\n"
        put(path, f"{before}{line}\n", "a")
        tell(text=f"one line added to {path}\n")


def in_language(path: str, line: str) -> str:
    """The line as a comment, where the file's language has one."""
    ending = os.path.basename(path).lower().rpartition(".")[2]
    if ending in ("html", "xml", "svg", "vue"):
        return f"<!-- {line} -->"
    if ending in ("css", "scss", "less"):
        return f"/* {line} */"
    if ending == "json":
        return ""  # It knows no comments, but an empty line does no harm.
    for sign, endings in COMMENTS.items():
        if ending in endings.split():
            return f"{sign} {line}"
    return line


def main() -> int:
    """Read the assignment, play, tell the result."""
    wanted = json.load(sys.stdin.buffer)
    play = Play(wanted["attempt"], wanted["prompt"])
    try:
        if wanted["steps"] is None:
            without_a_script(wanted["task"], wanted["attempt"], wanted["key_files"])
        else:
            play.follow(wanted["steps"])
    except (Fault, OSError) as fault:
        sys.stderr.write(f"The scripted agent cannot go on: {fault}.\n")
        return 1
    tell(result=play.result())
    return 0


if __name__ == "__main__":
    sys.exit(main())
