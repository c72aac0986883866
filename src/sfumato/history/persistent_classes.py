"""Joint classes: people who look alike in everything that was published with a sensitive column may trade all those
rows at once.

Guarantee
    Let B be the bundle of a requirement: the tables that publish what it hides, and those reached from them through
    columns that nobody is known by (sensitive and other ones). When two people have equal cells in every table of B, in
    the columns that the requirement's adversary knows and in those that tables outside B publish too, then the world in
    which they trade all their rows of B agrees with everything published. So an adversary who joins all releases cannot
    tell the members of a joint class apart: every permutation of their rows is possible. A model that holds in every
    joint class holds over all releases, however many there are.

    Proof. Take i and j of one class and a table q outside B with a column m that a table r of B has too. Then m is a
    known column, or q would be in B; so the cells of i and j in r are equal in m, and that cell contains the value of
    i, as does that of i in q. So the row of j in r agrees with the row of i in q, and the other way round. Inside B the
    rows of one person stay together. The adversary's own knowledge of i and j agrees with both, because the cells in
    the columns that the adversary knows are equal.

Presence
    With ``cohorts: known`` being absent from a table is one more value that its cells may have: adversaries may know in
    which releases a person is. See `united` for adversaries who do not.

Knowledge
    In an exchange a person keeps what the adversary knows and what tables outside B publish (`columns_kept_together`),
    and takes all else from the other. A dependency that adversaries know (``knows:``) holds in the new world when all
    its columns are kept, because they are as they were, and when all are taken, because they are as they were for the
    other. One that ties both kinds is not judged.

Changed values: a bundle moves as a whole, and a cell need only cover what is true at its time, so values may change
freely.

Paper: beside [sequential Def. 4.2], whose measure counts covering rows; see docs/explanation/releases.md.

Cost: one sort of people for each table of the bundle.


United
------
Joint classes for adversaries who do not know who is in which release: people who came or left later may trade places,
too.

Guarantee
    Two joint classes are united when each of them, wherever it is absent from a table and the other is not, has only
    people whose values the other's cells cover, and they look alike wherever both are present. Then any two of their
    people may trade all their rows of the bundle, being absent included, and nobody who does not know who is in which
    release can tell. All classes of a union must agree in pairs, so every permutation of its people is possible. If a
    release also has tables outside B, both people are in it or neither is. Otherwise absence would be exchanged in some
    tables of the release and not in others, although a person is in all of them or in none. An unknown value is only
    covered by the root (``*``). Each table is judged by the members of the union that are in it: an adversary may still
    know that a person is in one release.

Paper: the unifying view of [sequential §6]; the adversary who knows more is the default.

Notation
    hull   of a class in a column: the smallest interval of leaves around the values of its people; a cell that is an
           interval covers all of them exactly when it covers the hull
    look   what a class, or a union, looks like in a table of the bundle, in the columns that make the class; −1 where
           it is absent

Cost: classes × tables; those without a number of a lineage, or whose number is wrong, also the unions that are tried
for each.


Courses
-------
Trajectories: people with equal published rows and equal values in all releases, stored as one with a count.

No judgement over several releases depends on identity: people with equal published rows, equal remembered values and
equal current values can be exchanged. So on a cluster, what comes to the driver are courses with counts, and everything
that knows histories of people knows histories of courses (`release.past.Memory`).

Notation
    line      one row of what a ledger keeps of a release made where its rows lie: what was published, what the original
              said, and of how many people. Which person is on which line stays there, in the people files beside the
              ledger
    course    per release the line that a person was on, −1 where absent; and the class in the table that is to be
              published

Invariants
    I1  A course has the same number of people in every release, and the courses of a line have the people that the line
        counted.

>>> Trajectories.of(pa.table({"0": [0, 0, 1], "1": [0, -1, -1]}), np.array([3, 2, 4])).names
('#0', '#1', '#2')


Trees
-----
Junction trees: possible values of people, proved by counting, when tables clustered together have an acyclic schema.

Guarantee
    Cluster the tables until their column sets, the sensitive column included, are acyclic. Let a person's label in a
    column be all cells that were ever published of it for that person. Take a person who is in all tables with one
    value. A value is possible for them if, in every cluster with the sensitive column, some person with equal labels in
    all columns of the cluster has it. Each value has a witness of its own, so values that different proofs show may be
    united.

    Proof. By induction over the join tree. Rows of a leaf cluster and cliques built so far carry a key: labels of
    shared columns, and the sensitive value where it is shared. Both sides have as many rows of a key as there are
    people with it, so any bijection inside a key is a matching, and the wanted row can be put on the wanted clique.
    Every column lies in a connected part of the tree, so agreement on shared columns is agreement everywhere; equal
    labels have a true value in common, so all cells meet. Clusters without the sensitive column keep each person's own
    rows. People who are not in all tables stay where they are. ∎

    Only possibility is proved, so only models that count different values can rest on it, and only where the policy
    asks for the paper's measure (``by: join``, `k-linkability`). Equal labels, not covering ones, are asked for: rows
    that cover everybody help nobody. A release that only a tree proves leaves no joint classes to go on from, so no
    method makes one on purpose.

Cost: people × tables, and a join tree for every merging of clusters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import LedgerError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.join_tree import join_tree
from sfumato.data.linkage import Linkage
from sfumato.data.table import Table
from sfumato.engines.protocol import LINE, PERSON, FileEngine, People
from sfumato.history.published_cells import CellTable, LeafValues, PublishedCells
from sfumato.release.past_releases import History, Memory, PastRelease, text_of
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView


@dataclass(frozen=True)
class PersistentClasses:
    """The joint classes of a requirement."""

    sheets: tuple[CellTable, ...]
    """The bundle."""
    of: IntArray
    """The class of every person, −1 for people in no linked table."""
    signs: IntArray
    """``signs[c, t]``: what class c looks like in sheet t of the bundle; −1 where it is absent from all its tables."""
    names: tuple[tuple[str, ...], ...] = ()
    """Per sheet the columns in which the people of a class look alike."""
    mixed: bool = False
    """Whether members of one class may be in different tables, so that each table is judged by the members in it."""
    weights: IntArray | None = None
    """For how many people each of them stands; one without."""
    divided: frozenset[int] = frozenset()
    """Releases with tables inside and outside of the bundle."""

    def linkages(self, hide: Collection[str], *, each: bool = False) -> Iterator[Linkage]:
        """What the classes leave an adversary, in every table.

        A value may change from release to release; it is judged in each of them. Where all people of a class are in the
        same tables and no value changed, what one table tells of a class all of them do, and they are judged at once;
        `each` is for models that compare classes with their whole table. Otherwise a table without the sensitive column
        is judged by the people in it as well, with the values that other tables publish for them: an adversary who
        knows that a person is in it excludes all others."""
        return (linkage for linkage, _ in self.linkages_with_classes(hide, each=each))

    def linkages_with_classes(self, hide: Collection[str], *, each: bool = False) -> Iterator[tuple[Linkage, IntArray]]:
        """The same, each with the class of every kind."""
        for sheet in self.sheets:
            for name in sheet.columns & set(hide) if hide else [next(iter(sheet.columns))]:
                yield from self._tables(sheet, name, bool(hide), each or self.mixed)
        for name in hide if self.mixed else ():
            for there, values, labels in values_from_other_tables(self.sheets, name, len(self.of)):
                alike = equivalence_classes_of([self.of[there]])
                yield Linkage.of_groups(alike.of, {name: (values, labels)}), self.of[there][alike.first]

    def _tables(self, sheet: CellTable, name: str, told: bool, each: bool) -> Iterator[tuple[Linkage, IntArray]]:
        weights = None if self.weights is None else self.weights[sheet.here]
        pairs = equivalence_classes_of([self.of[sheet.here], sheet.cells[name][sheet.here]], weights=weights)
        one = np.flatnonzero(sheet.here)[pairs.first]
        classes, code = self.of[one], sheet.cells[name][one]
        lasting = sheet.lasting(name) if told else np.zeros(len(sheet.said(name)), dtype=np.int64)
        columns = sheet.said(name).T if each or lasting is None else [lasting]
        for labels in columns:
            value = labels[code]
            there = value >= 0
            if there.any():
                spread = {name: (value[there], sheet.labels[name])} if told else {}
                alike = equivalence_classes_of([classes[there]])
                yield Linkage.of_groups(alike.of, spread, pairs.counts[there]), classes[there][alike.first]


def values_from_other_tables(
    sheets: Iterable[CellTable], name: str, people: int
) -> Iterator[tuple[IntArray, IntArray, tuple[str, ...]]]:
    """Per table without a column: who is in it and has a value that another table publishes, these values, and their
    labels.

    Where a person's value changed, each table that publishes the column counts by itself.
    """
    tables = [table for sheet in sheets for table in sheet.tables()]
    silent, telling = ([table for table in tables if (name in table.columns) == told] for told in (False, True))
    if not silent or not telling:
        return
    every = HiddenValues.told(telling, name, people)
    for values in [HiddenValues.told([table], name, people) for table in telling] if every.changed.any() else [every]:
        for there in (np.flatnonzero(table.here & (values.of >= 0)) for table in silent):
            if len(there):
                yield there, values.of[there], values.labels


def bundle_of(bundles: PublishedCells, hide: Collection[str], among: Iterable[CellTable] = ()) -> tuple[CellTable, ...]:
    """The tables that publish a sensitive column, those `among`, and whatever hangs on them by columns that nobody is
    known by."""
    every = bundles.sheets
    wanted = [id(sheet) for sheet in among]
    inside = [not sheet.columns.isdisjoint(hide) or id(sheet) in wanted for sheet in every]
    while True:
        ties = {name for one, sheet in zip(inside, every, strict=True) if one for name in sheet.columns}
        ties = {name for name in ties if name in hide or not bundles.is_known(name)}
        more = [one or not sheet.columns.isdisjoint(ties) for one, sheet in zip(inside, every, strict=True)]
        if more == inside:
            return tuple(sheet for one, sheet in zip(inside, every, strict=True) if one)
        inside = more


def columns_kept_together(
    bundles: PublishedCells, given: Collection[str], hide: Collection[str], among: Iterable[CellTable] = ()
) -> frozenset[str]:
    """Columns whose values everybody keeps who trades places: what the adversary knows, and what tables outside the
    bundle tell."""
    mine = {id(sheet) for sheet in bundle_of(bundles, hide, among)}
    return frozenset(given).union(*(sheet.columns for sheet in bundles.sheets if id(sheet) not in mine))


def find_persistent_classes(
    bundles: PublishedCells,
    given: Collection[str],
    hide: Collection[str],
    *,
    among: Iterable[CellTable] = (),
    without: CellTable | None = None,
) -> PersistentClasses:
    """The joint classes of a requirement: of tables that publish what it hides and those `among`, `without` one that is
    only coming."""
    sheets = bundle_of(bundles, hide, among)
    mine = {id(sheet) for sheet in sheets}
    others = [sheet for sheet in bundles.sheets if id(sheet) not in mine]
    outside = {name for sheet in others for name in sheet.columns}
    divided = {r for sheet in sheets for r in sheet.releases} & {r for sheet in others for r in sheet.releases}
    sheets = tuple(sheet for sheet in sheets if sheet is not without)
    wanted = {name for name in (set(given) | outside) - set(hide) if bundles.is_known(name)}
    names = tuple(tuple(sorted(sheet.columns & wanted)) for sheet in sheets)
    signs = [_sign(sheet, mine, bundles.people) for sheet, mine in zip(sheets, names, strict=True)]
    if not signs:
        nobody = np.full(bundles.people, -1, dtype=np.int64)
        return PersistentClasses((), nobody, np.zeros((0, 0), dtype=np.int64))
    present = np.any([sheet.here for sheet in sheets], axis=0)
    classes = equivalence_classes_of([sign[present] + 1 for sign in signs])
    of = np.full(bundles.people, -1, dtype=np.int64)
    of[present] = classes.of
    seen = np.stack([sign[present][classes.first] for sign in signs], axis=1)
    return PersistentClasses(sheets, of, seen, names, weights=bundles.weights, divided=frozenset(divided))


def _sign(sheet: CellTable, names: Sequence[str], people: int) -> IntArray:
    """Equal exactly for people with equal cells in these columns who are in the same tables of the sheet; −1 for the
    absent."""
    sign = np.full(people, -1, dtype=np.int64)
    cells = [sheet.cells[name] for name in names] or [sheet.presence()]
    sign[sheet.here] = equivalence_classes_of([column[sheet.here] for column in cells]).of
    return sign


# United
# ------


_TRIED = 200
"""Unions that are looked at for one class before it stays by itself."""
_FAR = np.iinfo(np.int64).max


def merge_classes(bundles: PublishedCells, joint: PersistentClasses) -> PersistentClasses:
    """The joint classes with those united that only their presence tells apart.

    Where the ledger stores class numbers, people with one number are tried with each other only. A number that unites
    people who cannot be exchanged is ignored."""
    if not len(joint.signs):
        return joint
    named = np.where(joint.of >= 0, bundles.lineage, -1)
    finer = equivalence_classes_of([joint.of + 1, named + 1])
    of = np.where(joint.of >= 0, finer.of, -1)
    kept, of[joint.of >= 0] = np.unique(of[joint.of >= 0], return_inverse=True)
    person = finer.first[kept]
    looks = _ClassLooks(bundles, joint, of, person)
    if all((table.look >= 0).all() for table in looks.tables):
        return joint
    union = _Unions(looks, named[person], np.bincount(of[of >= 0])).unions()
    return replace(joint, of=np.where(of >= 0, union[of], -1), mixed=True)


@dataclass(frozen=True)
class _TableLooks:
    """What classes look like in one table."""

    look: IntArray
    """Per class, −1 where it is absent."""
    cells: list[tuple[int, IntArray, IntArray]]
    """Per column that makes the classes: its place, and each class's cell as an interval of leaves."""
    divided: bool = False
    """Whether its release has tables outside of the bundle, so that nobody who is absent takes a row of it."""

    def covers(self, at: IntArray, lo: IntArray, hi: IntArray) -> BoolArray:
        """Whether the cells of these classes cover these hulls."""
        fine = np.full(len(at), not self.divided)
        for column, low, high in self.cells:
            fine &= (low[at] <= lo[:, column]) & (hi[:, column] <= high[at])
        return fine


