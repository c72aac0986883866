"""Match, kernel and full joins of a release in the making with all earlier ones, at class level.

Notation
    history clique   one node from each of the P earlier releases, pairwise consistent; they never change while a release is made
    node             a class of the new release on the columns that earlier releases share with it
    clique           (history clique, node): cliques of a node are one run of a growing pool, sorted by history clique
    edge             (node of an earlier release, node of the new one); the edges of a node are one run per earlier release

Invariants
    I1  Pools only grow; what a node's run contains is fixed when the node is made. Which of it is alive is recomputed.

Twin: `sfumato.audit.joins` and `sfumato.audit.levels` compute the same by other means (scipy, whole tables at once).

Cost: linear in living edges and cliques; nothing depends on the number of records.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import BoolArray, IntArray
from sfumato.methods.sequences.kernels.matches import kill_mismatches


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
    found: IntArray, hist: IntArray, stamp: IntArray, first: IntArray, edge_left: IntArray, clique_edge: IntArray, at: int
) -> IntArray:
    """Give the edges of a new node numbers from `first` on, per earlier release; cliques learn the numbers of their edges."""
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
                kill_mismatches(pair_lefts[k], pair_rights[k], pair_left[a:b], pair_right[a:b], pair_flow[a:b], pair_alive[a:b])
        used, pair_used = np.zeros(left.shape, np.bool_), np.zeros(len(pair_left), np.bool_)
        _survivors(active, clique_start, clique_h, clique_edge, hist_edge, shift, lives, pair_alive, alive, used, pair_used)
        lost = False
        for r in range(earlier):
            lost = _drop_unused(lives[r, : sizes[r]], used[r, : sizes[r]]) or lost
        for k in range(pairs):
            a, b = pair_start[k], pair_start[k + 1]
            dirty[k] = _drop_unused(pair_alive[a:b], pair_used[a:b])
            lost = lost or dirty[k]


@jit
def _living_edges(active: IntArray, edge_start: IntArray, edge_left: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The edges of the active nodes side by side per earlier release: where each run moved, how many there are, and their ends."""
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
