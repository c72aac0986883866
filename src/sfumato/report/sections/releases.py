"""The releases so far: what was published when, and the level after each, by all three joins."""

from __future__ import annotations

from typing import ClassVar

from markupsafe import Markup

from sfumato.audit.sequence_claims import timeline
from sfumato.models.k_diversity import KDiversity
from sfumato.models.k_linkability import KLinkability
from sfumato.release.exhibit import Exhibit
from sfumato.release.past import History
from sfumato.report.charts import bars
from sfumato.report.section import Section, paragraph, table

_WORDS = (
    "The match join trusts every consistent combination of rows and the kernel join every pairwise matching: both flatter. "
    "Only the full join is what an outsider can really not exclude; the promise is judged on it."
)


class Releases(Section):
    """A timeline of releases with the level after each."""

    name: ClassVar[str] = "releases"
    title: ClassVar[str] = "All releases together"
    order: ClassVar[int] = 15

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and exhibit.history is not None and any(claim.model.joint for claim in exhibit.policy.claims)

    def render(self, exhibit: Exhibit) -> Markup:
        history = exhibit.history
        assert history is not None
        rows = [
            _row(past.number, past.when or "now", ", ".join(past.published), len(past.memory.keys)) for past in history.releases
        ]
        parts = [table(("release", "published", "columns", "records"), rows)]
        for claim in exhibit.policy.claims:
            for column in claim.hide if claim.model.joint else ():
                parts += _levels(history, column)
        return Markup("").join(parts)


def _row(number: int, when: str, columns: str, records: int) -> tuple[str, str, str, str]:
    return str(number), when, columns, f"{records:,}"


def _levels(history: History, column: str) -> list[Markup]:
    """Levels of one hidden column after each release that an outsider could join."""
    steps = timeline(history, column)
    if not steps:
        return [paragraph(f"'{column}' was never published: there is nothing to link to.")]
    rows, chart = [], []
    for number, joins in ((step.release, step.joins) for step in steps):
        gamma = {name: KLinkability(k=1).achieved(linkage)["k"] for name, linkage in joins.items()}
        delta = {name: KDiversity(k=1).achieved(linkage)["k"] for name, linkage in joins.items()}
        rows.append((number, gamma["match"], gamma["kernel"], gamma["full"], delta["match"], delta["kernel"], delta["full"]))
        chart += [(f"after {number}, {name} join", float(gamma[name]), str(gamma[name])) for name in ("match", "kernel", "full")]
    header = ("after release", "values: match", "kernel", "full", "1/share: match", "kernel", "full")
    picture = bars(chart, title=f"fewest values of {column} that anybody can be linked to")
    return [
        Markup("<h3>{}</h3>").format(f"Fewest values of '{column}' that anybody can be linked to"),
        table(header, rows), picture, paragraph(_WORDS),
    ]  # fmt: skip
