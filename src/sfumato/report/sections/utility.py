"""What was given up, column by column, and what the certificate says the release is still good for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from markupsafe import Markup

from sfumato.report.charts import bars
from sfumato.report.section import Section, paragraph, table
from sfumato.report.view import View

_MEANING = {
    "loss": "average share of its domain that a cell gives up",
    "ntil": "average height of generalization, suppressed records in full",
    "entropy_loss": "bits that a reader lacks about an original cell",
    "discernibility": "sum of squared class sizes, suppressed records against all",
    "average_class_size": "records per class",
    "query_error": "relative error of random queries",
    "range_query_error": "relative error of COUNT and AVG queries with thresholds",
    "distortion": "average relative change of a replaced value",
    "clustering_error": "share of records in another k-means cluster than before",
}


class Utility(Section):
    """The loss of each column and the figures of the certificate."""

    name: ClassVar[str] = "utility"
    title: ClassVar[str] = "What was given up"
    order: ClassVar[int] = 30

    def applies(self, view: View) -> bool:
        return bool(view.certificate.utility)

    def render(self, view: View) -> Markup:
        figures = dict(view.certificate.utility)
        columns = figures.pop("loss_by_column", {})
        rows = [(name, float(share), f"{float(share):.1%}") for name, share in columns.items()]
        words = "Share of its domain that a cell of each column gives up on average: 0 % is the exact value, 100 % says nothing."
        chart = [paragraph(words), bars(rows, title="Loss per column")] if rows else []
        listed = [(name, _written(value), _MEANING.get(name, "")) for name, value in figures.items()]
        return Markup("").join([*chart, table(("figure", "value", "meaning"), listed)])


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_written(entry)}" for key, entry in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
