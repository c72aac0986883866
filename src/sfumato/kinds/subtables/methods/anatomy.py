"""`anatomy`: quasi-identifiers stay exact, sensitive values go to a second table, and only a bucket links the two.

Guarantee: an adversary who finds a person's row learns the values of its bucket, which satisfy the requirements.
Presence and everything else in the row is not hidden, so requirements on the number of candidates (k-anonymity) are
refused.

Paper: Xiao and Tao (2006), as used in [versatile §6].

Invariants
    I1  Eligibility first: when one bucket of all records breaks a requirement no bucketization can keep it (monotone
        models).
    I2  Buckets look at sensitive values and at chance only (see `buckets`), and their numbers are a random permutation.
    I3  Rows of both tables are in an order that tells nothing: shuffled, or sorted by what is published.
    I4  Buckets never cross persistent classes (`constrain.constraints`), so joint classes over all releases keep every
        requirement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import Infeasible, NotFound
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.table import TextColumn
from sfumato.history.constrain.constraints import buckets_per_class, constrain_task, require_few_withheld
from sfumato.kinds.subtables.form import AnatomyForm
from sfumato.kinds.subtables.methods.buckets import PersonBuckets, person_share_error, spread_rows
from sfumato.kinds.tables.methods.person_requirements import refusal_of_people
from sfumato.models.base import Model
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Provenance, Release

Dealt = TypeVar("Dealt")
_LONGEST_NAME = 200
"""Bytes of a column's name that still fit the name of a file."""


class Anatomy(Method):
    """Publish exact quasi-identifiers and sensitive values in two tables, linked by bucket numbers only."""

    name: ClassVar[str] = "anatomy"
    form: ClassVar[type[Form]] = AnatomyForm
    paper: ClassVar[str] = "Xiao, Tao 2006; versatile §6"
    counts_people: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    on_classes: ClassVar[bool] = True

    def refusal(self, policy: Policy) -> str:
        if not policy.claims:
            return "the policy protects nothing: 'protect' has no claims"
        if "bucket" in policy.published:
            return "a column is already called 'bucket'"
        unnameable = [name for name in policy.sensitive if "/" in name or len(name.encode()) > _LONGEST_NAME]
        if unnameable and len(policy.sensitive) > 1:
            return f"the values of '{unnameable[0]}' get a file of that name, which no file can have"
        for claim in policy.claims:
            if not self.enforces(claim, policy):
                return (
                    "anatomy publishes quasi-identifiers exactly and hides only sensitive columns, so it cannot keep"
                    f" {claim}"
                )
        return refusal_of_people(policy)

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        hidden = bool(claim.hide) and set(claim.hide) <= set(policy.sensitive)
        visible = set(claim.given).isdisjoint(policy.sensitive)
        return claim.model.monotone and not claim.model.bounds_candidates and hidden and visible

    def run(self, task: Task) -> Release:
        going = constrain_task(task, may_stand_in=False)
        table = going.table
        hidden = {name: table.text(name) for name in task.policy.sensitive}
        bucket = _deal(task, hidden, going.apart)
        kept = np.flatnonzero(bucket >= 0)
        lost = table.rows - len(kept) + going.withheld
        require_few_withheld(task.policy, lost, task.data.rows)
        rows = kept[task.randomness.child("row order").permutation(len(kept))]  # I3
        visible = [name for name in task.policy.published if name not in hidden]
        shown = {name: table.column(name).combine_chunks().take(pa.array(rows)) for name in visible}
        parts = {"data": Part(pa.table({**shown, "bucket": bucket[rows] + 1}))}
        for name, text in hidden.items():
            part = "sensitive" if len(hidden) == 1 else f"sensitive-{name}"
            parts[part] = Part(_counts(bucket[kept], TextColumn(text.codes[kept], text.labels)))
        return Release(AnatomyForm(), parts, lost, Provenance({"data": going.behind[rows]}, lasting=True))


def _deal(task: Task, hidden: dict[str, TextColumn], apart: IntArray) -> IntArray:
    """Buckets within every persistent class (I4); who cannot be given one is not published."""
    if int(apart.max(initial=0)) == 0:
        return _dealt(task, hidden)

    def deal(rows: IntArray, place: int) -> IntArray | None:
        mine = {name: TextColumn(text.codes[rows], text.labels) for name, text in hidden.items()}
        try:
            return _dealt(replace(task, randomness=task.randomness.child(f"class {place}")), mine)
        except Infeasible:
            return None

    bucket = buckets_per_class(apart, deal, task.randomness.child("numbers"))
    if not (bucket >= 0).any():
        raise Infeasible("no history class can be published again", hint="publish fewer columns, or ask for less")
    return bucket


