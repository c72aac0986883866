"""`linked`: a longitudinal file. Each person gets a pseudonym that ties the published rows, and shares them with at
least k people.

`bags` explains the groups of people and why they protect. Rows are published in random order; pseudonyms are random and
new in every release. Dates may be shifted, all dates of a person by the same number of days: that hides the day of an
event from an adversary who knows no other date of the person. It keeps intervals, which may identify.

Paper: our own.

Invariants
    I1  Pseudonyms and row order come from the cryptographic source.
    I2  Only columns the policy publishes leave, and the pseudonym.


Related
-------
`related`: a table of people and a table of their rows, tied by a pseudonym, as one release.

Both are joined, grouped like a longitudinal file (`linked`, `bags`), and taken apart again: what is said of a person is
written once, in ``people``; what belongs to a row, in ``rows``. People without rows are grouped by themselves, since
how many rows a person has is seen by everybody.

Paper: our own.

Invariants
    I1  The lines of people and the rows are each in an independent random order.
    I2  The columns of people are written alike in all rows of a person, so that one line says them.


Chains
------
People who were published before, where pseudonyms tie their rows: who may be published again, and who is left out
beside whom.

Bags keep people with the same past together (`bags`, I5). What remains is absence: an absent person is known by that,
and shares it with the absent people of the same past.

Invariants
    I1  Of people with the same past those who are absent satisfy the requirements by what was published of them, unless
        all are absent. If those who left do not satisfy the requirements, companions are suppressed, as few as needed,
        or all people with that past.
    I2  A person without a group counts as absent, like those who left. If that violates a requirement, all people with
        the same past are tried again with only the rows that were published before, and suppressed if that violates
        one, too.


Shifting
--------
Shifted dates: all dates of a person move by the same number of days, drawn at random; intervals stay unchanged.

What it protects: the day itself, from an adversary who knows no other date of the person. Intervals between a person's
dates, the order of events, the time of day and, within the shift, the season are published. An adversary who knows two
days of the person knows the interval.

>>> _moved("2024-02-28", 2), _moved("2024-02-28 10:15", -28), _moved("", 3)
('2024-03-01', '2024-01-31 10:15', '')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError, Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.generalization import MISSING
from sfumato.data.persons import number_equal_multisets, persons_of_rows
from sfumato.data.table import RelatedTable, Table
from sfumato.kinds.tables.form import LinkedTable, RecodedProvenance, RelatedTables
from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.local_search import refine
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding import can_recode, refusal_of_recoding
from sfumato.kinds.tables.methods.recoding_history import with_standing_requirements
from sfumato.kinds.tables.methods.recoding_problem import Cells, Grouping, RecodingProblem
from sfumato.kinds.tables.methods.row_multisets import (
    Grouper,
    RowCounts,
    RowMultisets,
    WrittenRows,
    group_multisets,
    past_records,
    require_few_suppressed,
)
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.sections import PSEUDONYM
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.past_releases import PEOPLE_PART, ROWS_PART
from sfumato.release.release import Part, Release


class LinkedRows(Method):
    """Publish a longitudinal file: a pseudonym links the rows of a person, and k people share all published rows."""

    name: ClassVar[str] = "linked"
    reads: ClassVar[frozenset[str]] = frozenset({"utility.minimize"})
    form: ClassVar[type[Form]] = LinkedTable
    paper: ClassVar[str] = "our own; see docs/explanation/people.md"
    minimal: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    links_rows: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    codes: ClassVar[bool] = True

    other_tables: ClassVar[str] = "the policy names a table of people beside that of their rows: use related"

    groups: Literal["refined", "clustering", "mondrian"] = Field(
        default="refined", description="recoding method that groups the people"
    )
    seconds: float = Field(default=15.0, gt=0, description="time limit of the search, in seconds of one core")

    def preference(self, records: int | None) -> tuple[int, str]:
        return 20, "it ties the rows of a person by a pseudonym"

    def refusal(self, policy: Policy) -> str:
        if policy.person is None or not policy.person.linked:
            return "the policy does not say that the rows of a person are linked: 'person: {columns: …, rows: linked}'"
        if PSEUDONYM in policy.published:
            return f"a column is already called '{PSEUDONYM}'"
        if bool(getattr(policy.data, "people", "")) != issubclass(self.form, RelatedTables):
            return self.other_tables
        return refusal_of_recoding(policy) or refusal_of_bags(policy)

    def unremembered(self, policy: Policy) -> str:
        moved = next((name for name, column in policy.columns.items() if column.dates is not None), None)
        if moved is not None:
            return (
                f"dates of '{moved}' are shifted anew in every release, and two shifts of one date narrow the day down"
            )
        return super().unremembered(policy)

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return can_recode(claim, policy) and claim.model.demand().sufficient

    def groups_by_sensitive(self, policy: Policy) -> bool:
        return any(claim.model.needs_sensitive for claim in policy.claims)

    def run(self, task: Task) -> Release:
        policy, task = with_standing_requirements(task)
        bags, leaving = RowMultisets(policy, task.data, past_records(task, policy)), task.policy.series.leaving
        chance, grouper = task.randomness.child("rows of people"), self.grouper(task)
        told = continue_multisets(bags, leaving, chance, grouper, lambda done: task.progress(done, "grouping"))
        rows, columns = in_random_order(task, told)
        suppressed = task.data.rows - len(rows)
        require_few_suppressed(task.policy, suppressed, task.data.rows)
        shown = pa.table({PSEUDONYM: pa.array(pseudonyms(bags.person[rows], task)), **columns})  # I2
        return self.released(task, rows, shown, suppressed)

    def released(self, task: Task, rows: IntArray, shown: pa.Table, suppressed: int) -> Release:
        """What is published of the rows, as they are written."""
        return Release(LinkedTable(), {"data": Part(shown)}, suppressed, RecodedProvenance({"data": rows}))

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        told = self.search_told(policy, self.seconds) if self.groups == "refined" else []
        return [*super().describe(policy, data), *told]

    def grouper(self, task: Task) -> Grouper:
        """How people with equally many rows are grouped."""
        objective = task.policy.utility.minimize
        price: Literal["width", "height"] = "width" if objective == "loss" else "height"

        def group(problem: RecodingProblem) -> Grouping:
            if self.groups == "mondrian":
                return mondrian(problem, objective=objective)
            found = cluster(problem, price=price)
            if self.groups == "clustering":
                return found
            searched = self.seconds_of_search(task.policy, self.seconds)
            seconds = searched * problem.records * len(problem.names) / max(task.data.rows, 1)
            return refine(
                problem, [found, mondrian(problem, objective=objective)], objective=objective, seconds=seconds
            )

        return group


def refusal_of_bags(policy: Policy) -> str:
    """Why whole bags of rows cannot keep the requirements; empty when they can."""
    for claim in policy.claims:
        if set(claim.given) != set(policy.quasi_identifiers):
            return f"{claim} gives an outsider some of the quasi-identifiers only, and whole rows are recoded"
    return ""


def pseudonyms(person: IntArray, task: Task) -> IntArray:
    """Return a random number for every published person: 1, 2, … in random order (I1)."""
    present, number = np.unique(person, return_inverse=True)
    drawn: IntArray = task.randomness.child("pseudonyms").permutation(len(present))[number] + 1
    return drawn


def in_random_order(task: Task, told: Sequence[WrittenRows]) -> tuple[IntArray, dict[str, pa.Array]]:
    """Return the published records in random order (I1), and their columns."""
    table: Table = task.data
    records = np.concatenate([one.records for one in told]) if told else np.zeros(0, dtype=np.int64)
    order = task.randomness.child("row order").permutation(len(records))
    rows = records[order]
    columns: dict[str, pa.Array] = {}
    for name in task.policy.published:
        if name in task.policy.quasi_identifiers:
            columns[name] = _labels(task.policy, table, name, told).take(pa.array(order))
        elif task.policy.columns[name].dates is not None:
            columns[name] = shift_dates(task, name, rows)
        else:
            columns[name] = table.column(name).combine_chunks().take(pa.array(rows))
    return rows, columns


def _labels(policy: Policy, table: Table, name: str, told: Sequence[WrittenRows]) -> pa.Array:
    """The labels of a quasi-identifier, record by record."""
    domain = generalization_of(policy, name, table.text(name).labels)
    lo = np.concatenate([one.cells[name].lo for one in told]) if told else np.zeros(0, dtype=np.int64)
    hi = np.concatenate([one.cells[name].hi for one in told]) if told else np.zeros(0, dtype=np.int64)
    pairs, place = np.unique(np.stack([lo, hi], axis=1), axis=0, return_inverse=True)
    return pa.array(domain.labels(pairs[:, 0], pairs[:, 1]), pa.string()).take(pa.array(place.ravel()))


# Related
# -------


class RelatedPeople(LinkedRows):
    """Publish a table of people and a table of their rows, linked by a pseudonym that k people could have."""

    name: ClassVar[str] = "related"
    form: ClassVar[type[Form]] = RelatedTables
    other_tables: ClassVar[str] = "the policy names no table of people beside the rows: 'data: {source: …, people: …}'"

    def preference(self, records: int | None) -> tuple[int, str]:
        return 20, "it ties a table of people and their rows by a pseudonym"

    def run(self, task: Task) -> Release:
        table = task.data
        if not isinstance(table, RelatedTable):
            raise DataError("people and their rows are one table here", hint="give both: {'people': …, 'rows': …}")
        if not any(name in table.own for name in task.policy.quasi_identifiers):
            what = "no quasi-identifier is in the table of people, so it would only tell how many there are"
            raise DataError(
                what, where="columns", hint="leave 'people:' out, or make one of its columns a quasi-identifier"
            )
        return super().run(task)

    def released(self, task: Task, rows: IntArray, shown: pa.Table, suppressed: int) -> Release:
        table: RelatedTable = task.data
        absent = table.absent[rows]
        called = shown.column(PSEUDONYM).to_numpy()
        present, first = np.unique(called, return_index=True)
        order = task.randomness.child("people").permutation(len(present))  # I1
        lines = first[order]
        own = [PSEUDONYM, *(name for name in task.policy.published if name in table.own)]
        people = shown.select(own).take(pa.array(lines))  # I2
        events = np.flatnonzero(~absent)
        if not len(events):
            raise Infeasible("no row of anybody can be published", hint="ask for less")
        told = shown.select([PSEUDONYM, *(name for name in task.policy.published if name not in table.own)])
        behind = np.concatenate([rows[events], rows[lines[absent[lines]]]])  # as both are seen when they are joined
        parts = {PEOPLE_PART: Part(people), ROWS_PART: Part(told.take(pa.array(events)))}
        return Release(RelatedTables(), parts, suppressed, RecodedProvenance({"data": behind}))


# Chains
# ------


_ROUNDS = 12
"""How many companions are tried before all people with the same past are suppressed."""


def continue_multisets(
    bags: RowMultisets, leaving: str, randomness: Randomness, grouper: Grouper, done: Callable[[float], None]
) -> Sequence[WrittenRows]:
    """Everybody's rows as far as they may be published."""
    here = np.zeros(bags.people, dtype=np.bool_)
    here[bags.person] = True
    past = _Pasts(bags)
    away = past.looked_after(~here & (past.of >= 0), leaving, randomness.child("companions"))
    found = group_multisets(bags, bags.by_kind(here & ~away), randomness, grouper, done)
    lost = past.torn(found)
    if lost.any():  # I2
        found = [_without(one, lost[bags.owner[one.records]]) for one in found]
        found += group_multisets(
            bags, bags.by_kind(here & ~away & lost, known=True), randomness.child("again"), grouper, done
        )
        lost = past.torn(found)
    return [_without(one, lost[bags.owner[one.records]]) for one in found]


