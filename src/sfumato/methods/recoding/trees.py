"""The hierarchies of a problem's columns as flat arrays that compiled passes read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.problem import RecodingProblem

if TYPE_CHECKING:
    from sfumato.methods.recoding.kernels.cutting import Trees


def trees_of(problem: RecodingProblem) -> Trees:
    """The hierarchies of all columns as the compiled pass reads them."""
    from sfumato.methods.recoding.kernels.cutting import Trees

    none = np.zeros((0, 0), dtype=np.int64)
    above = [domain.ancestors if isinstance(domain, Hierarchy) else none for domain in problem.domains]
    ranks = [
        ranks_of(domain)[rows] if isinstance(domain, Hierarchy) else none
        for domain, rows in zip(problem.domains, above, strict=True)
    ]
    before = np.cumsum([0, *(rows.size for rows in above)])[:-1]
    return Trees(
        np.where([rows.size > 0 for rows in above], before, -1).astype(np.int64),
        np.array([len(rows) for rows in above], dtype=np.int64),
        np.array([domain.size for domain in problem.domains], dtype=np.int64),
        np.concatenate([rows.ravel() for rows in above]).astype(np.int64),
        np.concatenate([rows.ravel() for rows in ranks]).astype(np.int64),
    )


def ranks_of(tree: Hierarchy) -> IntArray:
    """The place of each node among its siblings."""
    order = np.argsort(tree.parent[:-1], kind="stable")
    rank = np.zeros(len(tree.names), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.searchsorted(tree.parent[order], tree.parent[order])
    return rank