class _ClassLooks:
    """Per class the hull of its people's values, and what it looks like in every table."""

    def __init__(self, bundles: PublishedCells, joint: PersistentClasses, of: IntArray, person: IntArray) -> None:
        names = sorted({name for some in joint.names for name in some})
        self.column = {name: place for place, name in enumerate(names)}
        self.values = LeafValues(bundles)
        self.lo, self.hi = self._hulls(names, of, len(person))
        self.tables = list(self._tables(joint, person))
        self.looks = np.stack([table.look for table in self.tables], axis=1)

    def _hulls(self, names: list[str], of: IntArray, count: int) -> tuple[IntArray, IntArray]:
        lo, hi = np.zeros((count, len(names)), dtype=np.int64), np.zeros((count, len(names)), dtype=np.int64)
        inside = of >= 0
        for place, name in enumerate(names):
            codes = self.values.codes(name)[inside]
            pairs = equivalence_classes_of([of[inside], codes + 1])
            classes, codes = of[inside][pairs.first], codes[pairs.first]
            low, high = np.full(count, _FAR), np.full(count, -1)
            np.minimum.at(low, classes, codes)
            np.maximum.at(high, classes, codes + 1)
            lo[:, place], hi[:, place] = low, np.where(low < 0, _FAR, high)  # what nobody remembers lies anywhere
        return lo, hi

    def _tables(self, joint: PersistentClasses, person: IntArray) -> Iterator[_TableLooks]:
        for sheet, names in zip(joint.sheets, joint.names, strict=True):
            code = {name: sheet.cells[name][person] for name in names or [next(iter(sheet.cells))]}
            for place, release in enumerate(sheet.releases):
                said = {name: np.where(mine >= 0, sheet.said(name)[mine, place], -1) for name, mine in code.items()}
                there = next(iter(said.values())) >= 0
                look = np.full(len(person), -1, dtype=np.int64)
                look[there] = equivalence_classes_of([said[name][there] for name in names], rows=int(there.sum())).of
                cells = []
                for name in names:
                    low, high = self._intervals(sheet, name, release)
                    cells.append((self.column[name], low[said[name]], high[said[name]]))
                yield _TableLooks(look, cells, release in joint.divided)

    def _intervals(self, sheet: CellTable, name: str, release: int) -> tuple[IntArray, IntArray]:
        """Return the leaves behind every label of a column; the root also covers unknown values."""
        low, high = self.values.intervals(sheet, name, release)
        mute = np.array([label == ROOT for label in sheet.labels[name]], dtype=np.bool_)
        mute &= (low == 0) & (high == self.values.domain(name).size)
        return np.where(mute, -1, low), np.where(mute, _FAR, high)


