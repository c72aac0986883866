"""`local-suppression`: few suppressed cells, so that an adversary who knows up to m quasi-identifiers of a person has k
candidate rows.

Small tables are given to an integer program (`fewest_cells`), whose bound the private report states. For others cells
are suppressed in rounds: every row that too few look like loses the cell that settles most of what is wrong with it for
its weight; where a row has nothing left to lose, the rows nearest to it follow it. Then what was not needed is given
back. If a person may have several rows, each class needs k times as many rows as one person has among those that fit
(`patterns`), by rounds alone.

Guarantee: what is published is counted again (I1), so the requirements hold however cells were chosen. Paper: Templ,
Kowarik, Meindl (2015) for what is asked; the search is our own.

Invariants
    I1  Nothing is published in which some choice of known columns leaves a row among too few that look alike.
    I2  Rows are shuffled with the cryptographic source; all cells but the suppressed ones are the original's.
    I3  Every round suppresses a cell, so the rounds end; in a table that is suppressed everywhere all rows look alike.


Fewest cells
------------
The fewest cells, by an integer program: for small tables, with a bound that holds also where time runs out.

Notation
    x[r, c]      the cell of row r in column c is suppressed
    S, T ⊆ S     known columns, and those of them in which a row is suppressed
    z[r, S, T]   row r is suppressed in T, and shows its values in the rest of S

For every row r, known columns S and T ⊆ S: if x[r, ·] is as T says on S, then Σ z[r', S, T] ≥ k over the rows r' with
the same values in S ∖ T. What T says is a sum that is 1 only then, so the program is linear. The least weight of
suppressed cells is its value, and the solver's bound is one on every solution.


Patterns
--------
Which rows look alike when cells are suppressed: counted for all rows at once, for every choice of known columns.

Notation
    codes     rows × columns, values from 1 on, 0 for a suppressed cell
    known     a choice of columns that an adversary knows
    alike     rows that show the same in the known columns, suppressed cells included
    M         rows of one person that fit what a row shows in the known columns; a suppressed cell fits every value

If a person may have several rows, a class needs k·M rows, for up to m known columns. An adversary who knows fewer
columns may find more rows of a person in a larger class, and the condition for m columns does not imply that case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.persons import persons_of_rows
from sfumato.data.table import Table
from sfumato.kinds.tables.form import Optimality, RecodedProvenance, SuppressedCells
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Release

_GIVEN_BACK = 20_000_000
"""Rows times choices times tries that giving cells back may take."""


class LocalSuppression(Method):
    """Suppress few cells until an adversary who knows up to m columns has k candidates."""

    name: ClassVar[str] = "local-suppression"
    form: ClassVar[type[Form]] = SuppressedCells
    paper: ClassVar[str] = "Templ, Kowarik, Meindl 2015"
    counts_people: ClassVar[bool] = True

    weights: dict[str, float] = Field(
        default_factory=dict, description="weight of a suppressed cell per column; 1 by default"
    )
    seconds: float = Field(default=10.0, gt=0, description="time limit of the integer program for small tables")

    def preference(self, records: int | None) -> tuple[int, str]:
        return 6, "it suppresses single cells and leaves all others as they are"

    def refusal(self, policy: Policy) -> str:
        if not policy.claims:
            return "the policy protects nothing: 'protect' has no claims"
        for claim in policy.claims:
            if not self.enforces(claim, policy):
                return f"it keeps subset-anonymity of quasi-identifiers, not {claim}"
        strange = [name for name in self.weights if name not in policy.quasi_identifiers]
        if strange:
            return f"'{strange[0]}' has a weight and is no quasi-identifier"
        if any(weight <= 0 for weight in self.weights.values()):
            return "a weight must be above 0"
        bounded = [name for name in policy.quasi_identifiers if policy.columns[name].boundary is not None]
        return f"'{bounded[0]}' has a boundary, and a suppressed cell would exceed it" if bounded else ""

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return claim.model.known_columns is not None and set(claim.given) <= set(policy.quasi_identifiers)

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        if data is None or policy.person is not None:
            return super().describe(policy, data)
        names = policy.quasi_identifiers
        codes = np.stack([data.text(name).codes.astype(np.int64) for name in names], axis=1)
        told = self.search_told(policy, self.seconds) if terms(codes, _asked(policy)) <= MOST else []
        return [*super().describe(policy, data), *told]

    def run(self, task: Task) -> Release:
        table, names = task.data, task.policy.quasi_identifiers
        codes = np.stack([table.text(name).codes.astype(np.int64) + 1 for name in names], axis=1)
        asked = _asked(task.policy)
        people = (
            None if task.policy.person is None else RowsOfPeople(codes, persons_of_rows(table, task.policy.person.unit))
        )
        _require_enough(codes, asked, people)
        weights = np.array([self.weights.get(name, 1.0) for name in names])
        task.progress(0.0, "suppressing cells")
        hidden = given_back(codes, asked, weights, in_rounds(codes, asked, weights, people), people)
        said = None
        if people is None and terms(codes, asked) <= MOST:
            found = fewest_cells(codes, asked, weights, self.seconds_of_search(task.policy, self.seconds))
            if (
                found is not None
                and _holds(codes, found.hidden, asked)
                and _cost(found.hidden, weights) <= _cost(hidden, weights)
            ):
                hidden = found.hidden
            said = _statement(found.bound, hidden, weights) if found is not None and not self.weights else None
        if not _holds(codes, hidden, asked, people):  # I1
            raise Infeasible("no choice of suppressed cells was found", hint="lower k or m")
        return _written(task, hidden, said)


def _asked(policy: Policy) -> list[tuple[Known, int]]:
    """Known columns, and how many rows must be left."""
    place = {name: number for number, name in enumerate(policy.quasi_identifiers)}
    found: dict[Known, int] = {}
    for claim in policy.claims:
        given, fewer_too = [place[name] for name in claim.given], policy.person is not None
        for known in choices(given, claim.model.known_columns or 1, fewer_too=fewer_too):
            if known:
                found[known] = max(found.get(known, 1), claim.model.demand().candidates)
    return list(found.items()) or [((), 1)]


def _require_enough(codes: IntArray, asked: Sequence[tuple[Known, int]], people: RowsOfPeople | None) -> None:
    """In a table that is suppressed everywhere all rows look alike: when that is not enough, nothing is."""
    k, most = max(k for _, k in asked), 1 if people is None else int(np.bincount(people.person).max(initial=1))
    if len(codes) < k:
        raise Infeasible(f"{len(codes)} rows are fewer than the claims ask for", hint="lower k")
    if len(codes) < k * most:
        what = f"somebody has {most} of {len(codes)} rows, more than one in {k} even when every cell is suppressed"
        raise Infeasible(what, where="person", hint="lower k, or leave rows of people with very many out")


def in_rounds(
    codes: IntArray, asked: Sequence[tuple[Known, int]], weights: FloatArray, people: RowsOfPeople | None = None
) -> BoolArray:
    """Cells that make the requirements hold, chosen row by row."""
    hidden = np.zeros(codes.shape, dtype=np.bool_)
    while (short := short_rows(np.where(hidden, 0, codes), asked, people)).any():
        worth = np.zeros(codes.shape)
        for place, (known, _) in enumerate(asked):
            worth[:, known] += short[:, [place]]
        worth = np.where(hidden, 0.0, worth / weights)
        rows = np.flatnonzero(worth.max(axis=1) > 0)
        if len(rows):
            hidden[rows, worth[rows].argmax(axis=1)] = True  # I3
        else:
            _followed(codes, hidden, asked, short, people)
    return hidden


def _followed(
    codes: IntArray,
    hidden: BoolArray,
    asked: Sequence[tuple[Known, int]],
    short: BoolArray,
    people: RowsOfPeople | None,
) -> None:
    """For rows with nothing left to lose: other rows are suppressed in the same columns, those first that lose
    least."""
    place = int(np.argmax(short.any(axis=0)))
    known, k = asked[place]
    row = int(np.flatnonzero(short[:, place])[0])
    columns = [column for column in known if hidden[row, column]]
    loses = (~hidden[:, known]).sum(axis=1)
    order = np.argsort(loses, kind="stable")
    need = np.broadcast_to(required_rows(np.where(hidden, 0, codes), known, k, people), len(codes))[row]
    missing = int(need) - int((loses == 0).sum())
    for other in [one for one in order.tolist() if loses[one] > 0][: max(missing, 1)]:
        hidden[other, columns] = True


def given_back(
    codes: IntArray,
    asked: Sequence[tuple[Known, int]],
    weights: FloatArray,
    hidden: BoolArray,
    people: RowsOfPeople | None = None,
) -> BoolArray:
    """The same without cells that were not needed, tried one by one while that is quick, else by value."""
    tries = _GIVEN_BACK // max(len(codes) * sum(len(known) for known, _ in asked), 1)
    cells = np.argwhere(hidden)
    if len(cells) <= tries:
        batches = [cells[[place]] for place in np.argsort(-weights[cells[:, 1]], kind="stable").tolist()]
    else:
        keys = cells[:, 1] * (int(codes.max()) + 1) + codes[cells[:, 0], cells[:, 1]]
        batches = [cells[keys == key] for key in np.unique(keys)[:tries].tolist()]
    for batch in batches[:tries]:
        tried = hidden.copy()
        tried[batch[:, 0], batch[:, 1]] = False
        if _holds(codes, tried, asked, people):
            hidden = tried
    return hidden


def _holds(
    codes: IntArray, hidden: BoolArray, asked: Sequence[tuple[Known, int]], people: RowsOfPeople | None = None
) -> bool:
    return not short_rows(np.where(hidden, 0, codes), asked, people).any()


def _cost(hidden: BoolArray, weights: FloatArray) -> float:
    return float(hidden.sum(axis=0) @ weights)


def _statement(bound: float, hidden: BoolArray, weights: FloatArray) -> Optimality:
    cells = max(hidden.size, 1)
    least = int(np.ceil(bound - 1e-6))
    return Optimality(
        objective="loss",
        lower_bound=float(f"{least / cells:.6g}"),
        proven_optimal=int(hidden.sum()) <= least,
        space="single cells of quasi-identifiers suppressed, all others as they are",
        proof="integer program, solved by HiGHS within its tolerance",
    )


def _written(task: Task, hidden: BoolArray, said: Optimality | None) -> Release:
    table: Table = task.data
    rows = task.randomness.child("row order").permutation(table.rows)  # I2
    names = task.policy.quasi_identifiers
    marks = {name: _mark(generalization_of(task.policy, name, table.text(name).labels)) for name in names}
    columns = {}
    for name in task.policy.published:
        column = table.column(name).combine_chunks()
        if name in marks:
            text = table.text(name)
            labels, place = [*text.labels, marks[name]], names.index(name)
            column = pa.array(labels, pa.string()).take(
                pa.array(np.where(hidden[:, place], len(text.labels), text.codes))
            )
        columns[name] = column.take(pa.array(rows))
    trace = RecodedProvenance({"data": rows}, optimality=said, lasting=said is not None)
    return Release(SuppressedCells(marks=marks), {"data": Part(pa.table(columns))}, 0, trace)


def _mark(domain: Generalization) -> str:
    """What stands for everything."""
    return domain.label(0, domain.size)


# Fewest cells
# ------------


MOST = 60_000
"""Terms of a program that is tried."""


@dataclass(frozen=True, slots=True)
class Fewest:
    """Suppressed cells, a bound on the weight of any solution, and whether the cells reach it."""

    hidden: BoolArray
    bound: float
    proven: bool


def terms(codes: IntArray, asked: Sequence[tuple[Known, int]]) -> int:
    """How large the program would be."""
    rows = len(codes)
    return sum(rows * rows * (1 << len(known)) for known, _ in asked)


def fewest_cells(
    codes: IntArray, asked: Sequence[tuple[Known, int]], weights: FloatArray, seconds: float
) -> Fewest | None:
    """The fewest cells; nothing when the solver finds nothing in its time."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    program = _CellProgram(codes)
    for known, k in asked:
        program.add(known, k)
    rows, columns = codes.shape
    cost = np.zeros(program.variables)
    cost[: rows * columns] = np.tile(weights, rows)
    matrix, low = program.matrix()
    found = milp(
        cost,
        constraints=LinearConstraint(matrix, low, np.inf),
        integrality=np.concatenate([np.ones(rows * columns), np.zeros(program.variables - rows * columns)]),
        bounds=Bounds(0, 1),
        options={"time_limit": seconds, "mip_rel_gap": 1e-6},
    )
    if found.x is None:
        return None
    hidden = found.x[: rows * columns].reshape(rows, columns) > 0.5
    bound = float(found.mip_dual_bound if found.mip_dual_bound is not None else 0.0)
    return Fewest(hidden, bound, bool(found.status == 0))


