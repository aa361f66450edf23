"""Every link inside the repository leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^\s*```.*?^\s*```$", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The fragments that a page can be entered at, as the usual renderers make them from headings."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        path, _, fragment = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        leads_to = (page.parent / path).resolve() if path else page
        if not leads_to.exists():
            broken.append(f"{target}: there is no such file")
        elif fragment and fragment not in anchors(leads_to):
            broken.append(f"{target}: that page has no such heading")
    assert broken == []


def test_every_page_can_be_reached() -> None:
    """From the README, by links."""
    found, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in found or not page.exists():
            continue
        found.add(page)
        targets = (target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8")))
        waiting += [(page.parent / path).resolve() for path in targets if path.endswith(".md") and "://" not in path]
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in found] == []


def test_the_walk_through_the_files_names_real_ones() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", page)
    assert [path for path in named if not (ROOT / "whilly" / path).exists()] == []
