"""Assignments: on the private trace, every record has the same number of candidates, and each could equally be the true one.

The trace lists k assignments. Each must be one to one, no two may share an edge, each edge must be compatible with what was
published, and one of them must be the true one. Then the graph is k-regular, and because the true assignment was drawn
uniformly among the k, each edge was equally likely.

Paper: [multitype Def. 2, 3; 3.2].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Check
from sfumato.audit.compatible import edge_fits
from sfumato.forms.baskets import Basket, BasketTrace, published_baskets
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Assignments(Check):
    """The all-assignments graph is regular and made of disjoint assignments, the true one among them."""

    name: ClassVar[str] = "assignments"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and exhibit.traced(BasketTrace).assignments is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        graph = np.asarray(exhibit.traced(BasketTrace).assignments).astype(np.int64)
        wrong = [*_shape(graph, len(exhibit.original))]
        people, rows = graph.reshape(-1), np.tile(np.arange(graph.shape[1], dtype=np.int64), graph.shape[0])
        if not wrong:
            unfit = int((~edge_fits(exhibit.original, exhibit.once(published_baskets), people, rows)).sum())
            wrong += [f"{unfit} edges are not compatible with what is published"] if unfit else []
        behind = (exhibit.behind or {}).get("data")
        if behind is None or not (graph == behind).all(axis=1).any():
            wrong.append("the true assignment is none of those drawn from")
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong), "k": len(graph)}, reason="; ".join(wrong))


def _shape(graph: NDArray[np.int64], records: int) -> list[str]:
    wrong = []
    if graph.shape[1] != records or not (np.sort(graph, axis=1) == np.arange(records)).all():
        wrong.append("an assignment is not one to one")
    if (np.diff(np.sort(graph, axis=0), axis=0) == 0).any():
        wrong.append("two assignments share an edge")
    return wrong
