"""`sequential`: one more release of a table that was published before, judged together with all earlier ones.

Guarantee
    by: class   every joint class over all releases keeps every claim (`history.persistent_classes`), by construction: whatever the number of
                releases, nothing is searched for. Records stay exact where possible, and borrow neighbours otherwise
                (`borrowing`)
    by: join    the paper's own measure and search: an adversary who joins every release so far can link every person to
                at least k sensitive values (k-linkability), or to none with a larger share than 1/k of the links
                (k-diversity). Two releases by construction, three and more by proof. Rows that cover all people may be
                a person's only protection (*covering rows*)

Paper: [sequential Alg. 3, §6] for ``by: join``; joint classes are ours

Invariants
    I1  Rows of every release are in an order of their own, drawn at random; keys and cohorts never leave.
    I2  New records must satisfy the requirement among themselves where an adversary can tell their sensitive values
        from those before.
    I3  Missing or changed records are refused, unless counterfeits with their earlier values replace them.
    I4  With `growth: separative` the requirement holds for adversaries who can tell old rows from new ones, and for
        those who cannot.
    I5  By join, where a spent budget leaves a column suppressed for all people, joint classes are published if there
        are any: they keep the requirement, too, and lose a little where the search would lose a column.

Departures
    The first release is the same method with no history. With `growth: unifying` an adversary is taken to know when
    people joined (`cohorts: known`); the paper's adversary does not (`cohorts: unknown`). Columns with the role `other`
    take part in joins; they are generalized when they have a hierarchy, else published as they are.


Growth
------
Between two releases: who is new, who vanished, who changed, and what may be published about them.

Paper: [sequential §6]; counterfeits after Xiao and Tao's m-invariance, which the paper points to for deletions.

Invariants
    I1  Vanished and changed records are found by key against everything the ledger remembers.
    I2  A counterfeit has the values that were published about its record, so earlier releases stay consistent with it, and for
        other columns those of a person drawn at random; it stays in every later release.
    I3  New records: an adversary who compares the sensitive values of two releases sees which came new, so these alone
        must satisfy the requirement.

Departures: the paper leaves deletions and changes open (critical absence). A changed record is treated as one that vanished and one
that is new, only if its key changes too; a changed value under the same key is refused.


Together
--------
Cohorts that were arranged apart, looked at together: an adversary who cannot tell old rows from new ones joins all of
them.

Guarantee
    What passes has the claimed level for that adversary too: by the kernel join for two releases, by proof for more.

Where cohorts are safe one by one, a count of values is safe together, because links only become more. A limit on shares is not:
rows of another cohort may bring the same value again and again.

Paper: [sequential Def. 4.2, §6]; the paper judges cohorts apart and leaves this adversary out.

Invariants
    I1  The releases are judged as if a fully suppressed one followed: it multiplies all links by the same number.


Aligned
-------
Weaving releases together: boxes of one record after another through all releases, in one numbering of leaves.

Paper: [sequential §2.1, §6]

Notation
    population   the records the newest release is about: those of the table, and counterfeits for those that vanished
    joined       the release in which a record first appeared
    cohort       one more column that an adversary may know: when a person joined. A row of release r belongs to a
                 person who joined by then, ``[0, r]``; the counterfeit for a person absent from it to a person who
                 joined later

Invariants
    I1  A label means the same leaves in every release; a hierarchy that changed between releases is refused.
    I2  The placeholder of an absent record is fully suppressed, except its sensitive value if that release published
        the column. This is what [sequential §6] means: an adversary sees in the next release which values are new.

Departures
    [sequential §6] gives counterfeits a sensitive value in every release; in releases without that column this would
    let an adversary know what nobody published. The cohort column is ours: without it an adversary who knows whether a
    person is new breaks part of what the paper accepts.
"""  # noqa: E501

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError, Infeasible, LedgerError
from sfumato.core.randomness import Randomness
from sfumato.data.generalization import Generalization, Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import Table
from sfumato.history.constrain.constraints import counterfeit_limit
from sfumato.history.published_cells import interval_of
from sfumato.history.record_identity import require_overlap_with_history
from sfumato.history.release_sequence import Attribute, Boxes, Role, require_joinable
from sfumato.kinds.tables.form import Recoded, RecodedProvenance
from sfumato.kinds.tables.methods.local_search import refine_each
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.neighbour_borrowing import borrow
from sfumato.kinds.tables.methods.recoding import RecodingMethod, can_recode, refusal_of_recoding
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem
from sfumato.kinds.tables.methods.sequential_search import Specialized, Witness, holds, specialize
from sfumato.kinds.tables.methods.sequential_state import Board, Goal, SequelProblem, Taxonomy
from sfumato.kinds.tables.methods.sequential_state import SequelProblem as Sequel
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.sections import Series
from sfumato.release.form import Form
from sfumato.release.method import Task
from sfumato.release.past_releases import History, PastRelease, keys_of
from sfumato.release.release import Part, Release

