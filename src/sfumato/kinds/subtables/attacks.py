"""`intersection`: an adversary puts all published tables together and looks for people with one sensitive value left.

The target is a release folder, or any folder with ``table-1.csv``, ``table-1-sensitive.csv``, … and no manifest; then
the rule to attack must be given. ``_intersecting.py`` explains how values are excluded.

Paper: [versatile §1.3].


Intersecting
------------
The intersection attack: put all published tables together and see whose sensitive value is the only one left.

Guarantee
    A value reported as compromised is certain in every world that agrees with the published tables. With `exact` the
    converse holds too: a person who is not reported has at least two possible values.

Paper
    [versatile §1.3], Table 2.

Notation
    A cell is a combination of one row (and, behind buckets, one entry) of every table that agree on all shared columns:
    a person who may exist. A world gives every cell a number of people such that every row and every entry is used as
    often as published.

Departures
    The paper's list of the four compromised tuples of Table 2 swaps two zip codes: (333333, black) lives in 71000 and
    (333333, white) in 72000, in its own Table 1 and in every world that agrees with Table 2.

Cost
    Tables that no shared column connects are attacked one by one, in linear time. Connected ones are joined; up to
    `_EXACT` cells by integer programs, beyond that a sample of people by the join alone (values that no join supports
    are excluded).


Coded cells
-----------
Columns of whole numbers that are joined, projected and counted: the little relational algebra that an attack needs.

>>> left, right = CodedCells({"a": [0, 0, 1], "b": [5, 6, 7]}), CodedCells({"a": [0, 1], "c": [8, 9]})
>>> left.join(right, ["a"]).rows()
[(0, 5, 8), (0, 6, 8), (1, 7, 9)]
>>> CodedCells({"a": [2, 1, 2]}).distinct().rows()
[(1,), (2,)]


De finetti
----------
`de-finetti`: learn from the release itself which values go with which people, and then guess inside the buckets.

Buckets give every row the same values to choose from, and the certificate's adversary has no opinion which. But all
buckets together show that some values go with some people: the adversary fits a naive Bayes model to rows whose values
are only known by bucket, by expectation and maximization, and believes of each row what the model says.

The figure
    `guesses_right` is how often the likeliest value is the true one, `guesses_right_surest` the same for the surest
    hundredth of the rows, `guesses_right_blind` what the most frequent value of each bucket gets, and `promised` the
    share that the claims allow. A figure above the promise does not refute the requirement, which is about adversaries
    who have no opinion beforehand; it measures what that assumption is worth.

Paper
    Kifer (2009); Xiao and Tao (2006) for the release.

Notation
    belief    row × value: how much the adversary believes that a row has a value; a bucket's beliefs add up to its
              counts

Departures
    The paper samples arrangements of values within buckets. Here a bucket's beliefs are scaled to its counts in turn by
    rows and by values, which needs no sampling. Without the private provenance it is not known which of several people
    with the same visible values a row is: rows are scored by all of them whose value the bucket has, each person
    counted once.

Cost: rounds × rows × values × visible columns. Larger tables are learned on `rows` rows (whole buckets).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from sfumato.core.arrays import FloatArray, IntArray, positions_in_runs
from sfumato.core.errors import PolicyError, ReleaseError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table
from sfumato.io.plain_files import files_of
from sfumato.io.table_files import read_file
from sfumato.kinds.subtables.form import AnatomyForm, sensitive_part
from sfumato.kinds.subtables.guardian_normal_form import reachable_columns
from sfumato.kinds.subtables.joint_estimate import Counted, PublishedSubTables, SubTableSheet, read_tables
from sfumato.policy.policy import Policy
from sfumato.policy.privacy_rules import join_names, split_arrow
from sfumato.policy.rule_reduction import rules_of_claim
from sfumato.release.attack import Attack, ReleaseAttack, largest_allowed_share
from sfumato.release.folder import MANIFEST, POLICY, read_folder
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView


class IntersectionAttack(Attack):
    """Join all sub-tables of a release; report people with a single remaining sensitive value."""

    name: ClassVar[str] = "intersection"
    paper: ClassVar[str] = "versatile §1.3"

    target: str = Field(description="a release folder, or a folder of tables")
    rule: str = Field(
        default="", description="attack this rule, like 'hospital, race -> zipcode', instead of the policy's"
    )
    show: bool = Field(default=False, description="list the disclosed records (values of people)")

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        return (
            "any other release about these people that was not judged together with this one, as releases of one ledger"
            " are, can be intersected with it"
        )

    def run(self) -> dict[str, Any]:
        folder = Path(self.target)
        present = files_of(folder)  # nothing in it is read before it is known to hold plain files only
        exhibit = read_folder(folder) if MANIFEST in present else None
        policy = exhibit.policy if exhibit is not None else Policy.read(folder / POLICY) if POLICY in present else None
        tables = read_tables(
            exhibit.tables if exhibit is not None else _parts(present),
            (policy.sensitive[0] if policy and policy.sensitive else "value"),
        )
        rules = self._rules(policy)
        found = [intersect_tables(tables.sheets(), given, hidden) for given, hidden in rules]
        return {
            "compromised": sum(len(each.tuples) for each in found),
            "exact": all(each.exact for each in found),
            "rules": {
                f"{join_names(given)} -> {hidden}": self._figures(each, tables)
                for (given, hidden), each in zip(rules, found, strict=True)
            },
        }

    def _rules(self, policy: Policy | None) -> list[tuple[list[str], str]]:
        if self.rule:
            given, hide = split_arrow(self.rule.partition(":")[0])
            return [(sorted(given), hidden) for hidden in sorted(hide)]
        if policy is None:
            raise PolicyError(
                "there is no policy to take the rules from", where=self.target, hint="give --rule 'a, b -> c'"
            )
        rules = [each for claim in policy.claims for each in rules_of_claim(claim)]
        return [(sorted(each.given), hidden) for each in rules for hidden in sorted(each.hide)]

    def _figures(self, found: DisclosedTuples, tables: PublishedSubTables) -> dict[str, Any]:
        figures: dict[str, Any] = {"attacked": found.attacked, "compromised": len(found.tuples)}
        if self.show:
            names = (*found.given, found.hidden)
            figures["tuples"] = [
                [tables.labels[name][code] for name, code in zip(names, each, strict=True)] for each in found.tuples
            ]
        return figures


def _parts(present: Mapping[str, Path]) -> Mapping[str, Table]:
    """The tables of a folder that nobody certified."""
    return {path.stem: Table(read_file(path)) for name, path in present.items() if fnmatchcase(name, "table-*.csv")}


# Intersecting
# ------------


_EXACT = 4_000
_JOIN_LIMIT = 20_000_000
_VALUES = 12


@dataclass(frozen=True, slots=True)
class DisclosedTuples:
    """Tuples (values of the given columns, the one sensitive value left), in codes; and how it was found."""

    given: tuple[str, ...]
    hidden: str
    tuples: list[tuple[int, ...]]
    exact: bool
    attacked: int
    """How many different given tuples were attacked."""


def intersect_tables(sheets: Sequence[SubTableSheet], given: Sequence[str], hidden: str) -> DisclosedTuples:
    """Attack the rule given → hidden through all sheets."""
    everything = [sheet.columns for sheet in sheets]
    connected = [sheet for sheet in sheets if sheet.columns & reachable_columns({hidden}, everything)]
    known = sorted(name for name in given if any(name in sheet.columns for sheet in connected))
    if not connected or not known:
        return DisclosedTuples(tuple(known), hidden, [], True, 0)
    connected = _telling(connected, {*known, hidden})
    if len(connected) == 1:
        return _certain(_candidates(connected[0], 0), known, hidden, exact=True)
    cells = _joined(connected)
    if cells is not None:
        return _by_programs(cells, connected, known, hidden)
    return _certain(_projected(connected, known, hidden), known, hidden, exact=False)


def _telling(sheets: list[SubTableSheet], wanted: set[str]) -> list[SubTableSheet]:
    """Without sheets whose part in the question another sheet shows as exactly: they exclude nothing."""
    kept = list(sheets)
    for sheet in sorted(sheets, key=lambda each: len(each.columns)):
        others = [other for other in kept if other is not sheet]
        asked = sheet.columns & wanted.union(*(other.columns for other in others))
        if asked <= sheet.visible and any(asked <= other.visible for other in others):
            kept = others
    return kept


def _candidates(sheet: SubTableSheet, place: int) -> CodedCells:
    """Rows of a sheet with every sensitive value their bucket allows; `row·i` and `entry·i` number rows and entries."""
    rows = CodedCells({**sheet.rows.columns, f"row·{place}": np.arange(len(sheet.rows.weight))})
    if sheet.entries is None:
        return rows
    entries = CodedCells({**sheet.entries.columns, f"entry·{place}": np.arange(len(sheet.entries.weight))})
    return rows.join(entries, [sheet.bucket]).without(sheet.bucket)


def _certain(cells: CodedCells, known: list[str], hidden: str, *, exact: bool) -> DisclosedTuples:
    pairs = cells.select([*known, hidden]).distinct()
    group = pairs.numbered(known)
    many = np.bincount(group)
    return DisclosedTuples(tuple(known), hidden, pairs.where(many[group] == 1).rows(), exact, len(many))


def _ordered(sheets: Sequence[SubTableSheet], first: int = 0) -> list[int]:
    """An order in which every sheet shares a column with an earlier one."""
    order, seen = [first], sheets[first].columns
    while len(order) < len(sheets):
        following = max((i for i in range(len(sheets)) if i not in order), key=lambda i: len(sheets[i].columns & seen))
        order.append(following)
        seen |= sheets[following].columns
    return order


def _joined(sheets: Sequence[SubTableSheet]) -> CodedCells | None:
    """All cells, or None when there are too many for integer programs."""
    cells: CodedCells | None = None
    if any(len(marginal.weight) > _EXACT for sheet in sheets for marginal in sheet.marginals()):
        return None
    for place in _ordered(sheets):
        part = _candidates(sheets[place], place)
        if len(part) > _EXACT:
            return None
        if cells is None:
            cells = part
            continue
        if cells.join_size(part, cells.shared(part)) > 20 * _EXACT:
            return None
        cells = cells.join(part, cells.shared(part))
    return cells if cells is not None and len(cells) <= _EXACT else None


def _projected(sheets: Sequence[SubTableSheet], known: list[str], hidden: str) -> CodedCells:
    """Possible combinations of known and sensitive columns, for a sample of people: the join of all sheets, keeping
    what is needed.

    The sample is a few values of every known column and keeps all that is possible for people with these values.
    """
    wanted, order = {*known, hidden}, _ordered(sheets)
    sample = {name: _some_values(sheets, name) for name in known}
    table = _needed(sheets, order, 0, wanted, sample)
    for step in range(1, len(order)):
        part = _needed(sheets, order, step, wanted | set(table.columns), sample)
        shared = table.shared(part)
        if table.join_size(part, shared) > _JOIN_LIMIT:
            raise ReleaseError("the published tables are too large to be joined", hint="attack a smaller release")
        later = frozenset().union(*(sheets[other].columns for other in order[step + 1 :]))
        joined = table.join(part, shared)
        table = joined.select([name for name in joined.columns if name in later | wanted]).distinct()
    return table


def _some_values(sheets: Sequence[SubTableSheet], name: str) -> list[int]:
    source = next(part for sheet in sheets for part in sheet.marginals() if name in part.columns)
    values = np.unique(source.columns[name])
    return [int(value) for value in np.random.default_rng(0).permutation(values)[:_VALUES]]


def _needed(
    sheets: Sequence[SubTableSheet], order: list[int], step: int, wanted: set[str], sample: Mapping[str, list[int]]
) -> CodedCells:
    """A sheet's possibilities, for the sample, in the columns that are wanted or that a later sheet shares."""

    def part(marginal: Counted, names: frozenset[str]) -> CodedCells:
        frame = CodedCells({name: marginal.columns[name] for name in sorted(names)})
        for name in names & sample.keys():
            frame = frame.where(np.isin(frame.columns[name], sample[name]))
        return frame.distinct()

    sheet = sheets[order[step]]
    needed = wanted.union(*(sheets[other].columns for other in order[step + 1 :]))
    if sheet.entries is None or not needed & sheet.hidden:
        return part(sheet.rows, sheet.visible & needed)
    rows = part(sheet.rows, (sheet.visible & needed) | {sheet.bucket})
    entries = part(sheet.entries, (sheet.hidden & needed) | {sheet.bucket})
    return rows.join(entries, [sheet.bucket]).without(sheet.bucket).distinct()


