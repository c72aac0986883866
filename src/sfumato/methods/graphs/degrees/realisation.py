"""Edges that give everybody the number of ties a plan asks for, beside those that exist; the plan grows where it cannot be met.

Whoever lacks most ties is served first, by those who lack most among the people not yet joined to him. What is left is stuck: then
edges are exchanged, people of crowded degrees take one more tie each, and at last whole degrees are raised together.

Invariants
    I1  Every degree of the plan is shared by nobody or by at least k people, at any time.
    I2  Only pairs that are joined neither in the graph nor by an added edge become added edges.
    I3  It ends: whenever somebody lacks a tie the plan is raised, and with everybody joined to everybody nobody lacks one.

Cost
    O(L²) for L people who lack ties, O(N) for each of those who are stuck.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.graph import Graph
from sfumato.randomness import Randomness


class Growth:
    """A graph that grows towards planned degrees."""

    def __init__(self, graph: Graph, k: int, plan: IntArray, randomness: Randomness) -> None:
        self.graph, self.k, self.randomness = graph, k, randomness
        self.plan = plan.copy()
        self.people = np.bincount(plan, minlength=graph.nodes + 1)
        """How many people the plan gives each degree."""
        self.lacking = plan - graph.degrees
        self.added: defaultdict[int, set[int]] = defaultdict(set)

    def finish(self) -> Growth:
        """Add edges until nobody lacks a tie."""
        while True:
            self._serve()
            self._exchange()
            self._borrow()
            stuck = np.flatnonzero(self.lacking)
            if not len(stuck):
                return self
            self._lift(int(stuck[0]))

    @property
    def size(self) -> int:
        return sum(map(len, self.added.values())) // 2

    def edges(self) -> tuple[IntArray, IntArray]:
        """The added edges, the smaller end first."""
        pairs = [(v, u) for v, others in self.added.items() for u in others if v < u]
        array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return array[:, 0], array[:, 1]

    def _serve(self) -> None:
        """Largest lack first; partners are those who lack most, at random among equals."""
        chance = self.randomness.uniform(self.graph.nodes)
        waiting = np.flatnonzero(self.lacking)
        while len(waiting):
            rank = self.lacking[waiting] + chance[waiting]
            node = int(waiting[rank.argmax()])
            free = ~self._near(node)[waiting]
            open_to, rank = waiting[free], rank[free]
            wanted = min(int(self.lacking[node]), len(open_to))
            if wanted:
                for other in open_to[np.argpartition(-rank, wanted - 1)[:wanted]].tolist():
                    self._join(node, other)
            waiting = waiting[(self.lacking[waiting] > 0) & (waiting != node)]

    def _exchange(self) -> None:
        """Two missing ties for one added edge x-y: x and y each join somebody who lacks a tie instead of each other."""
        if not self.added or not self.lacking.any():
            return
        left, right = self.edges()
        x, y = np.concatenate([left, right]), np.concatenate([right, left])
        for first, second in self._stuck_pairs():
            near = self._near(first)
            close = near if first == second else self._near(second)  # one and the same person gets no tie twice (I2)
            for place in self._shuffled(np.flatnonzero(~near[x] & ~close[y])):
                a, b = int(x[place]), int(y[place])
                if min(self.lacking[first], self.lacking[second]) < 1 + (first == second):
                    break
                if b in self.added[a] and not near[a] and not close[b]:
                    self._part(a, b)
                    self._join(first, a)
                    self._join(second, b)
                    near[a] = close[b] = True

    def _stuck_pairs(self) -> Iterator[tuple[int, int]]:
        """Everybody who lacks two ties with himself, then the others two by two."""
        for node in self._shuffled(np.flatnonzero(self.lacking > 1)):
            yield int(node), int(node)
        single = self._shuffled(np.flatnonzero(self.lacking))
        yield from zip(single[0::2].tolist(), single[1::2].tolist(), strict=False)

    def _borrow(self) -> None:
        """People of crowded degrees move to the next degree, where that is crowded as well, and give one tie."""
        for node in np.flatnonzero(self.lacking).tolist():
            near, progress = self._near(node), True
            while self.lacking[node] and progress:
                progress = False
                able = ~near & (self.people[self.plan] > self.k) & (self.people[self.plan + 1] >= self.k)
                for other in self._sociable(np.flatnonzero(able)).tolist():
                    if not self.lacking[node]:
                        break
                    if self.people[self.plan[other]] > self.k:  # I1; the degree above only gains people meanwhile
                        self._raise(other)
                        self._join(node, other)
                        near[other] = progress = True

    def _lift(self, stuck: int) -> None:
        """Raise the cheapest whole degree, or k people of a very crowded one, that somebody who can help `stuck` belongs to.

        Ties have two ends: an odd number of missing ones is made even where a degree can be raised by an odd number of people.
        """
        free = np.flatnonzero(~self._near(stuck) & (self.plan < self.graph.nodes - 1))
        degrees = np.unique(self.plan[free])  # I3: never empty, two people who lack a tie and are not joined have been joined
        crowd = self.people[degrees]
        few = self.k + (self.lacking.sum() + self.k) % 2
        moved = np.where((crowd >= self.k + few) & (self.people[degrees + 1] == 0), few, crowd)  # I1
        best = int(np.lexsort([moved, (self.lacking.sum() + moved) % 2])[0])
        group = self._shuffled(np.flatnonzero(self.plan == degrees[best]))
        helpful = np.isin(group, free)
        for node in np.concatenate([group[helpful], group[~helpful]])[: moved[best]].tolist():
            self._raise(node)

    def _raise(self, node: int) -> None:
        self.people[self.plan[node]] -= 1
        self.plan[node] += 1
        self.people[self.plan[node]] += 1
        self.lacking[node] += 1

    def _near(self, node: int) -> BoolArray:
        """Who cannot be joined to `node` (I2)."""
        near = np.zeros(self.graph.nodes, dtype=bool)
        near[self.graph.neighbours_of(node)] = True
        near[list(self.added[node])] = True
        near[node] = True
        return near

    def _join(self, one: int, other: int) -> None:
        self.added[one].add(other)
        self.added[other].add(one)
        self.lacking[one] -= 1
        self.lacking[other] -= 1

    def _part(self, one: int, other: int) -> None:
        self.added[one].discard(other)
        self.added[other].discard(one)
        self.lacking[one] += 1
        self.lacking[other] += 1

    def _sociable(self, people: IntArray) -> IntArray:
        """A random order in which people with many ties tend to come first, as new ties among people do."""
        waits = -np.log1p(-self.randomness.uniform(len(people))) / (self.graph.degrees[people] + 0.5)
        ordered: IntArray = people[np.argsort(waits)]
        return ordered

    def _shuffled(self, values: IntArray) -> IntArray:
        shuffled: IntArray = values[self.randomness.permutation(len(values))]
        return shuffled
