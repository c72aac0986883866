"""`guardian`: split what breaks a rule off the table, then give columns back where they lower the divergence most.

The algorithm and the proof of termination are in `guardian_search`.


Guardian search
---------------
Guardian decomposition: split off whatever breaks a rule, then greedily give columns back where they help most.

Guarantee
    The tables are in Guardian Normal Form for the given rules, decomposable, and together hold every column. Always
    ends.

Paper
    [versatile Alg. 1] (GD).

Invariants
    I1  A column that was settled stays settled: every rule that hides it is kept from then on.
    I2  No column is ever lost: a column is taken out of all tables only to be put at once into a new one.

Why it ends
    A step takes a rule Q → S that is not kept, so S is not settled (I1). It takes S out of every table. That breaks no
    rule about another column: an unreachable column stays unreachable, and a guardian still holds its column, still
    cuts, and hides it from the columns that are left. Then S gets a new table with S guarded. S occurs nowhere else, so
    the new table guards *every* rule that hides S, whatever else is put into it, and S becomes settled. The columns of
    Q join the new table one by one, each only if all settled rules are still kept; with none of them S is published
    alone, which connects nothing. So every step settles one more sensitive column, and there are no more steps than
    sensitive columns. The second phase only adds columns to tables, at most (columns × tables) times.

Departures
    As printed, steps may undo each other for ever (A → B and B → A): here a column of Q that would undo an earlier step
    is left out of the new table. Step 1 tries every sensitive column as the one guarded in the whole table and keeps
    the best. The second phase stops when no insertion lowers the divergence, and considers only insertions after which
    the schema is decomposable, without which the divergence has no closed form.

Cost
    With c sensitive columns and m columns, at most c·m insertions, each of which scores at most c·m schemas; scores
    remember every column set they have seen, so a round costs about m passes over the class counts.


Divergence
----------
The expected divergence of a schema, from class counts alone, before rows are assigned to buckets.

Guarantee
    Exact for tables without sensitive columns. For a bucketized table this is the expectation over random assignments,
    up to O(1/n) terms; the divergence reported with a release is measured on the published tables.

Paper
    [versatile Eq. 3]: D(p‖p̃) = Σ p log(p/p̃) with p̃ the maximum-likelihood estimate.

Notation
    D = −H(all columns) + Σ over tables of the mean of −log p̃(table) − Σ over shared columns of H(shared).
    In a bucket of size b a row keeps its own value with weight 1/b and meets value s otherwise with chance
    (b − 1)·c(s)/(n − c(s)), so n·p̃(v, s) = n(v,s)/b + (n(v) − n(v,s))·(b − 1)/b·c(s)/(n − c(s)).

Invariants
    I1  Every column set is counted once; a schema that differs in one table costs one new count.

Cost
    One pass over the distinct rows per new column set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.join_tree import join_tree
from sfumato.kinds.subtables.guardian_normal_form import SubTable, decomposable, explain, in_normal_form
from sfumato.kinds.subtables.methods.buckets import bucket_size
from sfumato.kinds.subtables.methods.subtable_method import Hidden, SubTableMethod, guarded_table
from sfumato.policy.policy import Policy
from sfumato.policy.privacy_rules import PrivacyRule


class Guardian(SubTableMethod):
    """Satisfy any set of privacy rules by overlapping sub-tables that keep most of the joint distribution."""

    name: ClassVar[str] = "guardian"
    paper: ClassVar[str] = "versatile Alg. 1"

    def refusal_of_inner(self, policy: Policy) -> str:
        if self.inner != "anatomy":
            return (
                "its tables share columns, which must stay exact; generalization would make them disagree (use"
                " utility-aware)"
            )
        return ""

    def decompose(
        self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden
    ) -> list[SubTable]:
        members = data.members
        columns = {name: data.table.text(name).codes.astype(np.int64) for inner in members.values() for name in inner}
        sizes = {each.hidden: bucket_size(data.asked(each.hidden)) for each in rules}
        score = ExpectedDivergence(columns, sizes, members, data.table.counts)
        return guardian(units, rules, score, guardable)


# Guardian search
# ---------------


Score = Callable[[Sequence[SubTable]], float]
"""The expected divergence of a decomposable schema; smaller is better."""


def guardian(
    columns: Sequence[str], rules: Sequence[PrivacyRule], score: Score, guardable: Collection[str] | None = None
) -> list[SubTable]:
    """Sub-tables for rules with one sensitive column each."""
    may_guard = set(columns) if guardable is None else set(guardable)
    hidden = sorted({each.hidden for each in rules} & may_guard)
    starts = [[guarded_table(columns, {first}, rules)] for first in hidden] or [[SubTable(frozenset(columns))]]
    splits = [_split(start, rules, may_guard) for start in starts]
    best = min(splits, key=score)
    return _without_redundant(_enriched(best, columns, rules, score))


def _split(tables: list[SubTable], rules: Sequence[PrivacyRule], may_guard: Collection[str]) -> list[SubTable]:
    settled = {name for table in tables for name in table.guarded}
    while True:
        broken = next((verdict.rule for verdict in explain(tables, rules) if not verdict.kept), None)
        if broken is None:
            return [table for table in tables if table.columns]
        settled.add(broken.hidden)
        held = [each for each in rules if each.hidden in settled]
        tables = [table.without(broken.hide) for table in tables]  # I2
        tables.append(_new_table(tables, broken, held, broken.hide if broken.hidden in may_guard else frozenset()))


def _new_table(
    tables: list[SubTable], broken: PrivacyRule, held: Sequence[PrivacyRule], guard: frozenset[str]
) -> SubTable:
    """S with as many columns of Q as the rules held so far allow."""
    chosen = guarded_table(broken.hide, guard, held)
    for column in sorted(broken.given):
        wider = guarded_table(chosen.columns | {column}, guard, held)
        if in_normal_form([*tables, wider], held) and decomposable([*tables, wider]):  # I1
            chosen = wider
    return chosen


def _enriched(
    tables: list[SubTable], columns: Sequence[str], rules: Sequence[PrivacyRule], score: Score
) -> list[SubTable]:
    reached = score(tables)
    while True:
        options = [(score(wider), wider) for wider in _insertions(tables, columns, rules)]
        if not options:
            return tables
        value, wider = min(options, key=lambda option: option[0])
        if value >= reached - 1e-12:
            return tables
        tables, reached = wider, value


def _insertions(tables: list[SubTable], columns: Sequence[str], rules: Sequence[PrivacyRule]) -> list[list[SubTable]]:
    """All schemas with one more visible column in one table that stay in normal form and decomposable."""
    found = []
    for place, table in enumerate(tables):
        for column in columns:
            if column not in table.columns:
                wider = [*tables[:place], table.with_column(column), *tables[place + 1 :]]
                if decomposable(wider) and in_normal_form(wider, rules):
                    found.append(wider)
    return found


def _without_redundant(tables: list[SubTable]) -> list[SubTable]:
    """Drop tables that another one repeats column by column in the open."""
    kept: list[SubTable] = []
    for table in sorted(tables, key=lambda each: -len(each.columns)):
        if table.guarded or not any(table.columns <= other.visible for other in kept):
            kept.append(table)
    return kept


# Divergence
# ----------


class ExpectedDivergence:
    """Scores schemas over one table given as class codes with counts."""

    def __init__(
        self,
        columns: Mapping[str, IntArray],
        sizes: Mapping[str, float],
        members: Mapping[str, Sequence[str]],
        counts: IntArray | None = None,
    ) -> None:
        """`sizes`: bucket size of each column that may be hidden; `members`: columns of each unit; `counts`: records
        per row."""
        self._units = {
            name: equivalence_classes_of([columns[one] for one in inner]).of for name, inner in members.items()
        }
        whole = equivalence_classes_of(list(self._units.values()), weights=counts)
        self._units = {name: codes[whole.first] for name, codes in self._units.items()}
        self._weight = whole.counts.astype(np.float64)
        self._total = float(self._weight.sum())
        self._sizes = dict(sizes)
        self._codes: dict[frozenset[str], IntArray] = {}
        self._means: dict[tuple[frozenset[str], str], float] = {}
        self._floor = self._entropy(frozenset(self._units))

    def __call__(self, tables: Sequence[SubTable]) -> float:
        links = join_tree([table.columns for table in tables])
        if links is None:
            return float("inf")
        return sum(map(self._surprise, tables)) - sum(self._entropy(link.shared) for link in links) - self._floor

    def _surprise(self, table: SubTable) -> float:
        """Mean of −log p̃ over the people, in one table."""
        return self._guarded(table.visible, *table.guarded) if table.guarded else self._entropy(table.columns)

    def _entropy(self, names: frozenset[str]) -> float:
        if not names:
            return 0.0
        return self._remembered(names, "", lambda: self._mean_log(self._counts(names)))

    def _guarded(self, visible: frozenset[str], hidden: str) -> float:
        return self._remembered(visible, hidden, lambda: self._mean_log(self._estimated(visible, hidden)))

    def _estimated(self, visible: frozenset[str], hidden: str) -> FloatArray:
        size, own = self._sizes[hidden], self._counts(frozenset({hidden}))
        here, both = self._counts(visible), self._counts(visible | {hidden})
        estimate: FloatArray = both / size + (here - both) * ((size - 1) / size) * own / np.maximum(
            self._total - own, 1.0
        )
        return estimate

    def _remembered(self, names: frozenset[str], hidden: str, compute: Callable[[], float]) -> float:
        key = (names, hidden)
        if key not in self._means:  # I1
            self._means[key] = compute()
        return self._means[key]

    def _mean_log(self, counts: FloatArray) -> float:
        return float(-(self._weight * np.log(counts / self._total)).sum() / self._total)

    def _counts(self, names: frozenset[str]) -> FloatArray:
        """For each class of people: how many agree with it on `names`."""
        if not names:
            return np.full(len(self._weight), self._total)
        codes = self._codes_of(names)
        counts = np.bincount(codes, weights=self._weight).astype(np.float64)
        return counts[codes]

    def _codes_of(self, names: frozenset[str]) -> IntArray:
        if names not in self._codes:
            known = next((names - {one} for one in sorted(names) if names - {one} in self._codes), None)
            parts = [self._units[one] for one in sorted(names - (known or frozenset()))]
            self._codes[names] = equivalence_classes_of([*parts, self._codes[known]] if known else parts).of
        return self._codes[names]
