"""`linked`: a longitudinal file. Each person gets a pseudonym that ties the published rows, and shares them with at least k people.

What groups of people are, and why they protect, stands in `bags`. Rows are published in an order drawn by chance, pseudonyms are
numbered by chance and anew for every release. Dates may be shifted, all dates of a person by the same number of days: that hides on
which day something happened from whoever knows no other date of the person, and keeps intervals, which may identify.

Paper: our own.

Invariants
    I1  Pseudonyms and row order come from the cryptographic source.
    I2  Only columns the policy publishes leave, and the pseudonym.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.forms.linked import LinkedTable
from sfumato.forms.recoded import RecodedTrace
from sfumato.forms.related import RelatedTables
from sfumato.methods.base import Method, Task
from sfumato.methods.recoding.bags import Bags, Grouper, WrittenRows, require_few_suppressed
from sfumato.methods.recoding.base import recodes, refusal_of_recoding
from sfumato.methods.recoding.chains import continued_bags
from sfumato.methods.recoding.greedy_clustering import cluster
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.methods.recoding.past_records import past_records
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.methods.recoding.series import with_standing
from sfumato.methods.recoding.shifting import shifted
from sfumato.policy.claims import Claim
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.person import PSEUDONYM
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Part, Release


class LinkedRows(Method):
    """A pseudonym ties the rows of a person, and at least k people have the same published rows: a longitudinal file."""

    name: ClassVar[str] = "linked"
    form: ClassVar[type[Form]] = LinkedTable
    paper: ClassVar[str] = "our own; see docs/people.md"
    minimal: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    links_rows: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    codes: ClassVar[bool] = True

    other_tables: ClassVar[str] = "the policy names a table of people beside that of their rows: use related"

    groups: Literal["refined", "clustering", "mondrian"] = Field(default="refined", description="how people are grouped")
    seconds: float = Field(default=15.0, gt=0, description="time the search may take, in seconds of one core")

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
            return f"dates of '{moved}' are shifted anew in every release, and two shifts of one date narrow the day down"
        return super().unremembered(policy)

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return recodes(claim, policy) and claim.model.demand().sufficient

    def groups_by_sensitive(self, policy: Policy) -> bool:
        return any(claim.model.needs_sensitive for claim in policy.claims)

    def run(self, task: Task) -> Release:
        policy, task = with_standing(task)
        bags, leaving = Bags(policy, task.data, past_records(task, policy)), task.policy.series.leaving
        chance, grouper = task.randomness.child("rows of people"), self.grouper(task)
        told = continued_bags(bags, leaving, chance, grouper, lambda done: task.progress(done, "grouping"))
        rows, columns = in_random_order(task, told)
        suppressed = task.data.rows - len(rows)
        require_few_suppressed(task.policy, suppressed, task.data.rows)
        shown = pa.table({PSEUDONYM: pa.array(pseudonyms(bags.person[rows], task)), **columns})  # I2
        return self.released(task, rows, shown, suppressed)

    def released(self, task: Task, rows: IntArray, shown: pa.Table, suppressed: int) -> Release:
        """What is published of the rows, as they are written."""
        return Release(LinkedTable(), {"data": Part(shown)}, suppressed, RecodedTrace({"data": rows}))

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
            seconds = self.seconds * problem.records * len(problem.names) / max(task.data.rows, 1)
            return refine(problem, [found, mondrian(problem, objective=objective)], objective=objective, seconds=seconds)

        return group


def refusal_of_bags(policy: Policy) -> str:
    """Why whole bags of rows cannot keep the claims; empty when they can."""
    for claim in policy.claims:
        if set(claim.given) != set(policy.quasi_identifiers):
            return f"{claim} gives an outsider some of the quasi-identifiers only, and whole rows are recoded"
    return ""


def pseudonyms(person: IntArray, task: Task) -> IntArray:
    """A number for every person who is published, 1, 2, … in an order drawn by chance (I1)."""
    present, number = np.unique(person, return_inverse=True)
    drawn: IntArray = task.randomness.child("pseudonyms").permutation(len(present))[number] + 1
    return drawn


def in_random_order(task: Task, told: Sequence[WrittenRows]) -> tuple[IntArray, dict[str, pa.Array]]:
    """The published records in an order drawn by chance (I1), and their columns."""
    table: Table = task.data
    records = np.concatenate([one.records for one in told]) if told else np.zeros(0, dtype=np.int64)
    order = task.randomness.child("row order").permutation(len(records))
    rows = records[order]
    columns: dict[str, pa.Array] = {}
    for name in task.policy.published:
        if name in task.policy.quasi_identifiers:
            columns[name] = _labels(task.policy, table, name, told).take(pa.array(order))
        elif task.policy.columns[name].dates is not None:
            columns[name] = shifted(task, name, rows)
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
