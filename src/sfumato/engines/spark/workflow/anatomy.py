"""Dealing: an anatomy of rows that lie on a cluster. They are assigned to buckets there, and only kinds of buckets come
here.

The method chooses the column and the number of buckets (`methods.subtables.anatomy.most_buckets`) from the lists of the
buckets; buckets with equal lists are one. The bucket of each row stays on the cluster. The private provenance is the
secret of the run with the decisions; from it an audit with the original assigns the rows again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, ReleaseError
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.table import Table, TextColumn
from sfumato.engines.protocol import SECRET_BYTES, NumberedClasses, RunSecret
from sfumato.engines.spark.workflow.draft import class_columns, draft_remote, marked
from sfumato.kinds.subtables.form import AnatomyForm, AnatomyProvenance, SubTablesProvenance
from sfumato.kinds.subtables.methods.anatomy import most_buckets
from sfumato.kinds.subtables.methods.buckets import bucket_contents
from sfumato.policy.policy import Policy
from sfumato.release.folder import part_files, read_provenance
from sfumato.release.release import Release
from sfumato.release.view import ReleaseView
from sfumato.workflow.plan import Plan
from sfumato.workflow.publication import Publication, publication_of_draft

if TYPE_CHECKING:
    from sfumato.engines.spark.buckets import BucketedRows, BucketLayout
    from sfumato.engines.spark.engine import SparkEngine
    from sfumato.engines.spark.source import RemoteRows

NOTE = "rows stayed on the cluster: they were assigned to buckets there"
_MANY_VALUES = 2_000
Kinds = Mapping[str, tuple[pa.Table, IntArray]]
"""Per sensitive column the entries of every kind of bucket, and how many buckets have each."""


def publish_anatomy(
    engine: SparkEngine, rows: RemoteRows, policy: Policy, chosen: Plan, secret: RunSecret, seed: int | None
) -> Publication:
    """Make and certify an anatomy of distant rows."""
    classes = engine.classes(rows, class_columns(policy))
    if not isinstance(classes, NumberedClasses):
        hint = "publish fewer columns, coarsen them, or give the driver more memory (SparkEngine(most_classes=…))"
        raise DataError("an anatomy is judged on classes of records, and they do not fit on the driver", hint=hint)
    dealt, trace = _dealt(engine, rows, policy, classes.table, secret)
    parts = {"data": (dealt.shown(), classes.table.records)}
    parts |= {part: (dealt.listed(name), classes.table.records) for name, part in lists_of(policy).items()}
    release = marked(Release(AnatomyForm(), {}, trace=trace, notes=(NOTE,)), seed)
    draft = draft_remote(engine, parts, release, policy, chosen)
    engine.progress(1.0, "certifying")
    strangers, misplaced = _compared(engine, draft.folder, policy, dealt, rows)
    rows.require_unchanged()
    dealt.forget()
    exhibit = replace(draft.read(), original=classes.table, trace=trace, strangers=strangers, misplaced=misplaced)
    return publication_of_draft(policy, chosen, release, draft, exhibit, seed=seed)


def rederive_buckets(
    exhibit: ReleaseView, engine: SparkEngine, rows: RemoteRows, classes: NumberedClasses
) -> ReleaseView:
    """Return the view of a folder with its source; with the provenance rows are assigned again and compared."""
    exhibit = replace(exhibit, original=classes.table)
    assert exhibit.folder is not None
    trace = read_provenance(exhibit.folder, exhibit.form)
    if not isinstance(trace, AnatomyProvenance) or not trace.secret:
        return exhibit
    secret, hidden = secret_of(trace), _hidden(exhibit.policy, classes.table)
    if trace.by not in hidden or trace.buckets < 1:
        raise ReleaseError("the private provenance belongs to another release", hint="remove it to audit without it")
    deck = engine.deck(rows, layout_of(exhibit.policy), secret, classes.table.records)
    dealt = engine.dealt(deck, trace.by, sorted(hidden[trace.by].labels), trace.buckets, secret, trace.attempt)
    strangers, misplaced = _compared(engine, exhibit.folder, exhibit.policy, dealt, rows)
    rows.require_unchanged()
    dealt.forget()
    return replace(exhibit, strangers=strangers, misplaced=misplaced)


def _dealt(
    engine: SparkEngine, rows: RemoteRows, policy: Policy, classes: Table, secret: RunSecret
) -> tuple[BucketedRows, AnatomyProvenance]:
    """Return the rows in as many buckets as the requirements allow, and what repeats the assignment."""
    hidden = _hidden(policy, classes)
    deck = engine.deck(rows, layout_of(policy), secret, classes.records)

    def deal(by: str, buckets: int, attempt: int) -> tuple[BucketedRows, AnatomyProvenance]:
        engine.progress(0.0, "dealing")
        dealt = engine.dealt(deck, by, sorted(hidden[by].labels), buckets, secret, attempt)
        return dealt, AnatomyProvenance(
            secret=secret.content.hex(), by=by, buckets=buckets, attempt=attempt, lasting=True
        )

    def kept(by: str, buckets: int, attempt: int) -> tuple[BucketedRows, AnatomyProvenance] | None:
        known = expected_bucket_kinds(by, hidden[by], buckets)
        foreseen = [claim for claim in policy.claims if known and claim.hide == (by,)]
        if not all(claim.model.satisfied(told_by(known, claim.hide)).all() for claim in foreseen):
            return None
        dealt, trace = deal(by, buckets, attempt)
        left = [claim for claim in policy.claims if claim not in foreseen]
        kinds = engine.kinds(dealt) if left else {}
        if all(claim.model.satisfied(told_by(kinds, claim.hide)).all() for claim in left):
            return dealt, trace
        dealt.frame.unpersist()
        return None

    found = most_buckets(policy.claims, hidden, kept)
    found = deal(next(iter(hidden)), 1, 0) if found is None else found
    return found


def expected_bucket_kinds(by: str, text: TextColumn, buckets: int) -> Kinds:
    """Return the expected bucket lists of the chosen column before the assignment; None if there are very many
    values."""
    if len(text.labels) > _MANY_VALUES:
        return {}
    values, code = sorted(text.labels), {label: code for code, label in enumerate(text.labels)}
    rows, often = bucket_contents(text.counts()[[code[value] for value in values]], buckets)
    kind, value = np.nonzero(rows)
    entries = {"bucket": pa.array(kind + 1).cast(pa.string()), "value": pa.array(values).take(pa.array(value))}
    return {by: (pa.table({**entries, "count": pa.array(rows[kind, value])}), often[kind])}


def told_by(kinds: Kinds, hidden: Sequence[str]) -> Linkage:
    """What everybody learns from the own bucket; kinds have the same numbers for every column."""
    spread, sizes, often = {}, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for name in hidden:
        entries, buckets = kinds[name]
        table = Table(entries)
        kind = entries.column("bucket").cast(pa.int64()).to_numpy() - 1
        count, text = entries.column("count").to_numpy(), table.text("value")
        spread[name] = ValueDistribution.count(kind, text.codes, int(kind.max()) + 1, text.labels, count * buckets)
        sizes = np.bincount(kind, weights=count).astype(np.int64)
        often = np.zeros(len(sizes), dtype=np.int64)
        often[kind] = buckets
    return Linkage(sizes * often, sizes, spread)


def _compared(
    engine: SparkEngine, folder: Path, policy: Policy, dealt: BucketedRows, rows: RemoteRows
) -> tuple[int, int]:
    lists = {name: part_files(folder, part) for name, part in lists_of(policy).items()}
    return engine.misdealt(part_files(folder, "data"), lists, dealt, rows)


def secret_of(trace: AnatomyProvenance | SubTablesProvenance) -> RunSecret:
    """The secret of a run, as its private provenance keeps it."""
    try:
        return RunSecret(bytes.fromhex(trace.secret)[:SECRET_BYTES])
    except ValueError:
        raise ReleaseError("the private provenance cannot be read", hint="remove it to audit without it") from None


def _hidden(policy: Policy, classes: Table) -> dict[str, TextColumn]:
    return {name: classes.text(name) for name in policy.sensitive}


def layout_of(policy: Policy) -> BucketLayout:
    """What of a record stands beside its bucket, and what its bucket lists."""
    from sfumato.engines.spark.buckets import BucketLayout

    visible = tuple(name for name in policy.published if name not in policy.sensitive)
    aside = tuple(name for name in visible if policy.columns[name].role == "other")
    return BucketLayout(visible, aside, tuple(policy.sensitive))


def lists_of(policy: Policy) -> dict[str, str]:
    """The part that lists the values of each sensitive column."""
    return {name: "sensitive" if len(policy.sensitive) == 1 else f"sensitive-{name}" for name in policy.sensitive}