class _Unions:
    """Classes that are joined to unions: those of one number at once where they agree, the others one by one."""

    def __init__(self, looks: _ClassLooks, named: IntArray, size: IntArray) -> None:
        self.looks, self.named, self.size = looks, named, size
        self.of_number: dict[int, list[int]] = defaultdict(list)
        self.count = 0
        self.look = np.full_like(looks.looks, -1)
        self.cell = np.zeros_like(looks.looks)
        """Return per union and table a class that is in it."""
        self.lo, self.hi = np.zeros_like(looks.lo), np.zeros_like(looks.hi)

    def unions(self) -> IntArray:
        """The union of every class."""
        union, alone = self._by_number()
        absent = (self.looks.looks < 0).sum(axis=1)
        order = np.lexsort((-self.size, absent))
        for one in order[alone[order]].tolist():
            union[one] = self._place(one)
        return union

    def _by_number(self) -> tuple[IntArray, BoolArray]:
        """Classes of one number that agree are one union; and who is left."""
        named = np.flatnonzero(self.named >= 0)
        number = equivalence_classes_of([self.named[named]])
        agree = np.ones(len(number), dtype=np.bool_)
        for t, table in enumerate(self.looks.tables):
            there = table.look[named] >= 0
            cell = np.full(len(number), -1, dtype=np.int64)
            cell[number.of[there]] = named[there]
            agree[number.of[there][table.look[cell[number.of[there]]] != table.look[named[there]]]] = False
            away = np.flatnonzero(~there & (cell[number.of] >= 0))
            mine = named[away]
            agree[number.of[away][~table.covers(cell[number.of[away]], self.looks.lo[mine], self.looks.hi[mine])]] = (
                False
            )
            self.cell[: len(number), t] = cell
        place = np.where(agree, np.cumsum(agree) - 1, -1)
        self.count = int(agree.sum())
        union = np.full(len(self.named), -1, dtype=np.int64)
        union[named] = place[number.of]
        self.cell[: self.count] = self.cell[: len(number)][agree]
        self._merged(union)
        return union, union < 0

    def _merged(self, union: IntArray) -> None:
        inside = union >= 0
        for t, table in enumerate(self.looks.tables):
            cell = self.cell[: self.count, t]
            self.look[: self.count, t] = np.where(cell >= 0, table.look[cell], -1)
        self.lo[: self.count] = _FAR
        self.hi[: self.count] = -1
        np.minimum.at(self.lo, union[inside], self.looks.lo[inside])
        np.maximum.at(self.hi, union[inside], self.looks.hi[inside])

    def _place(self, one: int) -> int:
        mine, number = self.looks.looks[one], int(self.named[one])
        last = int(np.flatnonzero(mine >= 0)[-1])
        tried = (
            self.of_number[number]
            if number >= 0
            else np.flatnonzero(self.look[: self.count, last] == mine[last]).tolist()
        )
        place = next((place for place in tried[:_TRIED] if self._fits(one, place)), -1)
        if place < 0:
            place, self.count = self.count, self.count + 1
            self.lo[place], self.hi[place] = self.looks.lo[one], self.looks.hi[one]
            if number >= 0:
                self.of_number[number].append(place)
        new = (mine >= 0) & (self.look[place] < 0)
        self.look[place, new], self.cell[place, new] = mine[new], one
        self.lo[place] = np.minimum(self.lo[place], self.looks.lo[one])
        self.hi[place] = np.maximum(self.hi[place], self.looks.hi[one])
        return place

    def _fits(self, one: int, place: int) -> bool:
        mine, theirs = self.looks.looks[one], self.look[place]
        both = (mine >= 0) & (theirs >= 0)
        if not np.array_equal(mine[both], theirs[both]):
            return False
        tables, lo, hi = self.looks.tables, self.looks.lo[[one]], self.looks.hi[[one]]
        new = np.flatnonzero((theirs >= 0) & (mine < 0)).tolist()
        old = np.flatnonzero((mine >= 0) & (theirs < 0)).tolist()
        return all(tables[t].covers(self.cell[place, [t]], lo, hi).all() for t in new) and all(
            tables[t].covers(np.array([one]), self.lo[[place]], self.hi[[place]]).all() for t in old
        )


