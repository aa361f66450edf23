"""Scripts are checked before anything runs, and every mistake is told."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from whilly.agents.script import STEPS, BadScript, load_scripts, read_scripts

EXAMPLES: dict[str, Any] = {
    "write": {"path": "a/b.txt", "content": "x"},
    "append": {"path": "a.txt", "content": ""},
    "delete": "a.txt",
    "shell": "make",
    "commit": "Add a",
    "print": "hello",
    "print_prompt": True,
    "raw": "{}\n",
    "usage": {"cost_usd": 0.1, "input_tokens": 5},
    "sleep": 0.5,
    "hang": True,
    "ignore_term": True,
    "crash": "SIGSEGV",
    "say": "Done.",
    "complete": False,
    "blocked": "Which?",
    "end": {"outcome": "rate_limited", "retry_after_seconds": 30},
}


def complaints(*steps: Any) -> list[str]:
    with pytest.raises(BadScript) as caught:
        read_scripts(json.dumps({"T1": list(steps)}), "s.json")
    return str(caught.value).splitlines()


def test_every_kind_of_step_can_be_written() -> None:
    assert set(EXAMPLES) == set(STEPS)
    steps = [{name: value} for name, value in EXAMPLES.items()]
    scripts = read_scripts(json.dumps({"T1": steps, "*": [{"on_attempt": {"1": steps, "2": []}}]}), "s.json")
    assert list(scripts["T1"].steps) == steps


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("value", [None, 3.5, "../x", [], {"path": "/etc/passwd", "content": "x"}, {"odd": 1}])
def test_wrong_values_are_refused_in_the_words_of_the_table(name: str, value: Any) -> None:
    text_fits = {"shell", "commit", "print", "raw", "say", "blocked"}
    if (isinstance(value, str) and name in text_fits) or (value == 3.5 and name == "sleep"):
        return
    assert complaints({name: value}) == [f"s.json: T1: step 1: {name} takes {STEPS[name].takes}."]


@pytest.mark.parametrize(
    "step",
    [
        {"crash": "SIGNOTHING"},
        {"crash": 256},
        {"crash": True},
        {"sleep": -1},
        {"sleep": 1e9},
        {"usage": {"input_tokens": -1}},
        {"usage": {"input_tokens": 10**18}},
        {"usage": {"cost_usd": -0.1}},
        {"usage": {"cost_usd": "much"}},
        {"usage": {"cost_usd": 1e30}},
        {"end": {"outcome": "completed"}},
        {"end": {"outcome": "lost_worker"}},
        {"end": {"outcome": "refused", "retry_after_seconds": "soon"}},
        {"write": {"path": "a", "content": "x", "mode": 1}},
    ],
)
def test_values_out_of_range(step: dict[str, Any]) -> None:
    assert len(complaints(step)) == 1


def test_all_mistakes_are_told_at_once_with_their_place() -> None:
    found = complaints({"print": 1}, {}, "x", {"jump": 1}, {"on_attempt": {"1": [{"sleep": "long"}], "2": 7}})
    assert [complaint.split(" takes")[0].split("; there are")[0] for complaint in found] == [
        "s.json: T1: step 1: print",
        's.json: T1: step 2: write an object with one key, as in {"print": "hello"}.',
        's.json: T1: step 3: write an object with one key, as in {"print": "hello"}.',
        "s.json: T1: step 4: there is no step 'jump'",
        "s.json: T1: step 5: on_attempt 1: step 1: sleep",
        "s.json: T1: step 5: on_attempt 2: write a list of steps.",
    ]


@pytest.mark.parametrize("attempts", [{}, [], {"0": []}, {"first": []}])
def test_attempts_are_numbers(attempts: Any) -> None:
    assert "attempt number" in complaints({"on_attempt": attempts})[0]


@pytest.mark.parametrize("data", [b"", b"[", b"\xff\xfe", b"[]", b"7", b"[" * 100_000])
def test_other_files(data: bytes) -> None:
    with pytest.raises(BadScript, match=r"^s\.json: "):
        read_scripts(data, "s.json")


def test_a_task_without_a_list() -> None:
    with pytest.raises(BadScript, match="T1: write a list of steps"):
        read_scripts(b'{"T1": {"write": {}}}', "s.json")


def test_the_example_of_the_documentation_can_be_followed() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "scripted-agent.md"
    (example,) = re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert set(read_scripts(example, "example")) == {"customers", "*"}


def test_loading(tmp_path: Path) -> None:
    path = tmp_path / "scripts.json"
    with pytest.raises(BadScript, match="cannot be read: No such file"):
        load_scripts(path)
    path.write_text('{"T1": [{"print": "🚀"}]}', encoding="utf-8")
    assert load_scripts(path)["T1"].steps == ({"print": "🚀"},)