def _dealt(task: Task, hidden: dict[str, TextColumn]) -> IntArray:
    """As many buckets as the requirements and people in several rows allow."""
    claims = task.policy.claims
    shown = [name for name in task.data.names if name not in hidden]
    apart = None if task.policy.person is None else PersonBuckets(task.policy, task.data, hidden, shown)

    def deal(by: str, buckets: int, attempt: int) -> IntArray | None:
        bucket = spread_rows(hidden[by].codes, buckets, task.randomness.child(f"buckets {attempt}"))  # I2
        if not all(claim.model.satisfied(_linkage(bucket, claim, hidden)).all() for claim in claims):
            return None
        return bucket if apart is None else apart.traded(bucket, task.randomness.child(f"people {attempt}"))

    found = most_buckets(claims, hidden, deal)
    if found is not None:
        return found
    everyone = _everyone(hidden)
    if apart is None or not apart.broken(everyone).any():
        return everyone

    def holds(bucket: IntArray) -> BoolArray:
        verdict: BoolArray = np.logical_and.reduce(
            [claim.model.satisfied(_linkage(bucket, claim, hidden)) for claim in claims]
        )
        return verdict

    numbers = range(len(everyone) // max(_least_rows(claim.model) for claim in claims), 1, -1)
    found = apart.searched(holds, numbers, task.randomness.child("people"))
    if found is None:
        raise person_share_error()
    return found


def most_buckets(
    claims: Sequence[PrivacyRequirement],
    hidden: Mapping[str, TextColumn],
    deal: Callable[[str, int, int], Dealt | None],
) -> Dealt | None:
    """Find the largest valid number of buckets: start from the required levels, and decrease until an assignment is
    valid.

    `deal` gets the column, a number of buckets and the number of the attempt, and returns None if a requirement fails.
    Nothing is returned when only one bucket of all records is left, which keeps every requirement."""
    together = [(claim, _linkage(_everyone(hidden), claim, hidden)) for claim in claims]
    failing = [(claim, seen) for claim, seen in together if not claim.model.satisfied(seen).all()]
    if failing:  # I1
        what = " and ".join(str(claim) for claim, _ in failing)
        hint = "; ".join(claim.model.suggestion(seen) for claim, seen in failing)
        verb = "fails" if len(failing) == 1 else "fail"
        refuse = Infeasible if all(claim.model.demand().only_counts for claim, _ in failing) else NotFound
        raise refuse(f"{what} {verb} even when all records share one bucket", where=failing[0][0].where, hint=hint)
    rarest = min(hidden, key=lambda name: _largest_l(hidden[name]))
    records = int(hidden[rarest].counts().sum())
    buckets, attempt = max(1, records // max(_least_rows(claim.model) for claim in claims)), 0
    while buckets > 1:
        if (dealt := deal(rarest, buckets, attempt)) is not None:
            return dealt
        buckets, attempt = buckets * 3 // 4, attempt + 1
    return None


def _everyone(hidden: Mapping[str, TextColumn]) -> IntArray:
    return np.zeros(len(next(iter(hidden.values())).codes), dtype=np.int64)


def _largest_l(text: TextColumn) -> int:
    counts = text.counts()
    return int(counts.sum() // counts.max(initial=1))


def _least_rows(model: Model) -> int:
    """A bucket with fewer rows than this cannot satisfy the model."""
    demand = model.demand()
    return demand.fewest if demand.of_values else 2


def _linkage(bucket: IntArray, claim: PrivacyRequirement, hidden: Mapping[str, TextColumn]) -> Linkage:
    values = {name: (hidden[name].codes, hidden[name].labels) for name in claim.hide}
    return Linkage.of_groups(bucket, values, next(iter(hidden.values())).weights)


def _counts(bucket: IntArray, text: TextColumn) -> pa.Table:
    """Per bucket the values and how often they occur, sorted by both."""
    counted = ValueDistribution.count(bucket, text.codes, int(bucket.max()) + 1, text.labels)
    labels = np.array(text.labels, dtype=object)[counted.value]
    order = np.lexsort((labels.astype(str), counted.kind()))
    columns = {
        "bucket": counted.kind()[order] + 1,
        "value": pa.array(labels[order], pa.string()),
        "count": counted.weight[order],
    }
    return pa.table(columns)