# Courses
# -------


COURSE = "\x1fcourse"
"""The column by which a class of the table knows its course; never published."""


@dataclass(frozen=True)
class Trajectories:
    """Courses with counts, in an order of their own, by which they are named."""

    lines: tuple[IntArray, ...]
    """Per release the line of each course, −1 where its people are absent."""
    counts: IntArray

    @classmethod
    def of(cls, lines: pa.Table, counts: IntArray) -> Trajectories:
        """From one column of lines for each release."""
        return cls(tuple(column.to_numpy().astype(np.int64) for column in lines.columns), counts)

    @property
    def names(self) -> tuple[str, ...]:
        """What stands for keys where people are courses."""
        return tuple(f"#{place}" for place in range(len(self.counts)))

    def history(self, releases: Sequence[PastRelease]) -> History:
        """Return the releases with one row per trajectory."""
        pairs = zip(releases, self.lines, strict=True)
        return History(tuple(replace(past, memory=self._memory(past, line)) for past, line in pairs))

    def _memory(self, past: PastRelease, line: IntArray) -> Memory:
        there = np.flatnonzero(line >= 0)
        mine, names = line[there], self.names
        kept = past.memory  # I1
        if kept.counts is None or not np.array_equal(
            np.bincount(mine, weights=self.counts[there], minlength=len(kept.counts)).astype(np.int64), kept.counts
        ):
            raise LedgerError(f"people of release {past.number} are not those that the ledger counted")
        values = Table(kept.values.frame.take(pa.array(mine)))
        nobody = np.zeros(len(there), dtype=np.bool_)
        return Memory(
            tuple(names[i] for i in there.tolist()), kept.rows[mine], values, nobody, counts=self.counts[there]
        )


