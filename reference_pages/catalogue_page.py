"""Generate ``docs/reference/catalogue.md``: models, methods, metrics, attacks, kinds of data and demonstrations.

Definition, parameters, paper and kinds of data are read from the declarations; formula, cost and example of an entry
are facts of `reference_pages.catalogue_facts`. An entry without a fact is shown without it, and a test asks for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reference_pages.catalogue_facts import ATTACKS, METHODS, METRICS, MODELS, Facts
from reference_pages.papers_pages import PAPERS
from sfumato.core.registry import catalogue
from sfumato.core.wording import summary_of
from sfumato.io.source import Source
from sfumato.models.base import Model
from sfumato.release.attack import Attack
from sfumato.release.method import Method
from sfumato.release.metric import Metric
from sfumato.ui.demos.scenario import Scenario

OPENING = """# Catalogue

Everything that a policy or a command can name. The page is generated from the code.
In formulas E is an equivalence class, p the share of a value in E and q its share in the whole release.
n is the number of records, d the number of quasi-identifiers, N the number of nodes.
"""


def catalogue_page() -> str:
    """Return the whole page."""
    lines = [OPENING, "## Privacy models", "", *_models(), "## Methods", "", *_methods(), "## Metrics", ""]
    lines += [
        "`sfumato measure DIR --original DATA` prints them. Those that need no original are in the certificate.",
        "",
    ]
    lines += [*_metrics(), "## Attacks", "", *_attacks(), "## Kinds of data", ""]
    lines += [
        f"- `kind: {name}`: {_first(cls)} See [policy](policy.md#data)."
        for name, cls in catalogue("io", Source).items()
    ]
    lines += ["", "## Demonstrations", ""]
    lines += [
        f"- `sfumato demo --scenario {name}`: {_first(cls)}" for name, cls in catalogue("demos", Scenario).items()
    ]
    return "\n".join(lines) + "\n"


def _models() -> Iterator[str]:
    for name, cls in catalogue("models", Model).items():
        yield from _entry(name, cls, MODELS.get(name, _NO), _fields(cls), "protect: [{}]", ", ".join(cls.kinds))


def _methods() -> Iterator[str]:
    for name, cls in catalogue("methods", Method).items():
        yield from _entry(name, cls, METHODS.get(name, _NO), _fields(cls), "method: {}", ", ".join(cls.kinds))


def _metrics() -> Iterator[str]:
    for name, cls in catalogue("metrics", Metric).items():
        facts, told = METRICS.get(name, _NO), {"Goal": cls.goal, "Range": cls.range}
        yield from _entry(name, cls, facts, facts.parameters, "{}", anchor="metric-", told=told)


def _attacks() -> Iterator[str]:
    for name, cls in catalogue("attacks", Attack).items():
        yield from _entry(name, cls, ATTACKS.get(name, _NO), _fields(cls), "{}", anchor="attack-")


_NO = Facts("", "", "")


def _entry(
    name: str,
    cls: Any,
    facts: Facts,
    parameters: Sequence[tuple[str, str, str]],
    form: str,
    data: str = "",
    *,
    anchor: str = "",
    told: Mapping[str, str] | None = None,
) -> Iterator[str]:
    yield f"### `{name}` {{#{anchor}{name.replace(' ', '-')}}}"
    yield ""
    yield _first(cls)
    yield ""
    paper = _cited(getattr(cls, "paper", ""))
    shown = {"Formula": facts.formula, **(told or {}), "Cost": facts.cost, "Data": data, "Paper": paper}
    yield from (f"- {word}: {fact}" for word, fact in shown.items() if fact)
    if facts.example:
        yield f"- Example: `{form.format(facts.example)}`"
    if not parameters:
        yield "- Parameters: none"
    yield ""
    if parameters:
        yield "| parameter | default | meaning |"
        yield "| --- | --- | --- |"
        yield from (f"| `{key}` | {default} | {meaning} |" for key, default, meaning in parameters)
        yield ""


def _fields(cls: Any) -> list[tuple[str, str, str]]:
    """Return name, default and meaning of the declared parameters."""
    fields = {key: field for key, field in cls.model_fields.items() if not field.exclude}
    return [
        (key, "required" if field.is_required() else _default(field), field.description)
        for key, field in fields.items()
    ]


def _cited(paper: str) -> str:
    """Link the papers that have a page."""
    key = paper.split(" ")[0].rstrip(";")
    return f"[{paper}](../explanation/papers/{key}.md)" if key in PAPERS else paper


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    return f"`{value}`" if value not in (None, "", {}, ()) else "–"


def _first(cls: Any) -> str:
    """Return the first sentence or paragraph of a docstring."""
    return summary_of(cls)
