"""Requirements per person: what a recoding problem requires when one person may have several rows.

Whose row it is becomes one more sensitive column of the problem, so that cells and units tell people apart and every
method of the family moves them like anything else. What is asked of it are models on `Linkage` like all others, made
from what the claims demand.

Notation
    n, m, f    rows of a group, how many of them are one person's, how many have a value
    M          rows of a person, published or suppressed, that *fit* what the group is published as; m ≤ M
    single     a person with one row; all of them are one code, because one is like another

What is required (proofs by counting possible worlds: `kinds.person_evidence`)
    k           k·M ≤ n: a row is a given person's with probability at most 1/k, also for an adversary who knows all
    rows of all people
    values      f + M ≤ n: no person certainly has a value
    a share     also of people: those who have a value at least once, of all people of the group

Invariants
    I1  While groups are formed m stands for M. Published boxes may overlap, so in the end M is counted
    (`enforce_person_requirements`), and groups in
        which a person has too many are joined with neighbours of their region.
    I2  Nothing is published in which `enforce_person_requirements` finds a group that breaks what is asked: then there
        is
    no release.

Departures: joining groups keeps the first two while boxes do not overlap, and not always the third, because two people
may have two values each in the union. So a release may be called infeasible although another grouping had been safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import ConfigDict

from sfumato.core.arrays import BoolArray, CodeArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.persons import SINGLE, persons_of_rows, persons_with_several_rows
from sfumato.data.table import Table
from sfumato.kinds.tables.methods.class_merging import join_failing_groups
from sfumato.kinds.tables.methods.recoding_costs import columns_of
from sfumato.kinds.tables.methods.recoding_history import HISTORY, MergedLabels
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem, Requirement, Sensitive
from sfumato.models.base import Demand, Model
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement

WHOSE = "whose row\0"
"""The name of the sensitive column; no column of a table is called so."""
HAVING = "who has\0"


class PersonModel(Model):
    """What is asked of people in a group; never written in a policy."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, arbitrary_types_allowed=True)

    def achieved(self, seen: Linkage) -> dict[str, Any]:
        return {"rows of one person": int(_most(seen).max(initial=0))}

    def suggestion(self, seen: Linkage) -> str:
        most = int(_most(seen).max(initial=0))
        return (
            f"somebody has {most} of {int(seen.candidates.max(initial=0))} rows: ask for less, or leave rows of such"
            " people out"
        )

    def covers(self, other: Any) -> bool:
        return False


class RowsOfDifferentPersons(PersonModel):
    """No person has more than a k-th of the rows of a group."""

    name: ClassVar[str] = "rows of one person"
    k: int

    def satisfied(self, seen: Linkage) -> BoolArray:
        return seen.candidates >= self.k * _most(seen)


class NoCertainValue(PersonModel):
    """Rows without a value are enough for each person's rows: nobody certainly has it."""

    name: ClassVar[str] = "no certain value"
    column: str

    def satisfied(self, seen: Linkage) -> BoolArray:
        if self.column not in seen.spread:  # asked about whose rows alone
            return np.ones(len(seen.candidates), dtype=np.bool_)
        return seen.spread[self.column].largest() + _most(seen) <= seen.candidates