def _without(written: WrittenRows, dropped: BoolArray) -> WrittenRows:
    cells = {name: Cells(cell.lo[~dropped], cell.hi[~dropped]) for name, cell in written.cells.items()}
    return WrittenRows(written.records[~dropped], cells)


class _Pasts:
    """Everybody who was ever published, by what was shown of all their records."""

    def __init__(self, bags: RowMultisets) -> None:
        self.bags = bags
        told = np.flatnonzero(bags.look >= 0)
        people, person = np.unique(bags.owner[told], return_inverse=True)
        self.of = np.full(bags.people, -1, dtype=np.int64)
        """Number people by their published past; −1 for people without one."""
        self.of[people] = number_equal_multisets(person.astype(np.int64), bags.look[told])

    def looked_after(self, away: BoolArray, leaving: str, randomness: Randomness) -> BoolArray:
        """Who is absent: those who left, and companions where these alone would break a requirement (I1)."""
        broken = self.unsafe(away)
        if broken.any() and leaving == "refuse":
            gone = int((broken[self.of] & away & (self.of >= 0)).sum())
            what = (
                f"{gone} people of earlier releases are no longer in the table, and what is missing would tell who"
                " they are"
            )
            raise Infeasible(what, where="key", hint="set 'series: {leaving: withhold}', or keep them in the data")
        away = away.copy()
        chance = randomness.permutation(self.bags.people)
        for _ in range(_ROUNDS):
            if not broken.any():
                return away
            away[self._one_more(away, broken, chance)] = True
            broken = self.unsafe(away)
        return away | ((self.of >= 0) & broken[self.of])

    def _one_more(self, away: BoolArray, broken: BoolArray, chance: IntArray) -> IntArray:
        """One companion for each past: a person whose values those who are absent do not have, where there is one."""
        stay = np.flatnonzero((self.of >= 0) & ~away & broken[self.of])
        values = self._values()
        pair = self.of * (int(values.max(initial=0)) + 1) + values
        met = np.isin(pair[stay], pair[away & (self.of >= 0)])
        order = stay[np.lexsort((chance[stay], met, self.of[stay]))]
        return order[np.unique(self.of[order], return_index=True)[1]]

    def _values(self) -> IntArray:
        """Number the people so that equal numbers mean equal published sensitive values."""
        bags, told = self.bags, np.flatnonzero(self.bags.look >= 0)
        found = np.zeros(bags.people, dtype=np.int64)
        people, person = np.unique(bags.owner[told], return_inverse=True)
        for text in bags.hidden.values():
            found[people] = number_equal_multisets(np.arange(len(people)), found[people]) * len(
                people
            ) + number_equal_multisets(person.astype(np.int64), text.codes[told].astype(np.int64))
        return found

    def torn(self, found: Sequence[WrittenRows]) -> BoolArray:
        """Whose past is that of absent people who break a requirement, when so much is published."""
        away = self.of >= 0
        for one in found:
            away[self.bags.owner[one.records]] = False
        broken = np.append(self.unsafe(away), False)
        verdict: BoolArray = broken[self.of]
        return verdict

    def unsafe(self, away: BoolArray) -> BoolArray:
        """Per past of which some are absent and some are not: do the absent ones break a requirement?"""
        classes = int(self.of.max(initial=-1)) + 1
        broken = np.zeros(classes, dtype=np.bool_)
        inside = self.of >= 0
        mixed = np.bincount(self.of[inside & ~away], minlength=classes) > 0
        some = np.flatnonzero(inside & away & mixed[self.of]) if classes else np.zeros(0, dtype=np.int64)
        for kind, people, records in self._absent(some):
            problem = self.bags.problem(kind, records)
            broken[self.of[people[problem.out[problem.row_point.of]]]] = True
        return broken

    def _absent(self, people: IntArray) -> list[tuple[RowCounts, IntArray, IntArray]]:
        """Return the people who are not published now, by how much was published before."""
        bags = self.bags
        chosen = np.isin(bags.owner, people) & (bags.look >= 0)
        told = np.flatnonzero(chosen)
        told = told[np.lexsort((bags.look[told], bags.line[told], bags.owner[told]))]
        counts = np.bincount(bags.owner[told] * 2 + bags.line[told], minlength=2 * bags.people).reshape(-1, 2)[people]
        start = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
        kinds, of = np.unique(counts, axis=0, return_inverse=True)
        found = []
        for place, (gone, lines) in enumerate(kinds.tolist()):
            mine = np.flatnonzero(of.ravel() == place)
            found.append(
                (RowCounts(0, 0, gone, lines), people[mine], told[start[mine][:, None] + np.arange(gone + lines)])
            )
        return found


