"""The maximum-likelihood distribution behind several published sub-tables, in closed form.

Paper
    [versatile §5.1]: log-linear model of the published marginals; decomposable, so p̃ = Π tables / Π shared columns.

Notation
    A *sheet* is one published sub-table in codes: rows (visible columns, weight, bucket) and, when it has buckets,
    entries (bucket, sensitive columns, weight). Inside a bucket rows and sensitive values are independent: a sheet with
    buckets is two marginals that share only the bucket number.

Invariants
    I1  p̃ agrees with every published marginal, and columns in different parts are independent given what their tables
        share.
    I2  Every published sheet describes the same people, so all have the same total.

Cost
    A COUNT query is linear in the number of distinct rows of the sheets it touches; a log-likelihood is one sparse
    product of rows × buckets and buckets × values (n·l entries) per sheet with buckets.

>>> left = SubTableSheet.of_rows({"a": np.array([0, 0, 1]), "b": np.array([0, 1, 1])})
>>> right = SubTableSheet.of_rows({"b": np.array([0, 1, 1]), "c": np.array([0, 0, 1])})
>>> JointEstimate([left, right]).count({"a": np.array([False, True]), "c": np.array([False, True])})
0.5


Published subtables
-------------------
The published parts of a release as tables an adversary can compute with: columns, labels, buckets, sensitive values.

``table-n`` holds visible columns and, when it hides any, a ``bucket``; ``table-n-sensitive`` holds, per bucket, the
sensitive values with their counts: ``bucket,value,count,column`` for one sensitive column, ``bucket,<columns>,count``
for several hidden together. The sensitive values of a row in bucket ``*`` are suppressed. One recoded table or an
anatomy is a set with one table.

Invariants
    I1  Labels are shared: a column has the same code for the same text in every table.
    I2  Counts of a bucket add up to its rows; every table is about the same number of people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import ReleaseError
from sfumato.data.equivalence_classes import class_counts, equivalence_classes_of
from sfumato.data.join_tree import TreeEdge, join_tree
from sfumato.data.table import Table

Columns = Mapping[str, IntArray]
_WITHHELD = 2_000_000
_JOINED, _TIMES = 5_000_000, 50
"""Pairs of rows that are joined in any folder, and how many more for each of its rows."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Distinct rows of codes with weights."""

    columns: Columns
    weight: FloatArray

    @classmethod
    def of(cls, columns: Columns, weight: FloatArray | IntArray | None = None) -> Counted:
        classes = equivalence_classes_of(list(columns.values()))
        totals = np.bincount(classes.of, weights=weight, minlength=len(classes)).astype(np.float64)
        return cls({name: codes[classes.first] for name, codes in columns.items()}, totals)

    def total(self) -> float:
        return float(self.weight.sum())


@dataclass(frozen=True, slots=True)
class SubTableSheet:
    """One published sub-table in codes; `entries` when it has buckets."""

    visible: frozenset[str]
    rows: Counted
    hidden: frozenset[str] = frozenset()
    entries: Counted | None = None
    bucket: str = ""
    """The name under which rows and entries carry the bucket number."""

    @property
    def columns(self) -> frozenset[str]:
        return self.visible | self.hidden

    @classmethod
    def of_rows(
        cls, visible: Columns, buckets: IntArray | None = None, hidden: Columns | None = None, *, name: str = ""
    ) -> SubTableSheet:
        """From one row per person; `hidden` is published through `buckets` only."""
        if buckets is None or not hidden:
            return cls(frozenset(visible), Counted.of(visible))
        shown = buckets >= 0
        entries = Counted.of({**{column: codes[shown] for column, codes in hidden.items()}, f"#{name}": buckets[shown]})
        sizes = {column: int(codes.max()) + 1 for column, codes in hidden.items()}
        return cls.of_parts(visible, buckets, entries, f"#{name}", sizes)

    @classmethod
    def of_parts(
        cls,
        visible: Columns,
        buckets: IntArray,
        entries: Counted,
        name: str,
        sizes: Mapping[str, int],
        weights: IntArray | None = None,
    ) -> SubTableSheet:
        """Read the two published tables of an Anatomy release; the sensitive values of rows in bucket −1 are
        suppressed.

        A suppressed value may be anything: every combination of the sensitive columns' values (`sizes`) is equally
        likely. `weights` say for how many people each row stands."""
        withheld = buckets < 0
        if withheld.any():
            number = int(buckets.max()) + 1
            buckets = np.where(withheld, number, buckets)
            people = withheld.sum() if weights is None else weights[withheld].sum()
            entries = _with_anything(entries, name, number, float(people), sizes)
        rows = Counted.of({**visible, name: buckets}, weights)
        return cls(frozenset(visible), rows, frozenset(entries.columns) - {name}, entries, name)

    def marginals(self) -> list[Counted]:
        return [self.rows] if self.entries is None else [self.rows, self.entries]

    def share_at(self, records: Columns) -> FloatArray:
        """The estimated probability of the records' values in this sheet's columns."""
        if self.entries is None:
            return _share(self.rows, self.visible, records)
        from scipy import sparse

        rows, of_row, of_record = _matched(self.rows, self.visible, records)
        entries, of_entry, of_value = _matched(self.entries, self.hidden, records)
        by_row, by_entry = self.rows.columns[self.bucket], self.entries.columns[self.bucket]
        count = int(max(by_row.max(), by_entry.max())) + 1
        size = np.bincount(by_entry, weights=self.entries.weight, minlength=count)
        left = sparse.csr_array((self.rows.weight, (of_row, by_row)), shape=(rows, count))
        right = sparse.csr_array(
            (self.entries.weight / size[by_entry], (of_entry, by_entry)), shape=(entries, count)
        ).T.tocsr()
        joint = (left @ right).tocsr()
        return np.asarray(joint[of_record, of_value]).ravel() / self.rows.total()

    def share_of(self, shared: frozenset[str], records: Columns) -> FloatArray:
        """The probability of the records' values in columns that this sheet publishes exactly."""
        source = self.rows if shared <= self.visible or self.entries is None else self.entries
        return _share(source, shared, records)


