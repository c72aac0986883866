"""The release under construction: which records are in which class, and what that means for privacy.

Paper: [sequential §3.3, §5.3]

Notation
    unit    records of one base in one class of the new release
    class   one taxonomy node per generalizable column, and the sensitive value where it is published
    node    the part of a class that earlier releases share

Invariants
    I1  Moving records changes counters only; classes, nodes and their cliques are made once, when first needed.
    I2  A move can be taken back exactly.
    I3  Counts decide flows, flows decide the join, the join decides the level; nothing is carried over from an earlier
        state.


Past
----
What never changes while a release is made: history cliques, their edges, and which known tuples they contain.

Paper: [sequential Alg. 2, Lemma 3.8]

Invariants
    I1  The kernel of all releases, restricted to the earlier ones, lies inside their own kernel: history cliques
        outside it can be left out from the start.
    I2  Known tuples that lie in the same history cliques with proportional weights and have the same leaves in the new
        release are linked alike; one of them stands for all.


Sequel problem
--------------
What is asked of the next release: earlier releases, the records as they could be published at best, the requirement.

Paper: [sequential Alg. 3, input]

Notation
    target   the narrowest box each record may get in the new release: its leaves, or the whole domain where nothing is
             published
    base     records that are in the same node of every earlier release and have the same target: they are exchangeable,
             because columns that only one earlier release publishes decide nothing about links

Invariants
    I1  Columns that a release does not publish have the whole domain as target.
    I2  The first release is the same task with one earlier, fully suppressed release.


Taxonomy
--------
A taxonomy for top-down specialization: from any node the next step towards a target, and what each node costs.

Paper: [sequential §2.2, §5.2]

Invariants
    I1  Nodes that cover the same leaves are one node: a step down always says more.
    I2  ``path[target, d]`` is the ancestor of `target` at depth d; a step from v towards it is ``path[target, depth[v]
        + 1]``.

>>> tree = Taxonomy.of_intervals([(0, 1), (1, 2), (2, 3), (0, 2), (0, 2), (0, 3)])
>>> len(tree), tree.step(tree.root, tree.number(1, 2)) == tree.number(0, 2)
(5, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.history.release_sequence import Attribute, Boxes
from sfumato.kinds.tables.methods.kernels.release_joins import (
    box_pairs,
    chain_classes,
    containing,
    kill_mismatches,
    number_edges,
    place_units,
    settle,
    signatures,
    tally,
)


@dataclass(frozen=True)
class StepsDown:
    """`amount` records of each unit step down in one column each."""

    unit: IntArray
    column: IntArray
    """Places in `task.columns`."""
    amount: IntArray

    def __len__(self) -> int:
        return len(self.unit)


class GrowingArray:
    """A growing array: rows are appended, and the capacity doubles."""

    def __init__(self, shape: tuple[int, ...], dtype: type = np.int64) -> None:
        self.data: NDArray[Any] = np.zeros(shape, dtype=dtype)

    def room(self, size: int) -> None:
        """Make sure the last axis (pools of edges and cliques) or the first (rows) holds `size` entries."""
        have = self.data.shape[-1]
        if size > have:
            wide = np.zeros((*self.data.shape[:-1], max(size, 2 * have)), dtype=self.data.dtype)
            wide[..., :have] = self.data
            self.data = wide


class Board:
    """Units with counts over classes that are made on demand."""

    def __init__(self, task: SequelProblem, claim: Goal) -> None:
        self.task, self.claim, self.past = task, claim, Past(task, claim)
        self.trees = [task.taxonomies[m] for m in task.columns]
        self.span = max((len(tree) for tree in self.trees), default=1) + 1
        self._columns()
        earlier = self.past.cliques.shape[1]
        self.classes: dict[tuple[int, ...], int] = {}
        self.nodes: dict[tuple[int, ...], int] = {}
        self.node_count = self.class_count_total = self.unit_count = 0
        self.class_nodes = GrowingArray((len(self.trees), 64))
        self.class_value, self.class_node = GrowingArray((64,)), GrowingArray((64,))
        self.node_box, self.node_q = (
            GrowingArray((2, len(self.past.columns), 64)),
            GrowingArray((2, len(self.shared_q), 64)),
        )
        self.class_q = GrowingArray((2, len(self.own_q), 64))
        self.clique_start, self.clique_h, self.clique_edge = (
            GrowingArray((65,)),
            GrowingArray((1024,)),
            GrowingArray((earlier, 1024)),
        )
        self.edge_start, self.edge_left = GrowingArray((earlier, 65)), GrowingArray((earlier, 1024))
        self.stamp = np.full((earlier, int(self.past.lefts.max())), -1, dtype=np.int64)
        self.unit_base, self.unit_class, self.unit_clique, self.records = (
            GrowingArray((64,)),
            GrowingArray((64,)),
            GrowingArray((64,)),
            GrowingArray((64,)),
        )
        self.table = np.full(1 << 12, -1, dtype=np.int64), np.zeros(1 << 12, dtype=np.int64)
        self.child: dict[tuple[int, int, int], int] = {}
        self.checks = 0
        self._start()

    def _columns(self) -> None:
        """Which places of a class make its node, and which quasi-identifiers are checked where."""
        task, quasi = self.task, set(self.task.quasi.tolist())
        decisive = set(self.past.columns.tolist())
        self.shared = [i for i, m in enumerate(task.columns) if m in decisive]
        self.shared_q = [i for i in self.shared if task.columns[i] in quasi]
        self.own_q = [i for i, m in enumerate(task.columns) if m not in decisive and m in quasi]
        self.place = {m: i for i, m in enumerate(self.past.columns.tolist())}
        self.value_shared = self.task.tells and self.task.sensitive in decisive
        people = self.past.people
        self.q_shared = tuple(
            np.ascontiguousarray(s[:, [task.columns[i] for i in self.shared_q]]) for s in (people.lo, people.hi)
        )
        self.q_own = tuple(
            np.ascontiguousarray(s[:, [task.columns[i] for i in self.own_q]]) for s in (people.lo, people.hi)
        )

    def _start(self) -> None:
        """Everything suppressed that may be: one unit per base, in the class of its sensitive value, within its
        boundaries."""
        boxes, _ = self.task.target
        target = self.task.bases[0][:, -1]
        self.target = (
            np.stack(
                [
                    tree.numbers(boxes.lo[:, m], boxes.hi[:, m])[target]
                    for tree, m in zip(self.trees, self.task.columns, strict=True)
                ]
            )
            if self.trees
            else np.zeros((0, len(target)), dtype=np.int64)
        )
        value = boxes.lo[target, self.task.sensitive] if self.task.tells else np.full(len(target), -1)
        ceilings = [self.task.ceilings.get(m) for m in self.task.columns]
        begin = np.zeros_like(self.target)
        for i, roof in enumerate(ceilings):
            begin[i] = 0 if roof is None else roof[self.target[i]]
        kinds = equivalence_classes_of([*begin, value + 1], rows=len(value))
        made = [self._class((*begin[:, i].tolist(), int(value[i]))) for i in kinds.first]
        classes = np.array(made, dtype=np.int64)[kinds.of]
        units = self._units(np.arange(len(target)), classes)
        self.records.data[units] = self.past.records

    # -- classes, nodes and units on demand (I1) -----------------------------------------------------------------------

    def _class(self, key: tuple[int, ...]) -> int:
        known = self.classes.get(key)
        if known is not None:
            return known
        number = self.class_count_total
        self.class_count_total += 1
        self.classes[key] = number
        for pool in (self.class_nodes, self.class_value, self.class_node, self.class_q):
            pool.room(number + 1)
        self.class_nodes.data[:, number] = key[:-1]
        self.class_value.data[number] = key[-1]
        self.class_q.data[0, :, number] = [self.trees[i].lo[key[i]] for i in self.own_q]
        self.class_q.data[1, :, number] = [self.trees[i].hi[key[i]] for i in self.own_q]
        shared = tuple(key[i] for i in self.shared)
        self.class_node.data[number] = self._node((*shared, key[-1] if self.value_shared else -1))
        return number

    def _node(self, key: tuple[int, ...]) -> int:
        known = self.nodes.get(key)
        if known is not None:
            return known
        number = self.node_count
        self.node_count += 1
        self.nodes[key] = number
        self.node_box.room(number + 1)
        self.node_q.room(number + 1)
        lo, hi = np.zeros(len(self.past.columns), dtype=np.int64), self.task.sizes[self.past.columns].copy()
        for i, node in zip(self.shared, key[:-1], strict=True):
            place = self.place[self.task.columns[i]]
            lo[place], hi[place] = self.trees[i].lo[node], self.trees[i].hi[node]
        if self.value_shared:
            lo[self.place[self.task.sensitive]], hi[self.place[self.task.sensitive]] = key[-1], key[-1] + 1
        self.node_box.data[0, :, number], self.node_box.data[1, :, number] = lo, hi
        at = [self.place[self.task.columns[i]] for i in self.shared_q]
        self.node_q.data[0, :, number], self.node_q.data[1, :, number] = lo[at], hi[at]
        self._join(number, lo, hi)
        return number

    def _join(self, number: int, lo: IntArray, hi: IntArray) -> None:
        """Cliques and edges of a new node with the history."""
        past = self.past
        _, found = box_pairs(lo[None, :], hi[None, :], past.lo, past.hi, past.lead, past.block, False)
        self.clique_start.room(number + 2)
        self.edge_start.room(number + 2)
        at = int(self.clique_start.data[number])
        first = self.edge_start.data[:, number].copy()
        self.clique_h.room(at + len(found))
        self.clique_edge.room(at + len(found))
        self.edge_left.room(int(first.max()) + len(found))
        self.clique_h.data[at : at + len(found)] = np.sort(found)
        count = number_edges(
            np.sort(found), past.cliques, self.stamp, first, self.edge_left.data, self.clique_edge.data, at
        )
        self.clique_start.data[number + 1] = at + len(found)
        self.edge_start.data[:, number + 1] = first + count

    def _units(self, base: IntArray, classes: IntArray) -> IntArray:
        """Numbers of the units (base, class), made where they are new."""
        if 2 * (self.unit_count + len(base)) > len(self.table[0]):
            self._rehash(4 * (self.unit_count + len(base)))
        keys = base * (1 << 32) + classes
        units, count = place_units(*self.table, keys, self.unit_count)
        if count > self.unit_count:
            self._fill(units, base, classes, count)
        return units

    def _fill(self, units: IntArray, base: IntArray, classes: IntArray, count: int) -> None:
        for pool in (self.unit_base, self.unit_class, self.unit_clique, self.records):
            pool.room(count)
        new = units >= self.unit_count
        at, b, c = units[new], base[new], classes[new]
        self.unit_base.data[at], self.unit_class.data[at] = b, c
        node = self.class_node.data[c]
        self.unit_clique.data[at] = self._true_clique(node, self.past.base_clique[b])
        self.unit_count = count

    def _true_clique(self, node: IntArray, history: IntArray) -> IntArray:
        """The place of (history clique, node) in the pool; runs are sorted by history clique."""
        starts = self.clique_start.data
        found = np.empty(len(node), dtype=np.int64)
        for number in np.unique(node):
            mine = node == number
            run = self.clique_h.data[starts[number] : starts[number + 1]]
            found[mine] = starts[number] + np.searchsorted(run, history[mine])
        return found

    def _rehash(self, size: int) -> None:
        room = 1 << max(12, int(size).bit_length())
        self.table = np.full(room, -1, dtype=np.int64), np.zeros(room, dtype=np.int64)
        keys = self.unit_base.data[: self.unit_count] * (1 << 32) + self.unit_class.data[: self.unit_count]
        place_units(*self.table, keys, 0)

    # -- moves ---------------------------------------------------------------------------------------------------------

    def steps(self, column: int, units: IntArray | slice | None = None) -> IntArray:
        """Per unit (all of them, or some) the next node towards its target in a column, −1 where it has arrived."""
        chosen = slice(0, self.unit_count) if units is None else units
        node = self.class_nodes.data[column, self.unit_class.data[chosen]]
        tree, target = self.trees[column], self.target[column, self.unit_base.data[chosen]]
        return np.where(node == target, -1, tree.path[target, tree.depth[node] + 1])

    def make(self, moves: StepsDown) -> IntArray:
        """Move records one step down; returns where they went, for `undo`."""
        classes = self.unit_class.data[moves.unit]
        new = classes.copy()
        for column in np.unique(moves.column):
            mine = np.flatnonzero(moves.column == column)
            step = self.steps(int(column), moves.unit[mine])
            key = classes[mine] * self.span + step
            _, first, place = np.unique(key, return_index=True, return_inverse=True)
            made = [self._stepped(int(classes[mine[i]]), int(column), int(step[i])) for i in first]
            new[mine] = np.array(made, dtype=np.int64)[place]
        units = self._units(self.unit_base.data[moves.unit], new)
        np.subtract.at(self.records.data, moves.unit, moves.amount)
        np.add.at(self.records.data, units, moves.amount)
        return units

    def _stepped(self, number: int, column: int, node: int) -> int:
        known = self.child.get((number, column, node))
        if known is None:
            nodes = self.class_nodes.data[:, number].tolist()
            nodes[column] = node
            known = self.child[number, column, node] = self._class((*nodes, int(self.class_value.data[number])))
        return known

    def undo(self, moves: StepsDown, units: IntArray) -> None:
        """I2."""
        np.add.at(self.records.data, moves.unit, moves.amount)
        np.subtract.at(self.records.data, units, moves.amount)

    def state(self) -> IntArray:
        """Where the records stand, for `restore`."""
        return self.records.data[: self.unit_count].copy()

    def restore(self, state: IntArray) -> None:
        """I2, for many moves at once: units that came later are empty again."""
        self.records.data[:] = 0
        self.records.data[: len(state)] = state

    def lift(self, units: IntArray) -> int:
        """Generalize all records of these units by one step in every column; how many records changed."""
        new = np.array([self._lifted(int(number)) for number in self.unit_class.data[units]], dtype=np.int64)
        return self._regroup(units, new)

    def suppress(self, columns: tuple[int, ...]) -> int:
        """Generalize these columns (places in `task.columns`) for all people as far as they may be; how many records
        changed."""
        units = np.flatnonzero(self.records.data[: self.unit_count])
        kinds, place = np.unique(self.unit_class.data[units], return_inverse=True)
        new = np.array([self._suppressed(int(number), columns) for number in kinds], dtype=np.int64)
        return self._regroup(units, new[place])

    def _suppressed(self, number: int, columns: tuple[int, ...]) -> int:
        nodes = self.class_nodes.data[:, number].tolist()
        for i in columns:
            roof = self.task.ceilings.get(self.task.columns[i])
            nodes[i] = 0 if roof is None else int(roof[nodes[i]])
        return self._class((*nodes, int(self.class_value.data[number])))

    def _regroup(self, units: IntArray, new: IntArray) -> int:
        """All records of these units go to other classes; how many did."""
        changed = new != self.unit_class.data[units]
        units, new = units[changed], new[changed]
        if not len(units):
            return 0
        amount = self.records.data[units].copy()
        went = self._units(self.unit_base.data[units], new)
        self.records.data[units] = 0
        np.add.at(self.records.data, went, amount)
        return int(amount.sum())

    def _lifted(self, number: int) -> int:
        nodes = self.class_nodes.data[:, number].tolist()
        for i, m in enumerate(self.task.columns):
            roof = self.task.ceilings.get(m)
            nodes[i] = (
                nodes[i] if roof is not None and roof[nodes[i]] == nodes[i] else int(self.trees[i].parent[nodes[i]])
            )
        return self._class((*nodes, int(self.class_value.data[number])))

    # -- privacy (I3) --------------------------------------------------------------------------------------------------

    def living(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """(living units, records per class, living classes, living nodes)."""
        counts = self.records.data[: self.unit_count]
        units = np.flatnonzero(counts)
        per_class = np.zeros(self.class_count_total, dtype=np.int64)
        np.add.at(per_class, self.unit_class.data[units], counts[units])
        classes = np.flatnonzero(per_class)
        return units, per_class, classes, np.unique(self.class_node.data[classes])

    def join(self) -> tuple[IntArray, IntArray, IntArray, np.ndarray]:
        """(records per class, living classes, living nodes, which cliques are in the join)."""
        units, per_class, classes, nodes = self.living()
        starts = self.clique_start.data[: self.node_count + 1]
        alive = np.zeros(int(starts[-1]), dtype=np.bool_)
        past = self.past
        if self.claim.join == "match":
            for node in nodes:
                alive[starts[node] : starts[node + 1]] = True
            return per_class, classes, nodes, alive
        sizes = np.array(past.pair_sizes, dtype=np.int64).reshape(-1, 2)
        settle(
            nodes, past.cliques, past.edge, past.pair_start, past.pair_left, past.pair_right, past.pair_flow,
            np.ascontiguousarray(sizes[:, 0]), np.ascontiguousarray(sizes[:, 1]), past.lefts,
            starts, self.clique_h.data, self.clique_edge.data,
            self.edge_start.data, self.edge_left.data, self.unit_clique.data[units], alive,
        )  # fmt: skip
        return per_class, classes, nodes, alive

    def weights(self, join: tuple[IntArray, IntArray, IntArray, np.ndarray] | None = None) -> FloatArray:
        """``[q, s]``: record cliques that link tuple q with value s."""
        self.checks += 1
        per_class, classes, nodes, alive = join or self.join()
        first = np.full(self.node_count, -1, dtype=np.int64)
        following = np.full(self.class_count_total, -1, dtype=np.int64)
        chain_classes(classes, self.class_node.data, first, following)
        past = self.past
        found = np.zeros((len(past.people), int(self.task.sizes[self.task.sensitive])), dtype=np.float64)
        node_lo, node_hi = (np.ascontiguousarray(side.T) for side in self.node_q.data[:, :, : self.node_count])
        own_lo, own_hi = (np.ascontiguousarray(side.T) for side in self.class_q.data[:, :, : self.class_count_total])
        (q_lo, q_hi), (own_q_lo, own_q_hi) = self.q_shared, self.q_own
        tally(
            nodes, self.clique_start.data, self.clique_h.data, alive, past.value, past.item_start, past.item,
            past.item_weight,
            q_lo, q_hi, node_lo, node_hi, own_lo, own_hi, own_q_lo, own_q_hi,
            first, following, self.class_value.data, per_class, found,
        )  # fmt: skip
        return found

    def levels(self) -> FloatArray:
        """Per representative tuple its level under the requirement's goal."""
        found = self.weights()
        if self.claim.goal == "linkability":
            return np.asarray((found > 0).sum(axis=1), dtype=np.float64)
        return np.asarray(found.sum(axis=1) / found.max(axis=1), dtype=np.float64)


