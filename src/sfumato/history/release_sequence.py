"""A sequence of releases of one table, at class level: equal generalized tuples are one class with a multiplicity.

Paper: [sequential §2.1]

Notation
    attribute   a column of the table with its number of leaves; a published cell is an interval ``[lo, hi)`` of them
    box         one interval per attribute; an attribute that a release does not publish is the whole domain in it
    link        a group of records that are in the same class of every release: the true matching, known to the data
                holder alone
    known       the quasi-identifier tuples that occur in the table: what an adversary may know about a person (Def.
    4.2)
    node        classes of one release that agree on every attribute that some other release publishes too

Invariants
    I1  The multiplicity of a class is the sum of the weights of its links; every link's classes intersect in every
        attribute.
    I2  Attributes that only one release publishes never decide who may be linked with whom: classes merge to nodes
        without changing any join, because swapping two records of one node maps every perfect matching to a perfect
        matching.
    I3  Pairwise consistent intervals have a common leaf (Helly), so a clique of classes is a possible person.

Departures
    [sequential §2.1] admits arbitrary collections of subsets, where three sets may meet in pairs without a common
    value. Here cells are intervals of one leaf order, which hierarchies and ranges are.


Sequence
--------
A history as one sequence of tables for the full match join: boxes of one record after another, in one numbering of
leaves.

Every table of every release counts as a release of its own; tables of one release are tied by the columns they share
and by the numbers of their buckets, which mean nothing elsewhere.

Paper: [sequential §2.1, §6]

Invariants
    I1  Who is judged are the people of the newest release. A person absent from a table gets a row of roots there,
        except for the sensitive value if the table publishes it: an adversary sees in the next release which values are
        new.
    I2  With cohorts a further column says when people joined: a row of release r belongs to a person who joined by
        then.
    I3  Where one stands for several people (`courses`) it counts as many in every table. They are in the same boxes
        everywhere, because a box is made of what a course says: so the sequence is that of the same people one by one,
        class by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError, LedgerError
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.history.published_cells import CellTable, LeafValues, PublishedCells
from sfumato.release.past_releases import SEPARATOR, History

Role = Literal["quasi-identifier", "sensitive", "other"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column as the sequence sees it: how many leaves it has and what an adversary may do with it."""

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
        """Classes of equal boxes, and the class of every record; `weights` says for how many each stands, one
        without."""
        classes = _equal_boxes(lo, hi, weights)
        return cls(lo[classes.first], hi[classes.first], classes.counts), classes.of

    def restricted(self, columns: IntArray) -> tuple[Boxes, IntArray]:
        """Distinct boxes on some attributes (whole tables of columns stay in place), and where each class went."""
        classes = _equal_boxes(self.lo[:, columns], self.hi[:, columns], self.count)
        return Boxes(self.lo[classes.first], self.hi[classes.first], classes.counts), classes.of


def _equal_boxes(lo: IntArray, hi: IntArray, weights: IntArray | None) -> EquivalenceClasses:
    columns = [side[:, m] for m in range(lo.shape[1]) for side in (lo, hi)]
    return equivalence_classes_of(columns, rows=len(lo), weights=weights)


@dataclass(frozen=True)
class ReleaseSequence:
    """Releases T₁ … T_R of one table, the true matching between them, and what an adversary may know."""

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
        """From (lo, hi) arrays, records × attributes, per release; `known` has a row for all people who is to be
        judged.

        Where a record stands for several that are in the same boxes of every release, `weights` says for how many each
        record does, and how many people each row of `known` is: classes, links and what is known come out as those of
        all of them (I1)."""
        each, people = (None, np.ones(len(known[0]), dtype=np.int64)) if weights is None else weights
        grouped = [Boxes.of_records(lo, hi, each) for lo, hi in published]
        links = equivalence_classes_of([of for _, of in grouped], weights=each)
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
        """``present[r, m]``: release r says something about attribute m (some class is narrower than the whole
        domain)."""
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
        """What an adversary may know, on the quasi-identifiers that were published at all."""
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
            raise DataError(
                f"{int((lo >= hi).any(axis=1).sum())} record link(s) contradict each other between releases"
            )


# Sequence
# --------


COHORT = "\x1fjoined"
Box = tuple[IntArray, IntArray]


def require_joinable(boxes: Sequence[Box]) -> None:
    """Refuse records whose rows have nothing in common: a full match join begins with each person's own rows."""
    lo, hi = (
        (np.max([low for low, _ in boxes], axis=0), np.min([high for _, high in boxes], axis=0)) if boxes else (0, 1)
    )
    if apart := int((np.asarray(lo) >= np.asarray(hi)).any(axis=-1).sum()):
        raise DataError(
            f"{apart} counterfeit row(s) for people who left replace other rows, which the "
            "full match join cannot process",
            hint="judge by joint classes: 'series: {by: class}'",
        )


def sequence_of(history: History, sensitive: str, *, cohorts: bool = True) -> ReleaseSequence | None:
    """All tables of a history as one sequence; nothing when the sensitive column was never published."""
    bundles = PublishedCells(history)
    if not any(sensitive in sheet.columns for sheet in bundles.sheets):
        return None
    return _JoinedTables(bundles, sensitive, cohorts).sequence()


