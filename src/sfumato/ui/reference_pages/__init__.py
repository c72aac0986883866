"""Generated pages of the documentation (`python -m sfumato.ui.reference_pages`).

The generated pages of the documentation: what there is, and every command's help (``python -m sfumato.ui.reference_pages``).


Changelog
---------
The changelog says things once: every heading once in a release, and no two entries that begin alike.

Branches that are put together leave entries twice; whoever makes the pages drops the second.

>>> said_once("# Log\\n\\n## 1\\n\\n### New\\n- one\\n- two\\n\\n### New\\n- two\\n- three\\n")
'# Log\\n\\n## 1\\n\\n### New\\n- one\\n- two\\n- three\\n'
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.core.registry import catalogue
from sfumato.io.source import Source
from sfumato.models.base import Model
from sfumato.release.attack import Attack
from sfumato.release.method import Method
from sfumato.release.metric import Metric
from sfumato.ui.demos.scenario import Scenario
from sfumato.ui.reference_pages.papers_pages import PAPERS, curves, index_page, paper_page
from sfumato.ui.reference_pages.policy_page import policy_page

CHANGELOG = Path(__file__).resolve().parents[4] / "CHANGELOG.md"
_ALIKE = 40
"""Letters by which an entry is known."""


def changelog_page() -> str:
    """The changelog as it stands, without what stands in it already."""
    return said_once(CHANGELOG.read_text(encoding="utf-8"))


def said_once(text: str) -> str:
    """Headings of the same name put together, entries that begin alike dropped."""
    head, *releases = re.split(r"(?m)^(?=## )", text)
    return (head + "\n".join(_release(release) for release in releases)).rstrip() + "\n"


def _release(text: str) -> str:
    title, *parts = re.split(r"(?m)^### ", text)
    found: dict[str, list[str]] = {}
    known: set[str] = set()
    for part in parts:
        heading, _, body = part.partition("\n")
        entries = found.setdefault(heading.strip(), [])
        for entry in re.split(r"(?m)^- ", body)[1:]:
            beginning = " ".join(entry.split())[:_ALIKE]
            if beginning not in known:
                entries.append(f"- {entry.rstrip()}\n")
                known.add(beginning)
    return title.rstrip() + "\n\n" + "\n".join(f"### {heading}\n" + "".join(entries) for heading, entries in found.items())


# Catalogue
# ---------


DOCS = Path(__file__).resolve().parents[4] / "docs"


def catalogue_page() -> str:
    """Models, methods, metrics, kinds of data, attacks and scenarios, from their own declarations."""
    lines = ["# Catalogue", "", "Made from the code by `python -m sfumato.ui.reference_pages`; a test fails when it lags.", ""]
    for title, room, base in (
        ("Privacy models", "models", Model),
        ("Methods", "methods", Method),
        ("Kinds of data", "io", Source),
        ("Attacks", "attacks", Attack),
    ):
        lines += [f"## {title}", "", *_declared(room, base)]
    lines += ["## Metrics", "", "| name | goal | range | what it says |", "| --- | --- | --- | --- |"]
    lines += [f"| `{name}` | {cls.goal} | {cls.range} | {_first(cls)} |" for name, cls in catalogue("metrics", Metric).items()]
    lines += ["", "## Demo scenarios", ""]
    lines += [f"- `sfumato demo --scenario {name}`: {_first(cls)}" for name, cls in catalogue("demos", Scenario).items()]
    return "\n".join(lines) + "\n"


def _declared(room: str, base: Any) -> Iterator[str]:
    for name, cls in catalogue(room, base).items():
        yield f"### `{name}`"
        yield ""
        yield _first(cls) + (f" [{cls.paper}]" if getattr(cls, "paper", "") else "")
        yield ""
        shown = {key: field for key, field in cls.model_fields.items() if not field.exclude}
        if shown:
            yield "| parameter | default | meaning |"
            yield "| --- | --- | --- |"
            for key, field in shown.items():
                default = "required" if field.is_required() else _default(field)
                yield f"| `{key}` | {default} | {field.description} |"
            yield ""


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    return f"`{value}`" if value not in (None, "", {}, ()) else "—"


def _first(cls: Any) -> str:
    return (inspect.getdoc(cls) or "").splitlines()[0].strip()


def cli_page() -> str:
    """The help of every command."""
    from sfumato.ui.cli import all_help

    lines = ["# Commands", "", "Made from the code by `python -m sfumato.ui.reference_pages`; a test fails when it lags.", ""]
    for title, text in all_help():
        lines += [f"## `{title}`", "", "```", *(line.rstrip() for line in text.splitlines()), "```", ""]
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "../CHANGELOG.md": changelog_page,
    "reference/catalogue.md": catalogue_page,
    "reference/commands.md": cli_page,
    "reference/policy.md": policy_page,
    "explanation/papers/index.md": index_page,
    **{f"explanation/papers/{key}.md": partial(paper_page, key) for key in PAPERS},
}


def main() -> None:
    """Write the generated pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    (DOCS / "explanation" / "papers" / "curves").mkdir(exist_ok=True)
    for name in curves():
        drawn = DOCS.parent / "benchmarks" / "results" / f"{name}.svg"
        (DOCS / "explanation" / "papers" / "curves" / drawn.name).write_bytes(drawn.read_bytes())