BORROWED = 5_000
"""Up to so many distinct tuples borrowing is one of the starts of the search; it is slower, and rarely the better
above."""
_SEARCHED, _MANY = 2.0, 100_000
"""Seconds of the search unless the policy says otherwise, and records above which half of them do: there it gains
little more."""


def _usual_seconds(records: int) -> float:
    return _SEARCHED if records <= _MANY else _SEARCHED / 2


class Sequential(RecodingMethod):
    """Publish one more release of a series: joint equivalence classes, or cells by the paper's search."""

    name: ClassVar[str] = "sequential"
    form: ClassVar[type[Form]] = Recoded
    codes: ClassVar[bool] = False
    paper: ClassVar[str] = "sequential Alg. 3, §6"
    for_series: ClassVar[bool] = True
    counts_people: ClassVar[bool] = False
    hides_combinations: ClassVar[bool] = False

    by: Literal["class", "join"] = Field(
        default="class", description="class: joint equivalence classes; join: the paper's search"
    )
    growth: Literal["unifying", "separative"] = Field(
        default="unifying", description="with by: join, unifying mixes old and new records, separative keeps them apart"
    )
    cohorts: Literal["known", "unknown"] | None = Field(
        default=None, description="whether the adversary knows when a person joined; default: as under 'series:'"
    )
    counterfeits: Literal["refuse", "allow"] | None = Field(
        default=None, description="whether counterfeit records are published; default: as under 'series:'"
    )
    seconds: float | None = Field(
        default=None,
        ge=0,
        description=(
            "with by: class, time limit of the search in seconds of one core; default: 2, above 100,000 records 1"
        ),
    )
    cells: bool = Field(
        default=True, description="specialize single cells after whole nodes; false: global recoding only"
    )
    budget: float = Field(
        default=60.0,
        gt=0,
        description="time limit in CPU seconds to search and prove a requirement over three or more releases",
    )

    def read_keys(self) -> frozenset[str]:
        return self.reads if self.by == "class" else self.reads - {"utility.importance"}

    def refusal(self, policy: Policy) -> str:
        if self.by == "class":
            people = "it counts the rows of releases, not people of a population" if policy.of_population else ""
            return people or refusal_of_recoding(policy)
        if not policy.claims:
            return "the policy protects nothing: 'protect' has no claims"
        if len(policy.claims) > 1:
            return "it keeps one claim, k-linkability or k-diversity of one column"
        if not self.enforces(policy.claims[0], policy):
            return (
                "it keeps k-linkability or k-diversity of one column given all quasi-identifiers, not"
                f" {policy.claims[0]}"
            )
        if policy.ledger and not policy.key:
            return "with a ledger it needs 'key:', the columns that name a record across releases"
        return ""

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        if self.by == "class":
            return can_recode(claim, policy) and not claim.model.of_population
        one = len(claim.hide) == 1 and policy.columns[claim.hide[0]].role == "sensitive"
        demand = claim.model.demand()
        kept = claim.model.joint and demand.sufficient and demand.candidates == 1
        return kept and one and set(claim.given) >= set(policy.quasi_identifiers)

    def preference(self, records: int | None) -> tuple[int, str]:
        size = "any size" if records is None else f"{records:,} records"
        return (
            4,
            (
                f"it continues a history by construction, at {size} in seconds, and its proof does not grow with the"
                " releases"
            ),
        )

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        series = self._series(policy)
        known = "know" if series.cohorts == "known" else "do not know"
        growth = "" if self.by == "class" else f"new records: {self.growth}; "
        told = {"withhold": "companions are withheld", "counterfeits": "counterfeits stand in", "refuse": "refused"}
        gone = told[series.leaving] if self.by == "class" or series.leaving == "counterfeits" else told["refuse"]
        limit = series.counterfeits_at_most
        gone += (
            f", at most {limit:.3%} of the records" if limit is not None and series.leaving == "counterfeits" else ""
        )
        waits = (
            f"; up to {series.waiting:.3%} of the records, never published so far, wait for company"
            if series.waiting
            else ""
        )
        said = [f"{growth}outsiders {known} who is in which release; people who leave: {gone}{waits}"]
        searched = self.by == "class" and data is not None
        return [*said, *(self.search_told(policy, _usual_seconds(data.records)) if searched else [])]

    def _series(self, policy: Policy) -> Series:
        """What the policy says about several releases, with what this method says itself."""
        own = {
            "cohorts": self.cohorts,
            "leaving": {"allow": "counterfeits", "refuse": "refuse", None: None}[self.counterfeits],
        }
        return policy.series.model_copy(update={key: value for key, value in own.items() if value is not None})

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        objective = task.policy.utility.minimize
        usual = _usual_seconds(task.data.records)
        seconds = self.seconds if self.seconds is not None else self.seconds_of_search(task.policy, usual)
        starts = [mondrian(problem, objective=objective)]
        if len(problem.points) <= BORROWED or not seconds:
            starts.append(
                borrow(problem, objective=objective, progress=lambda done: task.progress(done / 2, "borrowing"))
            )
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
        whole = AlignedReleases(history.releases, people, task.policy, hidden, task.policy.series.cohorts == "known")
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
        self, task: Task, history: History, people: ReleasePopulation, level: Goal, hidden: str, whole: AlignedReleases
    ) -> tuple[np.ndarray, np.ndarray]:
        """Every cohort by itself."""
        lo, hi = (
            np.zeros((len(people.keys), len(whole.names)), dtype=np.int64),
            np.zeros((len(people.keys), len(whole.names)), dtype=np.int64),
        )
        for cohort in np.unique(whole.joined).tolist():
            rows = np.flatnonzero(whole.joined == cohort)
            part = AlignedReleases(history.releases[cohort:], people.taking(rows), task.policy, hidden, False)
            made = self._made(task, part, level, task.randomness.child(f"cohort {cohort}"))
            for m, name in enumerate(part.names):
                place = whole.names.index(name)
                if name == hidden:  # values are numbered by those of a cohort there, and by each person's here
                    lo[rows, place], hi[rows, place] = whole.leaves[rows, place], whole.leaves[rows, place] + 1
                    continue
                lo[rows, place], hi[rows, place] = _translated(part, whole, name, made.lo[:, m], made.hi[:, m])
        require_together(whole, task.policy, lo, hi, level, self.budget)  # I4
        return lo, hi

    def _made(self, task: Task, weave: AlignedReleases, level: Goal, chance: Randomness) -> Specialized:
        measure: Literal["loss", "entropy"] = "entropy" if task.policy.utility.minimize == "entropy_loss" else "loss"
        sequel = _sequel(weave, task.policy)
        return specialize(sequel, level, chance, measure=measure, cells=self.cells, budget=self.budget)


