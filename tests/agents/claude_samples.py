"""Outputs of real runs of Claude Code."""

import json
from dataclasses import dataclass
from pathlib import Path

from whilly.agents.claude_stream import ClaudeStream, Heard
from whilly.agents.lines import LineSplitter

FOLDER = Path(__file__).parent / "samples" / "claude"


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    kind: str
    exit_code: int
    version: str
    stdout: bytes
    stderr: str

    def read(self, *, marker_alone: bool = False) -> tuple[ClaudeStream, list[Heard]]:
        """What the stream gives. The marker of these runs is not alone on its line; it can be put there."""
        data = self.stdout
        if marker_alone:
            data = data.replace(b" <promise>COMPLETE</promise>", rb"\n<promise>COMPLETE</promise>")
        stream, splitter = ClaudeStream(), LineSplitter()
        lines = splitter.feed(data) + splitter.flush()
        return stream, [stream.take(line.text) for line in lines]


def _load() -> dict[str, Sample]:
    index = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
    return {name: _sample(name, facts) for name, facts in index.items()}


def _sample(name: str, facts: dict[str, object]) -> Sample:
    stdout, stderr = FOLDER / f"{name}.stdout", FOLDER / f"{name}.stderr"
    return Sample(
        name=name,
        kind=str(facts["class"]),
        exit_code=int(str(facts["exit_code"])),
        version=str(facts["version"]),
        stdout=stdout.read_bytes() if stdout.exists() else b"",
        stderr=stderr.read_text(encoding="utf-8") if stderr.exists() else "",
    )


SAMPLES = _load()