# Past
# ----


class Past:
    """History cliques with everything the joins ask of them."""

    def __init__(self, task: SequelProblem, claim: Goal) -> None:
        self.columns = task.decisive
        nodes = list(task.nodes)
        matrix, self.records, self.base_of = task.bases
        self.true = np.ascontiguousarray(matrix[:, :-1])
        cliques, lo, hi = _extend([boxes for boxes, _ in nodes], self.columns)
        if claim.join == "kernel":
            keep = _kernel(cliques, self.true)
            cliques, lo, hi = cliques[keep], lo[keep], hi[keep]
        self.order_by_lead(cliques, lo, hi)
        self.lefts = np.array([len(boxes) for boxes, _ in nodes], dtype=np.int64)
        self.value = self._values(task)
        self._number_pairs()
        self.base_clique = locate(self.true, self.cliques)
        self._know(task, claim, nodes)

    def order_by_lead(self, cliques: IntArray, lo: IntArray, hi: IntArray) -> None:
        order, self.lead, self.block = blocks(lo, hi)
        self.cliques, self.lo, self.hi = (
            cliques[order],
            np.ascontiguousarray(lo[order]),
            np.ascontiguousarray(hi[order]),
        )

    def _values(self, task: SequelProblem) -> IntArray:
        """s of each history clique, −1 while the sensitive column is unpublished."""
        if not task.told:
            return np.full(len(self.cliques), -1, dtype=np.int64)
        place = int(np.flatnonzero(self.columns == task.sensitive)[0])
        return self.lo[:, place].copy()

    def _number_pairs(self) -> None:
        """Edges between earlier releases, numbered through all pairs."""
        earlier = self.cliques.shape[1]
        starts, lefts, rights, flows, numbers, self.pair_sizes = [0], [], [], [], [], []
        for r, q in combinations(range(earlier), 2):
            classes = equivalence_classes_of([self.cliques[:, r], self.cliques[:, q]])
            edges = self.cliques[classes.first][:, [r, q]]
            flow = np.zeros(len(edges), dtype=np.bool_)
            flow[locate(self.true[:, [r, q]], edges)] = True
            numbers.append(classes.of + starts[-1])
            lefts.append(edges[:, 0])
            rights.append(edges[:, 1])
            flows.append(flow)
            starts.append(starts[-1] + len(edges))
            self.pair_sizes.append((int(self.lefts[r]), int(self.lefts[q])))
        none = np.zeros(0, dtype=np.int64)
        self.pair_start = np.array(starts, dtype=np.int64)
        self.pair_left = np.concatenate([none, *lefts])
        self.pair_right = np.concatenate([none, *rights])
        self.pair_flow = np.concatenate([none.astype(np.bool_), *flows])
        self.edge = np.stack(numbers) if numbers else np.zeros((0, len(self.cliques)), dtype=np.int64)

    def _know(self, task: SequelProblem, claim: Goal, nodes: list[tuple[Boxes, IntArray]]) -> None:
        """Representatives of the known tuples and, per history clique, which of them it contains (I2)."""
        quasi = task.quasi
        people = task.known.restricted(quasi)[0]
        holders = _holders(task, people, quasi, nodes)
        lead = int(np.argmin(np.diff(holders[0][:, [0, -1]], axis=1).ravel()))
        order = np.argsort(self.cliques[:, lead], kind="stable")
        by_start = np.searchsorted(self.cliques[order, lead], np.arange(int(self.lefts[lead]) + 1)).astype(np.int64)
        width = int(self.lefts.max())
        noise = Randomness().words(len(self.cliques))
        signed = signatures(*holders, lead, by_start, order, self.cliques, width, noise, claim.goal == "diversity")
        columns = np.array([m for m in task.columns if m in set(quasi.tolist())], dtype=np.int64)
        alike = equivalence_classes_of(
            [*_words(signed), *(side[:, m] for m in columns for side in (people.lo, people.hi))], rows=len(people)
        )
        self.people = Boxes(
            people.lo[alike.first], people.hi[alike.first], np.bincount(alike.of, weights=people.count).astype(np.int64)
        )
        which, item, weight = containing(alike.first, *holders, lead, by_start, order, self.cliques, width)
        by_clique = np.argsort(which, kind="stable")
        self.item_start = np.searchsorted(which[by_clique], np.arange(len(self.cliques) + 1)).astype(np.int64)
        self.item, self.item_weight = item[by_clique], weight[by_clique]


