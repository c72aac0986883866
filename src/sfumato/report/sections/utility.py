"""What was given up, column by column, and what the certificate says the release is still good for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.data.hierarchy import ROOT
from sfumato.report.charts import bars
from sfumato.report.section import Section, paragraph, table
from sfumato.report.view import View

_MEANING = {
    "loss": "average share of its domain that a cell gives up",
    "ntil": "average height of generalization, suppressed records in full",
    "entropy_loss": "bits that a reader lacks about an original cell",
    "discernibility": "sum of squared class sizes, suppressed records against all",
    "average_class_size": "records per class",
    "query_error": "median relative error of random COUNT queries",
}


class Utility(Section):
    """The loss of each column and the figures of the certificate."""

    name: ClassVar[str] = "utility"
    title: ClassVar[str] = "What was given up"
    order: ClassVar[int] = 30

    def applies(self, view: View) -> bool:
        return bool(view.certificate.utility)

    def render(self, view: View) -> Markup:
        parts = []
        if view.form == "recoded table":
            rows = [(name, share, f"{share:.1%}") for name, share in _losses(view).items()]
            parts.append(paragraph("Share of its domain that a published cell gives up on average; 0 % is the exact value."))
            parts.append(bars(rows, title="Loss per column"))
        figures = [(name, _written(value), _MEANING.get(name, "")) for name, value in view.certificate.utility.items()]
        return Markup("").join([*parts, table(("figure", "value", "meaning"), figures)])


def _losses(view: View) -> dict[str, float]:
    """Loss of the published cells of each quasi-identifier; where the domain is not public, the share of suppressed cells."""
    losses = {}
    for name in view.policy.quasi_identifiers:
        text, domain = view.data.text(name), view.domain(name)
        if domain is None:
            width = np.array([float(label == ROOT) for label in text.labels])
        else:
            spans = [domain.interval(label) or (0, domain.size) for label in text.labels]
            width = domain.width(np.array([lo for lo, _ in spans]), np.array([hi for _, hi in spans]))
        losses[name] = float(width @ text.counts()) / max(view.data.rows, 1)
    return losses


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_written(entry)}" for key, entry in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