def count_trajectories(engine: FileEngine, chronicle: Sequence[tuple[PastRelease, People]]) -> History:
    """Return all releases with one row per trajectory, counted by an engine from pairs of person and line."""
    lines, counts = engine.courses([people for _, people in chronicle])
    return Trajectories.of(lines, counts).history([past for past, _ in chronicle])


def condense_history(past: PastRelease) -> tuple[PastRelease, pa.Table]:
    """A release whose people were remembered one by one, as lines with counts; and who is on which line."""
    memory, shown = past.memory, past.exhibit.data
    if memory.counterfeit.any() or (memory.rows < 0).any() or set(past.exhibit.parts) != {"data"} or memory.places:
        what = f"release {past.number} has several rows per person, or counterfeit rows for people who left"
        raise LedgerError(f"{what}, which are compared record by record", hint="publish with --engine local")
    cells = [shown.text(name).codes[memory.rows] for name in shown.names]
    values = [memory.values.text(name).codes for name in memory.values.names]
    alike = equivalence_classes_of([*cells, *values], rows=len(memory.rows))
    one = memory.rows[alike.first]
    table = pa.table({name: text_of(shown, name).take(pa.array(one)) for name in shown.names})
    kept = Memory(
        tuple(map(str, range(len(alike)))),
        np.arange(len(alike)),
        Table(memory.values.frame.take(pa.array(alike.first))),
        np.zeros(len(alike), dtype=np.bool_),
        counts=alike.counts,
    )
    people = pa.table({PERSON: memory.key_column, LINE: pa.array(alike.of)})
    return replace(past, exhibit=replace(past.exhibit, parts={"data": Part(table, alike.counts)}), memory=kept), people


