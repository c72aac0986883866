"""Sub-tables: for each rule the belief an adversary reaches through all tables as published.

Which table guards which rule is derived here, from the columns and the contents of the published tables; nothing is
taken from the manifest or from the method. A requirement about sub-tables that are not in Guardian Normal Form is
refused with the failing condition.

Guarantee
    Exact for the adversary of [versatile §2.2], who knows a person's given values, all published tables, and the
    dependencies under ``knows:``, and finds all worlds that agree with them equally likely. A requirement that hides
    several columns together is judged by one of them where its model hides combinations (`Model.hides_combinations`),
    which is a bound; else by the joint distribution of the combination over all worlds.

Paper
    [versatile Def. 3-5, Thm 4.1]; the left side that a guardian must hold is (Q ∩ A_i) ∪ Q*.

Invariants
    I1  A table is read as the joint weight of its rows and its sensitive values, independent inside each bucket; every
        needed column may stand on either side. Where rows stay on a cluster, buckets that list the same are one, with
        counts; what they say of all people is the same.
    I2  Rules that follow from outside knowledge (Theorem 3.2) are judged with the requirement they come from.


Anatomy
-------
AnatomyForm: exact quasi-identifiers with a bucket number, and per bucket the counts of sensitive values.

An adversary who finds a person's row learns the bucket, and by symmetry inside the bucket nothing more: the sensitive
value is distributed as the bucket's counts. A person whose known values occur in several rows is read as the mixture of
their buckets.

Where rows stay on a cluster, buckets that list the same are one, with counts; what they say of all people is the same.

Departures: quasi-identifiers stand there exactly, so the number of candidates is the number of rows with the same given
values; k-anonymity is judged on that, and usually fails. AnatomyForm hides values, not presence.


People in subtables
-------------------
People in several rows of sub-tables: what all tables together say about a person, counted with the original.

The published columns determine which table hides a column, and whether its buckets can be permuted without a
contradiction in another table (`subtables.guardian_normal_form`). Where they may not, nothing is judged.

Notation
    n, f    rows of a bucket, and how many of its listed values are one value
    M       rows of the bucket that could be one person's: with the given values, among those the table shows, of a
            record of the person, and no more than there are

Guarantee: in every possible world, for any order of people, all assignments of a bucket's values to its rows are
equally likely. A person has at most M rows there, so f + M ≤ n leaves a world in which none of them has the value,
bucket by bucket and so everywhere; and the chance that one of them has it is at most 1 − C(n−f, M) / C(n, M), which
stays within the share that is asked for. A column that nothing connects with what is given is one bucket of all rows,
and at most the share of all people has a value there.

The chance is that of one bucket. Over several buckets a person with many rows ever has a value with a larger one; the
finding says "in each bucket"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import DataError
from sfumato.data.equivalence_classes import EquivalenceClasses, class_counts, equivalence_classes_of
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.persons import buckets_disclosing_value, most_rows_of_one_person, persons_of_rows
from sfumato.data.table import Table
from sfumato.kinds.person_evidence import judge_persons_in_buckets, listed_values, person_of, value_shares_hold
from sfumato.kinds.subtables.form import AnatomyForm, SubTables, sensitive_part, sub_tables
from sfumato.kinds.subtables.guardian_normal_form import (
    ALONE,
    Guarded,
    SubTable,
    bucket_table_of,
    explain,
    reachable_columns,
)
from sfumato.kinds.subtables.joint_estimate import Published, PublishedSubTables
from sfumato.models.base import Demand, Model
from sfumato.policy.privacy_rules import PrivacyRule, expand_rules, join_names
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.rule_reduction import dependencies_of, rules_of_claim
from sfumato.release.certificate import NOTHING_PUBLISHED, Finding
from sfumato.release.evidence import Evidence, ViolationCount, below_text
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """One rule over all tables: the schema's verdict, and what the adversary is left with."""

    verdict: Guarded
    linkage: Linkage | None
    word: str = "people"
    """What its weights count."""
    exact: bool = True
    """Whether its level is that of what the rule hides, not of one column of it."""

    def holds(self, model: Model) -> bool:
        return self.verdict.kept and (self.linkage is None or bool(model.satisfied(self.linkage).all()))

    def below(self, model: Model) -> int:
        return 0 if self.linkage is None else round(float(self.linkage.people[~model.satisfied(self.linkage)].sum()))

    def reason(self, model: Model) -> str:
        if self.verdict.kept and not self.holds(model):
            return f"{below_text(self.below(model), self.word)}, {self.verdict.reason().removeprefix('kept: ')}"
        return self.verdict.reason()


