"""The generated parts of the documentation are those that the code gives now."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_page_is_stale() -> None:
    compared = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    assert compared.returncode == 0, compared.stdout + compared.stderr