def lines_of(exhibit: ReleaseView, behind: IntArray, original: Table, number: int) -> PastRelease:
    """What is remembered of a counted release: a line for every row of its part, with the class of the original behind
    it."""
    part = exhibit.parts["data"]
    there = np.flatnonzero(behind >= 0)
    values = pa.table({name: text_of(original, name).take(pa.array(behind[there])) for name in part.held.column_names})
    nobody = np.zeros(len(there), dtype=np.bool_)
    counts = np.asarray(part.counts)[there]
    memory = Memory(tuple(map(str, range(len(there)))), there, Table(values), nobody, counts=counts)
    return PastRelease(exhibit, memory, number)


# Trees
# -----


Masks = NDArray[np.uint64]
"""Per person a set of values, as bits."""


@dataclass(frozen=True)
class HiddenValues:
    """Everybody's value of a sensitive column, −1 where it is not told or not the same in all tables."""

    of: IntArray
    labels: tuple[str, ...]
    changed: BoolArray
    """Who has different values in different tables: nothing is proved of them here."""

    @classmethod
    def told(cls, sheets: Sequence[CellTable], column: str, people: int) -> HiddenValues:
        number: dict[str, int] = {}
        of, changed = np.full(people, -1, dtype=np.int64), np.zeros(people, dtype=np.bool_)
        for sheet in (sheet for sheet in sheets if column in sheet.columns):
            codes = np.array([number.setdefault(label, len(number)) for label in sheet.labels[column]], dtype=np.int64)
            mine = codes[sheet.cells[column][sheet.here]]
            changed[sheet.here] |= (of[sheet.here] >= 0) & (of[sheet.here] != mine)
            of[sheet.here] = mine
        return cls(np.where(changed, -1, of), tuple(number), changed)

    def masks(self, classes: IntArray) -> Masks:
        """Per person the values of all people of the same class; nobody's for class −1."""
        words = 1 + max(len(self.labels) - 1, 0) // 64
        inside = (classes >= 0) & (self.of >= 0)
        seen = np.zeros((int(classes.max(initial=-1)) + 1, words), dtype=np.uint64)
        bit = np.uint64(1) << (self.of[inside] % 64).astype(np.uint64)
        np.bitwise_or.at(seen, (classes[inside], self.of[inside] // 64), bit)
        found = np.zeros((len(classes), words), dtype=np.uint64)
        found[classes >= 0] = seen[classes[classes >= 0]]
        return found


def values_by_class(joint: PersistentClasses, values: HiddenValues) -> Masks:
    """The values that joint classes show."""
    return values.masks(joint.of)


def values_by_tree(bundles: PublishedCells, column: str, values: HiddenValues) -> Masks:
    """The values that a junction tree shows."""
    sheets = bundles.tables()
    whole = np.all([sheet.here for sheet in sheets], axis=0) & (values.of >= 0)
    labels = _labels(sheets, column, whole)
    found: Masks | None = None
    for cluster in clusters([sheet.columns for sheet in sheets], column):
        if column not in cluster:
            continue
        classes = np.full(len(whole), -1, dtype=np.int64)
        names = sorted(cluster - {column})
        classes[whole] = equivalence_classes_of([labels[name][whole] for name in names], rows=int(whole.sum())).of
        mine = values.masks(classes)
        found = mine if found is None else found & mine
    assert found is not None
    return found


def clusters(schemas: Sequence[frozenset[str]], column: str) -> list[frozenset[str]]:
    """Column sets merged until they are acyclic; those that share most are merged first.

    >>> [sorted(one) for one in clusters([frozenset("ab"), frozenset("bs"), frozenset("as")], "s")]
    [['a', 'b', 's']]
    >>> len(clusters([frozenset("as"), frozenset("bs"), frozenset("ab")], "x"))
    1
    """
    found = _outermost(schemas)
    while join_tree(found) is None:
        one, other = min(
            combinations(found, 2), key=lambda two: (-len(two[0] & two[1] - {column}), len(two[0] | two[1]))
        )
        found = _outermost([*(each for each in found if each not in (one, other)), one | other])
    return found


def _outermost(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Without those that lie in others."""
    once = list(dict.fromkeys(sets))
    return [one for one in once if not any(one < other for other in once)]


def _labels(sheets: Sequence[CellTable], column: str, whole: BoolArray) -> dict[str, IntArray]:
    """Per column each person's label: what all tables ever said."""
    found: dict[str, IntArray] = {}
    for name in {name for sheet in sheets for name in sheet.columns} - {column}:
        cells = [sheet.cells[name] + 1 for sheet in sheets if name in sheet.columns]
        found[name] = equivalence_classes_of(cells, rows=len(whole)).of
    return found
