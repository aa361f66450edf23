"""Writes the generated parts of the documentation: `make docs`, or `python docs/generate.py --check` to compare only.

A page asks for a part with two lines, `<!-- generated: NAME -->` and `<!-- end of NAME -->`; what stands between
them is replaced by what `blocks.BLOCKS[NAME]` returns.
"""

import argparse
import difflib
import re
import sys
from pathlib import Path

from blocks import BLOCKS

ROOT = Path(__file__).resolve().parent
PART = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end of (?P=name) -->)", re.DOTALL)


def renewed(text: str) -> str:
    """The page with each part as it must be now. Raises KeyError for a part that nobody makes."""
    return PART.sub(lambda part: f"{part[1]}\n{BLOCKS[part['name']]().strip()}\n\n{part[3]}", text)


def main() -> int:
    """Write or compare every page. Exit code 1 when a page is stale and `--check` was given."""
    parser = argparse.ArgumentParser(description="Write the generated parts of docs/*.md anew.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 when a page is stale")
    check = parser.parse_args().check
    stale = []
    for page in sorted(ROOT.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = renewed(before)
        if before == after:
            continue
        name = str(page.relative_to(ROOT.parent))
        stale.append(name)
        if check:
            sys.stdout.writelines(
                difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, "now", n=1)
            )
        else:
            page.write_text(after, encoding="utf-8")
    if check and stale:
        print(f"Stale: {', '.join(stale)}. Run `make docs` and look at the change.")
        return 1
    if not check:
        print(f"Written: {', '.join(stale)}." if stale else "Every page is as it must be.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