def _with_anything(entries: Counted, bucket: str, number: int, weight: float, sizes: Mapping[str, int]) -> Counted:
    """The entries with one more bucket in which every combination of sensitive values has the same weight."""
    names = [name for name in entries.columns if name != bucket]
    volume = int(np.prod([sizes[name] for name in names], dtype=np.float64))
    if volume > _WITHHELD:
        raise ReleaseError(
            "too many combinations of suppressed values to estimate with", hint="publish fewer hidden columns"
        )
    grid = np.unravel_index(np.arange(volume), [sizes[name] for name in names])
    columns = {name: np.concatenate([entries.columns[name], codes]) for name, codes in zip(names, grid, strict=True)}
    columns[bucket] = np.concatenate([entries.columns[bucket], np.full(volume, number)])
    return Counted(columns, np.concatenate([entries.weight, np.full(volume, weight / volume)]))


def _matched(part: Counted, names: frozenset[str], records: Columns) -> tuple[int, IntArray, IntArray]:
    """Common class numbers for the rows of `part` and for `records` on the columns `names`: how many, of rows, of
    records."""
    size, others = len(part.weight), len(next(iter(records.values())))
    classes = equivalence_classes_of(
        [np.concatenate([part.columns[name], records[name]]) for name in sorted(names)], rows=size + others
    )
    return len(classes), classes.of[:size], classes.of[size:]


def _share(part: Counted, names: frozenset[str], records: Columns) -> FloatArray:
    count, of_row, of_record = _matched(part, names, records)
    shares: FloatArray = np.bincount(of_row, weights=part.weight, minlength=count)[of_record] / part.total()
    return shares


def joint_distribution(marginals: Sequence[Counted], wanted: Collection[str], most: int) -> Counted:
    """Return the joint distribution of some columns over all worlds that agree with the marginals.

    Worlds of a decomposable schema are assigned table by table along its tree. Whatever rows people have in a parent,
    the rows of a child can be assigned to those who agree in the shared columns in equally many ways. So a person's row
    in the child is any of these with the same chance, and the parts are independent given what they share. Raises
    `ReleaseError` when the tables overlap in a cycle, or more than `most` pairs of rows would be joined.

    >>> seen = [Counted.of({"a": np.array([0, 1, 1])}), Counted.of({"b": np.array([0, 0, 1])})]
    >>> both = joint_distribution(seen, ["a", "b"], 100)
    >>> [round(float(weight), 2) for weight in both.weight]
    [0.67, 0.33, 1.33, 0.67]
    """
    links = _tree([frozenset(marginal.columns) for marginal in marginals])
    needed = [frozenset(wanted) & marginal.columns.keys() for marginal in marginals]
    relations = list(marginals)
    for link in reversed(links):
        if needed[link.child] <= link.shared:
            continue
        needed[link.parent] |= needed[link.child]
        child = _projected(relations[link.child], needed[link.child] | link.shared)
        relations[link.parent] = _joined(relations[link.parent], child, link.shared, most)
    return _projected(relations[0], frozenset(wanted))


