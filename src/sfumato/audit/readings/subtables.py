"""Sub-tables: for each rule the belief an outsider reaches through all tables as published.

Which table guards which rule is derived here, from the columns and the contents of the published tables; nothing is taken from the
manifest or from the method. A claim about sub-tables that are not in Guardian Normal Form is refused with the failing condition.

Guarantee
    Exact for the outsider of [versatile §2.2], who knows a person's given values, all published tables, and the dependencies under
    ``knows:``, and finds all worlds that agree with them equally likely. A claim that hides several columns together is
    judged by the best protected of them, which is a bound.

Paper
    [versatile Def. 3-5, Thm 4.1]; the left side that a guardian must hold is (Q ∩ A_i) ∪ Q*.

Invariants
    I1  A table is read as the joint weight of its rows and its hidden values, independent inside each bucket; every needed column
        may stand on either side.
        Where rows lie elsewhere, buckets that list the same are one, with counts; what they say of everybody is the same.
    I2  Rules that follow from outside knowledge (Theorem 3.2) are judged with the claim they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from sfumato.audit.base import Reading, Tally
from sfumato.audit.people_in_subtables import judged_in_subtables
from sfumato.audit.readings.anatomy import require_linear
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.data.linkage import Linkage, Spread
from sfumato.decomposition.dependencies import expand
from sfumato.decomposition.guardian import Guarded, SubTable, explain
from sfumato.decomposition.privacy_rules import PrivacyRule
from sfumato.decomposition.published_subtables import Published, PublishedSubTables
from sfumato.forms.subtables import SubTables, sub_tables
from sfumato.models.base import Model
from sfumato.policy.claims import Claim
from sfumato.policy.privacy import dependencies_of, rules_of_claim
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.release.honesty import NOTHING_PUBLISHED


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """One rule over all tables: the schema's verdict, and what the outsider is left with."""

    verdict: Guarded
    linkage: Linkage | None
    word: str = "people"
    """What its weights count."""

    def holds(self, model: Model) -> bool:
        return self.verdict.kept and (self.linkage is None or bool(model.satisfied(self.linkage).all()))

    def below(self, model: Model) -> int:
        return 0 if self.linkage is None else round(float(self.linkage.people[~model.satisfied(self.linkage)].sum()))

    def reason(self, model: Model) -> str:
        if self.verdict.kept and not self.holds(model):
            return f"{self.below(model)} {self.word} fall below, {self.verdict.reason().removeprefix('kept: ')}"
        return self.verdict.reason()


