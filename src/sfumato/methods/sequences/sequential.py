"""`sequential`: one more release of a table that was published before, judged together with all earlier ones.

Guarantee
    by: class   every joint class over all releases keeps every claim (`history.joint`), by construction: whatever the number of
                releases, nothing is searched for. People are exact where they can be, and borrow company where not (`borrowing`)
    by: join    the paper's own measure and search: whoever joins every release so far can link nobody to fewer than k sensitive
                values (k-linkability), or to one with a larger share than 1/k of the links (k-diversity). Two releases by
                construction, three and more by proof. Rows that cover everybody may be all that protects somebody (*alibi rows*)

Paper: [sequential Alg. 3, §6] for ``by: join``; joint classes are ours

Invariants
    I1  Rows of every release are in an order of their own, drawn at random; keys and cohorts never leave.
    I2  New records must satisfy the claim among themselves where an outsider can tell their sensitive values from those before.
    I3  Records that vanished or changed are refused, unless counterfeits stand in for them, with the values they had.
    I4  With `growth: separative` the claim holds for whoever can tell old rows from new ones, and for whoever cannot.
    I5  By join, where a spent budget leaves a column suppressed for everybody, joint classes are published if there are any: they
        keep the claim, too, and lose a little where the search would lose a column.

Departures
    The first release is the same method with no history. With `growth: unifying` an outsider is taken to know when people joined
    (`cohorts: known`); the paper's adversary does not (`cohorts: unknown`).
    Columns with the role `other` take part in joins; they are generalized when they have a hierarchy, else published as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.sequence import Boxes
from sfumato.errors import Infeasible
from sfumato.forms.recoded import Recoded, RecodedTrace
from sfumato.history.aligned import Population, Weave
from sfumato.history.sequence import require_joinable
from sfumato.methods.base import Task
from sfumato.methods.recoding.base import RecodingMethod, recodes, refusal_of_recoding
from sfumato.methods.recoding.borrowing import borrow
from sfumato.methods.recoding.local_search import refine_each
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.methods.sequences.growth import check_batch, population_of
from sfumato.methods.sequences.sequel_problem import Goal
from sfumato.methods.sequences.sequel_problem import SequelProblem as Sequel
from sfumato.methods.sequences.specialize import Specialized, specialize
from sfumato.methods.sequences.taxonomy import Taxonomy
from sfumato.methods.sequences.together import require_together
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.policy.series import Series
from sfumato.randomness import Randomness
from sfumato.release.form import Form
from sfumato.release.past import History
from sfumato.release.release import Part, Release

BORROWED = 5_000
"""Up to so many distinct tuples borrowing is one of the starts of the search; it is slower, and rarely the better above."""
_SEARCHED, _MANY = 2.0, 100_000
"""Seconds of the search unless the policy says otherwise, and records above which half of them do: there it gains little more."""


class Sequential(RecodingMethod):
    """One more release of a table: joint classes by construction, or single cells by the paper's search."""

    name: ClassVar[str] = "sequential"
    form: ClassVar[type[Form]] = Recoded
    codes: ClassVar[bool] = False
    paper: ClassVar[str] = "sequential Alg. 3, §6"
    for_series: ClassVar[bool] = True
    counts_people: ClassVar[bool] = False

    by: Literal["class", "join"] = Field(default="class", description="joint classes by construction, or the paper's search")
    growth: Literal["unifying", "separative"] = Field(
        default="unifying", description="by join: mix old and new records, or treat them apart"
    )
    cohorts: Literal["known", "unknown"] | None = Field(
        default=None, description="whether outsiders know when somebody joined; as 'series:' says when absent"
    )
    counterfeits: Literal["refuse", "allow"] | None = Field(
        default=None, description="rows that stand in for vanished records; as 'series:' says when absent"
    )
    seconds: float | None = Field(
        default=None, ge=0, description="by class: time to improve the groups, in seconds of one core; 2, above 100,000 records 1"
    )
    cells: bool = Field(default=True, description="specialize single cells after whole nodes; false: global recoding only")
    budget: float = Field(default=60.0, gt=0, description="CPU seconds to search and prove a claim over three or more releases")

    def refusal(self, policy: Policy) -> str:
        if self.by == "class":
            people = "it counts the rows of releases, not people of a population" if policy.of_population else ""
            return people or refusal_of_recoding(policy)
        if not policy.claims:
            return "the policy protects nothing: 'protect' has no claims"
        if len(policy.claims) > 1:
            return "it keeps one claim, k-linkability or k-diversity of one column"
        if not self.enforces(policy.claims[0], policy):
            return f"it keeps k-linkability or k-diversity of one column given all quasi-identifiers, not {policy.claims[0]}"
        if policy.ledger and not policy.key:
            return "with a ledger it needs 'key:', the columns that name a record across releases"
        return ""

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        if self.by == "class":
            return recodes(claim, policy) and not claim.model.of_population
        one = len(claim.hide) == 1 and policy.columns[claim.hide[0]].role == "sensitive"
        demand = claim.model.demand()
        kept = claim.model.joint and demand.sufficient and demand.candidates == 1
        return kept and one and set(claim.given) >= set(policy.quasi_identifiers)

    def preference(self, records: int | None) -> tuple[int, str]:
        size = "any size" if records is None else f"{records:,} records"
        return 4, f"it continues a history by construction, at {size} in seconds, and its proof does not grow with the releases"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        series = self._series(policy)
        known = "know" if series.cohorts == "known" else "do not know"
        growth = "" if self.by == "class" else f"new records: {self.growth}; "
        told = {"withhold": "companions are withheld", "counterfeits": "counterfeits stand in", "refuse": "refused"}
        gone = told[series.leaving] if self.by == "class" or series.leaving == "counterfeits" else told["refuse"]
        limit = series.counterfeits_at_most
        gone += f", at most {limit:.3%} of the records" if limit is not None and series.leaving == "counterfeits" else ""
        waits = f"; up to {series.waiting:.3%} of the records, never published so far, wait for company" if series.waiting else ""
        return [f"{growth}outsiders {known} who is in which release; people who leave: {gone}{waits}"]

    def _series(self, policy: Policy) -> Series:
        """What the policy says about several releases, with what this method says itself."""
        own = {"cohorts": self.cohorts, "leaving": {"allow": "counterfeits", "refuse": "refuse", None: None}[self.counterfeits]}
        return policy.series.model_copy(update={key: value for key, value in own.items() if value is not None})

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        objective = task.policy.utility.minimize
        seconds = self.seconds if self.seconds is not None else _SEARCHED if task.data.records <= _MANY else _SEARCHED / 2
        starts = [mondrian(problem, objective=objective)]
        if len(problem.points) <= BORROWED or not seconds:
            starts.append(borrow(problem, objective=objective, progress=lambda done: task.progress(done / 2, "borrowing")))
        if not seconds:
            return starts[-1]
        improving = lambda done: task.progress((1 + done) / 2, "improving")  # noqa: E731
        return refine_each(problem, starts, objective=objective, seconds=seconds, progress=improving)

    def run(self, task: Task) -> Release:
        task = replace(task, policy=replace(task.policy, series=self._series(task.policy)))
        return super().run(task) if self.by == "class" else self._searched(task)

    def _searched(self, task: Task) -> Release:
        """The paper's Algorithm 3."""
        history = task.history if task.history is not None else History()
        (claim,) = task.policy.claims
        (hidden,) = claim.hide
        level = _goal(claim)
        people = population_of(task, history, hidden, allow=task.policy.series.leaving == "counterfeits")  # I3
        check_batch(history, people, level, hidden, hidden in task.policy.published)  # I2
        whole = Weave(history.releases, people, task.policy, hidden, task.policy.series.cohorts == "known")
        if self.growth == "separative" and whole.grown:
            lo, hi = self._separately(task, history, people, level, hidden, whole)
            return _published(task, people, whole, lo, hi)
        made = self._made(task, whole, level, task.randomness)
        if made.spent and _loses_a_column(task.policy, whole, made) and not people.counterfeit.any():
            try:
                return _instead(super().run(task))  # I5
            except Infeasible:
                pass
        return _published(task, people, whole, made.lo, made.hi)

    def _separately(
        self, task: Task, history: History, people: Population, level: Goal, hidden: str, whole: Weave
    ) -> tuple[np.ndarray, np.ndarray]:
        """Every cohort by itself."""
        lo, hi = (
            np.zeros((len(people.keys), len(whole.names)), dtype=np.int64),
            np.zeros((len(people.keys), len(whole.names)), dtype=np.int64),
        )
        for cohort in np.unique(whole.joined).tolist():
            rows = np.flatnonzero(whole.joined == cohort)
            part = Weave(history.releases[cohort:], people.taking(rows), task.policy, hidden, False)
            made = self._made(task, part, level, task.randomness.child(f"cohort {cohort}"))
            for m, name in enumerate(part.names):
                place = whole.names.index(name)
                if name == hidden:  # values are numbered by those of a cohort there, and by everybody's here
                    lo[rows, place], hi[rows, place] = whole.leaves[rows, place], whole.leaves[rows, place] + 1
                    continue
                lo[rows, place], hi[rows, place] = _translated(part, whole, name, made.lo[:, m], made.hi[:, m])
        require_together(whole, task.policy, lo, hi, level, self.budget)  # I4
        return lo, hi

    def _made(self, task: Task, weave: Weave, level: Goal, chance: Randomness) -> Specialized:
        measure: Literal["loss", "entropy"] = "entropy" if task.policy.utility.minimize == "entropy_loss" else "loss"
        sequel = _sequel(weave, task.policy)
        return specialize(sequel, level, chance, measure=measure, cells=self.cells, budget=self.budget)


