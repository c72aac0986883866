"""Match, kernel and full joins of a release in the making with all earlier ones, at class level.

Notation
    history clique   one node from each of the P earlier releases, pairwise consistent; they never change while a
    release is made
    node             a class of the new release on the columns that earlier releases share with it
    clique           (history clique, node): cliques of a node are one run of a growing pool, sorted by history clique
    edge             (node of an earlier release, node of the new one); the edges of a node are one run per earlier
                     release

Invariants
    I1  Pools only grow; what a node's run contains is fixed when the node is made. Which of it is alive is recomputed.

Twin: `sfumato.history.judge.full_match_join` and `sfumato.history.judge.sequence` compute the same by other means
(scipy, whole tables at once).

Cost: linear in living edges and cliques; nothing depends on the number of records.


Box joins
---------
Which boxes of two lists of classes meet or contain each other, column by column.

Twin: `sfumato.data.generalized_tuples` does the same for whole tables at once.

Cost: boxes are sorted into blocks by one leading column; a block that cannot meet is skipped.


Matches
-------
Which edges of a flow between two lists of nodes are matches: true for some assignment of records that fits the counts.

Invariants
    I1  An edge is a match iff its ends lie in one strong component of the residual graph of the true flow; ends joined
        by flow are contracted first, so the component search runs on what is left, which is small.

Twin: `sfumato.history.judge.sequence` finds the same components with scipy.

Cost: linear in living edges.


Record cliques
--------------
Record cliques, counted at class level: who is linked with which sensitive value, and which people share all their
cliques.

Notation: that of `sfumato.kinds.tables.methods.kernels.release_joins`.

Twin: `sfumato.history.judge.full_match_join` counts the same on whole tables.

Cost: linear in living cliques; nothing depends on the number of records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.compiled import jit


@jit
def place_units(keys: IntArray, values: IntArray, wanted: IntArray, count: int) -> tuple[IntArray, int]:
    """Look up keys in an open table (empty: −1); unknown ones get the numbers count, count + 1, …"""
    mask = len(keys) - 1
    out = np.empty(len(wanted), np.int64)
    for i in range(len(wanted)):
        slot = np.int64((np.uint64(wanted[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
        while keys[slot] >= 0 and keys[slot] != wanted[i]:
            slot = (slot + 1) & mask
        if keys[slot] < 0:
            keys[slot], values[slot] = wanted[i], count
            count += 1
        out[i] = values[slot]
    return out, count


@jit
def number_edges(
    found: IntArray,
    hist: IntArray,
    stamp: IntArray,
    first: IntArray,
    edge_left: IntArray,
    clique_edge: IntArray,
    at: int,
) -> IntArray:
    """Give the edges of a new node numbers from `first` on, per earlier release; cliques learn the numbers of their
    edges."""
    count = np.zeros(hist.shape[1], np.int64)
    for r in range(hist.shape[1]):
        for i in range(len(found)):
            left = hist[found[i], r]
            if stamp[r, left] < 0:
                stamp[r, left] = first[r] + count[r]  # I1
                edge_left[r, first[r] + count[r]] = left
                count[r] += 1
            clique_edge[r, at + i] = stamp[r, left]
        for i in range(len(found)):
            stamp[r, hist[found[i], r]] = -1
    return count


@jit
def settle(
    active: IntArray,
    hist: IntArray,
    hist_edge: IntArray,
    pair_start: IntArray,
    pair_left: IntArray,
    pair_right: IntArray,
    pair_flow: BoolArray,
    pair_lefts: IntArray,
    pair_rights: IntArray,
    lefts: IntArray,
    clique_start: IntArray,
    clique_h: IntArray,
    clique_edge: IntArray,
    edge_start: IntArray,
    edge_left: IntArray,
    unit_clique: IntArray,
    alive: BoolArray,
) -> None:
    """Which cliques of the active nodes survive in the kernel; with one earlier release this is the full join."""
    earlier, pairs = hist.shape[1], len(pair_start) - 1
    shift, sizes, left, right = _living_edges(active, edge_start, edge_left)
    flow = _true_flow(active, clique_start, clique_edge, unit_clique, shift, left.shape[1])
    lives, pair_alive = np.ones(left.shape, np.bool_), np.ones(len(pair_left), np.bool_)
    for i in range(len(active)):
        alive[clique_start[active[i]] : clique_start[active[i] + 1]] = True
    dirty = np.zeros(pairs, np.bool_)
    lost = True
    while lost:
        for r in range(earlier):
            size = sizes[r]
            kill_mismatches(lefts[r], len(active), left[r, :size], right[r, :size], flow[r, :size], lives[r, :size])
        for k in range(pairs):
            if dirty[k]:
                a, b = pair_start[k], pair_start[k + 1]
                kill_mismatches(
                    pair_lefts[k], pair_rights[k], pair_left[a:b], pair_right[a:b], pair_flow[a:b], pair_alive[a:b]
                )
        used, pair_used = np.zeros(left.shape, np.bool_), np.zeros(len(pair_left), np.bool_)
        _survivors(
            active, clique_start, clique_h, clique_edge, hist_edge, shift, lives, pair_alive, alive, used, pair_used
        )
        lost = False
        for r in range(earlier):
            lost = _drop_unused(lives[r, : sizes[r]], used[r, : sizes[r]]) or lost
        for k in range(pairs):
            a, b = pair_start[k], pair_start[k + 1]
            dirty[k] = _drop_unused(pair_alive[a:b], pair_used[a:b])
            lost = lost or dirty[k]


@jit
def _living_edges(
    active: IntArray, edge_start: IntArray, edge_left: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The edges of the active nodes side by side per earlier release: where each run moved, how many there are, and
    their ends."""
    earlier = len(edge_start)
    shift, sizes = np.zeros((earlier, len(active)), np.int64), np.zeros(earlier, np.int64)
    for r in range(earlier):
        for i in range(len(active)):
            shift[r, i] = sizes[r] - edge_start[r, active[i]]
            sizes[r] += edge_start[r, active[i] + 1] - edge_start[r, active[i]]
    left, right = np.empty((earlier, sizes.max()), np.int64), np.empty((earlier, sizes.max()), np.int64)
    for r in range(earlier):
        for i in range(len(active)):
            for e in range(edge_start[r, active[i]], edge_start[r, active[i] + 1]):
                left[r, e + shift[r, i]] = edge_left[r, e]
                right[r, e + shift[r, i]] = i
    return shift, sizes, left, right