def _loses_a_column(policy: Policy, weave: AlignedReleases, made: Specialized) -> bool:
    """Whether a column is suppressed for all people."""
    for place, name in enumerate(weave.names):
        size = weave.domains[name].size if name in policy.quasi_identifiers and name in policy.published else 1
        if size > 1 and bool(((made.hi[:, place] - made.lo[:, place]) == size).all()):
            return True
    return False


def _instead(release: Release) -> Release:
    """Joint classes that are published because the search was not proven in time."""
    return replace(
        release,
        notes=(*release.notes, "the search was not proven within its budget: joint classes were formed instead"),
    )


def _goal(claim: PrivacyRequirement) -> Goal:
    """The requirement as the search knows it: values that are counted, or a limit on their shares."""
    demand = claim.model.demand()
    return Goal(demand.diversity, "linkability" if demand.counts_values else "diversity")


def _translated(
    part: AlignedReleases, whole: AlignedReleases, name: str, lo: np.ndarray, hi: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of a cohort's own domain in the domain of all people: by label, which says the same in both."""
    mine, ours = part.domains[name], whole.domains[name]
    if mine.leaves == ours.leaves:
        return lo, hi
    spans = [
        (0, ours.size) if (a, b) == (0, mine.size) else ours.interval(mine.label(int(a), int(b)))
        for a, b in zip(lo, hi, strict=True)
    ]
    if any(span is None for span in spans):
        raise Infeasible(
            f"the groups of column '{name}' differ between cohorts", hint="give the column a hierarchy file"
        )
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _sequel(weave: AlignedReleases, policy: Policy) -> Sequel:
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


def _published(
    task: Task, people: ReleasePopulation, weave: AlignedReleases, lo: np.ndarray, hi: np.ndarray
) -> Release:
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
        notes += (f"{invented} row(s) are counterfeits for records that are no longer in the table",)
    stand_ins = None
    if invented:
        mine = order[counterfeit]
        stand_ins = [people.keys[i] for i in mine], people.values.frame.take(pa.array(mine))
    trace = RecodedProvenance({"data": behind}, stand_ins=stand_ins)
    return Release(Recoded(counterfeits=invented), {"data": Part(pa.table(columns))}, trace=trace, notes=notes)


# Growth
# ------


def population_of(task: Task, history: History, hidden: str, *, allow: bool) -> ReleasePopulation:
    """The records of the table and, where allowed, counterfeits for those that vanished (I1)."""
    policy, table = task.policy, task.data
    keys = keys_of(policy, table) if policy.key else tuple(str(i) for i in range(table.rows))
    require_overlap_with_history(policy, history, keys)
    columns = list(policy.published)
    values = Table(pa.table({name: pa.array(_texts(table, name), pa.string()) for name in columns}))
    _refuse_changes(history, keys, values)
    present = set(keys)
    gone = {key: None for past in history.releases for key in past.memory.keys if key not in present}
    if not gone:
        return ReleasePopulation(keys, values, np.zeros(len(keys), dtype=np.bool_))
    if not allow:
        raise Infeasible(
            f"{len(gone)} record(s) of earlier releases are no longer in the table; the values that vanish would tell"
            " theirs",
            where="key",
            hint=(
                "keep them in the data, or set 'counterfeits: allow' in the method to publish counterfeit rows for them"
            ),
        )
    if len(gone) > counterfeit_limit(policy, table.rows):
        raise Infeasible(
            f"counterfeit rows would be needed for {len(gone)} record(s) of earlier releases "
            "that are no longer in the table",
            where="series.counterfeits_at_most",
            hint="allow more of them, or keep the records in the data",
        )
    invented = _invented(list(gone), columns, values, history, task.randomness.child("counterfeits"))
    both = pa.concat_tables([values.frame, invented])
    flags = np.concatenate([np.zeros(len(keys), dtype=np.bool_), np.ones(len(gone), dtype=np.bool_)])
    return ReleasePopulation((*keys, *gone), Table(both.combine_chunks()), flags)


def _texts(table: Table, name: str) -> list[str]:
    text = table.text(name)
    return [text.labels[code] for code in text.codes.tolist()]


def _refuse_changes(history: History, keys: tuple[str, ...], values: Table) -> None:
    """A value that was published under a key must still be the record's value (I1)."""
    changed: set[str] = set()
    for past in history.releases:
        for name in values.names:
            if name in past.memory.values.names:
                changed |= _changed(past, name, keys, values)
    if changed:
        raise Infeasible(
            f"{len(changed)} record(s) have other values than when they were published",
            where="key",
            hint=(
                "publish the values as they were, or give a changed record a new key and allow counterfeits for the"
                " old one"
            ),
        )


def _changed(past: PastRelease, name: str, keys: tuple[str, ...], values: Table) -> set[str]:
    before, now = _texts(past.memory.values, name), _texts(values, name)
    place = past.memory.place
    return {key for key, value in zip(keys, now, strict=True) if key in place and before[place[key]] != value}


def _invented(gone: list[str], columns: list[str], values: Table, history: History, chance: Randomness) -> pa.Table:
    """One counterfeit per vanished record (I2)."""
    drawn = chance.integers(values.frame.num_rows, len(gone) * len(columns)).reshape(len(columns), len(gone))
    invented = {}
    for row, name in zip(drawn, columns, strict=True):
        now = _texts(values, name)
        found = [now[i] for i in row]
        for past in history.releases:
            if name in past.memory.values.names:
                before, place = _texts(past.memory.values, name), past.memory.place
                found = [before[place[key]] if key in place else old for key, old in zip(gone, found, strict=True)]
        invented[name] = pa.array(found, pa.string())
    return pa.table(invented)


def check_batch(history: History, people: ReleasePopulation, claim: Goal, hidden: str, tells: bool) -> None:
    """Refuse when the records that came new since the last release with the sensitive column break the requirement
    themselves (I3)."""
    tellers = [past for past in history.releases if hidden in past.published]
    if not tells or not tellers:
        return
    before = tellers[-1].memory.place
    values = _texts(people.values, hidden)
    batch = Counter(value for key, value in zip(people.keys, values, strict=True) if key not in before)
    if not batch or enough(batch, claim):
        return
    reach = len(batch) if claim.goal == "linkability" else float(Fraction(sum(batch.values()), max(batch.values())))
    raise Infeasible(
        f"the {sum(batch.values())} new record(s) alone have a {claim.goal} of {reach:.4g}, below {claim.k:g}; "
        "comparing two releases shows their sensitive values",
        where="growth",
        hint="wait until more records have come in, or leave the sensitive column out of this release",
    )


def enough(batch: Counter[str], claim: Goal) -> bool:
    """Whether a multiset of sensitive values satisfies the requirement by itself."""
    if claim.goal == "linkability":
        return len(batch) >= claim.k
    return max(batch.values()) * Fraction(str(claim.k)) <= sum(batch.values())


# Together
# --------


def require_together(
    weave: AlignedReleases, policy: Policy, lo: IntArray, hi: IntArray, level: Goal, budget: float
) -> None:
    """Refuse boxes of the new release that keep the requirement in each cohort and not over all rows."""
    if level.goal == "linkability" or not (weave.sensitive_name in policy.published or _told(weave)):
        return
    shown = np.array([name in policy.published for name in weave.names])
    board = Board(_followed(weave, np.where(shown, lo, 0), np.where(shown, hi, weave.sizes)), level)
    safe = bool(np.asarray(holds(level, board.weights(board.join()))).all())
    if safe and len(weave.releases) > 1:
        safe = Witness(board, time.process_time() + budget).certified()
    if not safe:
        raise Infeasible(
            f"each cohort alone has a diversity of {level.k:g}, all rows together do not: for "
            "an adversary who cannot tell old rows from new ones some value is too frequent",
            where="growth",
            hint="use 'growth: unifying', which arranges all rows together, or ask for less",
        )


def _told(weave: AlignedReleases) -> bool:
    return any(weave.sensitive_name in past.published for past in weave.releases)


def _followed(weave: AlignedReleases, lo: IntArray, hi: IntArray) -> SequelProblem:
    """All releases, this one included, as the past of one that publishes nothing (I1)."""
    attributes = weave.columns()
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int64)
    records = len(lo)
    own = weave.with_cohort(lo, hi, np.ones(records, dtype=np.bool_), len(weave.releases))
    earlier = tuple(Boxes.of_records(*boxes) for boxes in (*weave.earlier(), own))
    silent = np.zeros((records, len(sizes)), dtype=np.int64), np.tile(sizes, (records, 1))  # I1
    known, _ = Boxes.of_records(*weave.known())
    return SequelProblem(attributes, earlier, Boxes.of_records(*silent), known, {})