# Shifting
# --------


_DAY = len("2024-12-31")


def shift_dates(task: Task, name: str, rows: IntArray) -> pa.Array:
    """The dates of some records, each person's moved by the person's own number of days."""
    table: Table = task.data
    moved, person = task.policy.columns[name].dates, task.policy.person
    assert moved is not None
    assert person is not None
    days = shifts(task, int(persons_of_rows(table, person.columns).max(initial=-1)) + 1, moved.shift)
    text, whose = table.text(name), persons_of_rows(table, person.columns)[rows]
    try:
        found = [_moved(text.labels[code], int(day)) for code, day in zip(text.codes[rows], days[whose], strict=True)]
    except (ValueError, OverflowError):
        what = f"'{name}' has values that are no days"
        raise DataError(what, where=name, hint="write days like 2024-12-31, or leave 'dates' out") from None
    return pa.array(found, pa.string())


def shifts(task: Task, people: int, most: int) -> IntArray:
    """Days for every person, from −most to most; one number per person for all columns with the same limit."""
    drawn: IntArray = task.randomness.child(f"days up to {most}").integers(2 * most + 1, people) - most
    return np.asarray(drawn, dtype=np.int64)


def _moved(label: str, days: int) -> str:
    if label == MISSING:
        return label
    return (date.fromisoformat(label[:_DAY]) + timedelta(days=days)).isoformat() + label[_DAY:]