class _JoinedTables:
    def __init__(self, bundles: PublishedCells, sensitive: str, cohorts: bool) -> None:
        self.bundles, self.sensitive, self.values = bundles, sensitive, LeafValues(bundles)
        self.people, self.tables = bundles.places[-1], bundles.tables()  # I1
        names = dict.fromkeys(name for sheet in reversed(self.tables) for name in sheet.columns if name != sensitive)
        self.names = [*sorted(names), sensitive]
        self.domains = {name: self._domain(name) for name in self.names}
        codes = [self._codes(name) for name in self.names]
        self.leaves = np.stack(codes, axis=1)
        self.joined = self._joined()
        self.cohorts = bool((self.joined > 0).any()) and (cohorts or bool((self.leaves[:, -1] < 0).any()))
        extra = [name == sensitive for name in self.names]  # one more leaf: a value nobody published
        self.sizes = np.array([self.domains[name].size + more for name, more in zip(self.names, extra, strict=True)])

    def sequence(self) -> ReleaseSequence:
        boxes = [self._boxes(sheet) for sheet in self.tables]
        require_joinable(boxes)
        return ReleaseSequence.of_records(self._attributes(), boxes, self._known(), self._weights())

    def _weights(self) -> Box | None:
        """For how many people everybody stands, and everybody whose sensitive value was ever published (I3)."""
        every = self.bundles.weights
        return None if every is None else (every[self.people], every[self.people][self.leaves[:, -1] >= 0])

    def _domain(self, name: str) -> Generalization:
        if name == self.sensitive:
            return Hierarchy.flat(sorted(self.bundles.history.column(name)) or ["?"])
        if name.startswith(SEPARATOR):
            labels = next(sheet.labels[name] for sheet in self.tables if name in sheet.columns)
            return Hierarchy.flat(list(labels), root="\x1fany")
        return self.values.domain(name)

    def _codes(self, name: str) -> IntArray:
        """Everybody's leaf; of a bucket nobody has one."""
        if name.startswith(SEPARATOR):
            return np.full(len(self.people), -1, dtype=np.int64)
        if name != self.sensitive:
            return self.values.codes(name)[self.people]
        found = np.full(self.bundles.people, -1, dtype=np.int64)
        for past, place in zip(self.bundles.history.releases, self.bundles.places, strict=True):
            if name in past.memory.values.names:
                text = past.memory.values.text(name)
                found[place] = np.array([self.domains[name].code_of[label] for label in text.labels], dtype=np.int64)[
                    text.codes
                ]
        return found[self.people]

    def _joined(self) -> IntArray:
        joined = np.full(self.bundles.people, len(self.bundles.history) - 1, dtype=np.int64)
        for r in range(len(self.bundles.history) - 1, -1, -1):
            joined[self.bundles.places[r]] = r
        return joined[self.people]

    def _attributes(self) -> list[Attribute]:
        found = [
            Attribute(name, int(size), self._role(name)) for name, size in zip(self.names, self.sizes, strict=True)
        ]
        return [*found, Attribute(COHORT, len(self.bundles.history), "quasi-identifier")] if self.cohorts else found

    def _role(self, name: str) -> Role:
        if name == self.sensitive:
            return "sensitive"
        quasi = any(name in p.columns and p.columns[name].role == "quasi-identifier" for p in self.bundles.policies)
        return "quasi-identifier" if quasi else "other"

    def _boxes(self, sheet: CellTable) -> Box:
        """The boxes that a table gives to the people; counterfeits for the absent ones (I1)."""
        here = sheet.here[self.people]
        lo, hi = np.zeros_like(self.leaves), np.tile(self.sizes, (len(here), 1))
        for m, name in enumerate(self.names):
            if name in sheet.columns:
                code = sheet.cells[name][self.people][here]
                low, high = self._intervals(sheet, name)
                lo[here, m], hi[here, m] = low[code], high[code]
        if self.sensitive in sheet.columns:
            told = np.where(self.leaves[:, -1] >= 0, self.leaves[:, -1], self.sizes[-1] - 1)
            lo[~here, -1], hi[~here, -1] = told[~here], told[~here] + 1
        if not self.cohorts:
            return lo, hi
        r, total = sheet.releases[0], len(self.bundles.history)
        first = np.where((self.joined > r) & ~here, r + 1, 0)  # I2
        return np.column_stack([lo, first]), np.column_stack([hi, np.where(here, r + 1, total)])

    def _intervals(self, sheet: CellTable, name: str) -> Box:
        if name != self.sensitive and not name.startswith(SEPARATOR):
            return self.values.intervals(sheet, name, sheet.releases[0])
        code = np.array([self.domains[name].code_of.get(label, -1) for label in sheet.labels[name]], dtype=np.int64)
        if (code[np.unique(sheet.cells[name][sheet.here])] < 0).any():
            raise LedgerError(f"release {sheet.releases[0] + 1} published values of '{name}' that nobody remembers")
        return code, code + 1

    def _known(self) -> Box:
        """What an adversary may know of all people whose sensitive value was ever published."""
        lo = np.where(self.leaves >= 0, self.leaves, 0)
        hi = np.where(self.leaves >= 0, self.leaves + 1, self.sizes)
        if self.cohorts:
            lo, hi = np.column_stack([lo, self.joined]), np.column_stack([hi, self.joined + 1])
        told = self.leaves[:, -1] >= 0
        return lo[told], hi[told]