class SubTablesReading(Evidence):
    """Everybody is read through the guardian table, derived from the published columns, or through the column alone."""

    name: ClassVar[str] = "sub-tables"
    form: ClassVar[type[Form]] = SubTables
    on_classes: ClassVar[bool] = True
    rows_are_records: ClassVar[bool] = True
    reads_combinations: ClassVar[bool] = True

    def of_people(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount:
        return judge_persons_in_subtables(exhibit, claim)

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        found = [each.linkage for each in outcomes(exhibit, claim) if each.linkage is not None]
        return found[0] if found else Linkage(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
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
            grade="bound (at least this much)"
            if claim.composite and not all(each.exact for each in found)
            else self.grade,
            reason="; ".join(each.reason(claim.model) for each in shown),
        )


def outcomes(exhibit: ReleaseView, claim: PrivacyRequirement) -> list[RuleOutcome]:
    """The requirement's rules, and those that outside knowledge adds (I2), each judged over all tables."""
    tables = exhibit.once(sub_tables)
    knows = dependencies_of(exhibit.policy)
    rules, _ = expand_rules(rules_of_claim(claim), knows)
    found = [_outcome(tables, each, [known.columns for known in knows], claim.model) for each in rules]
    return [replace(each, word=exhibit.policy.record_word) for each in found]


def _outcome(
    tables: PublishedSubTables, rule: PrivacyRule, knowledge: Sequence[frozenset[str]], model: Model
) -> RuleOutcome:
    """The first way in which the rule holds, by one sensitive column or by the joint distribution of several; else the
    first way."""
    tried: list[RuleOutcome] = []
    for way in _ways(tables, rule, knowledge, model):
        if way.holds(model):
            return way
        tried.append(way)
    return tried[0]


def _ways(
    tables: PublishedSubTables, rule: PrivacyRule, knowledge: Sequence[frozenset[str]], model: Model
) -> Iterator[RuleOutcome]:
    if len(rule.hide) == 1 or model.hides_combinations:
        for hidden in sorted(rule.hide):
            way = _by_column(tables, rule.with_sides(rule.given, {hidden}), knowledge, model)
            yield replace(way, exact=len(rule.hide) == 1)
    if len(rule.hide) > 1:
        yield _by_combination(tables, rule, knowledge, model)


def _by_column(
    tables: PublishedSubTables, rule: PrivacyRule, knowledge: Sequence[frozenset[str]], model: Model
) -> RuleOutcome:
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


def _by_combination(
    tables: PublishedSubTables, rule: PrivacyRule, knowledge: Sequence[frozenset[str]], model: Model
) -> RuleOutcome:
    """The rule by the joint distribution of its sensitive columns over all worlds; a column in no table tells nothing
    of it.

    Columns that nothing connects with what is given have one distribution for all people, whatever adversaries know:
    all people may trade them. If tables are connected and the adversary knows a dependency, worlds do not factor by
    table, and nothing is judged."""
    names, shown = join_names(rule.hide), sorted(name for name in rule.hide if name in tables.labels)
    if not shown:
        return RuleOutcome(Guarded(rule, True, names, False), None)
    tied = not reachable_columns(rule.given, [*(table.columns for table in tables.tables), *knowledge]).isdisjoint(
        shown
    )
    if knowledge and (tied or not model.compares):
        note = f"not kept: nobody computes what dependencies that outsiders know tell of the combination of {names}"
        return RuleOutcome(Guarded(rule, False, names, True, note=note), None)
    if not tied and model.compares:  # everybody has the same distribution, whatever it is
        note = f"kept: no table, and no chain of tables, connects {names} with {join_names(rule.given)}"
        holder = next(place for place, table in enumerate(tables.tables) if shown[0] in table.columns)
        return RuleOutcome(Guarded(rule, True, names, True, note=note), through(tables, holder, [], shown[0]))
    known = sorted(name for name in rule.given if name in tables.labels) if tied else []
    note = f"kept: this is what all tables together leave of the combination of {names}"
    return RuleOutcome(Guarded(rule, True, names, True, note=note), combination_linkage(tables, known, shown))


def combination_linkage(tables: PublishedSubTables, known: Sequence[str], hidden: Sequence[str]) -> Linkage:
    """What all tables leave of a combination of columns to an adversary who knows the columns `known` of a person."""
    joint = tables.joint({*known, *hidden})
    kinds = equivalence_classes_of([joint.columns[name] for name in known], rows=len(joint.weight))
    values = equivalence_classes_of([joint.columns[name] for name in hidden])
    labels = tuple(str(tuple(tables.labels[name][joint.columns[name][row]] for name in hidden)) for row in values.first)
    return _linkage("", kinds.of, values.of, joint.weight, len(kinds), labels)


def through(tables: PublishedSubTables, place: int, known: Sequence[str], hidden: str) -> Linkage:
    """What one table by itself leaves an adversary who knows the columns `known` of a person."""
    table, labels = tables.tables[place], tables.labels[hidden]
    if table.bucket is None:
        kinds = equivalence_classes_of([table.visible[name] for name in known], rows=table.rows)
        often = table.often.astype(np.float64)
        return _linkage(hidden, kinds.of, table.visible[hidden], often, len(kinds), labels)
    return _through_buckets(table, known, hidden, labels)


def _through_buckets(table: Published, known: Sequence[str], hidden: str, labels: tuple[str, ...]) -> Linkage:
    rows, entries = _sides(table, {*known, hidden})
    row, entry, weight = _joint(table, rows, entries)
    column = {name: codes[rows.first][row] for name, codes in table.visible.items()}
    column |= {name: codes[entries.first][entry] for name, codes in table.hidden.items()}
    kinds = equivalence_classes_of([column[name] for name in known], rows=len(weight))
    return _linkage(hidden, kinds.of, column[hidden], weight, len(kinds), labels)


def _sides(table: Published, wanted: set[str]) -> tuple[EquivalenceClasses, EquivalenceClasses]:
    """Rows and entries of a table, told apart only by the wanted columns."""
    rows = equivalence_classes_of([codes for name, codes in table.visible.items() if name in wanted], rows=table.rows)
    entries = len(next(iter(table.hidden.values())))
    return rows, equivalence_classes_of([codes for name, codes in table.hidden.items() if name in wanted], rows=entries)


def _joint(
    table: Published, rows: EquivalenceClasses, entries: EquivalenceClasses
) -> tuple[IntArray, IntArray, FloatArray]:
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


def _linkage(
    name: str, kind: IntArray, value: IntArray, weight: FloatArray, kinds: int, labels: tuple[str, ...]
) -> Linkage:
    """The values of one sensitive column, under its name so that a stated reference is found, or of a combination."""
    from scipy.sparse import csr_array

    counted = csr_array((weight, (kind, value)), shape=(kinds, len(labels)))
    counted.sum_duplicates()
    people: Any = np.bincount(kind, weights=weight, minlength=kinds)
    spread = ValueDistribution(counted.indptr.astype(np.int64), counted.indices.astype(np.int64), counted.data, labels)
    return Linkage(people, people, {name: spread})


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


# Anatomy
# -------


MOST_MIXED, _TIMES = 5_000_000, 50
"""Pairs of a person and a value that are looked at in any folder, and how many more for each row."""


class AnatomyReading(Evidence):
    """Everybody is read as the mixture of the buckets that hold rows with the same given values."""

    name: ClassVar[str] = "anatomy"
    form: ClassVar[type[Form]] = AnatomyForm
    on_classes: ClassVar[bool] = True
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount:
        return judge_persons_in_buckets(exhibit, claim)

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        table = exhibit.data
        buckets, bucket = table.text("bucket"), table.text("bucket").codes.astype(np.int64)
        people = equivalence_classes_of(
            [table.text(name).codes for name in claim.given], rows=table.rows, weights=table.counts
        )
        number = {label: code for code, label in enumerate(buckets.labels)}
        spread = {}
        for name in claim.hide:
            if name in table.names:  # it stands beside the bucket, and no bucket hides it
                spread[name] = ValueDistribution.count(
                    people.of, table.text(name).codes, len(people), table.text(name).labels, table.counts
                )
            else:
                counts = exhibit.tables[sensitive_part(exhibit, name)]
                spread[name] = _mixture(people.of, bucket, len(people), counts, number, table.counts)
        return Linkage(people.counts, people.counts, spread)


def _mixture(
    kind: IntArray, bucket: IntArray, kinds: int, counts: Table, number: dict[str, int], often: IntArray | None
) -> ValueDistribution:
    """Spread of each kind: its rows' buckets, weighted by rows; the sum over a bucket must equal its rows."""
    of_bucket, value, weight = listed_values(counts, number)
    rows = class_counts(bucket, often, len(number))
    listed = np.bincount(of_bucket, weights=weight, minlength=len(number)).astype(np.int64)
    if (rows != listed).any():
        raise DataError(f"{int((rows != listed).sum())} bucket(s) do not have as many sensitive values as rows")
    require_linear(
        kind * len(number) + bucket, len(number), of_bucket * len(counts.text("value").labels) + value, of_bucket
    )
    from scipy.sparse import csr_array

    membership = csr_array((np.ones(len(kind)) if often is None else often, (kind, bucket)), shape=(kinds, len(number)))
    shares = csr_array(
        (weight / rows[of_bucket], (of_bucket, value)), shape=(len(number), len(counts.text("value").labels))
    )
    mixed = (membership @ shares).tocsr()
    mixed.sum_duplicates()
    return ValueDistribution(
        mixed.indptr.astype(np.int64), mixed.indices.astype(np.int64), mixed.data, counts.text("value").labels
    )


def require_linear(rows: IntArray, buckets: int, entries: IntArray, of_bucket: IntArray) -> None:
    """Refuse buckets so large that mixing them would cost more than a folder of this size may ask for.

    `rows` number the pairs of a kind of person and a bucket, kind · buckets + bucket; `entries` the pairs of a bucket
    and a value."""
    most = MOST_MIXED + _TIMES * (len(rows) + len(entries))
    if int(np.bincount(of_bucket, minlength=buckets)[rows % buckets].sum()) <= most:
        return  # not even if all of them were different
    values = np.bincount(of_bucket[np.unique(entries, return_index=True)[1]], minlength=buckets)
    if int(values[np.unique(rows) % buckets].sum()) > most:
        raise DataError("buckets list so many different values for so many people that nobody can judge them")


# People in subtables
# -------------------


def judge_persons_in_subtables(exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount:
    """One requirement on sub-tables, for people; of a requirement that hides several columns together one has to be
    hidden."""
    demand = claim.model.demand()
    lasting = any(exhibit.policy.columns[name].persistent for name in claim.hide)
    told = claim.model.joint or claim.needs_joint or not demand.sufficient or demand.candidates > 1
    if told or lasting or dependencies_of(exhibit.policy):
        return ViolationCount(0, complete=False)
    found = []
    for rule in rules_of_claim(claim):
        judged = [_judged(exhibit, sorted(rule.given), hidden, demand) for hidden in sorted(rule.hide)]
        found.append(min(judged, key=lambda one: (not one.complete, one.broken)))
    among = [one.fewest for one in found if one.fewest is not None]
    return ViolationCount(
        sum(one.broken for one in found), all(one.complete for one in found), min(among, default=None)
    )


def _judged(exhibit: ReleaseView, given: Sequence[str], hidden: str, demand: Demand) -> ViolationCount:
    tables: PublishedSubTables = exhibit.once(sub_tables)
    if hidden not in tables.labels:
        return ViolationCount(0)
    place = bucket_table_of([(frozenset(one.visible), frozenset(one.hidden)) for one in tables.tables], given, hidden)
    if place is None:
        return ViolationCount(0, complete=False)
    person = persons_of_rows(exhibit.original, person_of(exhibit).unit)
    if place == ALONE:
        return _alone(exhibit, hidden, person, demand)
    rows, frequent, most = _in_buckets(exhibit, tables.tables[place], given, hidden, person)
    broken: BoolArray = buckets_disclosing_value(rows, frequent, most, demand.largest_share)
    return ViolationCount(int(broken.sum()), True, int((rows // most).min(initial=len(person))))


def _alone(exhibit: ReleaseView, hidden: str, person: IntArray, demand: Demand) -> ViolationCount:
    """All records as one bucket: who has M of its n rows has a value of f rows with 1 − C(n−f, M) / C(n, M)."""
    text, most = exhibit.original.text(hidden), int(np.bincount(person).max(initial=1))
    rows, frequent, mine = (np.array([number]) for number in (len(person), int(text.counts().max(initial=0)), most))
    told = buckets_disclosing_value(rows, frequent, mine, demand.largest_share)
    often = ~value_shares_hold(np.zeros_like(person), person, text.codes.astype(np.int64), demand.largest_share)
    return ViolationCount(int(bool(told.any() or often.any())), True, len(person) // most)


def _in_buckets(
    exhibit: ReleaseView, table: Published, given: Sequence[str], hidden: str, person: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Per bucket: its rows, the most frequent value, the most rows that could be one person's."""
    assert table.bucket is not None
    here = np.flatnonzero(table.bucket >= 0)
    known = [name for name in given if name in table.visible]
    labels = exhibit.once(sub_tables).labels
    columns = [np.concatenate([table.visible[name][here], _coded(exhibit, name, labels[name])]) for name in known]
    alike = equivalence_classes_of(columns, rows=len(here) + len(person)).of
    bucket = table.bucket[here]
    most = most_rows_of_one_person(bucket, alike[: len(here)], person, alike[len(here) :])
    rows = np.bincount(bucket)
    return rows, _frequent(table, hidden, len(rows)), most


def _frequent(table: Published, hidden: str, buckets: int) -> IntArray:
    """How often the most frequent value of each bucket is listed."""
    assert table.entry_bucket is not None
    assert table.entry_count is not None
    pairs = equivalence_classes_of([table.entry_bucket, table.hidden[hidden]])
    most = np.zeros(buckets, dtype=np.int64)
    np.maximum.at(
        most, table.entry_bucket[pairs.first], np.bincount(pairs.of, weights=table.entry_count).astype(np.int64)
    )
    return most


def _coded(exhibit: ReleaseView, name: str, labels: Sequence[str]) -> IntArray:
    """The original's values in the codes of the tables; what no table shows has a code of its own."""
    known = {label: code for code, label in enumerate(labels)}
    text = exhibit.original.text(name)
    codes = np.array([known.get(label, len(known) + place) for place, label in enumerate(text.labels)], dtype=np.int64)
    found: IntArray = codes[text.codes]
    return found