def _projected(part: Counted, names: frozenset[str]) -> Counted:
    return Counted.of({name: part.columns[name] for name in sorted(names)}, part.weight)


def _joined(parent: Counted, child: Counted, shared: frozenset[str], most: int) -> Counted:
    """The rows of the parent, each with every row of the child that agrees on `shared`, by its share among these."""
    tuples, of_parent, of_child = _matched(parent, shared, child.columns)
    order = np.argsort(of_child, kind="stable")
    start = np.searchsorted(of_child[order], np.arange(tuples + 1))
    many = np.diff(start)[of_parent]
    if int(many.sum()) > most:
        raise ReleaseError("the tables join to more combinations of values than can be judged")
    left = np.repeat(np.arange(len(parent.weight)), many)
    place = np.arange(len(left)) - np.repeat(np.cumsum(many) - many, many)
    right = order[start[of_parent][left] + place]
    whole = np.bincount(of_child, weights=child.weight, minlength=tuples)
    columns = {name: codes[left] for name, codes in parent.columns.items()}
    columns |= {name: codes[right] for name, codes in child.columns.items() if name not in columns}
    return Counted(columns, parent.weight[left] * child.weight[right] / whole[of_child[right]])


def _tree(sets: list[frozenset[str]]) -> list[TreeEdge]:
    links = join_tree(sets)
    if links is None:
        raise ReleaseError("the published tables overlap in a cycle", hint="the estimate needs a decomposable schema")
    return links


@dataclass(frozen=True)
class JointEstimate:
    """The estimate from all sheets together."""

    sheets: Sequence[SubTableSheet]
    _marginals: list[Counted] = field(init=False, repr=False)
    _tree: list[TreeEdge] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        marginals = [marginal for sheet in self.sheets for marginal in sheet.marginals()]
        tree = _tree([frozenset(marginal.columns) for marginal in marginals])
        object.__setattr__(self, "_marginals", marginals)
        object.__setattr__(self, "_tree", tree)

    @property
    def total(self) -> float:
        return self._marginals[0].total()  # I2

    @cached_property
    def _shared(self) -> list[tuple[int, IntArray, IntArray]]:
        """Per link: number of shared tuples, and the shared tuple of each row of parent and child."""
        parts = self._marginals
        return [_matched(parts[link.parent], link.shared, parts[link.child].columns) for link in self._tree]

    def count(self, where: Mapping[str, NDArray[Any]]) -> float:
        """Expected number of people whose code in each named column is marked true (or counts with the share given
        there)."""
        factors = {
            place: self._selected(place, where) for place in range(len(self._marginals)) if self._touches(place, where)
        }
        for link, shared in zip(reversed(self._tree), reversed(self._shared), strict=True):
            if link.child in factors:
                message = self._message(link, shared, factors[link.child])
                factors[link.parent] = factors.get(link.parent, np.ones(1)) * message
        root = self._marginals[0]
        return float((root.weight * factors.get(0, np.ones(1))).sum())

    def _touches(self, place: int, where: Mapping[str, NDArray[Any]]) -> bool:
        return any(name in where for name in self._marginals[place].columns)

    def _selected(self, place: int, where: Mapping[str, NDArray[Any]]) -> FloatArray:
        part = self._marginals[place]
        chosen = np.ones(len(part.weight))
        for name in part.columns.keys() & where.keys():
            chosen *= where[name][part.columns[name]]
        return chosen

    def _message(self, link: TreeEdge, shared: tuple[int, IntArray, IntArray], factor: FloatArray) -> FloatArray:
        """Per row of the parent: the probability, given the shared values, that the child's side is selected."""
        tuples, of_parent, of_child = shared
        weight = self._marginals[link.child].weight
        whole = np.bincount(of_child, weights=weight, minlength=tuples)
        part = np.bincount(of_child, weights=weight * factor, minlength=tuples)
        message: FloatArray = (part / np.maximum(whole, 1e-300))[of_parent]  # I1
        return message

    def log_probability(self, records: Columns) -> FloatArray:
        """log p̃ of every record; −∞ where the published tables exclude it."""
        tree = _tree([sheet.columns for sheet in self.sheets])
        with np.errstate(divide="ignore"):
            logs = sum((np.log(sheet.share_at(records)) for sheet in self.sheets), start=np.zeros(1))
            for link in tree:
                if link.shared:
                    shared = self._exact(link).share_of(link.shared, records)
                    logs = logs - np.log(np.where(shared > 0, shared, 1.0))  # where it is 0 a table has said −∞ already
        return np.asarray(logs)

    def _exact(self, link: TreeEdge) -> SubTableSheet:
        ends = (self.sheets[link.parent], self.sheets[link.child])
        return next(sheet for sheet in ends if link.shared <= sheet.visible or link.shared <= sheet.hidden)


