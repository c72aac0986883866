"""Random small sequences of releases over small taxonomies."""

from __future__ import annotations

import numpy as np

from sfumato.history.release_sequence import Attribute, ReleaseSequence

TREES = {
    2: [(0, 1), (1, 2), (0, 2)],
    3: [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3)],
    4: [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (2, 4), (0, 4)],
}


def attributes(sizes, other=False):
    roles = ["quasi-identifier"] * (len(sizes) - 1)
    if other and len(sizes) > 2:
        roles[-1] = "other"
    names = [f"a{m}" for m in range(len(sizes) - 1)]
    return [Attribute(n, s, r) for n, s, r in zip([*names, "s"], sizes, [*roles, "sensitive"], strict=True)]


def random_instance(rng, R=None, N=None, sizes=None, other=None, cells=True):
    """(attributes, published boxes per release, leaves); at least one release publishes the sensitive attribute."""
    R = R or int(rng.integers(2, 5))
    N = N or int(rng.integers(3, 8 - (R > 2) - (R > 3)))
    sizes = sizes or [int(rng.integers(2, 5)) for _ in range(int(rng.integers(2, 4)))] + [int(rng.integers(2, 4))]
    other = bool(rng.integers(4) == 0) if other is None else other
    columns = attributes(sizes, other)
    leaves = np.stack([rng.integers(0, size, N) for size in sizes], axis=1)
    tells = rng.random((R, len(sizes))) < 0.7
    tells[rng.integers(R), -1] = True
    published = [_publish(rng, leaves, sizes, tells[r], cells) for r in range(R)]
    return columns, published, leaves


def _publish(rng, leaves, sizes, tells, cells):
    lo, hi = np.zeros_like(leaves), np.broadcast_to(np.array(sizes), leaves.shape).copy()
    for m, size in enumerate(sizes):
        if not tells[m]:
            continue
        if m == len(sizes) - 1:
            lo[:, m], hi[:, m] = leaves[:, m], leaves[:, m] + 1
            continue
        cut = {x: _node(rng, x, size) for x in range(size)} if cells else _cut(rng, size)
        for n, x in enumerate(leaves[:, m]):
            lo[n, m], hi[n, m] = _node(rng, x, size) if cells else cut[x]
    return lo, hi


def _node(rng, leaf, size):
    above = [node for node in TREES[size] if node[0] <= leaf < node[1]]
    return above[rng.integers(len(above))] if rng.random() < 0.5 else above[0]


def _cut(rng, size):
    inner = [node for node in TREES[size] if node[1] - node[0] > 1]
    cut = {x: (x, x + 1) for x in range(size)}
    for node in sorted(inner, key=lambda node: node[1] - node[0]):
        if rng.random() < 0.35:
            cut.update(dict.fromkeys(range(*node), node))
    return cut


def sequence_of(columns, published, leaves):
    return ReleaseSequence.of_records(columns, published, (leaves, leaves + 1))


def record_cliques(sequence, cliques, published):
    """Class-level cliques of nodes as record cliques, to compare with enumeration."""
    found = set()
    node_of_record = []
    for r, (lo, hi) in enumerate(published):
        _, of = sequence.nodes[r]
        classes = sequence.releases[r]
        rows = []
        for n in range(len(lo)):
            match = np.flatnonzero((classes.lo == lo[n]).all(1) & (classes.hi == hi[n]).all(1))
            rows.append(int(of[match[0]]))
        node_of_record.append(np.array(rows))
    from itertools import product

    for clique in cliques:
        found.update(product(*(np.flatnonzero(node_of_record[r] == c).tolist() for r, c in enumerate(clique))))
    return found