class _CellProgram:
    def __init__(self, codes: IntArray) -> None:
        self.codes = codes
        self.variables = codes.size
        self.together: dict[tuple[int, Known, Known], int] = {}
        self.places: list[tuple[int, int, float]] = []
        self.low: list[float] = []

    def add(self, known: Known, k: int) -> None:
        """The constraints of one choice of known columns."""
        for many in range(len(known) + 1):
            for hidden in combinations(known, many):
                for row in range(len(self.codes)):
                    self._fits(row, known, hidden, k)

    def _fits(self, row: int, known: Known, hidden: Known, k: int) -> None:
        """Σ z ≥ k (1 − Σ_T (1 − x) − Σ_{S∖T} x)."""
        line, columns = len(self.low), self.codes.shape[1]
        self.low.append(float(k * (1 - len(hidden))))
        shown = [column for column in known if column not in hidden]
        for other in np.flatnonzero((self.codes[:, shown] == self.codes[row, shown]).all(axis=1)).tolist():
            self.places.append((line, self._as_said(other, known, hidden), 1.0))
        for column in known:
            self.places.append((line, row * columns + column, float(-k if column in hidden else k)))

    def _as_said(self, row: int, known: Known, hidden: Known) -> int:
        """The variable that may be 1 only when the row is suppressed in just these of the known columns."""
        if (row, known, hidden) not in self.together:
            number = self.together[row, known, hidden] = self.variables
            self.variables += 1
            for column in known:
                line, place = len(self.low), row * self.codes.shape[1] + column
                if column in hidden:  # z ≤ x
                    self.places += [(line, place, 1.0), (line, number, -1.0)]
                    self.low.append(0.0)
                else:  # z ≤ 1 − x
                    self.places += [(line, place, -1.0), (line, number, -1.0)]
                    self.low.append(-1.0)
        return self.together[row, known, hidden]

    def matrix(self) -> tuple[object, FloatArray]:
        from scipy.sparse import csr_array

        line, place, value = (np.array(side) for side in zip(*self.places, strict=True))
        return csr_array((value, (line, place)), shape=(len(self.low), self.variables)), np.array(self.low)


