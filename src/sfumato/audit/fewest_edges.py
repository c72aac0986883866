"""How many edges a graph must gain before every degree is shared by k people, counted again for the audit.

Two arguments, those that a method may make, in other code: the degrees of all people have to rise by so much in total, and
the m people who end with most ties need more edges than can be there already.

>>> star = Graph.from_pairs([0] * 9, list(range(1, 10)))
>>> fewest_new_edges(star, 2)
8
"""

from __future__ import annotations

from math import inf

import numpy as np

from sfumato.data.graph import Graph

_MULTIPLES = 20


def fewest_new_edges(graph: Graph, k: int) -> int:
    """A lower bound for every k-degree anonymous graph that contains this one."""
    descending = np.sort(graph.degrees)[::-1].tolist()
    hubs = [_at_hubs(graph, k, descending, m) for m in range(k, min(_MULTIPLES * k, graph.nodes) + 1, k)]
    return max((total_rise(graph, k) + 1) // 2, *hubs)


def total_rise(graph: Graph, k: int) -> int:
    """The least sum by which degrees must rise; more than 5k people of one degree count as 5k, for the others need not move."""
    values, counts = np.unique(graph.degrees, return_counts=True)
    few = np.repeat(values[::-1], np.minimum(counts[::-1], 5 * k)).tolist()
    return int(_from(few, k)[0])


def _from(descending: list[int], k: int) -> list[float]:
    """For every place: the least rise of the people from there on, when a group begins there."""
    people = len(descending)
    least: list[float] = [inf] * people + [0]
    for first in range(people - k, -1, -1):
        top, rise = descending[first], sum(descending[first] - degree for degree in descending[first : first + k])
        for after in range(first + k, min(first + 2 * k, people + 1)):
            least[first] = min(least[first], rise + least[after])
            rise += top - descending[after] if after < people else 0
    return least


def _at_hubs(graph: Graph, k: int, descending: list[int], m: int) -> int:
    """Edges that must be added at the m people with most ties in the end."""
    goal = _least_sum(descending[: m + 2 * k], k, m, len(descending))
    return goal - m * (m - 1) // 2 - _touchable(graph, m)


def _least_sum(descending: list[int], k: int, m: int, people: int) -> int:
    """The least sum of the m largest degrees when the groups are raised; the last group may reach beyond."""
    sums: list[float] = [0] + [inf] * m
    for end in range(1, m + 1):
        for first in range(max(0, end - 2 * k + 1), end):
            whole = end - first >= k
            if whole or (end == m and first + k <= people):
                sums[end] = min(sums[end], sums[first] + (end - first) * descending[first])
    return int(sums[m])


def _touchable(graph: Graph, m: int) -> int:
    """No m people touch more edges; those among the people with most ties count for themselves, half and half, or at both ends."""
    crowd = np.zeros(graph.nodes, dtype=bool)
    crowd[np.argsort(-graph.degrees, kind="stable")[:m]] = True
    one, other = graph.edges()
    among = crowd[one] & crowd[other]
    inner = np.bincount(np.concatenate([one[among], other[among]]), minlength=graph.nodes)
    choices = []
    for halves in (0, 1, 2):
        ends = np.sort(2 * graph.degrees - (2 - halves) * inner)[::-1][:m]
        choices.append((int(among.sum()) * (2 - halves) + int(ends.sum())) // 2)
    return min(*choices, graph.size)