def _loses_a_column(policy: Policy, weave: Weave, made: Specialized) -> bool:
    """Whether a column is suppressed for everybody."""
    for place, name in enumerate(weave.names):
        size = weave.domains[name].size if name in policy.quasi_identifiers and name in policy.published else 1
        if size > 1 and bool(((made.hi[:, place] - made.lo[:, place]) == size).all()):
            return True
    return False


def _instead(release: Release) -> Release:
    """Joint classes that are published because the search was not proven in time."""
    return replace(
        release, notes=(*release.notes, "the search was not proven within its budget: joint classes were formed instead")
    )


def _goal(claim: Claim) -> Goal:
    """The claim as the search knows it: values that are counted, or a limit on their shares."""
    demand = claim.model.demand()
    return Goal(demand.diversity, "linkability" if demand.counts_values else "diversity")


def _translated(part: Weave, whole: Weave, name: str, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of a cohort's own domain in the domain of everybody: by label, which says the same in both."""
    mine, ours = part.domains[name], whole.domains[name]
    if mine.leaves == ours.leaves:
        return lo, hi
    spans = [
        (0, ours.size) if (a, b) == (0, mine.size) else ours.interval(mine.label(int(a), int(b)))
        for a, b in zip(lo, hi, strict=True)
    ]
    if any(span is None for span in spans):
        raise Infeasible(f"the groups of column '{name}' differ between cohorts", hint="give the column a hierarchy file")
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _sequel(weave: Weave, policy: Policy) -> Sequel:
    """The task of Algorithm 3: targets are leaves in published columns, nothing elsewhere."""
    attributes = weave.columns()
    records = len(weave.leaves)
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int64)
    lo, hi = np.zeros((records, len(attributes)), dtype=np.int64), np.tile(sizes, (records, 1))
    taxonomies, ceilings = {}, {}
    for m, name in enumerate(weave.names):
        if name not in policy.published:
            continue
        lo[:, m], hi[:, m] = weave.leaves[:, m], weave.leaves[:, m] + 1
        if name == weave.sensitive_name:
            continue
        domain = weave.domains[name]
        tree = _taxonomy(domain)
        taxonomies[m] = tree
        if policy.columns[name].role == "other" and not policy.columns[name].hierarchy:
            ceilings[m] = np.arange(len(tree))
        elif isinstance(domain, Hierarchy) and domain.ceilings:
            ceilings[m] = tree.ceilings(*domain.ceiling())
    known, _ = Boxes.of_records(*weave.known())
    before = weave.earlier()
    require_joinable([*before, (lo, hi)])
    earlier = tuple(Boxes.of_records(*boxes) for boxes in before)
    return Sequel(attributes, earlier, Boxes.of_records(lo, hi), known, taxonomies, ceilings)


