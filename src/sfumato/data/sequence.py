"""A sequence of releases of one table, at class level: equal generalized tuples are one class with a multiplicity.

Paper: [sequential §2.1]

Notation
    attribute   a column of the table with its number of leaves; a published cell is an interval ``[lo, hi)`` of them
    box         one interval per attribute; an attribute that a release does not publish is the whole domain in it
    link        a group of records that are in the same class of every release: the true matching, known to the data holder alone
    known       the quasi-identifier tuples that occur in the table: what an outsider may know about a person (Def. 4.2)
    node        classes of one release that agree on every attribute that some other release publishes too

Invariants
    I1  The multiplicity of a class is the sum of the weights of its links; every link's classes intersect in every attribute.
    I2  Attributes that only one release publishes never decide who may be linked with whom: classes merge to nodes without
        changing any join, because swapping two records of one node maps every perfect matching to a perfect matching.
    I3  Pairwise consistent intervals have a common leaf (Helly), so a clique of classes is a possible person.

Departures
    [sequential §2.1] admits arbitrary collections of subsets, where three sets may meet in pairs without a common value. Here
    cells are intervals of one leaf order, which hierarchies and ranges are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.errors import DataError

Role = Literal["quasi-identifier", "sensitive", "other"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column as the sequence sees it: how many leaves it has and what an outsider may do with it."""

    name: str
    size: int
    role: Role


@dataclass(frozen=True, slots=True)
class Boxes:
    """Distinct boxes with multiplicities; row i is ``[lo[i, m], hi[i, m])`` in attribute m."""

    lo: IntArray
    hi: IntArray
    count: IntArray

    def __len__(self) -> int:
        return len(self.count)

    @classmethod
    def of_records(cls, lo: IntArray, hi: IntArray, weights: IntArray | None = None) -> tuple[Boxes, IntArray]:
        """Classes of equal boxes, and the class of every record; `weights` says for how many each stands, one without."""
        classes = _equal_boxes(lo, hi, weights)
        return cls(lo[classes.first], hi[classes.first], classes.counts), classes.of

    def restricted(self, columns: IntArray) -> tuple[Boxes, IntArray]:
        """Distinct boxes on some attributes (whole tables of columns stay in place), and where each class went."""
        classes = _equal_boxes(self.lo[:, columns], self.hi[:, columns], self.count)
        return Boxes(self.lo[classes.first], self.hi[classes.first], classes.counts), classes.of


def _equal_boxes(lo: IntArray, hi: IntArray, weights: IntArray | None) -> Classes:
    columns = [side[:, m] for m in range(lo.shape[1]) for side in (lo, hi)]
    return group(columns, rows=len(lo), weights=weights)


@dataclass(frozen=True)
class ReleaseSequence:
    """Releases T₁ … T_R of one table, the true matching between them, and what an outsider may know."""

    attributes: tuple[Attribute, ...]
    releases: tuple[Boxes, ...]
    links: IntArray
    """``links[g, r]``: the class of link g in release r."""
    weight: IntArray
    """Records in each link."""
    known: Boxes
    """Quasi-identifier tuples; only their columns of quasi-identifiers count."""

    @classmethod
    def of_records(
        cls,
        attributes: Sequence[Attribute],
        published: Sequence[tuple[IntArray, IntArray]],
        known: tuple[IntArray, IntArray],
        weights: tuple[IntArray, IntArray] | None = None,
    ) -> ReleaseSequence:
        """From (lo, hi) arrays, records × attributes, per release; `known` has a row for everybody who is to be judged.

        Where a record stands for several that are in the same boxes of every release, `weights` says for how many each record does,
        and how many people each row of `known` is: classes, links and what is known come out as those of all of them (I1).
        """
        each, people = (None, np.ones(len(known[0]), dtype=np.int64)) if weights is None else weights
        grouped = [Boxes.of_records(lo, hi, each) for lo, hi in published]
        links = group([of for _, of in grouped], weights=each)
        matrix = np.stack([of[links.first] for _, of in grouped], axis=1)
        quasi = np.array([m for m, a in enumerate(attributes) if a.role == "quasi-identifier"], dtype=np.int64)
        everyone = Boxes(known[0], known[1], people)
        tuples, _ = everyone.restricted(quasi)
        sequence = cls(tuple(attributes), tuple(boxes for boxes, _ in grouped), matrix, links.counts, tuples)
        sequence.check()
        return sequence

    @property
    def count(self) -> int:
        """R, the number of releases."""
        return len(self.releases)

    @cached_property
    def sizes(self) -> IntArray:
        return np.array([attribute.size for attribute in self.attributes], dtype=np.int64)

    @cached_property
    def present(self) -> BoolArray:
        """``present[r, m]``: release r says something about attribute m (some class is narrower than the whole domain)."""
        told = [((boxes.lo > 0) | (boxes.hi < self.sizes)).any(axis=0) for boxes in self.releases]
        return np.stack(told)

    @cached_property
    def shared(self) -> IntArray:
        """Attributes that at least two releases publish: only these decide consistency (I2)."""
        return np.flatnonzero(self.present.sum(axis=0) >= 2)

    @cached_property
    def sensitive(self) -> int:
        """The sensitive attribute, −1 when there is none."""
        found = [m for m, a in enumerate(self.attributes) if a.role == "sensitive"]
        if len(found) > 1:
            raise DataError("a sequence is judged for one sensitive column at a time")
        return found[0] if found else -1

    @property
    def reveals(self) -> bool:
        """Whether any release publishes the sensitive attribute; if none does, nothing can be linked (Def. 4.2a)."""
        return self.sensitive >= 0 and bool(self.present[:, self.sensitive].any())

    @cached_property
    def quasi(self) -> IntArray:
        """Quasi-identifiers that some release publishes; what no release publishes drops out."""
        told = np.asarray(self.present.any(axis=0))
        names = [m for m, a in enumerate(self.attributes) if a.role == "quasi-identifier" and told[m]]
        return np.array(names, dtype=np.int64)

    @cached_property
    def decisive(self) -> IntArray:
        """Attributes that make up nodes: the shared ones and, for its value s(C), the sensitive one."""
        columns = set(self.shared.tolist())
        if self.reveals:
            columns.add(self.sensitive)
        return np.array(sorted(columns), dtype=np.int64)

    @cached_property
    def nodes(self) -> tuple[tuple[Boxes, IntArray], ...]:
        """Per release its nodes, and the node of every class."""
        return tuple(boxes.restricted(self.decisive) for boxes in self.releases)

    def people(self) -> Boxes:
        """What an outsider may know, on the quasi-identifiers that were published at all."""
        return self.known.restricted(self.quasi)[0]

    def check(self) -> None:
        """I1: the links account for every class and are consistent; anything else is no true matching."""
        for r, boxes in enumerate(self.releases):
            told = np.bincount(self.links[:, r], weights=self.weight, minlength=len(boxes)).astype(np.int64)
            if not np.array_equal(told, boxes.count):
                raise DataError(f"the record links do not account for the rows of release {r + 1}")
        lo = np.max([boxes.lo[self.links[:, r]] for r, boxes in enumerate(self.releases)], axis=0)
        hi = np.min([boxes.hi[self.links[:, r]] for r, boxes in enumerate(self.releases)], axis=0)
        if (lo >= hi).any():  # I3
            raise DataError(f"{int((lo >= hi).any(axis=1).sum())} record link(s) contradict each other between releases")