@jit
def _true_flow(
    active: IntArray, clique_start: IntArray, clique_edge: IntArray, unit_clique: IntArray, shift: IntArray, width: int
) -> BoolArray:
    """The edges along which the records themselves run."""
    flow = np.zeros((len(shift), width), np.bool_)
    rank = np.full(len(clique_start), -1, np.int64)
    for i in range(len(active)):
        rank[active[i]] = i
    for u in range(len(unit_clique)):
        c = unit_clique[u]
        if c < 0:
            continue
        i = rank[_owner(clique_start, c)]
        for r in range(len(shift)):
            flow[r, clique_edge[r, c] + shift[r, i]] = True
    return flow


@jit
def _survivors(
    active: IntArray,
    clique_start: IntArray,
    clique_h: IntArray,
    clique_edge: IntArray,
    hist_edge: IntArray,
    shift: IntArray,
    lives: BoolArray,
    pair_alive: BoolArray,
    alive: BoolArray,
    used: BoolArray,
    pair_used: BoolArray,
) -> None:
    """A clique lives while all its edges do; edges of living cliques are used."""
    earlier, pairs = len(lives), len(hist_edge)
    for i in range(len(active)):
        for c in range(clique_start[active[i]], clique_start[active[i] + 1]):
            for r in range(earlier):
                alive[c] = alive[c] and lives[r, clique_edge[r, c] + shift[r, i]]
            for k in range(pairs):
                alive[c] = alive[c] and pair_alive[hist_edge[k, clique_h[c]]]
            if alive[c]:
                for r in range(earlier):
                    used[r, clique_edge[r, c] + shift[r, i]] = True
                for k in range(pairs):
                    pair_used[hist_edge[k, clique_h[c]]] = True


@jit
def _drop_unused(lives: BoolArray, used: BoolArray) -> bool:
    """Edges that no living clique uses die; whether any did."""
    lost = False
    for e in range(len(lives)):
        if lives[e] and not used[e]:
            lives[e] = False
            lost = True
    return lost


@jit
def _owner(start: IntArray, c: int) -> int:
    """The node whose run of cliques contains c."""
    low, high = 0, len(start) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if start[middle] <= c:
            low = middle
        else:
            high = middle
    return low


# Box joins
# ---------


@jit
def meets(lo: IntArray, hi: IntArray, a_lo: IntArray, a_hi: IntArray) -> bool:
    """Do two boxes intersect in every column?"""
    for m in range(len(lo)):  # noqa: SIM110 - the compiler wants the loop
        if lo[m] >= a_hi[m] or a_lo[m] >= hi[m]:
            return False
    return True