# Aligned
# -------


COHORT = "\x1fjoined"
Box = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class ReleasePopulation:
    """The records a release is about, with the original values of the columns it publishes."""

    keys: tuple[str, ...]
    values: Table
    counterfeit: BoolArray

    @classmethod
    def of_past(cls, past: PastRelease) -> ReleasePopulation:
        return cls(past.memory.keys, past.memory.values, past.memory.counterfeit)

    def taking(self, rows: IntArray) -> ReleasePopulation:
        """Some of the records."""
        values = Table(self.values.frame.take(pa.array(rows)))
        return ReleasePopulation(tuple(self.keys[i] for i in rows), values, self.counterfeit[rows])


class AlignedReleases:
    """Earlier releases and the population in one numbering; `sensitive` is the sensitive column that is judged."""

    def __init__(
        self,
        releases: tuple[PastRelease, ...],
        population: ReleasePopulation,
        policy: Policy,
        sensitive: str,
        cohorts: bool,
    ) -> None:
        self.releases, self.population, self.policy = releases, population, policy
        self.sensitive_name = sensitive
        self.rows = [_rows(past, population.keys) for past in releases]
        self.joined = _joined(self.rows, len(population.keys))
        names = [name for name in policy.published if name != sensitive]
        for past in releases:
            names += [name for name in past.published if name not in names and name != sensitive]
        self.names = [*names, sensitive]
        self.domains = {name: self._domain(name) for name in self.names}
        self.leaves = np.stack([self._leaves(name) for name in self.names], axis=1)
        self.grown = bool((self.joined > 0).any())
        unknown = bool((self.leaves[:, -1] < 0).any())
        self.cohorts = self.grown and (cohorts or unknown)
        self.attributes = tuple(self._attribute(name) for name in self.names)
        self.sizes = np.array([attribute.size for attribute in self.attributes], dtype=np.int64)

    def _policies(self) -> list[Policy]:
        return [self.policy, *(past.exhibit.policy for past in reversed(self.releases))]

    def _domain(self, name: str) -> Generalization:
        """The leaves of a column over all releases, by the newest policy that names it."""
        policy = next(policy for policy in self._policies() if name in policy.columns)
        values = dict.fromkeys(self.population.values.text(name).labels) if name in self.population.values.names else {}
        values |= dict.fromkeys(History(self.releases).column(name))
        if name == self.sensitive_name:
            return Hierarchy.flat(sorted(values) or ["?"])
        return generalization_of(policy, name, list(values))

    def _leaves(self, name: str) -> IntArray:
        """The leaf of every record in a column, from the newest memory that has it; −1 where nobody remembers."""
        codes = np.full(len(self.population.keys), -1, dtype=np.int64)
        for past, rows in zip(self.releases, self.rows, strict=True):
            if name in past.memory.values.names:
                known = rows >= 0
                codes[known] = _codes(past.memory.values, name, self.domains[name])[rows[known]]
        if name in self.population.values.names:
            codes = _codes(self.population.values, name, self.domains[name])
        return codes

    def _attribute(self, name: str) -> Attribute:
        if name == self.sensitive_name:
            return Attribute(name, self.domains[name].size + 1, "sensitive")  # one more leaf: a value nobody published
        declared = {policy.columns[name].role for policy in self._policies() if name in policy.columns}
        role: Role = "quasi-identifier" if "quasi-identifier" in declared else "other"
        return Attribute(name, self.domains[name].size, role)

    # -- boxes ---------------------------------------------------------------------------------------------------------

    def earlier(self) -> list[Box]:
        """Per earlier release the boxes of all records."""
        return [self.boxes(past, rows, r) for r, (past, rows) in enumerate(zip(self.releases, self.rows, strict=True))]

    def boxes(self, past: PastRelease, rows: IntArray, r: int) -> Box:
        """The boxes that release r gives to the records; counterfeits for the absent ones (I2)."""
        records, here = len(rows), rows >= 0
        lo, hi = np.zeros((records, len(self.names)), dtype=np.int64), np.tile(self.sizes, (records, 1))
        for m, name in enumerate(self.names):
            if name in past.published:
                lo[here, m], hi[here, m] = self._intervals(past, name, past.memory.rows[rows[here]])
        if self.sensitive_name in past.published:
            values = np.where(self.leaves[:, -1] >= 0, self.leaves[:, -1], self.sizes[-1] - 1)
            lo[~here, -1], hi[~here, -1] = values[~here], values[~here] + 1
        return self.with_cohort(lo, hi, here, r)

    def with_cohort(self, lo: IntArray, hi: IntArray, here: BoolArray, r: int) -> Box:
        """Boxes of release r with the column that says when people joined, where it counts."""
        if not self.cohorts:
            return lo, hi
        total = len(self.releases) + 1
        late = self.joined > r
        first = np.where(late & ~here, r + 1, 0)
        last = np.where(here, r + 1, total)
        return np.column_stack([lo, first]), np.column_stack([hi, last])

    def _intervals(self, past: PastRelease, name: str, at: IntArray) -> Box:
        """The leaves that the published cells of some rows stand for, in the numbering of the newest domain (I1)."""
        text = past.exhibit.data.text(name)
        used, codes = np.unique(text.codes[at], return_inverse=True)
        labels = [text.labels[code] for code in used.tolist()]
        domain = self.domains[name]
        if name == self.sensitive_name:
            code = np.array([domain.code_of.get(label, -1) for label in labels], dtype=np.int64)[codes]
            if (code < 0).any():
                raise LedgerError(f"release {past.number} published values of '{name}' that nobody remembers")
            return code, code + 1
        old = (
            generalization_of(past.exhibit.policy, name, list(past.memory.values.text(name).labels))
            if name in past.exhibit.policy.columns
            else domain
        )
        pairs = np.array(
            [interval_of(past.number, name, label, old, domain) for label in labels], dtype=np.int64
        ).reshape(-1, 2)
        return pairs[codes, 0], pairs[codes, 1]

    def columns(self) -> tuple[Attribute, ...]:
        """All attributes, with the cohort when it counts."""
        if not self.cohorts:
            return self.attributes
        return (*self.attributes, Attribute(COHORT, len(self.releases) + 1, "quasi-identifier"))

    def known(self) -> Box:
        """What an adversary may know of each record whose sensitive value was ever published."""
        lo = np.where(self.leaves >= 0, self.leaves, 0)
        hi = np.where(self.leaves >= 0, self.leaves + 1, self.sizes)
        if self.cohorts:
            lo, hi = np.column_stack([lo, self.joined]), np.column_stack([hi, self.joined + 1])
        told = self.leaves[:, -1] >= 0
        return lo[told], hi[told]


def _rows(past: PastRelease, keys: tuple[str, ...]) -> IntArray:
    """Where the past remembers each record, −1 where it does not."""
    return np.array([past.memory.place.get(key, -1) for key in keys], dtype=np.int64)


def _joined(rows: list[IntArray], records: int) -> IntArray:
    joined = np.full(records, len(rows), dtype=np.int64)
    for r in range(len(rows) - 1, -1, -1):
        joined[rows[r] >= 0] = r
    return joined


def _codes(table: Table, name: str, domain: Generalization) -> IntArray:
    text = table.text(name)
    codes = np.array([domain.code_of.get(label, -1) for label in text.labels], dtype=np.int64)
    if (codes < 0).any():
        raise DataError(f"column '{name}': {int((codes < 0).sum())} distinct value(s) are not leaves of its hierarchy")
    return codes[text.codes]
