"""The joins of a sequence of releases: which rows of different releases may belong to one person.

Guarantee
    full ⊆ kernel ⊆ match. For two releases the kernel *is* the full join. For three and more only `full_match_join` decides
    the full join; a level measured on the kernel or the match join flatters.

Paper: [sequential Def. 3.3, 3.4, 3.7, 3.8, Alg. 1, 2]

Notation
    clique   one node from each release, pairwise consistent; it stands for (product of multiplicities) cliques of records
    match    an edge between two releases that lies on some perfect matching between them
    flow     the pairs of nodes that truly share a record: a feasible flow, given by the links

Invariants
    I1  A flow that ships every record is a perfect matching, so an edge is a match iff it carries flow or closes a cycle in the
        residual graph: left → right along every edge, right → left where something flows. No matching has to be searched.
    I2  True links are never dropped; if one would be, the links are not a matching of these releases.

Departures
    [sequential Thm. 3.6] calls the kernel a proper subset of the match join; it may be all of it.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.boxes import meeting
from sfumato.data.classes import group
from sfumato.data.sequence import ReleaseSequence
from sfumato.errors import DataError


def true_cliques(sequence: ReleaseSequence) -> tuple[IntArray, IntArray]:
    """Cliques of the true matching at node level, and how many records each of them holds."""
    parts = [of[sequence.links[:, r]] for r, (_, of) in enumerate(sequence.nodes)]
    classes = group(parts)
    amount = np.bincount(classes.of, weights=sequence.weight, minlength=len(classes)).astype(np.int64)
    return np.stack(parts, axis=1)[classes.first], amount


def match_join(sequence: ReleaseSequence) -> IntArray:
    """All cliques of nodes, one row each [sequential Def. 3.3]."""
    columns = sequence.decisive
    first = sequence.nodes[0][0]
    cliques = np.arange(len(first))[:, None]
    lo, hi = first.lo[:, columns], first.hi[:, columns]
    for boxes, _ in sequence.nodes[1:]:
        i, j = meeting(lo, hi, boxes.lo[:, columns], boxes.hi[:, columns])
        cliques = np.column_stack([cliques[i], j])
        lo = np.maximum(lo[i], boxes.lo[j][:, columns])
        hi = np.minimum(hi[i], boxes.hi[j][:, columns])
    return cliques


def kernel_join(sequence: ReleaseSequence) -> IntArray:
    """Cliques of the largest subgraph in which every edge is a match and lies in a clique [sequential Def. 3.8]."""
    return kernel_of(match_join(sequence), true_cliques(sequence)[0])


def kernel_of(cliques: IntArray, true: IntArray) -> IntArray:
    """Drop what is no match, then what is in no clique any more, until nothing changes."""
    pairs = list(combinations(range(cliques.shape[1]), 2))
    while True:
        alive = np.ones(len(cliques), dtype=np.bool_)
        for r, q in pairs:
            alive &= matches(cliques[:, [r, q]], true[:, [r, q]])
        if alive.all():
            return cliques
        cliques = cliques[alive]


def matches(edges: IntArray, flow: IntArray) -> BoolArray:
    """Which edges (left, right) between two releases are matches, given the edges that carry flow (I1)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right = int(edges[:, 0].max()) + 1, int(edges[:, 1].max()) + 1
    if (flow[:, 0] >= left).any() or (flow[:, 1] >= right).any():
        raise DataError("the record links are no matching of the releases")  # I2
    tail = np.concatenate([edges[:, 0], flow[:, 1] + left])
    head = np.concatenate([edges[:, 1] + left, flow[:, 0]])
    residual = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(left + right, left + right))
    _, component = connected_components(residual.tocsr(), directed=True, connection="strong")
    same: BoolArray = component[edges[:, 0]] == component[edges[:, 1] + left]
    return same
