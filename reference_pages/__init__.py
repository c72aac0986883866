"""Generate the reference pages of the documentation (`python -m reference_pages`).

Every page of `PAGES` is written from declarations in the code, from stored benchmark results or from the errata list.
A test fails while a page is out of date.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from reference_pages.benchmarks_page import PLOTS, RESULTS, benchmarks_page
from reference_pages.catalogue_page import catalogue_page
from reference_pages.folder_pages import certificate_page, exit_codes_page
from reference_pages.papers_pages import PAPERS, curves, index_page, paper_page
from reference_pages.policy_page import policy_page
from reference_pages.python_page import python_page

DOCS = Path(__file__).resolve().parents[1] / "docs"


def commands_page() -> str:
    """Return the help of every command."""
    from sfumato.ui.cli import all_help

    lines = ["# Commands", "", "The help of every command, generated from the code. [Exit codes](exit-codes.md).", ""]
    for title, text in all_help():
        lines += [f"## `{title}`", "", "```text", *(line.rstrip() for line in text.splitlines()), "```", ""]
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "reference/benchmarks.md": benchmarks_page,
    "reference/catalogue.md": catalogue_page,
    "reference/certificate.md": certificate_page,
    "reference/commands.md": commands_page,
    "reference/exit-codes.md": exit_codes_page,
    "reference/policy.md": policy_page,
    "reference/python.md": python_page,
    "explanation/papers/index.md": index_page,
    **{f"explanation/papers/{key}.md": partial(paper_page, key) for key in PAPERS},
}


def main() -> None:
    """Write the generated pages and copy the pictures that they show."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    for folder, pictures in (("explanation/papers", curves()), ("reference", PLOTS)):
        (DOCS / folder / "curves").mkdir(exist_ok=True)
        for picture in pictures:
            (DOCS / folder / "curves" / f"{picture}.svg").write_bytes((RESULTS / f"{picture}.svg").read_bytes())
