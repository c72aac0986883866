"""Report section on published baskets: uncertain items, thresholds, and suppressed labels."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sfumato.core.html.charts import bars, histogram, ranges
from sfumato.kinds.baskets.form import Basket, published_baskets
from sfumato.kinds.baskets.metrics import count, true_count
from sfumato.kinds.baskets.published_baskets import WITHHELD, PublishedBaskets
from sfumato.release.form import Form
from sfumato.release.report_section import Section, paragraph
from sfumato.release.view import ReleaseView


class BasketSection(Section):
    """Uncertain items, thresholds, suppressed labels and counts with bounds."""

    name: ClassVar[str] = "baskets"
    title: ClassVar[str] = "What a published basket says"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.data.rows > 0

    def render(self, exhibit: ReleaseView) -> Markup:
        published = exhibit.once(published_baskets)
        words = (
            f"Each of the {len(published):,} rows is a vote of {exhibit.of(Basket).degree} records about their items."
            f" On average {published.base.sizes.mean():.1f} items are shown and {published.doubt.sizes.mean():.1f} are"
            f" in doubt; the record behind a row differs from it in at most {int(published.threshold.max())} items,"
            f" half of them in at most {int(np.median(published.threshold))}."
        )
        rows = [(label, None, records) for label, records in _binned(published.threshold)]
        axes = ("items that may differ", "records")
        parts = [
            paragraph(words),
            histogram(rows, title="Records by how many items may differ", axes=axes, shares=False),
        ]
        for name, shown in published.labels.items():
            withheld = int((shown == WITHHELD).sum())
            if withheld:
                parts.append(paragraph(f"{withheld:,} of {len(shown):,} labels of '{name}' are suppressed."))
        parts.append(paragraph("Counts of the most frequent items, with bounds between which the truth lies:"))
        return Markup("").join([*parts, _counts(exhibit, published), _sizes(exhibit, published.base.sizes)])


def _counts(exhibit: ReleaseView, worlds: PublishedBaskets) -> Markup:
    common = np.argsort(-worlds.base.support(), kind="stable")[:8]
    rows = []
    for item in (worlds.names[index] for index in common):
        answer = count(worlds, present=[item])
        truth = float(true_count(exhibit.original, present=[item])) if exhibit.private else None
        rows.append((item, float(answer.low), float(answer.high), truth))
    return ranges(rows, title="Counts of the most frequent items", axis="records with the item")


def _sizes(exhibit: ReleaseView, shown: NDArray[np.int64]) -> Markup:
    """Items per record before and after, for the data holder."""
    if not exhibit.private:
        return Markup("")
    before = float(exhibit.original.sets.sizes.mean())
    rows = [("original", before, f"{before:.2f}"), ("release", float(shown.mean()), f"{shown.mean():.2f}")]
    return bars(rows, title="Items per record", axis="items per record, on average")


def _binned(values: NDArray[np.int64]) -> list[tuple[str, float]]:
    """Up to twelve bars over the range of the values."""
    edges = np.unique(np.linspace(0, int(values.max()) + 1, 13).astype(np.int64))
    binned = []
    for low, high in pairwise(edges.tolist()):
        inside = int(((values >= low) & (values < high)).sum())
        binned.append((str(low) if high - low == 1 else f"{low}-{high - 1}", float(inside)))
    return binned
