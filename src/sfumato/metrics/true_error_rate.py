"""True error rate: how many items of the published base are wrong for the record that it was made from.

The mean of |record xor base| / |record| over the true pairs of record and row. Only the data holder can say it: it needs the
private trace. `bit_error_rate` is what everybody else finds.

Paper
    [multitype 3.7.1]
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.forms.baskets import Basket, published_baskets
from sfumato.metrics.base import Metric
from sfumato.metrics.bit_error_rate import together, true_rate
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class TrueErrorRate(Metric):
    """Wrong items of the published base of the true row, relative to the size of the record; only the data holder knows it."""

    name: ClassVar[str] = "true_error_rate"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)
    paper: ClassVar[str] = "multitype 3.7.1"

    def ready(self, exhibit: Exhibit) -> bool:
        return super().ready(exhibit) and exhibit.behind is not None

    def measure(self, exhibit: Exhibit) -> float:
        published = exhibit.once(published_baskets)
        original = exhibit.original.recoded(together(exhibit.original.names, published.names))
        assert exhibit.behind is not None
        return true_rate(original.sets.take(exhibit.behind["data"]), published, original.names)
