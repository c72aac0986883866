"""Bags of rows: people with equally many rows, recoded so that everybody's bag of published rows is that of at least k people.

For every number of rows r the people who have r become the records of one recoding problem: what is constant stands there once,
what belongs to events r times, a person's rows in the order of their values. Any search for groups then finds people whose rows,
one beside the other, are cheap to write alike.

Notation
    bag     the published rows of a person, without their order
    slot    the place of a row in the order of a person's rows
    ever    the set of values of a hidden column that a person has in whichever row

Guarantee
    People of a group have equal bags. Whoever knows all rows of a person, and how many there are, cannot tell the people of a group
    apart: each pseudonym is the person's with at most 1/k. In every slot the values satisfy the claims, and *ever*: no value is had
    by all people of a group, none by more than the share that is asked for.

Invariants
    I1  The number of rows is known to outsiders. Where too few people have as many, or no group of them satisfies the claims, all
        of them lose a row by chance and stand with those who have one less; whoever has none left is suppressed.
    I2  What is constant is written as one cell that covers all rows of everybody in the group, also where it varies.
    I4  Of a table of people and one of their rows, people without rows are records of a problem of their own: what is constant, and
        whatever of claims is about numbers or about columns of people. Nothing else is said of them.
    I3  Groups of a problem satisfy the claims; the models themselves say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import ConfigDict

from sfumato.data.arrays import BoolArray, CodeArray, IntArray
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import encode
from sfumato.data.linkage import Linkage
from sfumato.data.people import people_of
from sfumato.data.related import RelatedTable
from sfumato.data.table import Table
from sfumato.errors import Infeasible, PolicyError
from sfumato.methods.recoding.problem import Cells, Grouping, RecodingProblem, Requirement, Sensitive
from sfumato.models.base import Model
from sfumato.models.k_anonymity import KAnonymity
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness

Grouper = Callable[[RecodingProblem], Grouping]


class EverHad(Model):
    """No value that all people of a group have in some row, and none that more than a share has; never written in a policy."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, arbitrary_types_allowed=True)
    name: ClassVar[str] = "values that people ever have"

    column: str
    share: float
    start: Any
    """Values of set i are ``value[start[i]:start[i + 1]]``."""
    value: Any

    def satisfied(self, seen: Linkage) -> BoolArray:
        spread = seen.spread[self.column]
        size = np.diff(self.start)[spread.value]
        first = np.repeat(self.start[spread.value], size)
        held = self.value[first + np.arange(len(first)) - np.repeat(np.cumsum(size) - size, size)]
        width = int(self.value.max(initial=0)) + 1
        pairs, place = np.unique(np.repeat(spread.kind(), size) * width + held, return_inverse=True)
        having = np.bincount(place, weights=np.repeat(spread.weight, size), minlength=len(pairs))
        most = np.zeros(spread.kinds)
        np.maximum.at(most, pairs // width, having)
        verdict: BoolArray = (most < seen.candidates) & (most <= self.share * seen.candidates + 1e-9)
        return verdict

    def achieved(self, seen: Linkage) -> dict[str, Any]:
        return {"share": self.share}

    def suggestion(self, seen: Linkage) -> str:
        return "a value is had by too many people with as many rows"

    def covers(self, other: Any) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class BagColumn:
    """One quasi-identifier: how it is generalized, the leaf of every record, whether it is written once per person."""

    name: str
    domain: Generalization
    codes: CodeArray
    constant: bool


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Some records as they will be published: per quasi-identifier the interval of each."""

    records: IntArray
    cells: dict[str, Cells]


class Bags:
    """The people of a table, by how many rows they have."""

    def __init__(self, policy: Policy, table: Table) -> None:
        if policy.person is None:
            raise PolicyError("the policy does not say whose rows they are", hint="write 'person: patient_id'")
        self.policy, self.table = policy, table
        self.person = people_of(table, policy.person.unit)
        self.columns = [_column(policy, table, name) for name in policy.quasi_identifiers]
        self.hidden = tuple(dict.fromkeys(name for claim in policy.claims for name in claim.hide))
        self.fewest = max((claim.model.demand().fewest for claim in policy.claims), default=1)
        self.own = table.own if isinstance(table, RelatedTable) else frozenset[str]()
        absent = table.absent if isinstance(table, RelatedTable) else np.zeros(table.rows, dtype=np.bool_)
        self.without = np.flatnonzero(absent)[:, None]
        """The lines of people without rows."""
        keys = [column.codes.astype(np.int64) for column in self.columns[::-1]]
        order = np.lexsort(np.array([*keys, self.person]))
        self.order = order[~absent[order]]
        """Records person by person, each person's in the order of their values."""

    @property
    def most(self) -> int:
        """The most rows that anybody has."""
        return int(np.bincount(self.person[self.order]).max(initial=0))

    def with_rows(self, rows: int) -> IntArray:
        """The records of the people who have so many rows, people × rows, each person's in order."""
        start = np.searchsorted(self.person[self.order], np.arange(int(self.person.max(initial=-1)) + 2))
        mine = np.flatnonzero(np.diff(start) == rows)
        records: IntArray = self.order[start[mine][:, None] + np.arange(rows)]
        return records

    def problem(self, bags: IntArray) -> RecodingProblem:
        """People with equally many rows as one recoding problem."""
        names, domains, codes = [], [], []
        for column in self.columns:
            for place, values in enumerate(_slots(column, column.codes[bags])):
                names.append(f"{column.name}\0{place}")
                domains.append(column.domain)
                codes.append(values)
        hidden: list[Sensitive] = []
        asked: list[Requirement] = []
        for name in self.hidden:
            text = self.table.text(name)
            values = text.codes[bags]
            slots = [Sensitive(f"{name}\0{slot}", values[:, slot], text.labels) for slot in range(bags.shape[1])]
            hidden += slots
            hidden.append(self._asked_ever(name, values, asked))
            for claim in self.policy.claims:
                if name in claim.hide:
                    asked += [Requirement(claim.model, (slot.name,)) for slot in slots]
        asked += [Requirement(claim.model) for claim in self.policy.claims if not claim.hide]
        return RecodingProblem(tuple(names), tuple(domains), tuple(codes), tuple(hidden), tuple(asked))

    def problem_without(self) -> RecodingProblem:
        """People without rows (I4)."""
        columns = [column for column in self.columns if column.name in self.own]
        people, hidden, asked = self.without[:, 0], list[Sensitive](), list[Requirement]()
        for name in (name for name in self.hidden if name in self.own):
            text = self.table.text(name)
            hidden += [Sensitive(name, text.codes[people], text.labels), self._asked_ever(name, text.codes[self.without], asked)]
        for claim in self.policy.claims:
            mine = [name for name in claim.hide if name in self.own]
            asked += [Requirement(claim.model, (name,)) for name in mine]
            asked.append(Requirement(KAnonymity(k=max(claim.model.demand().candidates, 1))))
        codes = tuple(column.codes[people] for column in columns)
        return RecodingProblem(
            tuple(column.name for column in columns), tuple(column.domain for column in columns), codes, tuple(hidden), tuple(asked)
        )

    def written_without(self, problem: RecodingProblem, grouping: Grouping) -> WrittenRows:
        """The lines of people without rows who are published; what rows would say is missing there."""
        of_person = problem.group_of_record(grouping)
        kept = np.flatnonzero(of_person >= 0)
        records, boxes = self.without[kept, 0], dict(zip(problem.names, problem.intervals(grouping), strict=True))
        cells = {}
        for column in self.columns:
            if column.name in boxes:
                low, high = boxes[column.name]
                cells[column.name] = Cells(low[of_person[kept]], high[of_person[kept]])
            else:
                codes = column.codes[records].astype(np.int64)
                cells[column.name] = Cells(codes, codes + 1)
        return WrittenRows(records, cells)

    def _asked_ever(self, name: str, values: CodeArray, asked: list[Requirement]) -> Sensitive:
        """The sets of values that people ever have, and what is asked of them."""
        ordered = np.sort(values, axis=1)
        sets, code = np.unique(ordered, axis=0, return_inverse=True)
        different = [np.unique(one) for one in sets]
        start = np.concatenate([[0], np.cumsum([len(one) for one in different])]).astype(np.int64)
        column, flat = f"{name}\0ever", np.concatenate(different).astype(np.int64)
        for claim in self.policy.claims:
            demand = claim.model.demand()
            if name in claim.hide and demand.of_values:
                model = EverHad(column=column, share=demand.largest_share, start=start, value=flat)
                asked.append(Requirement(model, (column,)))
        return Sensitive(column, code.ravel().astype(np.int32), tuple(map(str, range(len(sets)))))

    def written(self, bags: IntArray, problem: RecodingProblem, grouping: Grouping) -> WrittenRows:
        """The records of the people who are published, with their cells (I2)."""
        if not problem.satisfied(grouping).all():  # I3
            raise Infeasible("people with equally many rows cannot be grouped", hint="ask for less, or allow more suppression")
        of_person = problem.group_of_record(grouping)
        kept = np.flatnonzero(of_person >= 0)
        group, rows = of_person[kept], bags.shape[1]
        boxes, place, cells = problem.intervals(grouping), 0, {}
        for column in self.columns:
            width = len(_slots(column, column.codes[bags]))
            mine = boxes[place : place + width]
            place += width
            lo = np.stack([low[group] for low, _ in mine], axis=1)
            hi = np.stack([high[group] for _, high in mine], axis=1)
            if column.constant:
                low, high = column.domain.close(lo.min(axis=1), hi.max(axis=1))
                lo, hi = np.repeat(low[:, None], rows, axis=1), np.repeat(high[:, None], rows, axis=1)
            cells[column.name] = Cells(lo.ravel(), hi.ravel())
        return WrittenRows(bags[kept].ravel(), cells)


def _column(policy: Policy, table: Table, name: str) -> BagColumn:
    text = table.text(name)
    domain = generalization_of(policy, name, text.labels)
    codes = encode(domain, text.labels, column=name)[text.codes]
    own = isinstance(table, RelatedTable) and name in table.own
    return BagColumn(name, domain, codes, policy.columns[name].constant or own)


def _slots(column: BagColumn, codes: CodeArray) -> list[CodeArray]:
    """The codes of a column that a problem looks at: of every row, or, where it is constant, one; its ends where it varies."""
    if not column.constant:
        return [codes[:, slot] for slot in range(codes.shape[1])]
    low, high = codes.min(axis=1), codes.max(axis=1)
    if np.array_equal(low, high):
        return [low]
    floor, roof = column.domain.ceiling()
    if (floor[low] != floor[high]).any() or (roof[low] != roof[high]).any():
        what = f"'{column.name}' is said to be constant, and varies across a boundary for some people"
        raise Infeasible(what, where=column.name, hint="leave 'constant' out, or widen the boundary")
    return [low, high]


def _trimmed(waiting: IntArray, randomness: Randomness) -> IntArray:
    """Everybody without one row, drawn by chance."""
    if not len(waiting):
        return waiting[:, :-1]
    people, rows = waiting.shape
    gone = randomness.integers(rows, people)
    kept: IntArray = waiting[np.arange(rows)[None, :] != gone[:, None]].reshape(people, rows - 1)
    return kept


def require_few_suppressed(policy: Policy, suppressed: int, records: int) -> None:
    """Refuse a release that leaves out more than the policy allows."""
    limit = policy.utility.suppress_at_most
    if suppressed == records:
        raise Infeasible("no record can be published: no people with equally many rows satisfy the claims", hint="ask for less")
    if limit is not None and suppressed > limit * records + 1e-9:
        share = suppressed / records
        hint = f"set utility.suppress_at_most to {np.ceil(share * 1e4) / 100:.2f}%, or lower the levels"
        raise Infeasible(
            f"{suppressed} of {records} rows ({share:.3%}) have no partner, and the policy allows {limit:.3%}", hint=hint
        )


def grouped(bags: Bags, randomness: Randomness, grouper: Grouper, done: Callable[[float], None]) -> Sequence[WrittenRows]:
    """Everybody's rows, written so that bags are shared; whoever finds no partner loses a row and is tried again (I1)."""
    found, placed = [], 0
    waiting = np.zeros((0, bags.most + 1), dtype=np.int64)
    for rows in range(bags.most, 0, -1):
        own = bags.with_rows(rows)
        some = np.concatenate([own, _trimmed(waiting, randomness.child(f"trimming to {rows}"))])
        waiting, placed = some, placed + own.size
        if len(some) >= bags.fewest:
            problem = bags.problem(some)
            waiting = some[problem.out[problem.row_point.of]]
            if len(waiting) < len(some):
                found.append(bags.written(some, problem, grouper(problem)))
        done(placed / max(len(bags.person), 1))
    if len(bags.without):
        problem = bags.problem_without()
        if not problem.out.all():
            found.append(bags.written_without(problem, grouper(problem)))
    return found
