"""`microaggregation`: groups of at least k near records, each published with the averages of its group; numbers stay
numbers.

Guarantee: all members of a group have the same quasi-identifiers, so an adversary who knows a person's has the whole
group as candidates. Every requirement that survives joining groups can be kept: groups that break one join their
nearest neighbours until none does. What is published of a group are averages, medians or modes of quasi-identifiers,
never a sensitive value. If a person may have several rows, requirements hold for people as well (`people_averaged`).

Paper: Hansen, Mukherjee (2003) for one column of numbers, where the groups are the best there are; Domingo-Ferrer,
Torra (2005).

Invariants
    I1  Every group satisfies every requirement, judged by the models themselves.
    I2  A group is written with one text per column, so groups that look alike are one for all people.
    I3  Rows are shuffled with the cryptographic source.

Departures: a number is written with two more digits behind the point than the column has; two groups that then look
alike are one.


One column
----------
Groups of one column of numbers: the best there are.

Paper: Hansen, Mukherjee (2003).


Several columns
---------------
Groups of records in several coordinates: MDAV within districts, improved by exchanges, also across the borders of
districts.

The best groups are hard to find, and MDAV looks at every pair of records. So large tables are cut
into districts of near records; within each MDAV makes the groups, and points move and change places while that helps
(`exchange`). Then districts are cut anew, between groups and elsewhere, and points may cross what was a border before.

Invariants
    I1  Every group has at least `fewest` members and fewer than twice as many.
    I2  Districts are cut by coordinates alone: the answer does not depend on the order of records beyond ties.


People averaged
---------------
Persons in groups that are published as averages: any row of a person could be in any group.

Averages do not say which rows could stand behind them, so M, the rows of a person that fit a group, is taken to be the
most rows that any person has in the table. Then k·M ≤ n and f + M ≤ n hold for all people, whatever an adversary
believes about who stands where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import MISSING
from sfumato.data.linkage import Linkage
from sfumato.data.persons import persons_of_rows
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import parse_number
from sfumato.kinds.tables.form import Microaggregated
from sfumato.kinds.tables.methods.person_requirements import refusal_of_people
from sfumato.kinds.tables.methods.recoding import can_recode
from sfumato.kinds.tables.numeric_coordinates import coordinates_of, is_numeric, values_of
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Provenance, Release

_NEIGHBOURS = 8
_DIGITS = 8


class Microaggregation(Method):
    """Publish groups of similar records with their means, medians or modes; numbers stay numbers."""

    name: ClassVar[str] = "microaggregation"
    form: ClassVar[type[Form]] = Microaggregated
    paper: ClassVar[str] = "Hansen, Mukherjee 2003; Domingo-Ferrer, Torra 2005"
    counts_people: ClassVar[bool] = True

    centre: Literal["mean", "median", "mode"] = Field(default="mean", description="mean or median of a group")
    categories: tuple[str, ...] = Field(default=(), description="columns of digits that are categories, not numbers")

    def refusal(self, policy: Policy) -> str:
        if not policy.quasi_identifiers:
            return "the policy has no quasi-identifier column"
        if not policy.claims:
            return "the policy protects nothing: 'protect' has no claims"
        if policy.keep:
            return "averages of a group need not obey the rules under 'keep'"
        for name in policy.quasi_identifiers:
            if policy.columns[name].boundary is not None:
                return f"'{name}' has a boundary, which averages know nothing of"
        strange = [name for name in self.categories if name not in policy.quasi_identifiers]
        if strange:
            return f"'{strange[0]}' is called a category and is no quasi-identifier"
        for claim in policy.claims:
            if not self.enforces(claim, policy):
                return f"{claim} speaks about columns that averaging leaves as they are, or about several releases"
        return refusal_of_people(policy)

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        one_table = not claim.model.joint and not claim.model.of_population
        return can_recode(claim, policy) and one_table and claim.model.judges is Linkage

    def groups_by_sensitive(self, policy: Policy) -> bool:
        return any(claim.model.needs_sensitive for claim in policy.claims)

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        return [
            f"groups: near records, published with the {self.centre} of their numbers and their most frequent"
            " categories"
        ]

    def run(self, task: Task) -> Release:
        table, names = task.data, task.policy.quasi_identifiers
        numeric = [name for name in names if name not in self.categories and is_numeric(table.text(name))]
        points = coordinates_of(table, names, numeric)
        demands, most = [claim.model.demand() for claim in task.policy.claims], most_rows(task.policy, table)
        fewest = max(max(demand.fewest, demand.candidates * most) for demand in demands)
        if table.rows < fewest:
            raise Infeasible(
                f"{table.rows} records are fewer than a group needs", hint="lower the levels of the claims"
            )
        task.progress(0.0, "gathering")
        if points.shape[1] == 1:
            of = best_groups(points[:, 0], fewest)
        else:
            of = near_groups(points, fewest, progress=lambda done: task.progress(done, "gathering"))
        return self._written(task, self._told_apart(task, of, points, numeric), numeric)

    def _told_apart(self, task: Task, of: IntArray, points: FloatArray, numeric: list[str]) -> IntArray:
        """Groups in which every requirement holds (I1), none of them written like another: who looks sees two such
        groups as one."""
        while True:
            of = satisfied_groups(task, of, points)
            if all(claim.model.monotone for claim in task.policy.claims) and task.policy.person is None:
                return of  # joining groups that hold makes one that holds
            labels = [self._centres(task, of, name, numeric) for name in task.policy.quasi_identifiers]
            alike = equivalence_classes_of(
                [np.unique(np.array(texts), return_inverse=True)[1].astype(np.int64) for texts in labels]
            )
            if len(alike) == len(alike.of):
                return of
            of = alike.of[of]

    def _centres(self, task: Task, of: IntArray, name: str, numeric: list[str]) -> list[str]:
        return centres(task.data.text(name), of, self.centre if name in numeric else "mode")

    def _written(self, task: Task, of: IntArray, numeric: list[str]) -> Release:
        table, policy = task.data, task.policy
        rows = task.randomness.child("row order").permutation(table.rows)  # I3
        columns = {}
        for name in policy.published:
            if name not in policy.quasi_identifiers:
                columns[name] = table.column(name).combine_chunks().take(pa.array(rows))
                continue
            columns[name] = pa.array(self._centres(task, of, name, numeric), pa.string()).take(pa.array(of[rows]))  # I2
        form = Microaggregated(centre=self.centre, numbers=tuple(numeric))
        return Release(form, {"data": Part(pa.table(columns))}, 0, Provenance({"data": rows}, lasting=True))


def satisfied_groups(task: Task, of: IntArray, points: FloatArray) -> IntArray:
    """The groups, joined with near ones until every requirement holds in each (I1)."""
    while (broken := ~holding(task, of)).any():
        groups = len(broken)
        if groups == 1:
            raise Infeasible("all records as one group break a claim", hint="lower the levels of the claims")
        size = np.bincount(of)
        centre = np.stack([np.bincount(of, weights=column) / size for column in points.T], axis=1)
        into = _neighbours(centre, broken)
        of = np.unique(into[of], return_inverse=True)[1]
    return of


def holding(task: Task, of: IntArray) -> BoolArray:
    """For each group: do all requirements hold? An adversary who knows only some of the columns sees several groups as
    one."""
    table: Table = task.data
    verdict = groups_safe_for_persons(task.policy, table, of)
    for claim in task.policy.claims:
        hidden = {name: (table.text(name).codes, table.text(name).labels) for name in claim.hide}
        verdict &= np.asarray(claim.model.by_group().satisfied(Linkage.of_groups(of, hidden)))
    return verdict


def _neighbours(centre: FloatArray, broken: BoolArray) -> IntArray:
    """For each group the number of the group that it joins: one that is near in the order of small districts."""
    order = np.concatenate(list(districts(centre, 8, 0.5)))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    into = np.arange(len(order))
    taken = np.zeros(len(order), dtype=np.bool_)
    for one in np.flatnonzero(broken).tolist():
        if taken[one]:
            continue
        near = order[max(0, place[one] - _NEIGHBOURS) : place[one] + _NEIGHBOURS + 1]
        near = near[near != one]
        near = near[~taken[near]] if not taken[near].all() else near
        other = int(near[np.argmin(((centre[near] - centre[one]) ** 2).sum(axis=1))])
        into[one] = into[other]
        taken[one] = taken[other] = True
    return into


def centres(text: TextColumn, of: IntArray, centre: str) -> list[str]:
    """What each group is written as in one column."""
    if centre == "mode":
        return [text.labels[code] for code in _modes(text, of)]
    values = values_of(text)
    known = np.flatnonzero(~np.isnan(values))
    groups = int(of.max()) + 1
    if centre == "mean":
        many = np.bincount(of[known], minlength=groups)
        means = np.bincount(of[known], weights=values[known], minlength=groups) / np.maximum(many, 1)
        digits = decimal_places(text) + 2
        written = [f"{mean + 0.0:.{digits}f}" for mean in np.round(means, digits).tolist()]
        return [mean if count else MISSING for mean, count in zip(written, many.tolist(), strict=True)]
    return [MISSING if code < 0 else text.labels[code] for code in _medians(text, of, values, known, groups)]


def decimal_places(text: TextColumn) -> int:
    """The most digits behind the point of a column of numbers, up to a few."""
    read = [parse_number(label) for label in text.labels if label != MISSING]
    return min(
        max((max(0, -int(value.as_tuple().exponent)) for value in read if value is not None), default=0), _DIGITS
    )


def _modes(text: TextColumn, of: IntArray) -> IntArray:
    """The most frequent value of each group, the first of several in the order of their names."""
    rank = np.argsort(np.argsort(np.array(text.labels, dtype=object), kind="stable"), kind="stable")
    pairs, counts = np.unique(of * len(rank) + rank[text.codes], return_counts=True)
    order = np.lexsort((pairs % len(rank), -counts, pairs // len(rank)))
    first = np.unique((pairs // len(rank))[order], return_index=True)[1]
    modes: IntArray = np.argsort(rank)[(pairs % len(rank))[order][first]]
    return modes


def _medians(text: TextColumn, of: IntArray, values: FloatArray, known: IntArray, groups: int) -> IntArray:
    """The code of the lower median of each group, −1 where nothing is known."""
    order = known[np.lexsort((text.codes[known], values[known], of[known]))]
    many = np.bincount(of[known], minlength=groups)
    start = np.cumsum(many) - many
    middle = np.minimum(start + (np.maximum(many, 1) - 1) // 2, max(len(order) - 1, 0))
    found = text.codes[order[middle]] if len(order) else np.zeros(groups, dtype=np.int64)
    return np.where(many > 0, found, -1)


# One column
# ----------


def best_groups(values: FloatArray, fewest: int) -> IntArray:
    """The group of each value; the sum of squared distances from the means of groups is the least there is."""
    from sfumato.kinds.tables.methods.kernels.microaggregation import best_runs

    if len(values) < 2 * fewest:
        return np.zeros(len(values), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    of = np.empty(len(values), dtype=np.int64)
    of[order] = best_runs(np.ascontiguousarray(values[order]), fewest)
    return of


# Several columns
# ---------------


Progress = Callable[[float], None]
_WORK, _LEAST = 2_000_000_000, 2048
"""Pairs of records that MDAV may look at, times the smallest group; and records of a district at least."""
_WIDTH, _SWEEPS = 8, 12
_SHARES = (0.5, 0.37, 0.61)
"""Where districts are cut, pass after pass: never at the same places."""


def near_groups(points: FloatArray, fewest: int, *, progress: Progress | None = None, district: int = 0) -> IntArray:
    """The group of each record, numbered without gaps."""
    from sfumato.kinds.tables.methods.kernels.microaggregation import gather

    of = np.zeros(len(points), dtype=np.int64)
    if len(points) < 2 * fewest:
        return of
    district = max(district or _WORK // len(points) or 1, 4 * fewest, 0 if district else _LEAST)
    first = 0
    for rows in districts(points, district, _SHARES[0]):
        own = gather(np.ascontiguousarray(points[rows]), fewest)  # I1
        _exchanged(points, rows, own, fewest)
        of[rows] = first + own
        first += int(own.max()) + 1
        if progress is not None:
            progress(rows[-1] / len(points) / len(_SHARES))
    for done, share in enumerate(_SHARES[1:] if len(points) > district else ()):
        _across_borders(points, of, fewest, district, share)
        if progress is not None:
            progress((done + 2) / len(_SHARES))
    return of


def _across_borders(points: FloatArray, of: IntArray, fewest: int, district: int, share: float) -> None:
    """One more pass, in districts of whole groups that are cut elsewhere."""
    size = np.bincount(of)
    centre = np.stack([np.bincount(of, weights=column) / size for column in points.T], axis=1)
    order = np.argsort(of, kind="stable")
    start = np.concatenate([[0], np.cumsum(size)])
    for groups in districts(centre, max(district // fewest, 4), share):
        rows = np.concatenate([order[start[group] : start[group + 1]] for group in groups.tolist()])
        own = np.repeat(np.arange(len(groups)), size[groups])
        _exchanged(points, rows, own, fewest)
        of[rows] = groups[own]


def _exchanged(points: FloatArray, rows: IntArray, own: IntArray, fewest: int) -> None:
    from sfumato.kinds.tables.methods.kernels.microaggregation import exchange

    if int(own.max()) > 0:
        exchange(np.ascontiguousarray(points[rows]), own, fewest, _WIDTH, _SWEEPS)


def districts(points: FloatArray, most: int, share: float) -> Iterator[IntArray]:
    """The points in parts of at most so many, each cut across its widest coordinate (I2)."""
    waiting = [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= most:
            yield rows
            continue
        part = points[rows]
        column = int(np.argmax(part.var(axis=0)))
        cut = min(max(int(len(rows) * share), most // 2), len(rows) - most // 2)
        order = np.argpartition(part[:, column], cut)
        waiting += [rows[order[cut:]], rows[order[:cut]]]


# People averaged
# ---------------


def most_rows(policy: Policy, table: Table) -> int:
    """The most rows that any person has; 1 when rows are people."""
    return 1 if policy.person is None else int(np.bincount(persons_of_rows(table, policy.person.unit)).max(initial=1))


def groups_safe_for_persons(policy: Policy, table: Table, of: IntArray) -> BoolArray:
    """For each group: does everything hold that requirements ask about people?"""
    rows = np.bincount(of)
    verdict = np.ones(len(rows), dtype=np.bool_)
    if policy.person is None:
        return verdict
    person, most = persons_of_rows(table, policy.person.unit), most_rows(policy, table)
    people = np.bincount(of[equivalence_classes_of([of, person]).first], minlength=len(rows))
    for claim in policy.claims:
        demand = claim.model.demand()
        verdict &= rows >= demand.candidates * most
        for name in claim.hide if demand.of_values else ():
            value = table.text(name).codes.astype(np.int64)
            verdict &= _most_often(of, value, len(rows)) + most <= rows
            once = equivalence_classes_of([of, person, value]).first
            verdict &= _most_often(of[once], value[once], len(rows)) <= demand.largest_share * people + 1e-9
    return verdict


def _most_often(of: IntArray, value: IntArray, groups: int) -> IntArray:
    """How often the most frequent value of each group occurs."""
    pairs = equivalence_classes_of([of, value])
    most = np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, of[pairs.first], pairs.counts)
    return most
