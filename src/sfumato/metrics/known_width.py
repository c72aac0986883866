"""Width of known columns: how much of a column a published cell beside the items stands for, on average.

Per quasi-identifier of baskets the mean width of its cells: 0 where single values are shown, 1 where all show the whole column.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.forms.basket_blocks import BasketBlocks
from sfumato.forms.baskets import published_baskets
from sfumato.metrics.base import Metric
from sfumato.policy.beside_items import coded, known_columns
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class KnownWidth(Metric):
    """How wide the cells of quasi-identifiers beside items are, per column."""

    name: ClassVar[str] = "known_width"
    range: ClassVar[str] = "0 … 1"
    forms: ClassVar[tuple[type[Form], ...]] = (BasketBlocks,)

    def ready(self, exhibit: Exhibit) -> bool:
        return super().ready(exhibit) and bool(known_columns(exhibit.policy))

    def measure(self, exhibit: Exhibit) -> dict[str, float]:
        found = {}
        for name in known_columns(exhibit.policy):
            domain, _ = coded(exhibit.policy, exhibit.original, name)
            labels, often = np.unique(exhibit.once(published_baskets).labels[name].astype(str), return_counts=True)
            cells = np.array([domain.interval(label) or (0, domain.size) for label in labels.tolist()], dtype=np.int64)
            found[name] = float(np.average(domain.width(cells[:, 0], cells[:, 1]), weights=often))
        return found
