"""Query error of baskets: COUNT queries that ask for items present (type I) or absent (type II).

Sizes of the queries are those of the thesis for dense and for sparse data; the figure is the mean error of both types over the
number of records.

Paper: [multitype 3.7.2]
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.forms.baskets import Basket, published_baskets
from sfumato.metrics.base import Metric
from sfumato.metrics.basket_queries import workload_error
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class BasketQueryError(Metric):
    """Mean error of queries for items present and for items absent, over the number of records."""

    name: ClassVar[str] = "query_error of baskets"
    figure: ClassVar[str] = "query_error"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)
    paper: ClassVar[str] = "multitype 3.7.2"

    def measure(self, exhibit: Exhibit) -> float:
        published = exhibit.once(published_baskets)
        sets = exhibit.original.sets
        dense = len(sets.items) > 0.2 * len(sets) * max(sets.width, 1)
        asked = {"queries": 200, "present": 3 if dense else 1, "absent": 4 if dense else 5} | dict(exhibit.parameters)
        sizes = (int(asked["present"]), int(asked["absent"]))
        return sum(workload_error(exhibit.original, published, int(asked["queries"]), sizes)) / 2
