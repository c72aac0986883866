"""Drawing: new values for records that lie on a cluster, where no rule ties records to each other.

Of the source only how often kept values stand together is looked at, where it lies; new values are made there, share by
share (`methods.remote_shares`), and what was written is judged where it lies, file by file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sfumato.core.errors import DataError, PolicyError
from sfumato.data.table import Table
from sfumato.engines.protocol import COUNT, NumberedClasses, RunSecret
from sfumato.engines.spark.workflow.draft import draft_remote, marked
from sfumato.kinds.testdata.form import Replaced, ReplacedPart
from sfumato.kinds.testdata.methods.remote_shares import IndependentDraws
from sfumato.policy.constraint_language import columns_of
from sfumato.policy.kept_constraints import replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.value_domains import replaces_missing
from sfumato.release.folder import part_files
from sfumato.release.release import Release
from sfumato.release.view import ReleaseView
from sfumato.workflow.plan import Plan
from sfumato.workflow.publication import Publication, publication_of_draft

if TYPE_CHECKING:
    from sfumato.engines.spark.engine import SparkEngine
    from sfumato.engines.spark.source import RemoteRows

NOTE = "rows stayed on the cluster: new values were drawn there, share by share"
BLIND = "no replaced value was read: the release depends on the rules, the domains and the number of records only"
_LOOKED_AT = 1_000
"""Rows by which it is seen how parts are made."""


def drawable(engine: SparkEngine, rows: RemoteRows, policy: Policy) -> Drawable | str:
    """What new values are made with; or why rows must be brought although no rule says so."""
    count = engine.missing(
        rows, [name for name in replacements_of(policy) if not replaces_missing(policy.columns[name].domain)]
    )
    if count:
        return f"{count} records lack values that stay missing where they were"
    make = IndependentDraws(policy, records=engine.records(rows))
    if not make.records:
        raise DataError("the data has no rows")
    try:
        facts = {
            atom: make.fact(atom, _classes(engine, rows, [c.name for c in columns_of(atom)])) for atom in make.facts
        }
        weighed = (
            _classes(engine, rows, make.weighing)
            if make.weighing
            else Table(pa.table({}), counts=np.array([make.records]))
        )
        make = replace(make, constants=facts)
        counted = pa.table({name: weighed.frame.column(name) for name in make.weighing} | {COUNT: weighed.counts})
        parts, said = make.planned(engine.some(rows, make.mentioned, _LOOKED_AT), counted)
    except PolicyError as error:
        return error.what
    return Drawable(make, parts, said)


@dataclass(frozen=True)
class Drawable:
    """Who makes new values, how parts are made, and the same in sentences."""

    make: IndependentDraws
    parts: tuple[ReplacedPart, ...]
    said: tuple[str, ...]


def _classes(engine: SparkEngine, rows: RemoteRows, names: Sequence[str]) -> Table:
    """Classes of kept columns that totals look at; those that lack a value, or are too many, are not for shares."""
    found = engine.classes(rows, names)
    if not isinstance(found, NumberedClasses):
        raise PolicyError(f"totals beside {', '.join(names)} look at too many different values", where="keep")
    if any("" in found.table.text(name).labels for name in names):
        raise PolicyError(f"totals beside {', '.join(names)} meet missing values", where="keep")
    return found.table


def publish_replacement(
    engine: SparkEngine,
    rows: RemoteRows,
    policy: Policy,
    chosen: Plan,
    drawable: Drawable,
    secret: RunSecret,
    seed: int | None,
) -> Publication:
    """Make and certify a table with new values of distant rows."""
    make = replace(drawable.make, secret=secret.content)
    release = marked(Release(Replaced(parts=drawable.parts), {}, notes=(*drawable.said, BLIND, NOTE)), seed)
    shares = engine.shares(rows, list(dict.fromkeys([*_kept(policy), *make.mentioned])), secret, make.records)
    if make.has_totals:
        make = make.with_totals(engine.counted_shares(shares, make.weighing))
    draft = draft_remote(engine, {"data": (shares.made(policy.published, make), make.records)}, release, policy, chosen)
    engine.progress(1.0, "certifying")
    exhibit = compare_replacement(draft.read(), engine, rows, make.records)
    return publication_of_draft(policy, chosen, release, draft, exhibit, seed=seed)


def compare_replacement(
    exhibit: ReleaseView, engine: SparkEngine, rows: RemoteRows, records: int | None = None
) -> ReleaseView:
    """Return the view of a folder with its source; unchanged columns are compared on the cluster."""
    assert exhibit.folder is not None
    many = engine.records(rows) if records is None else records
    kept, files = _kept(exhibit.policy), part_files(exhibit.folder, "data")
    strangers = engine.misprojected([(files, kept)], rows) if kept else abs(exhibit.data.records - many)
    rows.require_unchanged()
    return replace(exhibit, original=Table(pa.table({}), counts=np.array([many])), strangers=strangers)


def _kept(policy: Policy) -> list[str]:
    return [name for name in policy.published if policy.columns[name].role != "replaced"]