class ValueShareOfPersons(PersonModel):
    """Of the people in a group at most a share has a value, in whichever of their rows."""

    name: ClassVar[str] = "people with a value"
    monotone: ClassVar[bool] = False
    column: str
    share: float
    value: Any
    """The value behind each code of the column `HAVING`; the first codes are the values themselves, of people with one
    row."""
    values: int

    def satisfied(self, seen: Linkage) -> BoolArray:
        if self.column not in seen.spread or WHOSE not in seen.spread:
            return np.ones(len(seen.candidates), dtype=np.bool_)
        spread = seen.spread[self.column]
        people = np.where(spread.value < self.values, spread.weight, 1)
        key = spread.kind() * self.values + self.value[spread.value]
        pairs, place = np.unique(key, return_inverse=True)
        having = np.bincount(place, weights=people, minlength=len(pairs))
        most = np.zeros(spread.kinds)
        np.maximum.at(most, pairs // self.values, having)
        verdict: BoolArray = most <= self.share * _people(seen.spread[WHOSE]) + 1e-9
        return verdict


def _most(seen: Linkage) -> IntArray:
    """The most rows of one person in each group."""
    if WHOSE not in seen.spread:
        return np.ones(len(seen.candidates), dtype=np.int64)
    spread = seen.spread[WHOSE]
    rows = np.where(spread.value == SINGLE, 1, spread.weight)
    return np.maximum.reduceat(rows, spread.start[:-1]) if len(rows) else np.zeros(spread.kinds, dtype=np.int64)


def _people(spread: ValueDistribution) -> IntArray:
    """The people in each group."""
    heads = np.where(spread.value == SINGLE, spread.weight, 1)
    return np.add.reduceat(heads, spread.start[:-1]) if len(heads) else np.zeros(spread.kinds, dtype=np.int64)


def refusal_of_people(policy: Policy) -> str:
    """Return why the requirements of a policy cannot hold for people with several rows; empty if they can."""
    if policy.person is None:
        return ""
    for claim in policy.claims:
        if claim.model.joint or not claim.model.demand().sufficient:
            return f"{claim} is not defined for people in several rows: numbers, different values and shares are"
        lasting = [name for name in claim.hide if policy.columns[name].persistent and not policy.person.linked]
        if lasting:
            said = f"'{lasting[0]}' stays with a person, and rows that nothing ties may give it away together"
            return f"{said}: write 'rows: linked', or publish it in a table with one row per person"
    return ""


def person_requirements(
    policy: Policy, table: Table, claims: Sequence[tuple[PrivacyRequirement, tuple[str, ...]]]
) -> tuple[tuple[Sensitive, ...], tuple[Requirement, ...]]:
    """The further sensitive columns and requirements of a policy whose rows belong to people; `claims` with what
    adversaries know."""
    if policy.person is None:
        return (), ()
    whose = persons_with_several_rows(persons_of_rows(table, policy.person.unit)).astype(np.int32)
    if not whose.any():
        return (), ()
    columns = {WHOSE: Sensitive(WHOSE, whose, tuple(map(str, range(int(whose.max()) + 1))))}
    asked: list[Requirement] = []
    for claim, given in claims:
        demand = claim.model.demand()
        if demand.candidates > 1:
            asked.append(Requirement(RowsOfDifferentPersons(k=demand.candidates), (WHOSE,), given))
        for name in claim.hidden_columns(policy.published) if demand.of_values else ():
            asked.append(Requirement(NoCertainValue(column=name), (name, WHOSE), given))
            if demand.largest_share < 1:
                asked.append(_shares(table, name, whose, demand, given, columns))
    return tuple(columns.values()), tuple(asked)


def _shares(
    table: Table, name: str, whose: CodeArray, demand: Demand, given: tuple[str, ...], columns: dict[str, Sensitive]
) -> Requirement:
    """People who have a value, of all people; the sensitive column that tells who has what is made once."""
    text, called = table.text(name), HAVING + name
    values = len(text.labels)
    pairs = equivalence_classes_of([whose, text.codes])
    single = whose[pairs.first] == SINGLE
    code = np.where(single, text.codes[pairs.first], values + np.arange(len(pairs)))
    value = np.concatenate([np.arange(values), text.codes[pairs.first]]).astype(np.int64)
    columns.setdefault(called, Sensitive(called, code[pairs.of], tuple(map(str, range(len(value))))))
    return Requirement(
        ValueShareOfPersons(column=called, share=demand.largest_share, value=value, values=values),
        (called, WHOSE),
        given,
    )


def enforce_person_requirements(problem: RecodingProblem, grouping: Grouping) -> Grouping:
    """The grouping with everything that is asked of people counted on what would be published (I1)."""
    if not any(isinstance(one.model, PersonModel) for one in problem.requirements):
        return grouping
    fit = Fit(problem)
    written = grouping if HISTORY not in problem.names else written_alike(problem, grouping)
    while (broken := fit.broken(written)).any():
        smaller = (
            join_failing_groups(problem, grouping, columns_of(problem, "width"), broken)
            if problem.uniform
            else grouping
        )
        if smaller.groups == grouping.groups:
            return _as_a_whole(problem, fit)
        grouping = smaller
        written = grouping if HISTORY not in problem.names else written_alike(problem, grouping)
    return written


def written_alike(problem: RecodingProblem, grouping: Grouping) -> Grouping:
    """Return groups with merged labels, so that this release alone also shows enough rows; unchanged if none helps."""
    looks = MergedLabels(problem, grouping)
    fit = Fit(looks.alone)
    while (broken := fit.broken(looks.looks)).any():
        if not looks.join(broken):
            return grouping
    return looks.published()


def _as_a_whole(problem: RecodingProblem, fit: Fit) -> Grouping:
    """The coarsest release, when it is safe (I2)."""
    coarsest = problem.coarsest()
    if fit.broken(coarsest).any():
        raise Infeasible(
            "somebody has too large a part of the rows that a group could be about, however coarse it is published",
            where="person",
            hint="ask for less, widen a boundary, or leave rows of people with very many out",
        )
    return coarsest


class _Guide(NamedTuple):
    """Rows of people with several in the order of one column: leaf codes, whose they are, and where each leaf of it
    begins."""

    codes: IntArray
    person: IntArray
    start: IntArray


class Fit:
    """Who fits where: the rows of people with several, beside what groups are published as."""

    def __init__(self, problem: RecodingProblem) -> None:
        self.problem = problem
        self.whole = problem.whole or problem
        self.guides: dict[tuple[tuple[str, ...], int], _Guide] = {}

    def broken(self, grouping: Grouping) -> BoolArray:
        """Per group: is something that is asked of people broken in the class that an adversary sees?"""
        cells = dict(zip(self.problem.names, self.problem.cells(grouping), strict=True))
        broken = np.zeros(grouping.groups, dtype=np.bool_)
        for given, asked in self._by_given():
            alike = equivalence_classes_of(
                [side for name in given for side in cells[name].sides()], rows=grouping.groups
            )
            classes = Grouping(grouping.cell, alike.of[grouping.group], grouping.count)
            lo = np.stack([cells[name].lo[alike.first] for name in given], axis=1)
            hi = np.stack([cells[name].hi[alike.first] for name in given], axis=1)
            fitting: IntArray = np.maximum(self.most(given, lo, hi), 1) + self._left_out(given, lo)
            for requirement in asked:
                seen = self.problem.linkage(classes, requirement.hide)
                holds = _judged(requirement.model, seen, fitting)
                broken |= ~holds[alike.of]
        return broken

    def _by_given(self) -> Iterator[tuple[tuple[str, ...], list[Requirement]]]:
        asked: dict[tuple[str, ...], list[Requirement]] = {}
        for requirement in self.problem.requirements:
            given = self.problem.given(requirement)
            if isinstance(requirement.model, PersonModel) and given:
                asked.setdefault(given, []).append(requirement)
                alone = tuple(name for name in given if name != HISTORY)
                if alone != given:  # an adversary with only this release sees other classes
                    asked.setdefault(alone, []).append(requirement)
        yield from asked.items()

    def _left_out(self, given: Sequence[str], lo: IntArray) -> IntArray:
        """Return the rows of one person that are suppressed because of deletions, and could be anywhere in their
        persistent class."""
        others = self.whole.others
        if others is None:
            return np.zeros(len(lo), dtype=np.int64)
        return others.beside(lo[:, given.index(HISTORY)] if HISTORY in given else None, len(lo))

    def most(self, given: Sequence[str], lo: IntArray, hi: IntArray) -> IntArray:
        """M of each box."""
        from sfumato.kinds.tables.methods.kernels.person_partitioning import most_rows_of_one

        guides = [self._guide(tuple(given), place) for place in range(len(given))]
        met = np.stack(
            [guide.start[hi[:, place]] - guide.start[lo[:, place]] for place, guide in enumerate(guides)], axis=1
        )
        tally = np.zeros(int(guides[0].person.max(initial=0)) + 1, dtype=np.int64)
        most, best = np.zeros(len(lo), dtype=np.int64), met.argmin(axis=1)
        for place, (codes, person, start) in enumerate(guides):
            mine = np.flatnonzero(best == place)
            if len(mine):
                most[mine] = most_rows_of_one(codes, person, place, start, lo[mine], hi[mine], tally)
        return most

    def _guide(self, given: tuple[str, ...], place: int) -> _Guide:
        """The rows in the order of one of the columns, made once."""
        if (given, place) not in self.guides:
            codes, person = rows_of_several(self.problem, given)
            order = np.argsort(codes[:, place], kind="stable")
            size = self.whole.domains[self.whole.names.index(given[place])].size
            start = np.searchsorted(codes[order, place], np.arange(size + 1)).astype(np.int64)
            self.guides[given, place] = _Guide(np.ascontiguousarray(codes[order]), person[order], start)
        return self.guides[given, place]


def rows_of_several(problem: RecodingProblem, given: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Leaf codes of all rows of people with several, published or suppressed, and whose they are.

    Where the persistent class is known, a row that could be of others stands there for each of them.
    """
    whole = problem.whole or problem
    whose = next(column.codes for column in whole.sensitive if column.name == WHOSE)
    rows = np.flatnonzero(whose != SINGLE)
    more = (
        np.flatnonzero(whose[whole.others.record] != SINGLE) if whole.others is not None and HISTORY in given else None
    )
    if more is not None and whole.others is not None:
        rows = np.concatenate([rows, whole.others.record[more]])
    codes = np.stack([whole.codes[whole.names.index(name)][rows] for name in given], axis=1).astype(np.int64)
    if more is not None and whole.others is not None and len(more):
        codes[-len(more) :, list(given).index(HISTORY)] = whole.others.history[more]
    return np.ascontiguousarray(codes), whose[rows].astype(np.int64)


def _judged(model: Model, seen: Linkage, most: IntArray) -> BoolArray:
    """The model with M instead of m: as if one person of the class had all rows that fit."""
    spread: Mapping[str, ValueDistribution] = seen.spread
    if isinstance(model, RowsOfDifferentPersons):
        return seen.candidates >= model.k * most
    if isinstance(model, NoCertainValue):
        return spread[model.column].largest() + most <= seen.candidates
    return np.asarray(model.satisfied(seen))