# Patterns
# --------


Known = tuple[int, ...]


def choices(columns: Sequence[int], m: int, *, fewer_too: bool = False) -> list[Known]:
    """The columns an adversary knows; who knows fewer is left with more, as long as rows are people.

    >>> choices([0, 1], 1), choices([0, 1], 2, fewer_too=True)
    ([(0,), (1,)], [(), (0,), (1,), (0, 1)])
    """
    most = min(m, len(columns))
    return [known for many in range(0 if fewer_too else most, most + 1) for known in combinations(columns, many)]


@dataclass(frozen=True, slots=True)
class RowsOfPeople:
    """The original codes of all rows, and whose they are."""

    codes: IntArray
    person: IntArray

    def most(self, shown: IntArray, known: Known) -> IntArray:
        """M of what each row shows."""
        places = list(known)
        hidden = equivalence_classes_of([shown[:, place] == 0 for place in places], rows=len(shown))
        found = np.empty(len(shown), dtype=np.int64)
        for kind, first in enumerate(hidden.first.tolist()):
            rows = np.flatnonzero(hidden.of == kind)
            told = [place for place in places if shown[first, place]]
            looks = equivalence_classes_of([self.codes[:, place] for place in told], rows=len(self.codes))
            pairs = equivalence_classes_of([looks.of, self.person])
            most = np.zeros(len(looks), dtype=np.int64)
            np.maximum.at(most, looks.of[pairs.first], pairs.counts)
            found[rows] = most[looks.of[rows]]
        return found


def equal_rows(codes: IntArray, known: Known) -> IntArray:
    """For each row how many rows look like it, itself included."""
    classes = equivalence_classes_of([codes[:, place] for place in known], rows=len(codes))
    return classes.counts[classes.of]


def required_rows(codes: IntArray, known: Known, k: int, people: RowsOfPeople | None) -> IntArray | int:
    """How many rows must look like each row: k, or k times the rows of one person that fit it."""
    return k if people is None else k * people.most(codes, known)


def short_rows(codes: IntArray, asked: Sequence[tuple[Known, int]], people: RowsOfPeople | None = None) -> BoolArray:
    """rows × choices: do too few look alike?"""
    return np.stack([equal_rows(codes, known) < required_rows(codes, known, k, people) for known, k in asked], axis=1)
