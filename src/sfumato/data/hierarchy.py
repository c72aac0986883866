"""A generalization hierarchy as an interval index: leaves numbered depth first, a node is an interval ``[lo, hi)``.

Containment is two comparisons, the size of a generalized value is ``hi − lo``, and the lowest common ancestor of a
group is that of its smallest and its largest leaf.

Paper: [boundaries §2, Def. 4, 5, 8]

Invariants
    I1  Nodes 0 … size − 1 are the leaves in depth-first order; the other nodes follow, the root last.
    I2  A label names one node; a node has one parent. What is not a tree is refused with the offending label.
    I3  The interval of a node is the union of the intervals of its children.

Departures
    Several nodes may cover the same leaves (a chain of only children). They are one interval, and the lowest of them is
    the one that gets published: it says the most and gives nothing more away.

Cost: the lowest common ancestor of n pairs is depth × n comparisons in numpy.

>>> europe = Hierarchy.from_tree({"World": {"Europe": ["Rome", "Bern"], "Asia": ["Kyoto"]}})
>>> europe.leaves
('Rome', 'Bern', 'Kyoto')
>>> europe.interval("Europe"), europe.label(0, 2), europe.label(2, 3), europe.label(0, 3)
((0, 2), 'Europe', 'Kyoto', 'World')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import DataError, PolicyError
from sfumato.core.registry import nearest
from sfumato.data.generalization import MISSING, Generalization
from sfumato.data.text_values import first_row_of

ROOT = "*"


@dataclass(frozen=True)
class Hierarchy(Generalization):
    """A generalization hierarchy: a tree over the values of a column, with generalization boundaries.

    Examples
    --------
    >>> import sfumato as sf
    >>> cities = sf.Hierarchy.from_tree({"Italy": {"South": ["Bari", "Lecce"], "North": ["Turin", "Asti"]}})
    >>> cities.names[:4]
    ('Bari', 'Lecce', 'Turin', 'Asti')
    """

    names: tuple[str, ...]
    """Labels of all nodes; the leaves come first (I1)."""
    parent: IntArray
    lo: IntArray
    hi: IntArray
    ceilings: frozenset[int] = frozenset()
    """Boundary nodes: a leaf may rise to the first of them above it, or to the root when there is none."""
    coded: Mapping[str, str] = field(default_factory=dict)
    """Values of the data that are published as a leaf of another name: 93 as ≥90."""

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]], *, name: str = "hierarchy") -> Hierarchy:
        """Build from rows ``leaf, …, root``; equal neighbours in a row are one node."""
        parents: dict[str, str | None] = {}
        seen: list[str] = []
        for path in paths:
            seen.append(path[0])
            _climb(parents, [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]], name)
        return cls._from_parents(parents, seen, name)

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any], *, name: str = "hierarchy") -> Hierarchy:
        """Build from nested mappings and lists, ``{root: {node: [leaf, …]}}``."""
        return cls.from_paths([path[::-1] for path in _walk(tree, ())], name=name)

    @classmethod
    def flat(cls, leaves: Iterable[str], *, root: str = ROOT) -> Hierarchy:
        """Kept or suppressed: every value stands directly under the root."""
        return cls.from_paths([(leaf, root) for leaf in leaves])

    @classmethod
    def _from_parents(cls, parents: dict[str, str | None], seen: list[str], name: str) -> Hierarchy:
        roots = [label for label, parent in parents.items() if parent is None]
        if len(roots) != 1:
            raise DataError(f"{name} has {len(roots)} roots", hint="end every row with the same label, for example '*'")
        children: dict[str, list[str]] = {label: [] for label in parents}
        for label, parent in parents.items():
            if parent is not None:
                children[parent].append(label)
        for label in seen:
            if children[label]:
                raise DataError(f"{name} is not a tree: '{label}' is both a value and a group", hint="rename the group")
        return cls._number(roots[0], children, parents)

    @classmethod
    def _number(cls, root: str, children: dict[str, list[str]], parents: dict[str, str | None]) -> Hierarchy:
        leaves, inner = _depth_first(root, children)
        names = (*leaves, *inner)  # I1
        index = {label: node for node, label in enumerate(names)}
        lo = np.arange(len(names), dtype=np.int64)
        hi = lo + 1
        for node in range(len(leaves), len(names)):  # children come before their parents
            below = [index[child] for child in children[names[node]]]
            lo[node], hi[node] = min(lo[c] for c in below), max(hi[c] for c in below)  # I3
        up = [parents[label] for label in names]
        parent = np.array([index[label] if label is not None else index[root] for label in up], dtype=np.int64)
        return cls(names, parent, lo, hi)

    @cached_property
    def leaves(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.names[: int(self.hi[-1])]

    @cached_property
    def code_of(self) -> dict[str, int]:
        """The leaf of every value; of one that is coded the leaf it becomes, even where a leaf has its name (90 beside
        ≥90)."""
        leaf = {label: code for code, label in enumerate(self.leaves)}
        return leaf | {value: leaf[label] for value, label in self.coded.items()}

    def values(self, lo: int, hi: int) -> list[str]:
        if not self.coded:
            return super().values(lo, hi)
        return [value for value, code in self.code_of.items() if lo <= code < hi]

    @cached_property
    def node_of(self) -> dict[str, int]:
        return {label: node for node, label in enumerate(self.names)}

    @property
    def root(self) -> int:
        return len(self.names) - 1

    @cached_property
    def _climb_all(self) -> IntArray:
        """``[j, leaf]``: the node j steps above the leaf; the root once it is reached."""
        steps = [np.arange(self.size, dtype=np.int64)]
        while (steps[-1] != self.root).any():
            steps.append(self.parent[steps[-1]])
        return np.stack(steps)

    @cached_property
    def ancestors(self) -> IntArray:
        """``ancestors[d, leaf]``: the node above the leaf at depth d (the root has depth 0), the leaf itself beyond its
        depth."""
        above = self._climb_all
        depth = (above != self.root).sum(axis=0)
        leaf = np.arange(self.size)
        return np.stack([above[np.maximum(depth - d, 0), leaf] for d in range(int(depth.max(initial=0)) + 1)])

    def _chain(self, node: int) -> list[int]:
        chain = [node]
        while chain[-1] != self.root:
            chain.append(int(self.parent[chain[-1]]))
        return chain[::-1]

    def path(self, node: int) -> list[int]:
        """The nodes from `node` up to the root, both included."""
        return self._chain(node)[::-1]

    def lca(self, first: IntArray, last: IntArray) -> IntArray:
        """The lowest common ancestors of the leaves `first` and `last`, elementwise."""
        table = self.ancestors
        found = np.full(len(first), self.root, dtype=np.int64)
        for row in table[1:]:
            agree = row[first] == row[last]
            found[agree] = row[first[agree]]
        return found

    def close(self, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        node = self.lca(np.asarray(lo), np.asarray(hi) - 1)
        return self.lo[node], self.hi[node]

    @cached_property
    def _lowest(self) -> dict[tuple[int, int], int]:
        """Interval → the lowest node that covers exactly these leaves."""
        lowest: dict[tuple[int, int], int] = {}
        for node in range(len(self.names)):
            lowest.setdefault((int(self.lo[node]), int(self.hi[node])), node)
        return lowest

    def label(self, lo: int, hi: int) -> str:
        return self.names[self._lowest[lo, hi]]

    def interval(self, label: str) -> tuple[int, int] | None:
        node = self.node_of.get(label)
        return None if node is None else (int(self.lo[node]), int(self.hi[node]))

    @cached_property
    def heights(self) -> IntArray:
        """Longest way from each node down to a leaf; nodes that cover the same leaves count as the lowest of them."""
        heights = np.zeros(len(self.names), dtype=np.int64)
        for node in range(len(self.names) - 1):
            above = self.parent[node]
            step = 0 if self.hi[above] - self.lo[above] == self.hi[node] - self.lo[node] else 1
            heights[above] = max(heights[above], heights[node] + step)
        return heights

    def height(self, lo: IntArray, hi: IntArray) -> FloatArray:
        node = self.lca(np.asarray(lo), np.asarray(hi) - 1)
        heights: FloatArray = self.heights[node] / max(int(self.heights[-1]), 1)
        return heights

    def bounded(self, labels: Iterable[str], *, where: str = "") -> Hierarchy:
        """The same tree with a boundary: leaves may rise only to the first of these nodes above them [boundaries Def.
        4]."""
        nodes = set()
        for label in labels:
            if label not in self.node_of:
                hint = nearest(label, list(self.names))
                raise PolicyError(f"boundary '{label}' is no node of the hierarchy", where=where, hint=hint)
            nodes.add(self.node_of[label])
        return replace(self, ceilings=frozenset(nodes))

    def bounded_at(self, level: int, *, where: str = "") -> Hierarchy:
        """A boundary `level` steps above every leaf (0: the leaf itself); shorter branches end at the root."""
        paths = [self.path(leaf) for leaf in range(self.size)]
        top = max(map(len, paths)) - 1
        if not 0 <= level <= top:
            raise PolicyError(
                f"the hierarchy has no level {level}", where=where, hint=f"its levels are 0 (values) to {top} (root)"
            )
        nodes = {path[min(level, len(path) - 1)] for path in paths}
        return replace(self, ceilings=frozenset(nodes))

    def ceiling(self) -> tuple[IntArray, IntArray]:
        nodes = self.ceiling_nodes
        return self.lo[nodes], self.hi[nodes]

    @cached_property
    def ceiling_nodes(self) -> IntArray:
        """For every leaf the highest node it may be published as."""
        nodes = np.full(self.size, self.root, dtype=np.int64)
        bounding = np.zeros(len(self.names), dtype=np.bool_)
        bounding[list(self.ceilings)] = True
        for row in self._climb_all[::-1] if self.ceilings else ():  # the lowest boundary above a leaf is written last
            nodes = np.where(bounding[row], row, nodes)
        return nodes

    def with_missing(self) -> Hierarchy:
        """The same tree with the missing value as one more leaf directly under the root."""
        if MISSING in self.node_of:
            return self
        kept = [self.names[node] for node in self.ceilings]
        root = self.names[self.root]
        paths = [[self.names[node] for node in self.path(leaf)] for leaf in range(self.size)]
        return replace(Hierarchy.from_paths([*paths, [MISSING, root]]).bounded(kept), coded=self.coded)

    def paths(self) -> list[list[str]]:
        """Rows ``leaf, …, root``: the form in which hierarchies are exchanged."""
        return [[self.names[node] for node in self.path(leaf)] for leaf in range(self.size)]


def _climb(parents: dict[str, str | None], path: list[str], name: str) -> None:
    for label, above in zip(path, [*path[1:], None], strict=True):
        known = parents.setdefault(label, above)
        if known != above:  # I2
            raise DataError(
                f"{name} is not a tree: '{label}' has two parents, '{known}' and '{above}'",
                hint="give each group a name of its own",
            )


def _walk(tree: Any, above: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            yield from _walk(below, (*above, str(label))) if below else [(*above, str(label))]
    elif isinstance(tree, list | tuple):
        for entry in tree:
            yield from _walk(entry, above)
    elif tree is None:
        raise DataError("a hierarchy has an entry without a name", hint="name it, or take it out of the list")
    else:
        yield (*above, str(tree))


def _depth_first(root: str, children: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Leaves in depth-first order, and inner nodes so that every parent comes after its children."""
    leaves: list[str] = []
    inner: list[str] = []
    stack: list[tuple[str, bool]] = [(root, False)]
    while stack:
        label, done = stack.pop()
        if done:
            inner.append(label)
        elif not children[label]:
            leaves.append(label)
        else:
            stack.append((label, True))
            stack.extend((child, False) for child in reversed(children[label]))
    return leaves, inner


def encode(domain: Generalization, values: Sequence[str], *, column: str) -> NDArray[np.int32]:
    """Leaf codes of distinct values; values that are no leaves are counted and refused."""
    known = domain.code_of
    codes = [known.get(value, -1) for value in values]
    missing = sum(code < 0 for code in codes)
    if missing:
        row = first_row_of(values, values[codes.index(-1)])
        raise DataError(
            f"column '{column}': {missing} distinct value(s) are not leaves of its hierarchy"
            + (f", first in row {row}" if row else ""),
            hint="add them to the hierarchy as rows 'value;…;root', or clean the column",
        )
    return np.array(codes, dtype=np.int32)
