"""The release in the making: which records stand in which class, and what that means for privacy.

Paper: [sequential §3.3, §5.3]

Notation
    unit    records of one base that stand in one class of the new release
    class   one taxonomy node per generalizable column, and the sensitive value where it is published
    node    the part of a class that earlier releases share

Invariants
    I1  Moving records changes counters only; classes, nodes and their cliques are made once, when first needed.
    I2  A move can be taken back exactly.
    I3  Counts decide flows, flows decide the join, the join decides the level; nothing is carried over from an earlier state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.methods.sequences.kernels.box_joins import box_pairs
from sfumato.methods.sequences.kernels.joins import number_edges, place_units, settle
from sfumato.methods.sequences.kernels.record_cliques import chain_classes, tally
from sfumato.methods.sequences.past import Past
from sfumato.methods.sequences.sequel_problem import Goal, SequelProblem


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
    """A growing array: rows are appended, room doubles."""

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
        self.node_box, self.node_q = GrowingArray((2, len(self.past.columns), 64)), GrowingArray((2, len(self.shared_q), 64))
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
        self.q_shared = tuple(np.ascontiguousarray(s[:, [task.columns[i] for i in self.shared_q]]) for s in (people.lo, people.hi))
        self.q_own = tuple(np.ascontiguousarray(s[:, [task.columns[i] for i in self.own_q]]) for s in (people.lo, people.hi))

    def _start(self) -> None:
        """Everything suppressed that may be: one unit per base, in the class of its sensitive value, within its boundaries."""
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
        kinds = group([*begin, value + 1], rows=len(value))
        made = [self._class((*begin[:, i].tolist(), int(value[i]))) for i in kinds.first]
        classes = np.array(made, dtype=np.int64)[kinds.of]
        units = self._units(np.arange(len(target)), classes)
        self.records.data[units] = self.past.records

    # -- classes, nodes and units on demand (I1) --------------------------------------------------------------------------

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
        count = number_edges(np.sort(found), past.cliques, self.stamp, first, self.edge_left.data, self.clique_edge.data, at)
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

    # -- moves ------------------------------------------------------------------------------------------------------------

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
        """Generalize these columns (places in `task.columns`) for everybody as far as they may be; how many records changed."""
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
            nodes[i] = nodes[i] if roof is not None and roof[nodes[i]] == nodes[i] else int(self.trees[i].parent[nodes[i]])
        return self._class((*nodes, int(self.class_value.data[number])))

    # -- privacy (I3) -----------------------------------------------------------------------------------------------------

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
            nodes, self.clique_start.data, self.clique_h.data, alive, past.value, past.item_start, past.item, past.item_weight,
            q_lo, q_hi, node_lo, node_hi, own_lo, own_hi, own_q_lo, own_q_hi,
            first, following, self.class_value.data, per_class, found,
        )  # fmt: skip
        return found

    def levels(self) -> FloatArray:
        """Per representative tuple its level under the claim's goal."""
        found = self.weights()
        if self.claim.goal == "linkability":
            return np.asarray((found > 0).sum(axis=1), dtype=np.float64)
        return np.asarray(found.sum(axis=1) / found.max(axis=1), dtype=np.float64)
