"""The generated pages of the documentation: what there is, and every command's help (``python -m sfumato.catalogue``)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.attacks.base import Attack
from sfumato.catalogue.changelog import changelog_page
from sfumato.catalogue.papers_pages import PAPERS, curves, index_page, paper_page
from sfumato.catalogue.policy_page import policy_page
from sfumato.demos.base import Scenario
from sfumato.io.base import Source
from sfumato.methods.base import Method
from sfumato.metrics.base import Metric
from sfumato.models.base import Model
from sfumato.registry import catalogue

DOCS = Path(__file__).resolve().parents[3] / "docs"


def catalogue_page() -> str:
    """Models, methods, metrics, kinds of data, attacks and scenarios, from their own declarations."""
    lines = ["# Catalogue", "", "Made from the code by `python -m sfumato.catalogue`; a test fails when it lags.", ""]
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
    from sfumato.cli._help import all_help

    lines = ["# Commands", "", "Made from the code by `python -m sfumato.catalogue`; a test fails when it lags.", ""]
    for title, text in all_help():
        lines += [f"## `{title}`", "", "```", *(line.rstrip() for line in text.splitlines()), "```", ""]
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "../CHANGELOG.md": changelog_page,
    "catalogue.md": catalogue_page,
    "cli.md": cli_page,
    "policy.md": policy_page,
    "papers/index.md": index_page,
    **{f"papers/{key}.md": partial(paper_page, key) for key in PAPERS},
}


def main() -> None:
    """Write the generated pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    (DOCS / "papers" / "curves").mkdir(exist_ok=True)
    for name in curves():
        drawn = DOCS.parent / "benchmarks" / "results" / f"{name}.svg"
        (DOCS / "papers" / "curves" / drawn.name).write_bytes(drawn.read_bytes())
