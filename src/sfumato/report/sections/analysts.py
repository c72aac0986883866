"""What analysts get from the release beside the original: means and totals with their errors, correlations, distances of
distributions and of pairs of columns, and models trained on the release. For the data holder only.

Means, correlations and distances of single columns are always told; pairs of columns and models where they were asked for
(``sfumato report --analysis --predict COLUMN``) or where values are no longer true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from markupsafe import Markup

from sfumato.metrics._analysis import READABLE
from sfumato.metrics.analysis import CorrelationError, DistributionDistance, Means, several_numbers
from sfumato.metrics.base import figures
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.report.charts import bars
from sfumato.report.section import Section, paragraph, table


class Analysts(Section):
    """Means, totals, correlations, distributions and models, of the release beside the original."""

    name: ClassVar[str] = "analysts"
    title: ClassVar[str] = "What analysts get"
    order: ClassVar[int] = 42
    forms: ClassVar[tuple[type[Form], ...]] = READABLE

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and exhibit.data.counts is None and exhibit.data.rows > 0

    def render(self, exhibit: Exhibit) -> Markup:
        asked = exhibit.once(figures)
        parts = [
            paragraph("A generalized cell stands for each of its values alike, a range of numbers for the mean of what it covers.")
        ]
        parts += _means(Means().measure(exhibit))
        if several_numbers(exhibit):
            apart = CorrelationError().measure(exhibit)
            parts.append(paragraph(f"Correlations of columns of numbers differ by {apart:.3g} on average."))
        parts += _distances(DistributionDistance().measure(exhibit))
        if "pair_distance" in asked:
            said = f"Pairs of values of two columns: total variation distance {asked['pair_distance']:.3g} on average."
            parts.append(paragraph(said))
        return Markup("").join([*parts, *_models(asked.get("prediction"))])


def _means(found: Mapping[str, Mapping[str, float]]) -> list[Markup]:
    rows = [
        (name, f"{each['original']:,.5g}", f"{each['release']:,.5g}", f"{each['mean_error']:.2%}", f"{each['total_error']:.2%}")
        for name, each in found.items()
    ]
    return [table(("column", "mean, original", "mean, release", "error", "error of the total"), rows)] if rows else []


def _distances(found: Mapping[str, float]) -> list[Markup]:
    rows = [(name, share, f"{share:.1%}") for name, share in found.items()]
    said = "Total variation distance of each column's values: the share of records that would have to have another value."
    return [paragraph(said), bars(rows, title="Distance of distributions")] if rows else []


def _models(found: Any) -> list[Markup]:
    if not found:
        return []
    rows = [
        (trained, model, ", ".join(f"{name} {value:.3f}" for name, value in figure.items()))
        for trained, models in found.items()
        if isinstance(models, Mapping)
        for model, figure in models.items()
    ]
    said = f"Models that predict {found['predicts']}, judged on original rows:"
    return [paragraph(said), table(("trained on", "model", "figures"), rows)]
