"""Record cliques, counted at class level: who is linked with which sensitive value, and which people share all their cliques.

Notation: that of `sfumato.methods.sequences.kernels.joins`.

Twin: `sfumato.audit.joins` counts the same on whole tables.

Cost: linear in living cliques; nothing depends on the number of records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.methods.sequences.kernels.box_joins import inside

Words = NDArray[np.uint64]


@jit
def chain_classes(classes: IntArray, class_node: IntArray, first_class: IntArray, next_class: IntArray) -> None:
    """Lists of the living classes of each node: ``first_class[node]``, then ``next_class[class]``, −1 at the end."""
    for i in range(len(classes)):
        number = classes[i]
        node = class_node[number]
        next_class[number] = first_class[node]
        first_class[node] = number


@jit
def tally(
    active: IntArray,
    clique_start: IntArray,
    clique_h: IntArray,
    alive: BoolArray,
    h_value: IntArray,
    hq_start: IntArray,
    hq_item: IntArray,
    hq_weight: FloatArray,
    q_lo: IntArray,
    q_hi: IntArray,
    node_lo: IntArray,
    node_hi: IntArray,
    own_lo: IntArray,
    own_hi: IntArray,
    own_q_lo: IntArray,
    own_q_hi: IntArray,
    first_class: IntArray,
    next_class: IntArray,
    class_value: IntArray,
    class_count: IntArray,
    weights: FloatArray,
) -> None:
    """Fill ``weights[q, s]`` with the number of record cliques that link tuple q with sensitive value s."""
    for i in range(len(active)):
        d = active[i]
        for c in range(clique_start[d], clique_start[d + 1]):
            if not alive[c]:
                continue
            h = clique_h[c]
            for j in range(hq_start[h], hq_start[h + 1]):
                q = hq_item[j]
                if not inside(q_lo[q], q_hi[q], node_lo[d], node_hi[d]):
                    continue
                e = first_class[d]
                while e >= 0:
                    if inside(own_q_lo[q], own_q_hi[q], own_lo[e], own_hi[e]):
                        s = h_value[h] if h_value[h] >= 0 else class_value[e]
                        weights[q, s] += hq_weight[j] * class_count[e]
                    e = next_class[e]


@jit
def signatures(
    w_start: IntArray,
    w_node: IntArray,
    w_weight: FloatArray,
    lead: int,
    by_start: IntArray,
    by_item: IntArray,
    hist: IntArray,
    width: int,
    noise: Words,
    weighted: bool,
) -> Words:
    """Per tuple a hash of the history cliques that contain it (and of their weights, up to a common factor)."""
    tuples = w_start.shape[1] - 1
    mark = np.zeros((hist.shape[1], width), np.float64)
    out = np.zeros(tuples, np.uint64)
    for q in range(tuples):
        _mark(mark, w_start, w_node, w_weight, q, 1.0)
        base = 0.0
        for j in range(w_start[lead, q], w_start[lead, q + 1]):
            node = w_node[j]
            for t in range(by_start[node], by_start[node + 1]):
                h = by_item[t]
                weight = _weight(mark, hist, h)
                if weight > 0:
                    base = weight if base == 0.0 else base
                    factor = np.uint64(weight / base * 1048576.0) if weighted else np.uint64(1)
                    out[q] += noise[h] * (factor * np.uint64(2654435761) + np.uint64(1))
        _mark(mark, w_start, w_node, w_weight, q, 0.0)
    return out


@jit
def _mark(mark: FloatArray, w_start: IntArray, w_node: IntArray, w_weight: FloatArray, q: int, on: float) -> None:
    for r in range(len(w_start)):
        for j in range(w_start[r, q], w_start[r, q + 1]):
            mark[r, w_node[j]] = w_weight[j] * on


@jit
def _weight(mark: FloatArray, hist: IntArray, h: int) -> float:
    weight = 1.0
    for r in range(hist.shape[1]):
        weight *= mark[r, hist[h, r]]
    return weight


@jit
def containing(
    chosen: IntArray,
    w_start: IntArray,
    w_node: IntArray,
    w_weight: FloatArray,
    lead: int,
    by_start: IntArray,
    by_item: IntArray,
    hist: IntArray,
    width: int,
) -> tuple[IntArray, IntArray, FloatArray]:
    """(history clique, place in `chosen`, weight) for every history clique that contains one of the chosen tuples."""
    mark = np.zeros((hist.shape[1], width), np.float64)
    size = max(1024, 4 * len(chosen))
    which, item, weights = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.float64)
    total = 0
    for i in range(len(chosen)):
        q = chosen[i]
        _mark(mark, w_start, w_node, w_weight, q, 1.0)
        for j in range(w_start[lead, q], w_start[lead, q + 1]):
            node = w_node[j]
            for t in range(by_start[node], by_start[node + 1]):
                weight = _weight(mark, hist, by_item[t])
                if weight > 0:
                    if total == len(which):
                        which = np.concatenate((which, np.empty(total, np.int64)))
                        item = np.concatenate((item, np.empty(total, np.int64)))
                        weights = np.concatenate((weights, np.empty(total, np.float64)))
                    which[total], item[total], weights[total] = by_item[t], i, weight
                    total += 1
        _mark(mark, w_start, w_node, w_weight, q, 0.0)
    return which[:total].copy(), item[:total].copy(), weights[:total].copy()