def _by_programs(cells: CodedCells, sheets: Sequence[SubTableSheet], known: list[str], hidden: str) -> DisclosedTuples:
    """Keep the pairs (given, hidden) that occur in some world, then look for given tuples with one value left."""
    pairs = cells.select([*known, hidden]).distinct()
    pair = cells.numbered([*known, hidden])
    worlds = _Worlds(cells, sheets, pair, len(pairs))
    possible = np.zeros(len(pairs), dtype=bool)
    for place in range(len(pairs)):
        if not possible[place]:
            possible |= worlds.with_pair(place)
    return _certain(pairs.where(possible), known, hidden, exact=True)


class _Worlds:
    """The worlds behind the published tables as integer points of a polytope over the cells."""

    def __init__(self, cells: CodedCells, sheets: Sequence[SubTableSheet], pair: Any, pairs: int) -> None:
        from scipy import sparse

        blocks, totals = [], []
        for place, sheet in enumerate(sheets):
            for part, name in zip(sheet.marginals(), (f"row·{place}", f"entry·{place}"), strict=False):
                use = (cells.columns[name], np.arange(len(cells)))
                blocks.append(sparse.csr_array((np.ones(len(cells)), use), shape=(len(part.weight), len(cells))))
                totals.append(part.weight)
        self._uses, self._totals = sparse.vstack(blocks).tocsr(), np.concatenate(totals)
        self._of_pair = sparse.csr_array(
            (np.ones(len(cells)), (pair, np.arange(len(cells)))), shape=(pairs, len(cells))
        )

    def with_pair(self, place: int) -> Any:
        """Which pairs occur in one world that has the pair `place`; nothing when no world has it."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        wanted = self._of_pair[[place], :]
        size = self._uses.shape[1]
        found = milp(
            -np.asarray(wanted.todense()).ravel(),
            constraints=[LinearConstraint(self._uses, self._totals, self._totals), LinearConstraint(wanted, 1, np.inf)],
            integrality=np.ones(size, dtype=np.int64),
            bounds=Bounds(0, np.inf),
        )
        if found.x is None:
            return np.zeros(self._of_pair.shape[0], dtype=bool)
        return self._of_pair @ np.round(found.x) > 0.5


# Coded cells
# -----------


class CodedCells:
    """Rows of codes under named columns, all of one length."""

    def __init__(self, columns: Mapping[str, ArrayLike]) -> None:
        self.columns: dict[str, IntArray] = {
            name: np.asarray(values, dtype=np.int64) for name, values in columns.items()
        }

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def rows(self) -> list[tuple[int, ...]]:
        return list(zip(*(values.tolist() for values in self.columns.values()), strict=True))

    def where(self, chosen: Any) -> CodedCells:
        """Some rows, by number or by truth."""
        return CodedCells({name: values[chosen] for name, values in self.columns.items()})

    def select(self, names: Sequence[str]) -> CodedCells:
        return CodedCells({name: self.columns[name] for name in names})

    def without(self, name: str) -> CodedCells:
        return self.select([other for other in self.columns if other != name])

    def shared(self, other: CodedCells) -> list[str]:
        """The columns that both have."""
        return [name for name in other.columns if name in self.columns]

    def numbered(self, names: Sequence[str]) -> IntArray:
        """The rank of each row's codes in these columns among the distinct ones."""
        rank = np.zeros(len(self), dtype=np.int64)
        for name in names:
            _, code = np.unique(self.columns[name], return_inverse=True)
            _, rank = np.unique(rank * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
        return rank

    def distinct(self) -> CodedCells:
        """Every row once, in the order of its codes."""
        _, first = np.unique(self.numbered(list(self.columns)), return_index=True)
        return self.where(first)

    def _meeting(self, other: CodedCells, on: Sequence[str]) -> tuple[IntArray, IntArray, IntArray]:
        """Rows of `other` sorted by their codes in `on`, and the stretch of them that each row here meets."""
        both = CodedCells({name: np.concatenate([self.columns[name], other.columns[name]]) for name in on}).numbered(on)
        mine, theirs = both[: len(self)], both[len(self) :]
        order = np.argsort(theirs, kind="stable")
        return order, np.searchsorted(theirs[order], mine, "left"), np.searchsorted(theirs[order], mine, "right")

    def join_size(self, other: CodedCells, on: Sequence[str]) -> int:
        """How many rows the join will have."""
        _, first, end = self._meeting(other, on)
        return int((end - first).sum())

    def join(self, other: CodedCells, on: Sequence[str]) -> CodedCells:
        """All pairs of rows that agree in `on`."""
        order, first, end = self._meeting(other, on)
        many = end - first
        mine = np.repeat(np.arange(len(self)), many)
        within = positions_in_runs(many)
        theirs = order[np.repeat(first, many) + within]
        fresh = {name: values[theirs] for name, values in other.columns.items() if name not in self.columns}
        return CodedCells({**self.where(mine).columns, **fresh})


# De finetti
# ----------


_SMOOTH = 0.5
_SCALINGS = 10


class DeFinetti(ReleaseAttack):
    """Learn from all buckets which values go with which rows, then guess inside each bucket."""

    name: ClassVar[str] = "de-finetti"
    paper: ClassVar[str] = "Kifer 2009"
    forms: ClassVar[tuple[type[Form], ...]] = (AnatomyForm,)
    headline: ClassVar[str] = "guesses_right"

    rounds: int = Field(default=10, ge=1, description="rounds of expectation maximization")
    rows: int = Field(
        default=50_000, ge=100, description="largest number of rows to learn from, in whole random buckets"
    )
    seed: int = Field(default=1, description="repeat the same choice of buckets")

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        if not exhibit.form.buckets:
            return ""
        return (
            "values are hidden among those of a bucket, for adversaries without prior "
            "knowledge of which value goes with which row: all buckets together reveal such "
            "correlations, and an adversary who learns them guesses better than the "
            "certificate says"
        )

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        found = {name: self._column(exhibit, name) for name in exhibit.policy.sensitive}
        return next(iter(found.values())) if len(found) == 1 else found

    def _column(self, exhibit: ReleaseView, name: str) -> dict[str, Any]:
        known = known_buckets(exhibit, name)
        chosen = _some_buckets(known, self.rows, np.random.default_rng(self.seed))
        belief = learned(known.at(chosen), self.rounds)
        likely = belief.argmax(axis=1)
        scored = PosteriorShares.of(exhibit, name, known, chosen)
        right, blind = scored.chance(likely), scored.chance(known.counts[known.bucket[chosen]].argmax(axis=1))
        sure = np.argsort(-belief.max(axis=1), kind="stable")[: max(1, len(chosen) // 100)]
        figures = {
            "rows": len(chosen),
            "guesses_right": float(right.mean()),
            "guesses_right_surest": float(right[sure].mean()),
            "guesses_right_blind": float(blind.mean()),
        }
        promised = largest_allowed_share(exhibit, name)
        return figures | ({"promised": promised} if promised < 1 else {})


@dataclass(frozen=True)
class KnownBuckets:
    """The visible columns of each row in codes, its bucket, and how often each value occurs in each bucket."""

    columns: tuple[IntArray, ...]
    bucket: IntArray
    counts: FloatArray
    labels: tuple[str, ...]

    def at(self, rows: IntArray) -> KnownBuckets:
        """Only these rows, which are whole buckets."""
        present, bucket = np.unique(self.bucket[rows], return_inverse=True)
        return KnownBuckets(tuple(codes[rows] for codes in self.columns), bucket, self.counts[present], self.labels)


def known_buckets(exhibit: ReleaseView, name: str) -> KnownBuckets:
    """The two tables of an anatomy side by side."""
    data, values = exhibit.data, exhibit.tables[sensitive_part(exhibit, name)]
    visible = tuple(data.text(column).codes.astype(np.int64) for column in visible_columns(exhibit, data))
    bucket, listed, value = data.text("bucket"), values.text("bucket"), values.text("value")
    number = {label: code for code, label in enumerate(bucket.labels)}
    place = np.array([number.get(label, -1) for label in listed.labels], dtype=np.int64)[listed.codes]
    counts = np.zeros((len(bucket.labels), len(value.labels)))
    used = place >= 0
    np.add.at(counts, (place[used], value.codes[used]), values.numbers("count")[used])
    return KnownBuckets(visible, bucket.codes.astype(np.int64), counts, value.labels)


def visible_columns(exhibit: ReleaseView, data: Table) -> list[str]:
    """Return the columns that are published in the rows themselves."""
    return [name for name in data.names if name in exhibit.policy.published and name not in exhibit.policy.sensitive]


def learned(known: KnownBuckets, rounds: int) -> FloatArray:
    """The beliefs of naive Bayes after some rounds; begins without an opinion."""
    may = known.counts[known.bucket]
    belief = may / np.maximum(may.sum(axis=1, keepdims=True), 1e-300)
    for _ in range(rounds):
        weight = np.zeros_like(belief)
        for codes in known.columns:
            weight += np.log(_likelihood(codes, belief))[codes]
        weight = np.where(
            may > 0, np.exp(weight - weight.max(axis=1, keepdims=True, where=may > 0, initial=-np.inf)), 0.0
        )
        belief = _scaled(weight, known)
    return np.asarray(belief)


def _likelihood(codes: IntArray, belief: FloatArray) -> FloatArray:
    """P(code | value) from beliefs, smoothed."""
    size = int(codes.max(initial=0)) + 1
    seen = np.stack([np.bincount(codes, weights=column, minlength=size) for column in belief.T], axis=1) + _SMOOTH
    return np.asarray(seen / seen.sum(axis=0))


def _scaled(weight: FloatArray, known: KnownBuckets) -> FloatArray:
    """Beliefs in proportion to the weights within rows whose sums over a bucket are its counts."""
    buckets, belief = len(known.counts), weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    for _ in range(_SCALINGS):
        total = np.stack([np.bincount(known.bucket, weights=column, minlength=buckets) for column in belief.T], axis=1)
        belief = belief * (known.counts / np.maximum(total, 1e-300))[known.bucket]
        belief = belief / np.maximum(belief.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(belief)


def _some_buckets(known: KnownBuckets, rows: int, draw: np.random.Generator) -> IntArray:
    """The rows of randomly chosen buckets, all when there are few enough."""
    if len(known.bucket) <= rows:
        return np.arange(len(known.bucket))
    order = draw.permutation(len(known.counts))
    size = np.bincount(known.bucket, minlength=len(known.counts))
    chosen = order[np.cumsum(size[order]) <= rows]
    return np.flatnonzero(np.isin(known.bucket, chosen))


@dataclass(frozen=True)
class PosteriorShares:
    """What the true values of some rows may be: shares of the people behind each row, per value."""

    share: FloatArray

    def chance(self, guess: IntArray) -> FloatArray:
        """The chance that each row's guess is right."""
        return np.asarray(self.share[np.arange(len(guess)), guess])

    @classmethod
    def of(cls, exhibit: ReleaseView, name: str, known: KnownBuckets, rows: IntArray) -> PosteriorShares:
        """By the provenance, when it is at hand; else by everybody with the row's visible values and a value of its
        bucket."""
        truth, place = exhibit.original.text(name), {label: code for code, label in enumerate(known.labels)}
        code = np.array([place.get(label, -1) for label in truth.labels], dtype=np.int64)[truth.codes]
        if exhibit.behind is not None:
            own = code[np.asarray(exhibit.behind["data"])[rows]]
            return cls((own[:, None] == np.arange(len(known.labels))).astype(np.float64))
        kinds = _kinds(exhibit, visible_columns(exhibit, exhibit.data))
        mine, theirs = kinds[: exhibit.data.rows], kinds[exhibit.data.rows :]
        seen = np.zeros((int(kinds.max()) + 1, len(known.labels)))
        np.add.at(seen, (theirs[code >= 0], code[code >= 0]), 1.0)
        may = seen[mine] * (known.counts[known.bucket] > 0)
        return cls(_scaled(may, KnownBuckets((), mine, seen, known.labels))[rows])


def _kinds(exhibit: ReleaseView, columns: list[str]) -> IntArray:
    """Published rows and then the people of the original, numbered alike by the visible columns."""
    both = []
    for name in columns:
        mine, theirs = exhibit.data.text(name), exhibit.original.text(name)
        place = {label: code for code, label in enumerate(theirs.labels)}
        code = np.array([place.get(label, len(place) + i) for i, label in enumerate(mine.labels)], dtype=np.int64)
        both.append(np.concatenate([code[mine.codes], theirs.codes]))
    return equivalence_classes_of(both).of