def _taxonomy(domain: object) -> Taxonomy:
    if isinstance(domain, Hierarchy):
        return Taxonomy.of_intervals(zip(domain.lo.tolist(), domain.hi.tolist(), strict=True))
    assert isinstance(domain, Ranges)
    return Taxonomy.halving(domain.size)


def _published(task: Task, people: Population, weave: Weave, lo: np.ndarray, hi: np.ndarray) -> Release:
    """The table with its rows in an order of their own (I1)."""
    order = task.randomness.child("row order").permutation(len(people.keys))
    columns = {}
    for name in task.policy.published:
        m = weave.names.index(name)
        if name == weave.sensitive_name or (lo[:, m] + 1 == hi[:, m]).all():
            columns[name] = people.values.column(name).combine_chunks().take(pa.array(order))
        else:
            labels = weave.domains[name].labels(lo[order, m], hi[order, m])
            columns[name] = pa.array(labels, pa.string())
    counterfeit = people.counterfeit[order]
    behind = np.where(counterfeit, -1, order)
    invented = int(counterfeit.sum())
    notes: tuple[str, ...] = ("outsiders may know when somebody joined the table",) if weave.cohorts else ()
    if invented:
        notes += (f"{invented} row(s) are counterfeits that stand in for records that vanished",)
    stand_ins = None
    if invented:
        mine = order[counterfeit]
        stand_ins = [people.keys[i] for i in mine], people.values.frame.take(pa.array(mine))
    trace = RecodedTrace({"data": behind}, stand_ins=stand_ins)
    return Release(Recoded(counterfeits=invented), {"data": Part(pa.table(columns))}, trace=trace, notes=notes)