def _words(signed: np.ndarray) -> list[IntArray]:
    return [(signed >> np.uint64(32)).astype(np.int64), (signed & np.uint64(0xFFFFFFFF)).astype(np.int64)]


def _holders(
    task: SequelProblem, people: Boxes, quasi: IntArray, nodes: list[tuple[Boxes, IntArray]]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Per earlier release and tuple, the nodes with rows that contain the tuple, and how many rows: (start, node,
    rows)."""
    starts, found, weights, total = [], [], [], 0
    q_lo, q_hi = np.ascontiguousarray(people.lo[:, quasi]), np.ascontiguousarray(people.hi[:, quasi])
    for (boxes, _), (merged, node_of) in zip(task.past, nodes, strict=True):
        lo, hi = boxes.lo[:, quasi], boxes.hi[:, quasi]
        order, lead, block = blocks(lo, hi)
        start, which = box_pairs(q_lo, q_hi, lo[order], hi[order], lead, block, True)
        who = np.repeat(np.arange(len(people)), np.diff(start))
        key, place = np.unique(who * len(merged) + node_of[order[which]], return_inverse=True)
        weights.append(np.bincount(place, weights=boxes.count[order[which]], minlength=len(key)))
        found.append(key % len(merged))
        starts.append(np.searchsorted(key // len(merged), np.arange(len(people) + 1)) + total)
        total += len(key)
    return np.stack(starts).astype(np.int64), np.concatenate(found), np.concatenate(weights).astype(np.float64)


def blocks(lo: IntArray, hi: IntArray) -> tuple[IntArray, int, IntArray]:
    """An order of boxes by the column with the most distinct intervals, that column, and where its intervals begin."""
    if lo.shape[1] == 0 or len(lo) == 0:
        return np.arange(len(lo)), -1, np.array([0, len(lo)], dtype=np.int64)
    sizes = [len(equivalence_classes_of([lo[:, m], hi[:, m]])) for m in range(lo.shape[1])]
    lead = int(np.argmax(sizes))
    order = np.lexsort((hi[:, lead], lo[:, lead]))
    a, b = lo[order, lead], hi[order, lead]
    change = np.flatnonzero((a[1:] != a[:-1]) | (b[1:] != b[:-1])) + 1
    return order.astype(np.int64), lead, np.concatenate([[0], change, [len(lo)]]).astype(np.int64)


def locate(rows: IntArray, table: IntArray) -> IntArray:
    """Return the position of each row in a table of distinct rows (it must be there)."""
    both = np.concatenate([table, rows])
    classes = equivalence_classes_of([both[:, c] for c in range(both.shape[1])], rows=len(both))
    place = np.full(len(classes), -1, dtype=np.int64)
    place[classes.of[: len(table)]] = np.arange(len(table))
    return place[classes.of[len(table) :]]


def _extend(nodes: list[Boxes], columns: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """All cliques of nodes of the earlier releases with their boxes on the decisive columns."""
    cliques = np.arange(len(nodes[0]))[:, None]
    lo, hi = nodes[0].lo[:, columns], nodes[0].hi[:, columns]
    for boxes in nodes[1:]:
        other_lo, other_hi = boxes.lo[:, columns], boxes.hi[:, columns]
        order, lead, block = blocks(other_lo, other_hi)
        start, which = box_pairs(
            np.ascontiguousarray(lo), np.ascontiguousarray(hi), other_lo[order], other_hi[order], lead, block, False
        )
        i, j = np.repeat(np.arange(len(lo)), np.diff(start)), order[which]
        cliques = np.column_stack([cliques[i], j])
        lo, hi = np.maximum(lo[i], other_lo[j]), np.minimum(hi[i], other_hi[j])
    return cliques, lo, hi


def _kernel(cliques: IntArray, true: IntArray) -> np.ndarray:
    """Which history cliques lie in the kernel of the earlier releases (I1)."""
    alive = np.ones(len(cliques), dtype=np.bool_)
    pairs = list(combinations(range(cliques.shape[1]), 2))
    while True:
        before = int(alive.sum())
        for r, q in pairs:
            living = np.flatnonzero(alive)
            classes = equivalence_classes_of([cliques[living, r], cliques[living, q]])
            edges = cliques[living][classes.first][:, [r, q]]
            flow, lives = np.zeros(len(edges), dtype=np.bool_), np.ones(len(edges), dtype=np.bool_)
            flow[locate(true[:, [r, q]], edges)] = True
            sizes = int(cliques[:, r].max()) + 1, int(cliques[:, q].max()) + 1
            kill_mismatches(*sizes, np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1]), flow, lives)
            alive[living] = lives[classes.of]
        if int(alive.sum()) == before:
            return alive


# Taxonomy
# --------


@dataclass(frozen=True)
class Taxonomy:
    """A laminar family of intervals of leaves with its root first."""

    lo: IntArray
    hi: IntArray
    parent: IntArray
    depth: IntArray
    path: IntArray

    @classmethod
    def of_intervals(cls, intervals: Iterable[tuple[int, int]]) -> Taxonomy:
        """From the intervals of a hierarchy's nodes, in any order and with repetitions (I1)."""
        distinct = sorted(set(intervals), key=lambda node: (node[0], -node[1]))
        lo, hi = (np.array(side, dtype=np.int64) for side in zip(*distinct, strict=True))
        parent, depth, above = np.zeros(len(lo), dtype=np.int64), np.zeros(len(lo), dtype=np.int64), [0]
        for node in range(1, len(lo)):
            while hi[above[-1]] < hi[node] or hi[above[-1]] <= lo[node]:
                above.pop()
            parent[node], depth[node] = above[-1], depth[above[-1]] + 1
            above.append(node)
        return cls(lo, hi, parent, depth, _paths(parent, depth))

    @classmethod
    def halving(cls, size: int) -> Taxonomy:
        """For a range without hierarchy: halves of halves."""
        intervals: list[tuple[int, int]] = []
        open_nodes = [(0, size)]
        while open_nodes:
            lo, hi = open_nodes.pop()
            intervals.append((lo, hi))
            if hi - lo > 1:
                middle = (lo + hi) // 2
                open_nodes += [(lo, middle), (middle, hi)]
        return cls.of_intervals(intervals)

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def root(self) -> int:
        return 0

    @property
    def size(self) -> int:
        return int(self.hi[0] - self.lo[0])

    @cached_property
    def _number(self) -> dict[tuple[int, int], int]:
        return {(int(a), int(b)): node for node, (a, b) in enumerate(zip(self.lo, self.hi, strict=True))}

    def number(self, lo: int, hi: int) -> int:
        return self._number[lo, hi]

    def numbers(self, lo: IntArray, hi: IntArray) -> IntArray:
        """The smallest node around each interval."""
        pairs, place = np.unique(np.stack([lo, hi], axis=1), axis=0, return_inverse=True)
        found = [self._around(int(a), int(b)) for a, b in pairs]
        return np.array(found, dtype=np.int64)[place.ravel()]

    def _around(self, lo: int, hi: int) -> int:
        exact = self._number.get((lo, hi))
        if exact is not None:
            return exact
        fits = np.flatnonzero((self.lo <= lo) & (self.hi >= hi))
        return int(fits[np.argmin(self.hi[fits] - self.lo[fits])])

    def step(self, node: int, target: int) -> int:
        return int(self.path[target, self.depth[node] + 1])

    def ceilings(self, lo: IntArray, hi: IntArray) -> IntArray:
        """For every node the highest one that its records may rise to; `lo`, `hi` are the ceilings of the leaves."""
        at = self.lo
        within = (lo[at] <= self.lo) & (self.hi <= hi[at])
        return np.where(within, self.numbers(lo[at], hi[at]), np.arange(len(self)))

    def loss(self) -> FloatArray:
        """LM of every node: (|node| − 1) / (|domain| − 1)."""
        loss: FloatArray = (self.hi - self.lo - 1) / max(self.size - 1, 1)
        return loss

    def entropy(self, counts: IntArray) -> FloatArray:
        """EM of every node: entropy of the value given the node, with the table's own frequencies."""
        below = np.concatenate([[0], np.cumsum(counts)])
        terms = np.where(counts > 0, counts * np.log2(np.maximum(counts, 1)), 0.0)
        logs = np.concatenate([[0.0], np.cumsum(terms)])
        total = below[self.hi] - below[self.lo]
        weighted = logs[self.hi] - logs[self.lo]
        safe = np.maximum(total, 1)
        entropy: FloatArray = np.where(total > 0, np.log2(safe) - weighted / safe, 0.0)
        return entropy.clip(min=0.0)


def _paths(parent: IntArray, depth: IntArray) -> IntArray:
    path = np.full((len(parent), int(depth.max(initial=0)) + 2), -1, dtype=np.int64)
    for node in range(len(parent)):
        path[node, : depth[node] + 1] = 0
        here = node
        for level in range(int(depth[node]), 0, -1):
            path[node, level] = here  # I2
            here = int(parent[here])
    return path


# Sequel problem
# --------------


GoalKind = Literal["linkability", "diversity"]
Join = Literal["match", "kernel"]
Measure = Literal["loss", "entropy"]


@dataclass(frozen=True)
class Goal:
    """Everybody is linked to at least k sensitive values (linkability), or to none with a larger share than 1/k
    (diversity)."""

    k: float
    goal: GoalKind = "linkability"
    join: Join = "kernel"


@dataclass(frozen=True)
class SequelProblem:
    """Earlier releases, targets and taxonomies; all tables are distinct rows with the number of the row of each
    record."""

    attributes: tuple[Attribute, ...]
    earlier: tuple[tuple[Boxes, IntArray], ...]
    target: tuple[Boxes, IntArray]
    known: Boxes
    taxonomies: Mapping[int, Taxonomy]
    """Per column of the new release."""
    ceilings: Mapping[int, IntArray] = field(default_factory=dict)
    """Per column that may not be suppressed: for every node the highest one its records may be published as."""

    @classmethod
    def of_records(
        cls,
        attributes: Sequence[Attribute],
        earlier: Sequence[tuple[IntArray, IntArray]],
        leaves: IntArray,
        publish: Sequence[int],
        taxonomies: Mapping[int, Taxonomy],
    ) -> SequelProblem:
        """From (lo, hi) boxes of records × attributes and their leaves; `publish` are the columns of the new
        release."""
        sizes = np.array([a.size for a in attributes], dtype=np.int64)
        lo, hi = np.zeros_like(leaves), np.broadcast_to(sizes, leaves.shape).copy()  # I1
        lo[:, list(publish)], hi[:, list(publish)] = leaves[:, list(publish)], leaves[:, list(publish)] + 1
        known, _ = Boxes.of_records(leaves, leaves + 1)
        past = tuple(Boxes.of_records(*boxes) for boxes in earlier)
        return cls(
            tuple(attributes),
            past,
            Boxes.of_records(lo, hi),
            known,
            {m: taxonomies[m] for m in publish if m in taxonomies},
        )

    @cached_property
    def sizes(self) -> IntArray:
        return np.array([attribute.size for attribute in self.attributes], dtype=np.int64)

    @cached_property
    def past(self) -> tuple[tuple[Boxes, IntArray], ...]:
        """Return the earlier releases, or a fully suppressed one (I2)."""
        if self.earlier:
            return self.earlier
        records = len(self.target[1])
        silent = Boxes(np.zeros((1, len(self.sizes)), dtype=np.int64), self.sizes[None, :].copy(), np.array([records]))
        return ((silent, np.zeros(records, dtype=np.int64)),)

    @cached_property
    def sensitive(self) -> int:
        return next((m for m, a in enumerate(self.attributes) if a.role == "sensitive"), -1)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Columns of the new release but the sensitive one, in order."""
        return tuple(sorted(self.taxonomies))

    @cached_property
    def tells(self) -> bool:
        """Whether the new release publishes the sensitive column."""
        boxes = self.target[0]
        return self.sensitive >= 0 and bool(((boxes.hi - boxes.lo)[:, self.sensitive] == 1).all())

    @cached_property
    def told(self) -> bool:
        """Whether an earlier release published it."""
        return self.sensitive >= 0 and any(_says(boxes, self.sizes)[self.sensitive] for boxes, _ in self.earlier)

    @cached_property
    def decisive(self) -> IntArray:
        """Columns that at least two releases publish, and the sensitive one once an earlier release published it."""
        says = np.array([_says(boxes, self.sizes) for boxes, _ in self.past])
        new = np.zeros(len(self.sizes), dtype=np.bool_)
        new[list(self.columns)] = True
        new[self.sensitive] |= self.tells
        shared = set(np.flatnonzero(says.sum(axis=0) + new >= 2).tolist())
        return np.array(sorted(shared | ({self.sensitive} if self.told else set())), dtype=np.int64)

    @cached_property
    def quasi(self) -> IntArray:
        """Quasi-identifiers that some release publishes."""
        says = np.any([_says(boxes, self.sizes) for boxes, _ in self.past], axis=0)
        names = [
            m
            for m, a in enumerate(self.attributes)
            if a.role == "quasi-identifier" and (says[m] or m in self.taxonomies)
        ]
        return np.array(names, dtype=np.int64)

    @cached_property
    def nodes(self) -> tuple[tuple[Boxes, IntArray], ...]:
        """Per earlier release its nodes, and the node of every class."""
        return tuple(boxes.restricted(self.decisive) for boxes, _ in self.past)

    @cached_property
    def bases(self) -> tuple[IntArray, IntArray, IntArray]:
        """(node per earlier release and target per base, records per base, base of each record)."""
        columns = [node_of[of] for (_, node_of), (_, of) in zip(self.nodes, self.past, strict=True)] + [self.target[1]]
        classes = equivalence_classes_of(columns)
        return np.stack([column[classes.first] for column in columns], axis=1), classes.counts, classes.of

    def cost(self, measure: Measure) -> dict[int, FloatArray]:
        """Per column what each node costs per record."""
        if measure == "loss":
            return {m: tree.loss() for m, tree in self.taxonomies.items()}
        return {m: tree.entropy(self._frequencies(m)) for m, tree in self.taxonomies.items()}

    def _frequencies(self, m: int) -> IntArray:
        boxes = self.target[0]
        single = boxes.hi[:, m] - boxes.lo[:, m] == 1
        return np.bincount(boxes.lo[single, m], weights=boxes.count[single], minlength=int(self.sizes[m])).astype(
            np.int64
        )


def _says(boxes: Boxes, sizes: IntArray) -> np.ndarray:
    return np.asarray(((boxes.lo > 0) | (boxes.hi < sizes)).any(axis=0))
