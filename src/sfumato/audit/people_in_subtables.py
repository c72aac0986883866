"""People in several rows of sub-tables: what all tables together say about somebody, counted with the original.

Which table hides a column, and whether its buckets may be dealt anew without any other table telling (`decomposition.trading`), is
derived from the published columns. Where they may not, nothing is judged.

Notation
    n, f    rows of a bucket, and how many of its listed values are one value
    M       rows of the bucket that could be one person's: with the given values, among those the table shows, of a record of the
            person, and no more than there are

Guarantee: in every world, whoever stands where, all ways to deal a bucket's values over its rows are equally likely. A person has
at most M rows there, so f + M ≤ n leaves a world in which none of them has the value, bucket by bucket and so everywhere; and the
chance that one of them has it is at most 1 − C(n−f, M) / C(n, M), which stays within the share that is asked for. A column that
nothing connects with what is given is one class of all rows: at most the share of all people has a value there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.audit.base import Tally
from sfumato.audit.people import few_have_it, person_of
from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.people import most_in_buckets, people_of, too_sure
from sfumato.decomposition.published_subtables import Published, PublishedSubTables
from sfumato.decomposition.trading import ALONE, trading_table
from sfumato.forms.subtables import sub_tables
from sfumato.models.base import Demand
from sfumato.policy.claims import Claim
from sfumato.policy.privacy import dependencies_of, rules_of_claim
from sfumato.release.exhibit import Exhibit


def judged_in_subtables(exhibit: Exhibit, claim: Claim) -> Tally:
    """One claim on sub-tables, for people; of a claim that hides several columns together one has to be hidden."""
    demand = claim.model.demand()
    lasting = any(exhibit.policy.columns[name].persistent for name in claim.hide)
    told = claim.model.joint or not demand.sufficient or demand.candidates > 1
    if told or lasting or dependencies_of(exhibit.policy):
        return Tally(0, complete=False)
    found = []
    for rule in rules_of_claim(claim):
        judged = [_judged(exhibit, sorted(rule.given), hidden, demand) for hidden in sorted(rule.hide)]
        found.append(min(judged, key=lambda one: (not one.complete, one.broken)))
    among = [one.fewest for one in found if one.fewest is not None]
    return Tally(sum(one.broken for one in found), all(one.complete for one in found), min(among, default=None))


def _judged(exhibit: Exhibit, given: Sequence[str], hidden: str, demand: Demand) -> Tally:
    tables: PublishedSubTables = exhibit.once(sub_tables)
    if hidden not in tables.labels:
        return Tally(0)
    place = trading_table([(frozenset(one.visible), frozenset(one.hidden)) for one in tables.tables], given, hidden)
    if place is None:
        return Tally(0, complete=False)
    person = people_of(exhibit.original, person_of(exhibit).unit)
    if place == ALONE:
        return _alone(exhibit, hidden, person, demand)
    rows, frequent, most = _in_buckets(exhibit, tables.tables[place], given, hidden, person)
    broken: BoolArray = too_sure(rows, frequent, most, demand.largest_share)
    return Tally(int(broken.sum()), True, int((rows // most).min(initial=len(person))))


def _alone(exhibit: Exhibit, hidden: str, person: IntArray, demand: Demand) -> Tally:
    """All records as one class."""
    text, most = exhibit.original.text(hidden), int(np.bincount(person).max(initial=1))
    certain = int(text.counts().max(initial=0)) + most > len(person)
    often = ~few_have_it(np.zeros_like(person), person, text.codes.astype(np.int64), demand.largest_share)
    return Tally(int(certain or bool(often.any())), True, len(person) // most)


def _in_buckets(
    exhibit: Exhibit, table: Published, given: Sequence[str], hidden: str, person: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Per bucket: its rows, the most frequent value, the most rows that could be one person's."""
    assert table.bucket is not None
    here = np.flatnonzero(table.bucket >= 0)
    known = [name for name in given if name in table.visible]
    labels = exhibit.once(sub_tables).labels
    columns = [np.concatenate([table.visible[name][here], _coded(exhibit, name, labels[name])]) for name in known]
    alike = group(columns, rows=len(here) + len(person)).of
    bucket = table.bucket[here]
    most = most_in_buckets(bucket, alike[: len(here)], person, alike[len(here) :])
    rows = np.bincount(bucket)
    return rows, _frequent(table, hidden, len(rows)), most


def _frequent(table: Published, hidden: str, buckets: int) -> IntArray:
    """How often the most frequent value of each bucket is listed."""
    assert table.entry_bucket is not None
    assert table.entry_count is not None
    pairs = group([table.entry_bucket, table.hidden[hidden]])
    most = np.zeros(buckets, dtype=np.int64)
    np.maximum.at(most, table.entry_bucket[pairs.first], np.bincount(pairs.of, weights=table.entry_count).astype(np.int64))
    return most


def _coded(exhibit: Exhibit, name: str, labels: Sequence[str]) -> IntArray:
    """The original's values in the codes of the tables; what no table shows has a code of its own."""
    known = {label: code for code, label in enumerate(labels)}
    text = exhibit.original.text(name)
    codes = np.array([known.get(label, len(known) + place) for place, label in enumerate(text.labels)], dtype=np.int64)
    found: IntArray = codes[text.codes]
    return found
