"""A graph that grows like real ones: newcomers befriend the popular, and friends of friends (Holme, Kim 2002)."""

from __future__ import annotations

import numpy as np


def clustered_graph(nodes: int, friends: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Edges of an undirected graph without loops; node numbers from 0."""
    near: list[set[int]] = [set() for _ in range(nodes)]
    ends = list(range(friends))
    for newcomer in range(friends, nodes):
        last = -1
        while len(near[newcomer]) < friends:
            closed = sorted(near[last] - near[newcomer] - {newcomer}) if last >= 0 and rng.random() < 0.6 else []
            last = closed[rng.integers(len(closed))] if closed else ends[rng.integers(len(ends))]
            if last != newcomer and last not in near[newcomer]:
                near[newcomer].add(last)
                near[last].add(newcomer)
                ends += [newcomer, last]
    return [(one, two) for one in range(nodes) for two in sorted(near[one]) if one < two]
