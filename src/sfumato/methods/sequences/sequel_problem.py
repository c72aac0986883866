"""What is asked of the next release: earlier releases, the records as they could be published at best, the claim.

Paper: [sequential Alg. 3, input]

Notation
    target   the narrowest box each record may get in the new release: its leaves, or the whole domain where nothing is published
    base     records that are in the same node of every earlier release and have the same target: they are exchangeable, because
             columns that only one earlier release publishes decide nothing about links

Invariants
    I1  A release says nothing about columns it does not publish: their target is the whole domain.
    I2  The first release is the same task with one earlier release that says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.data.sequence import Attribute, Boxes
from sfumato.methods.sequences.taxonomy import Taxonomy

GoalKind = Literal["linkability", "diversity"]
Join = Literal["match", "kernel"]
Measure = Literal["loss", "entropy"]


@dataclass(frozen=True)
class Goal:
    """Everybody is linked to at least k sensitive values (linkability), or to none with a larger share than 1/k (diversity)."""

    k: float
    goal: GoalKind = "linkability"
    join: Join = "kernel"


@dataclass(frozen=True)
class SequelProblem:
    """Earlier releases, targets and taxonomies; all tables are distinct rows with the number of the row of each record."""

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
        """From (lo, hi) boxes of records × attributes and their leaves; `publish` are the columns of the new release."""
        sizes = np.array([a.size for a in attributes], dtype=np.int64)
        lo, hi = np.zeros_like(leaves), np.broadcast_to(sizes, leaves.shape).copy()  # I1
        lo[:, list(publish)], hi[:, list(publish)] = leaves[:, list(publish)], leaves[:, list(publish)] + 1
        known, _ = Boxes.of_records(leaves, leaves + 1)
        past = tuple(Boxes.of_records(*boxes) for boxes in earlier)
        return cls(tuple(attributes), past, Boxes.of_records(lo, hi), known, {m: taxonomies[m] for m in publish if m in taxonomies})

    @cached_property
    def sizes(self) -> IntArray:
        return np.array([attribute.size for attribute in self.attributes], dtype=np.int64)

    @cached_property
    def past(self) -> tuple[tuple[Boxes, IntArray], ...]:
        """The earlier releases, or one that says nothing (I2)."""
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
        names = [m for m, a in enumerate(self.attributes) if a.role == "quasi-identifier" and (says[m] or m in self.taxonomies)]
        return np.array(names, dtype=np.int64)

    @cached_property
    def nodes(self) -> tuple[tuple[Boxes, IntArray], ...]:
        """Per earlier release its nodes, and the node of every class."""
        return tuple(boxes.restricted(self.decisive) for boxes, _ in self.past)

    @cached_property
    def bases(self) -> tuple[IntArray, IntArray, IntArray]:
        """(node per earlier release and target per base, records per base, base of each record)."""
        columns = [node_of[of] for (_, node_of), (_, of) in zip(self.nodes, self.past, strict=True)] + [self.target[1]]
        classes = group(columns)
        return np.stack([column[classes.first] for column in columns], axis=1), classes.counts, classes.of

    def cost(self, measure: Measure) -> dict[int, FloatArray]:
        """Per column what each node costs per record."""
        if measure == "loss":
            return {m: tree.loss() for m, tree in self.taxonomies.items()}
        return {m: tree.entropy(self._frequencies(m)) for m, tree in self.taxonomies.items()}

    def _frequencies(self, m: int) -> IntArray:
        boxes = self.target[0]
        single = boxes.hi[:, m] - boxes.lo[:, m] == 1
        return np.bincount(boxes.lo[single, m], weights=boxes.count[single], minlength=int(self.sizes[m])).astype(np.int64)


def _says(boxes: Boxes, sizes: IntArray) -> np.ndarray:
    return np.asarray(((boxes.lo > 0) | (boxes.hi < sizes)).any(axis=0))
