"""The tutorial does what it says: its commands are run, in order, in one shell."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNNABLE = re.compile(r"<!-- runs(?:: exit code (\d+))? -->\n```console\n(.*?)```", re.DOTALL)


def script_of(page: Path) -> str:
    """A shell script of the page's runnable blocks that ends at the first one whose exit code is not as announced."""
    lines = ["set -e"]
    for code, commands in RUNNABLE.findall(page.read_text(encoding="utf-8")):
        *first, last = commands.strip().splitlines()
        expected = int(code or 0)
        lines += [*first, "set +e", last, "code=$?", "set -e"]
        lines.append(f'[ "$code" -eq {expected} ] || {{ echo "expected exit code {expected}, got $code"; exit 1; }}')
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tutorial_works(tmp_path: Path) -> None:
    script = script_of(ROOT / "docs" / "tutorial.md").replace("/tmp/whilly-tutorial", str(tmp_path / "tutorial"))
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "d"),
        "XDG_STATE_HOME": str(tmp_path / "s"),
        "LANG": "C.UTF-8",
    }
    ran = subprocess.run(
        ["bash", "-x", "-c", script],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert "1 x Atlas of Small Rivers" in ran.stdout