class SubTablesReading(Reading):
    """Everybody is read through the guardian table, derived from the published columns, or through the column alone."""

    name: ClassVar[str] = "sub-tables"
    form: ClassVar[type[Form]] = SubTables
    on_classes: ClassVar[bool] = True
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: Exhibit, claim: Claim) -> Tally:
        return judged_in_subtables(exhibit, claim)

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        found = [each.linkage for each in outcomes(exhibit, claim) if each.linkage is not None]
        return found[0] if found else Linkage(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        found = outcomes(exhibit, claim)
        holds = all(each.holds(claim.model) for each in found)
        shown = [each for each in found if holds or not each.holds(claim.model)]
        return Finding(
            model=claim.model.name,
            holds=holds,
            required=claim.model.required(),
            achieved=_worst(claim.model, found),
            given=claim.given,
            hide=claim.hide,
            grade="bound (at least this much)" if claim.composite else self.grade,
            reason="; ".join(each.reason(claim.model) for each in shown),
        )


def outcomes(exhibit: Exhibit, claim: Claim) -> list[RuleOutcome]:
    """The claim's rules, and those that outside knowledge adds (I2), each judged over all tables."""
    tables = exhibit.once(sub_tables)
    knows = dependencies_of(exhibit.policy)
    rules, _ = expand(rules_of_claim(claim), knows)
    found = [_outcome(tables, each, [known.columns for known in knows], claim.model) for each in rules]
    return [replace(each, word=exhibit.policy.record_word) for each in found]


def _outcome(tables: PublishedSubTables, rule: PrivacyRule, knowledge: Sequence[frozenset[str]], model: Model) -> RuleOutcome:
    schema = [SubTable(table.columns) for table in tables.tables]

    def satisfies(place: int, needed: PrivacyRule) -> bool:
        return bool(model.satisfied(through(tables, place, sorted(needed.given), needed.hidden)).all())

    (verdict,) = explain(schema, [rule], knowledge, satisfies)
    if not verdict.kept or not verdict.published:
        return RuleOutcome(verdict, None)
    if verdict.guardian is not None:
        guardian = verdict.guardian
        return RuleOutcome(verdict, through(tables, guardian.table, sorted(guardian.needed.given), verdict.hidden))
    holder = next(place for place, table in enumerate(tables.tables) if verdict.hidden in table.columns)
    return RuleOutcome(verdict, through(tables, holder, [], verdict.hidden))


def through(tables: PublishedSubTables, place: int, known: Sequence[str], hidden: str) -> Linkage:
    """What one table by itself leaves an outsider who knows the columns `known` of a person."""
    table, labels = tables.tables[place], tables.labels[hidden]
    if table.bucket is None:
        kinds = group([table.visible[name] for name in known], rows=table.rows)
        return _linkage(kinds.of, table.visible[hidden], table.often.astype(np.float64), len(kinds), labels)
    return _through_buckets(table, known, hidden, labels)


def _through_buckets(table: Published, known: Sequence[str], hidden: str, labels: tuple[str, ...]) -> Linkage:
    rows, entries = _sides(table, {*known, hidden})
    row, entry, weight = _joint(table, rows, entries)
    column = {name: codes[rows.first][row] for name, codes in table.visible.items()}
    column |= {name: codes[entries.first][entry] for name, codes in table.hidden.items()}
    kinds = group([column[name] for name in known], rows=len(weight))
    return _linkage(kinds.of, column[hidden], weight, len(kinds), labels)


def _sides(table: Published, wanted: set[str]) -> tuple[Classes, Classes]:
    """Rows and entries of a table, told apart only by the wanted columns."""
    rows = group([codes for name, codes in table.visible.items() if name in wanted], rows=table.rows)
    entries = len(next(iter(table.hidden.values())))
    return rows, group([codes for name, codes in table.hidden.items() if name in wanted], rows=entries)


def _joint(table: Published, rows: Classes, entries: Classes) -> tuple[IntArray, IntArray, FloatArray]:
    """Weight of every pair (class of rows, class of entries): inside a bucket the two are independent (I1)."""
    from scipy.sparse import csr_array

    assert table.bucket is not None
    assert table.entry_bucket is not None
    assert table.entry_count is not None
    of_bucket, of_entry, count = table.entry_bucket, entries.of, table.entry_count.astype(np.float64)
    bucket, buckets = table.bucket, int(max(table.bucket.max(initial=-1), of_bucket.max(initial=-1))) + 1
    if table.withheld:  # nothing is said about these rows: they are read as everybody together
        bucket = np.where(bucket < 0, buckets, bucket)
        of_bucket = np.concatenate([of_bucket, np.full(len(count), buckets)])
        of_entry, count, buckets = np.concatenate([of_entry, of_entry]), np.concatenate([count, count]), buckets + 1
    require_linear(rows.of * buckets + bucket, buckets, of_bucket * max(len(entries), 1) + of_entry, of_bucket)
    size = np.bincount(of_bucket, weights=count, minlength=buckets)
    left = csr_array((table.often.astype(np.float64), (rows.of, bucket)), shape=(len(rows), buckets))
    right = csr_array((count / size[of_bucket], (of_bucket, of_entry)), shape=(buckets, len(entries)))
    joint: Any = (left @ right).tocoo()
    return joint.row.astype(np.int64), joint.col.astype(np.int64), joint.data


def _linkage(kind: IntArray, value: IntArray, weight: FloatArray, kinds: int, labels: tuple[str, ...]) -> Linkage:
    from scipy.sparse import csr_array

    counted = csr_array((weight, (kind, value)), shape=(kinds, len(labels)))
    counted.sum_duplicates()
    people: Any = np.bincount(kind, weights=weight, minlength=kinds)
    spread = Spread(counted.indptr.astype(np.int64), counted.indices.astype(np.int64), counted.data, labels)
    return Linkage(people, people, {"": spread})


def _worst(model: Model, found: Sequence[RuleOutcome]) -> dict[str, Any]:
    """The lowest level over all rules, as the model itself orders levels; without any rule nothing is achieved."""
    levels = [model.achieved(each.linkage) for each in found if each.linkage is not None]
    if any(not each.verdict.kept for each in found):
        return {}
    if not levels:
        return dict(NOTHING_PUBLISHED) if found else {}
    return reduce(lambda one, other: other if _at_least(model, one, other) else one, levels)


def _at_least(model: Model, one: dict[str, Any], other: dict[str, Any]) -> bool:
    return type(model).model_construct(**one).covers(type(model).model_construct(**other))