# Published subtables
# -------------------


BUCKET, COUNT, VALUE, COLUMN = "bucket", "count", "value", "column"
RESERVED = (BUCKET, COUNT, VALUE, COLUMN)
WITHHELD = "*"
SENSITIVE = "-sensitive"


@dataclass(frozen=True, slots=True)
class Published:
    """One published table: codes per row, and per entry of its buckets."""

    name: str
    visible: Mapping[str, IntArray]
    hidden: Mapping[str, IntArray]
    rows: int
    bucket: IntArray | None = None
    entry_bucket: IntArray | None = None
    entry_count: IntArray | None = None
    weights: IntArray | None = None
    """For how many people each row stands, on a cluster and buckets that list the same are one; one without."""

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.visible) | frozenset(self.hidden)

    @property
    def people(self) -> int:
        """How many people it is about."""
        return self.rows if self.weights is None else int(self.weights.sum())

    @property
    def often(self) -> IntArray:
        """For how many people each row stands."""
        return np.ones(self.rows, dtype=np.int64) if self.weights is None else self.weights

    @property
    def withheld(self) -> int:
        """People whose sensitive values are not published."""
        return 0 if self.bucket is None else int(self.often[self.bucket < 0].sum())

    def marginals(self) -> list[Counted]:
        """Return the rows and the sensitive values of their buckets; suppressed values may be any."""
        if self.bucket is None or self.entry_bucket is None or self.entry_count is None:
            return [Counted.of(self.visible, self.often)]
        bucket, of_bucket, weight, hidden = (
            self.bucket,
            self.entry_bucket,
            self.entry_count.astype(np.float64),
            dict(self.hidden),
        )
        if self.withheld:
            number = int(max(bucket.max(initial=-1), of_bucket.max(initial=-1))) + 1
            bucket, of_bucket = (
                np.where(bucket < 0, number, bucket),
                np.concatenate([of_bucket, np.full(len(of_bucket), number)]),
            )
            weight = np.concatenate([weight, weight * (self.withheld / max(float(weight.sum()), 1.0))])
            hidden = {name: np.concatenate([codes, codes]) for name, codes in hidden.items()}
        key = f"#{self.name}"
        return [Counted.of({**self.visible, key: bucket}, self.often), Counted.of({**hidden, key: of_bucket}, weight)]

    def sheet(self, sizes: Mapping[str, int]) -> SubTableSheet:
        """The table for the estimate; `sizes` is the number of labels of each column."""
        if self.bucket is None or self.entry_bucket is None or self.entry_count is None:
            return SubTableSheet(frozenset(self.visible), Counted.of(self.visible, self.weights))
        key = f"#{self.name}"
        entries = Counted.of({**self.hidden, key: self.entry_bucket}, self.entry_count.astype(np.float64))
        return SubTableSheet.of_parts(self.visible, self.bucket, entries, key, sizes, self.weights)


@dataclass(frozen=True, slots=True)
class PublishedSubTables:
    """All published tables with the labels of their columns."""

    tables: tuple[Published, ...]
    labels: Mapping[str, tuple[str, ...]]

    def sheets(self) -> list[SubTableSheet]:
        sizes = {name: len(labels) for name, labels in self.labels.items()}
        return [table.sheet(sizes) for table in self.tables]

    def joint(self, names: Collection[str]) -> Counted:
        """The joint distribution of some columns over all worlds (`joint_distribution`); in people."""
        marginals = [marginal for table in self.tables for marginal in table.marginals()]
        return joint_distribution(
            marginals, names, _JOINED + _TIMES * sum(len(marginal.weight) for marginal in marginals)
        )

    @property
    def people(self) -> int:
        """How many people every table is about."""
        return self.tables[0].people if self.tables else 0


def read_tables(parts: Mapping[str, Table], sensitive: str = VALUE) -> PublishedSubTables:
    """The tables among the parts of a release: ``table-n`` with ``table-n-sensitive``, or ``data`` with ``sensitive``.

    `sensitive` names the sensitive column of a part that does not name it itself.
    """
    names = sorted((name for name in parts if _is_table(name)), key=_number)
    if not names:
        raise ReleaseError("the release has no tables", hint="expected table-1, table-2, … or data")
    labels = _Labels()
    tables = tuple(_read_table(name, parts, labels, sensitive) for name in names)
    if len({table.people for table in tables}) > 1:  # I2
        raise ReleaseError("the tables do not speak about the same number of people")
    return PublishedSubTables(tables, {name: tuple(known) for name, known in labels.known.items()})


