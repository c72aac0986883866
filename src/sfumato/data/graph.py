"""An undirected simple graph in sorted adjacency form: who knows whom, and nothing else.

Notation
    N  `nodes`, the number of people; isolated ones count.
    h  `size`, the number of edges.
    M  `pairs` = N(N − 1)/2, the number of pairs.

Invariants
    I1  No loops, no double edges; what was dropped while building is counted in `dropped`.
    I2  `neighbours[starts[v]:starts[v + 1]]` are the neighbours of v in ascending order, and the relation is symmetric.

Cost
    Building sorts the edges once; memory is 8 bytes a node and 8 bytes an edge. Nothing is ever of size N².

>>> g = Graph.from_pairs([0, 1, 2, 2, 0], [1, 0, 0, 2, 2])
>>> g.nodes, g.size, g.dropped
(3, 2, Dropped(loops=1, duplicates=2))
>>> g.degrees.tolist()
[2, 1, 1]
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError
from sfumato.core.extras import bring


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a simple graph cannot hold, counted while building."""

    loops: int = 0
    duplicates: int = 0
    values: tuple[str, ...] = field(default=(), repr=False)
    """Names of what ties carry and not all alike: weights, dates."""
    kinds: bool = field(default=False, repr=False)
    """Whether its nodes are said to be of two kinds."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph of people; `labels` are the names in the source and are never published.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.Graph.from_pairs([0, 1, 2], [1, 2, 0]).nodes
    3
    """

    nodes: int
    starts: IntArray
    neighbours: NDArray[np.int32]
    dropped: Dropped = Dropped()
    labels: tuple[str, ...] | None = field(default=None, repr=False)

    @classmethod
    def from_pairs(
        cls, source: ArrayLike, target: ArrayLike, nodes: int | None = None, labels: Sequence[str] | None = None
    ) -> Graph:
        """The simple graph of any list of pairs: direction, loops and repetitions are dropped and counted."""
        with np.errstate(invalid="ignore"):  # a number that is none becomes negative, and is refused below
            u, v = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
        largest = int(max(u.max(initial=-1), v.max(initial=-1)))
        count = nodes if nodes is not None else largest + 1
        if largest >= count or min(u.min(initial=0), v.min(initial=0)) < 0:
            raise DataError("an edge names a node outside the graph", hint="give the right number of nodes")
        loops = u == v
        low, high = np.minimum(u, v)[~loops], np.maximum(u, v)[~loops]
        codes = distinct(low * count + high)  # I1
        dropped = Dropped(int(loops.sum()), len(low) - len(codes))
        return cls.from_codes(codes, count, dropped=dropped, labels=labels)

    @classmethod
    def from_codes(
        cls, codes: IntArray, nodes: int, *, dropped: Dropped | None = None, labels: Sequence[str] | None = None
    ) -> Graph:
        """The graph whose edges are `low · nodes + high`, ascending and distinct."""
        low, high = np.divmod(codes, max(nodes, 1))
        starts, neighbours = _adjacency(low, high, nodes)
        return cls(nodes, starts, neighbours, dropped or Dropped(), tuple(labels) if labels is not None else None)

    @classmethod
    def from_table(cls, table: Any, nodes: int) -> Graph:
        """From an Arrow table with the columns `source` and `target`, as a release publishes it; node numbers may be
        text."""
        import pyarrow as pa

        try:
            ends = [table.column(name).cast(pa.int64()).to_numpy() for name in ("source", "target")]
        except pa.ArrowInvalid:
            raise DataError(
                "an edge does not name two nodes by number", hint="publish again; the edges were changed"
            ) from None
        return cls.from_pairs(ends[0], ends[1], nodes)

    def to_columns(self) -> dict[str, IntArray]:
        """The edges as the columns a release publishes."""
        low, high = self.edges()
        return {"source": low, "target": high}

    @classmethod
    def of(cls, graph: Any) -> Graph:
        """A graph that is one already, or a networkx or igraph object."""
        if isinstance(graph, cls):
            return graph
        return cls.from_igraph(graph) if hasattr(graph, "vcount") else cls.from_networkx(graph)

    @classmethod
    def from_networkx(cls, graph: Any) -> Graph:
        """From any networkx graph; direction, weights and parallel edges are dropped."""
        names = list(graph.nodes())
        number = {name: index for index, name in enumerate(names)}
        pairs = [(number[a], number[b]) for a, b in graph.edges()]
        read = cls.from_pairs([a for a, _ in pairs], [b for _, b in pairs], len(names), [str(name) for name in names])
        kinds = {mark for _, mark in graph.nodes(data="bipartite") if mark is not None}
        return read.saying(
            differing_edge_attributes(carried for *_, carried in graph.edges(data=True)), kinds=len(kinds) > 1
        )

    @classmethod
    def from_igraph(cls, graph: Any) -> Graph:
        """From any igraph graph; vertices keep their `name` as label when they have one."""
        pairs = np.asarray(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
        read = cls.from_pairs(pairs[:, 0], pairs[:, 1], graph.vcount(), [str(name) for name in names])
        values = tuple(name for name in graph.es.attributes() if len({repr(value) for value in graph.es[name]}) > 1)
        kinds = (
            {mark for mark in graph.vs["type"] if isinstance(mark, bool)} if "type" in graph.vs.attributes() else set()
        )
        return read.saying(values, kinds=len(kinds) > 1)

    def saying(self, values: tuple[str, ...], *, kinds: bool = False) -> Graph:
        """This graph, beside which its source said what is not kept."""
        return replace(self, dropped=replace(self.dropped, values=values, kinds=kinds))

    @property
    def records(self) -> int:
        """Return the number of people."""
        return self.nodes

    @property
    def size(self) -> int:
        """h, the number of edges."""
        return len(self.neighbours) // 2

    @property
    def pairs(self) -> int:
        """M, the number of pairs of people."""
        return self.nodes * (self.nodes - 1) // 2

    @property
    def density(self) -> float:
        return self.size / self.pairs if self.pairs else 0.0

    @property
    def numbering(self) -> str:
        """A digest of the labels in their order, the same for two readings that number the same people alike."""
        return hashlib.sha256("\0".join(self.labels or ()).encode()).hexdigest()

    @cached_property
    def degrees(self) -> IntArray:
        return np.diff(self.starts)

    @cached_property
    def codes(self) -> IntArray:
        """Every edge once as `low · nodes + high`, ascending."""
        low = np.repeat(np.arange(self.nodes, dtype=np.int64), self.degrees)
        upper = low < self.neighbours
        return low[upper] * self.nodes + self.neighbours[upper]

    def edges(self) -> tuple[IntArray, IntArray]:
        """Every edge once, the smaller node first, ascending."""
        low, high = np.divmod(self.codes, max(self.nodes, 1))
        return low, high

    def neighbours_of(self, node: int) -> NDArray[np.int32]:
        return self.neighbours[self.starts[node] : self.starts[node + 1]]

    def has_edges(self, u: ArrayLike, v: ArrayLike) -> BoolArray:
        """For each pair (u, v): are they joined?"""
        a, b = np.asarray(u, dtype=np.int64), np.asarray(v, dtype=np.int64)
        wanted = np.minimum(a, b) * self.nodes + np.maximum(a, b)
        return contained_in_sorted(self.codes, wanted)

    def relabelled(self, order: IntArray) -> Graph:
        """The same graph where node v is called `order[v]`; the old labels are forgotten."""
        low, high = self.edges()
        a, b = order[low], order[high]
        codes = np.sort(np.minimum(a, b) * self.nodes + np.maximum(a, b))
        return Graph.from_codes(codes, self.nodes)

    def joined(self, extra: int, source: ArrayLike, target: ArrayLike) -> Graph:
        """This graph with `extra` new nodes at the end and new edges."""
        low, high = self.edges()
        u = np.concatenate([low, np.asarray(source, dtype=np.int64)])
        v = np.concatenate([high, np.asarray(target, dtype=np.int64)])
        return Graph.from_pairs(u, v, self.nodes + extra)

    def to_networkx(self) -> Any:
        """A networkx graph on 0 … N − 1."""
        graph = bring("networkx", "a networkx graph").empty_graph(self.nodes)
        low, high = self.edges()
        graph.add_edges_from(zip(low.tolist(), high.tolist(), strict=True))
        return graph


def differing_edge_attributes(ties: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Names of what ties carry and not all of them alike; a tie that lacks it differs from one that has it.

    >>> differing_edge_attributes([{"weight": 2, "kind": "friend"}, {"weight": 3, "kind": "friend"}])
    ('weight',)
    """
    first: dict[str, str] = {}
    found: dict[str, None] = {}
    for place, tie in enumerate(ties):
        for name in first.keys() - tie.keys():
            found[name] = None
        for name, value in tie.items():
            late = name not in first and place > 0
            if late or first.setdefault(name, repr(value)) != repr(value):
                found[str(name)] = None
    return tuple(found)


def distinct(codes: IntArray) -> IntArray:
    """Ascending and each value once; what comes sorted is not sorted again.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = codes if bool((codes[1:] >= codes[:-1]).all()) else np.sort(codes)
    fresh = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return ordered if bool(fresh.all()) else ordered[fresh]


def contained_in_sorted(ascending: IntArray, wanted: IntArray) -> BoolArray:
    """Return which of `wanted` occur in the ascending array.

    >>> contained_in_sorted(np.array([2, 5, 9]), np.array([5, 6, 10])).tolist()
    [True, False, False]
    """
    if not len(ascending):
        return np.zeros(np.shape(wanted), dtype=bool)
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    found: BoolArray = ascending[place] == wanted
    return found


def _adjacency(low: IntArray, high: IntArray, nodes: int) -> tuple[IntArray, NDArray[np.int32]]:
    """Sorted neighbour lists of edges that come ascending by (low, high)."""
    below, above = np.bincount(high, minlength=nodes), np.bincount(low, minlength=nodes)
    starts = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(below + above, out=starts[1:])
    neighbours = np.empty(2 * len(low), dtype=np.int32)
    narrow = high.astype(np.uint16) if nodes <= 1 << 16 else high  # which numpy sorts ten times as fast
    by_high = np.argsort(narrow, kind="stable")  # stable: within one `high` the lows stay ascending (I2)
    are_below = np.repeat(np.tile([True, False], nodes), np.column_stack([below, above]).ravel())
    neighbours[are_below] = low[by_high]
    neighbours[~are_below] = high
    return starts, neighbours
