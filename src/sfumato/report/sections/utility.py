"""What was given up, column by column, and what the release is still good for.

The data holder sees every figure, others those of the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from markupsafe import Markup

from sfumato.metrics.base import Metric, figures
from sfumato.metrics.optimality import OptimalityGap, statement
from sfumato.registry import catalogue
from sfumato.release.exhibit import Exhibit, certified
from sfumato.report.charts import bars
from sfumato.report.section import Section, paragraph, table


class UtilitySection(Section):
    """The loss of each column and the figures of the certificate."""

    name: ClassVar[str] = "utility"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "What was given up"
    order: ClassVar[int] = 30

    def ready(self, exhibit: Exhibit) -> bool:
        return any(not _nested(value) for value in _shown(exhibit).values())

    def render(self, exhibit: Exhibit) -> Markup:
        told = dict(_shown(exhibit))
        columns = told.pop("loss_by_column", {})
        rows = [(name, float(share), _percent(float(share))) for name, share in columns.items()]
        words = "Share of its domain that a cell of each column gives up on average: 0 % is the exact value, 100 % says nothing."
        chart = [paragraph(words), bars(rows, title="Loss per column")] if rows else []
        meaning = _meanings(exhibit)
        listed = [(name, _written(value), meaning.get(name, "")) for name, value in told.items() if not _nested(value)]
        return Markup("").join([*chart, table(("figure", "value", "meaning"), listed), *_best_possible(exhibit)])


def _shown(exhibit: Exhibit) -> Mapping[str, Any]:
    return exhibit.once(figures) if exhibit.private else certified(exhibit).utility


def _percent(share: float) -> str:
    """One digit for what would otherwise read as nothing at all."""
    return f"{100 * share:.1g}%" if 0 < share < 0.0005 else f"{share:.1%}"


def _best_possible(exhibit: Exhibit) -> list[Markup]:
    """What no release of this kind can be below, when the method proved something."""
    told = _shown(exhibit)
    if not exhibit.private or not OptimalityGap().applies(exhibit) or not {"lower_bound", "optimality_gap"} <= set(told):
        return []
    said = statement(exhibit)
    loss, bound, gap = (float(told[name]) for name in (said.objective, "lower_bound", "optimality_gap"))
    if said.proven_optimal:
        words = f"No release of this kind can lose less than {bound:.4g} ({said.objective}), and this one does not lose more."
    else:
        words = (
            f"No release of this kind can lose less than {bound:.4g} ({said.objective}); this one loses {loss:.4g}, "
            f"so at most {gap:.1%} of its loss could have been saved."
        )
    kind = f"Of this kind: {said.space}. Proof: {said.proof}."
    return [paragraph(words), paragraph(kind)]


def _meanings(exhibit: Exhibit) -> dict[str, str]:
    """What each figure says, in the words of its metric."""
    metrics = catalogue("metrics", Metric).values()
    return {cls.figure or cls.name: (cls.__doc__ or "").splitlines()[0] for cls in metrics if isinstance(exhibit.form, cls.forms)}


def _nested(value: object) -> bool:
    """Whether a figure is a table of figures, which a section of its own shows."""
    return isinstance(value, Mapping) and any(isinstance(entry, Mapping) for entry in value.values())


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_written(entry)}" for key, entry in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