@jit
def inside(lo: IntArray, hi: IntArray, a_lo: IntArray, a_hi: IntArray) -> bool:
    """Does the first box lie inside the second?"""
    for m in range(len(lo)):  # noqa: SIM110 - the compiler wants the loop
        if lo[m] < a_lo[m] or a_hi[m] < hi[m]:
            return False
    return True


@jit
def box_pairs(
    lo: IntArray, hi: IntArray, c_lo: IntArray, c_hi: IntArray, lead: int, block: IntArray, contain: bool
) -> tuple[IntArray, IntArray]:
    """Rows of the boxes c that meet (or, with `contain`, contain) each box; c is sorted into blocks by its interval in
    `lead`."""
    start = np.zeros(len(lo) + 1, np.int64)
    found = np.empty(max(64, 2 * len(lo)), np.int64)
    total = 0
    for q in range(len(lo)):
        for b in range(len(block) - 1):
            first = block[b]
            if lead >= 0 and contain and (lo[q, lead] < c_lo[first, lead] or c_hi[first, lead] < hi[q, lead]):
                continue
            if lead >= 0 and not contain and (lo[q, lead] >= c_hi[first, lead] or c_lo[first, lead] >= hi[q, lead]):
                continue
            for c in range(first, block[b + 1]):
                if inside(lo[q], hi[q], c_lo[c], c_hi[c]) if contain else meets(lo[q], hi[q], c_lo[c], c_hi[c]):
                    if total == len(found):
                        found = np.concatenate((found, np.empty(len(found), np.int64)))
                    found[total] = c
                    total += 1
        start[q + 1] = total
    return start, found[:total].copy()


# Matches
# -------


@jit
def _root(parent: IntArray, x: int) -> int:
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@jit
def strong_components(size: int, start: IntArray, head: IntArray) -> IntArray:
    """Tarjan's search without recursion over a graph in rows ``head[start[v]:start[v + 1]]``."""
    number = np.full(size, -1, np.int64)
    low = np.zeros(size, np.int64)
    label = np.full(size, -1, np.int64)
    place = start[:-1].copy()
    stack = np.empty(size, np.int64)
    path = np.empty(size, np.int64)
    count, depth, clock = 0, 0, 0
    for origin in range(size):
        if number[origin] >= 0:
            continue
        path[0], steps = origin, 1
        number[origin] = low[origin] = clock
        clock += 1
        stack[depth] = origin
        depth += 1
        while steps:
            v = path[steps - 1]
            if place[v] < start[v + 1]:
                w = head[place[v]]
                place[v] += 1
                if number[w] < 0:
                    number[w] = low[w] = clock
                    clock += 1
                    stack[depth] = w
                    depth += 1
                    path[steps] = w
                    steps += 1
                elif label[w] < 0:
                    low[v] = min(low[v], number[w])
                continue
            steps -= 1
            if steps:
                above = path[steps - 1]
                low[above] = min(low[above], low[v])
            if low[v] == number[v]:
                while True:
                    depth -= 1
                    label[stack[depth]] = count
                    if stack[depth] == v:
                        break
                count += 1
    return label


@jit
def kill_mismatches(lefts: int, rights: int, left: IntArray, right: IntArray, flow: BoolArray, alive: BoolArray) -> int:
    """Mark living edges dead that are no matches (I1); returns how many."""
    parent = np.arange(lefts + rights)
    for e in range(len(left)):
        if flow[e]:
            a, b = _root(parent, left[e]), _root(parent, lefts + right[e])
            if a != b:
                parent[b] = a
    name = np.full(lefts + rights, -1, np.int64)
    tail, head = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
    which = np.empty(len(left), np.int64)
    open_edges, blocks = 0, 0
    for e in range(len(left)):
        if not alive[e] or flow[e]:
            continue
        a, b = _root(parent, left[e]), _root(parent, lefts + right[e])
        if a == b:
            continue
        for x in (a, b):
            if name[x] < 0:
                name[x] = blocks
                blocks += 1
        tail[open_edges], head[open_edges], which[open_edges] = name[a], name[b], e
        open_edges += 1
    if open_edges == 0:
        return 0
    start = np.zeros(blocks + 1, np.int64)
    for i in range(open_edges):
        start[tail[i] + 1] += 1
    for v in range(blocks):
        start[v + 1] += start[v]
    place, row = start[:-1].copy(), np.empty(open_edges, np.int64)
    for i in range(open_edges):
        row[place[tail[i]]] = head[i]
        place[tail[i]] += 1
    label = strong_components(blocks, start, row)
    killed = 0
    for i in range(open_edges):
        if label[tail[i]] != label[head[i]]:
            alive[which[i]] = False
            killed += 1
    return killed


# Record cliques
# --------------


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