def _is_table(name: str) -> bool:
    return name == "data" or (name.startswith("table-") and name.removeprefix("table-").isdigit())


def _number(name: str) -> int:
    return 0 if name == "data" else int(name.removeprefix("table-"))


class _Labels:
    """Codes for texts, the same in every table (I1)."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, int]] = {}

    def codes(self, table: Table, column: str, name: str) -> IntArray:
        known = self.known.setdefault(name, {})
        text = table.text(column)
        numbers = np.array([known.setdefault(label, len(known)) for label in text.labels], dtype=np.int64)
        return numbers[text.codes] if len(numbers) else np.zeros(0, dtype=np.int64)


def _read_table(name: str, parts: Mapping[str, Table], labels: _Labels, column: str) -> Published:
    table = parts[name]
    visible = {each: labels.codes(table, each, each) for each in table.names if each != BUCKET}
    if BUCKET not in table.names:
        return Published(name, visible, {}, table.rows, weights=table.counts)
    part = "sensitive" if name == "data" else f"{name}{SENSITIVE}"
    if part not in parts:
        raise ReleaseError(
            f"{name} has buckets but there is no {part}", hint="all sensitive values of a table are in one part"
        )
    numbers, bucket = _buckets(table)
    entry_bucket, count = _entry_buckets(parts[part], numbers), _counts(parts[part])
    _check_sums(bucket, table.counts, entry_bucket, count, len(numbers))
    hidden = {each: labels.codes(parts[part], place, each) for each, place in _hidden_columns(parts[part], column)}
    return Published(name, visible, hidden, table.rows, bucket, entry_bucket, count, table.counts)


def _buckets(table: Table) -> tuple[dict[str, int], IntArray]:
    text = table.text(BUCKET)
    shown = [label for label in text.labels if label != WITHHELD]
    numbers = {label: number for number, label in enumerate(shown)}
    codes = np.array([numbers.get(label, -1) for label in text.labels], dtype=np.int64)
    return numbers, codes[text.codes] if len(codes) else np.zeros(0, dtype=np.int64)


def _entry_buckets(part: Table, numbers: Mapping[str, int]) -> IntArray:
    text = part.text(BUCKET)
    if any(label not in numbers for label in text.labels):
        raise ReleaseError("hidden values are listed for buckets that no row belongs to")
    codes = np.array([numbers[label] for label in text.labels], dtype=np.int64)
    return codes[text.codes] if len(codes) else np.zeros(0, dtype=np.int64)


def _counts(part: Table) -> IntArray:
    """The count of every entry; of buckets that list the same, all of them together."""
    text = part.text(COUNT)
    try:
        weight = np.array([int(label) for label in text.labels], dtype=np.int64)
    except ValueError:
        raise ReleaseError("a count of hidden values is no number") from None
    if (weight <= 0).any():
        raise ReleaseError("a count of hidden values is not positive")
    listed: IntArray = weight[text.codes] if len(weight) else np.zeros(0, dtype=np.int64)
    return listed if part.counts is None else listed * part.counts


def _hidden_columns(part: Table, column: str) -> Iterable[tuple[str, str]]:
    """Pairs of a sensitive column's name and the place where its values stand."""
    if VALUE not in part.names:
        return [(name, name) for name in part.names if name not in (BUCKET, COUNT)]
    names = part.text(COLUMN).labels if COLUMN in part.names else (column,)
    if len(names) != 1:
        raise ReleaseError("one table of hidden values speaks about several columns")
    return [(names[0], VALUE)]


def _check_sums(
    bucket: IntArray, often: IntArray | None, entry_bucket: IntArray, count: IntArray, buckets: int
) -> None:
    shown = bucket >= 0
    rows = class_counts(bucket[shown], None if often is None else often[shown], buckets)
    listed = np.bincount(entry_bucket, weights=count, minlength=buckets).astype(np.int64)
    if (rows != listed).any():  # I2
        raise ReleaseError(f"{int((rows != listed).sum())} bucket(s) do not have as many hidden values as rows")


def align_original(tables: PublishedSubTables, original: Table) -> dict[str, IntArray] | None:
    """The original's columns in the codes of the published tables; None when a column was generalized."""
    columns = {}
    for name, labels in tables.labels.items():
        known = {label: code for code, label in enumerate(labels)}
        text = original.text(name)
        if any(label not in known for label in text.labels) or len(known) != len(text.labels):
            return None
        columns[name] = np.array([known[label] for label in text.labels], dtype=np.int64)[text.codes]
    return columns
