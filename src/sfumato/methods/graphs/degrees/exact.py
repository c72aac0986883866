"""The fewest edges that make a small graph k-degree anonymous, as a constraint problem solved to proven optimality.

Paper
    [obfuscation §3.4]

Departures
    The paper gives every person a column for each neighbour, which its authors found very hard to solve. Here a variable says
    whether a pair becomes an edge, and another whether a person gets a degree: the same solutions without their many names.

Notation
    x(u, v)   pair u, v, not joined so far, becomes an edge.
    y(v, t)   person v has t ties in the end.
    z(t)      somebody has t ties in the end; then at least k people have.

>>> path = Graph.from_pairs([0, 1, 2], [1, 2, 3])
>>> edges, proven = fewest_added(path, 4, most=3, least=1, seed=1, effort=5)
>>> len(edges), proven
(1, 1)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from sfumato.data.graph import Graph
from sfumato.methods.solver import SolverModel

Pairs = list[tuple[int, int]]


def fewest_added(
    graph: Graph, k: int, *, most: int, least: int, seed: int, effort: float, known: Collection[tuple[int, int]] = ()
) -> tuple[Pairs | None, int]:
    """The best edges found, if any, and how many are needed at least; `known` is an answer of `most` edges to begin with."""
    model = SolverModel()
    low, high = np.triu_indices(graph.nodes, 1)
    free = ~graph.has_edges(low, high)
    pairs: Pairs = list(zip(low[free].tolist(), high[free].tolist(), strict=True))
    chosen = [model.integer(0, 1) for _ in pairs]
    model.within(dict.fromkeys(chosen, 1), least, most)
    _post_degrees(model, graph, k, most, dict(zip(pairs, chosen, strict=True)))
    hints = {variable: int(pair in known) for pair, variable in zip(pairs, chosen, strict=True)}
    values, proven = model.minimize(dict.fromkeys(chosen, 1), hints, seed, effort)
    added = None if values is None else [pair for pair, value in zip(pairs, values, strict=False) if value]
    return added, max(proven, least)


def _post_degrees(model: SolverModel, graph: Graph, k: int, most: int, chosen: dict[tuple[int, int], Any]) -> None:
    ties: list[dict[Any, int]] = [{} for _ in range(graph.nodes)]
    for (u, v), variable in chosen.items():
        ties[u][variable] = ties[v][variable] = -1
    having: dict[int, list[Any]] = {}
    for person, degree in enumerate(graph.degrees.tolist()):
        options = {model.truth(): t for t in range(degree, min(degree + most, graph.nodes - 1) + 1)}
        model.within(dict.fromkeys(options, 1), 1, 1)  # Σ y(v, t) = 1
        model.within(options | ties[person], degree, degree)  # Σ t·y(v, t) − Σ x = degree
        for option, t in options.items():
            having.setdefault(t, []).append(option)
    for options_of_t in having.values():
        used = model.truth()
        model.within(dict.fromkeys(options_of_t, 1) | {used: -k}, 0, None)  # z(t) → at least k people
        for option in options_of_t:
            model.within({used: 1, option: -1}, 0, None)  # y(v, t) → z(t)
