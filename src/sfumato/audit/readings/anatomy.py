"""AnatomyForm: exact quasi-identifiers with a bucket number, and per bucket the counts of sensitive values.

Whoever finds a person's row learns the bucket, and by symmetry inside the bucket nothing more: the sensitive value is distributed
as the bucket's counts. A person whose given values stand in several rows is read as the mixture of their buckets.

Where rows lie elsewhere, buckets that list the same are one, with counts; what they say of everybody is the same.

Departures: quasi-identifiers stand there exactly, so the number of candidates is the number of rows with the same given values;
k-anonymity is judged on that, and usually fails. AnatomyForm hides values, not presence.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Reading, Tally
from sfumato.audit.listed_values import listed_values
from sfumato.audit.people import judged_in_buckets
from sfumato.data.arrays import IntArray
from sfumato.data.classes import group, weighed
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.forms.anatomy import AnatomyForm, sensitive_part
from sfumato.policy.claims import Claim
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

MOST_MIXED, _TIMES = 5_000_000, 50
"""Pairs of a person and a value that are looked at in any folder, and how many more for each row."""


class AnatomyReading(Reading):
    """Everybody is read as the mixture of the buckets that hold rows with the same given values."""

    name: ClassVar[str] = "anatomy"
    form: ClassVar[type[Form]] = AnatomyForm
    on_classes: ClassVar[bool] = True
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: Exhibit, claim: Claim) -> Tally:
        return judged_in_buckets(exhibit, claim)

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        table = exhibit.data
        buckets, bucket = table.text("bucket"), table.text("bucket").codes.astype(np.int64)
        people = group([table.text(name).codes for name in claim.given], rows=table.rows, weights=table.counts)
        number = {label: code for code, label in enumerate(buckets.labels)}
        spread = {}
        for name in claim.hide:
            if name in table.names:  # it stands beside the bucket, and no bucket hides it
                spread[name] = Spread.count(people.of, table.text(name).codes, len(people), table.text(name).labels, table.counts)
            else:
                counts = exhibit.tables[sensitive_part(exhibit, name)]
                spread[name] = _mixture(people.of, bucket, len(people), counts, number, table.counts)
        return Linkage(people.counts, people.counts, spread)


def _mixture(kind: IntArray, bucket: IntArray, kinds: int, counts: Table, number: dict[str, int], often: IntArray | None) -> Spread:
    """Spread of each kind: its rows' buckets, weighted by rows; the sum over a bucket must equal its rows."""
    of_bucket, value, weight = listed_values(counts, number)
    rows = weighed(bucket, often, len(number))
    listed = np.bincount(of_bucket, weights=weight, minlength=len(number)).astype(np.int64)
    if (rows != listed).any():
        raise DataError(f"{int((rows != listed).sum())} bucket(s) do not have as many sensitive values as rows")
    require_linear(kind * len(number) + bucket, len(number), of_bucket * len(counts.text("value").labels) + value, of_bucket)
    from scipy.sparse import csr_array

    membership = csr_array((np.ones(len(kind)) if often is None else often, (kind, bucket)), shape=(kinds, len(number)))
    shares = csr_array((weight / rows[of_bucket], (of_bucket, value)), shape=(len(number), len(counts.text("value").labels)))
    mixed = (membership @ shares).tocsr()
    mixed.sum_duplicates()
    return Spread(mixed.indptr.astype(np.int64), mixed.indices.astype(np.int64), mixed.data, counts.text("value").labels)


def require_linear(rows: IntArray, buckets: int, entries: IntArray, of_bucket: IntArray) -> None:
    """Refuse buckets so large that mixing them would cost more than a folder of this size may ask for.

    `rows` number the pairs of a kind of person and a bucket, kind · buckets + bucket; `entries` the pairs of a bucket and a value.
    """
    most = MOST_MIXED + _TIMES * (len(rows) + len(entries))
    if int(np.bincount(of_bucket, minlength=buckets)[rows % buckets].sum()) <= most:
        return  # not even if all of them were different
    values = np.bincount(of_bucket[np.unique(entries, return_index=True)[1]], minlength=buckets)
    if int(values[np.unique(rows) % buckets].sum()) > most:
        raise DataError("buckets list so many different values for so many people that nobody can judge them")
