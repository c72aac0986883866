"""Docs that lag behind the code fail here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sfumato.catalogue import DOCS, PAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run: python -m sfumato.catalogue"


@pytest.mark.parametrize("page", [*sorted(DOCS.glob("*.md")), ROOT / "README.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_papers_that_are_cited_have_an_entry() -> None:
    keys = set(re.findall(r"@\w+\{([\w-]+),", (DOCS / "papers.bib").read_text(encoding="utf-8")))
    cited = set()
    for path in (ROOT / "src").rglob("*.py"):
        cited |= set(re.findall(r"\[(obfuscation|boundaries|versatile|multitype|sequential)\b", path.read_text(encoding="utf-8")))
    assert cited <= keys


def test_the_readme_fits_one_screen_or_two() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80
