"""Cluster: the same flow where rows stay on an engine. Classes with counts come to the method, its grouping goes back
to the rows, and what was written is counted where it lies and judged by the same audit.

::

    source ─ rows ─▶ classes ─▶ method ─▶ counted release ─▶ recode, write ─▶ draft folder ─▶ count ─▶ ReleaseView ─▶
    certify

Invariants
    I1  The trace is a grouping: which class stands behind which published tuple, how often. It is compared with what
        was counted in the files, so that any difference made by the cluster is a row without a record.
    I2  What has not been made for classes gets rows (`needs_rows`), up to a number of them, and then is an ordinary
        local release; whatever else meets classes and was not made for them finds them *not judged*, and nothing is
        published.
    I3  The source is the same at the end as at the beginning.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.core.errors import DataError, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.memory_map import release_memory
from sfumato.engines.local import HERE
from sfumato.engines.protocol import SECRET_BYTES, NumberedClasses, Recoding, RunSecret
from sfumato.engines.spark.workflow.anatomy import publish_anatomy, rederive_buckets
from sfumato.engines.spark.workflow.draft import class_columns, draft_remote, marked, match_to_provenance
from sfumato.engines.spark.workflow.history import needs_records, publish_with_history
from sfumato.engines.spark.workflow.region_recoding import cut_regions, misplaced, route_to_regions, solver
from sfumato.engines.spark.workflow.replacement import Drawable, compare_replacement, drawable, publish_replacement
from sfumato.engines.spark.workflow.subtables import choose_subtables, publish_subtables, rederive_subtables
from sfumato.io.plain_files import is_part_file
from sfumato.kinds.tables.form import Recoded, is_plain_recoding
from sfumato.policy.policy import Policy
from sfumato.release.folder import part_files
from sfumato.release.method import Method, Progress, Task
from sfumato.release.release import Part, Release
from sfumato.release.view import ReleaseView
from sfumato.workflow.arguments import ledger_of
from sfumato.workflow.plan import Plan, plan
from sfumato.workflow.publication import Publication, publication_of_draft
from sfumato.workflow.publish import publish
from sfumato.workflow.write import DraftFolder

if TYPE_CHECKING:
    from sfumato.engines.spark.engine import SparkEngine
    from sfumato.engines.spark.regions import RemoteClasses
    from sfumato.engines.spark.source import RemoteRows

MOST_ROWS = 5_000_000
"""Rows that are brought to the driver where classes do not do."""
NOTE_OF_REGIONS = "rows and their classes stayed where they lie: groups were made region by region"
NOTE = "rows stayed on the cluster: groups were made from classes of records with their counts"


def needs_rows(policy: Policy, method: Method, remembering: bool = False) -> str:
    """Why rows must be brought to the driver; empty when they can stay where they are (I2)."""
    if reason := method.rows_for(policy):
        return reason
    if policy.keep and not method.form.replaces:
        return "rules under 'keep' are judged on rows"
    if policy.person is not None:
        return "people with several rows ('person:') are counted on rows"
    if policy.of_population or policy.calibrated is not None:
        return "people of a population ('population:') are counted on rows"
    if any(claim.needs_joint for claim in policy.claims):
        return "a combination of hidden columns is counted on rows"
    joint = [claim.model.name for claim in policy.claims if claim.model.joint]
    if joint:
        return f"{joint[0]} speaks of several releases, which are compared record by record"
    if remembering and (reason := needs_records(policy, is_plain_recoding(method.form))):
        return reason
    several = (
        policy.sensitive if method.form.buckets and not method.form.joins_columns and len(policy.sensitive) > 1 else ()
    )
    if not all(is_part_file(f"{name}/part-00000.parquet") for name in several):
        return (
            "the values of a hidden column get a folder of its name, and one of the names has more than letters and"
            " digits"
        )
    return ""


def require_fit(policy: Policy) -> None:
    """Refuse with the reason what cannot run on a cluster (I2)."""
    if policy.data.name != "table":
        reason = f"only tables lie on a cluster, and the policy is about {policy.data.name}"
        raise PolicyError(f"this cannot run with --engine spark: {reason}", hint="use --engine local")
    for name, column in policy.columns.items():
        if column.uniform:
            where = policy.document.where("columns", name, "uniform")
            raise PolicyError(
                f"'{name}' is uniform, and clusters write no uniform columns", where=where, hint="remove it"
            )


def describe_plan(policy: Policy, method: Method, remembering: bool = False) -> str:
    """What would happen on a cluster, in a sentence."""
    reason = needs_rows(policy, method, remembering)
    return f"{reason}, so rows are brought to the driver, at most {MOST_ROWS:,} of them" if reason else NOTE


def as_engine(engine: Any, staging: Path | None = None, progress: Progress | None = None) -> SparkEngine:
    """An engine, from one or from a Spark session."""
    from sfumato.engines.spark.engine import SparkEngine

    made = engine if isinstance(engine, SparkEngine) else SparkEngine(engine)
    return replace(made, staging=made.staging or staging, progress=made.progress if progress is None else progress)


def publish_on(
    engine: Any, policy: Policy, data: Any, *, seed: int | None, jobs: int | None, progress: Progress, **ledger: Any
) -> Publication:
    """Make and certify a release of rows that lie on a cluster."""
    require_fit(policy)
    book = ledger_of(policy, ledger["ledger"], new=ledger["new_ledger"])
    remembering = book is not None
    chosen = plan(policy, remembering=remembering)
    spark = as_engine(engine, progress=progress)
    progress(0.0, "reading")
    rows = spark.rows(policy, data)
    for name in policy.columns:
        rows.column(name)
    secret = RunSecret(Randomness(seed).child("rows of the cluster").bytes(SECRET_BYTES))
    reason = needs_rows(policy, chosen.method, remembering)
    draws = drawable(spark, rows, policy) if chosen.method.form.replaces and not reason else reason
    if isinstance(draws, Drawable):
        return publish_replacement(spark, rows, policy, chosen, draws, secret, seed)
    if draws:
        table = collect_rows(spark, rows, policy, draws)
        return publish(policy, table, seed=seed, jobs=jobs, progress=progress, format="parquet", **ledger)
    if chosen.method.form.joins_columns:
        return publish_subtables(spark, rows, policy, chosen, secret, seed)
    if chosen.method.form.buckets:
        return publish_anatomy(spark, rows, policy, chosen, secret, seed)
    if book is not None:
        return publish_with_history(spark, rows, policy, chosen, book, secret, seed, jobs)
    classes = spark.classes(rows, class_columns(policy))
    if not isinstance(classes, NumberedClasses):
        return _by_regions(spark, rows, classes, policy, chosen, secret, seed)
    release = chosen.method.run(
        Task(policy, classes.table, Randomness(seed), jobs or chosen.method.usual_jobs(), progress)
    )
    release = marked(replace(release, notes=(*release.notes, NOTE)), seed)
    behind, part = np.asarray(release.trace.rows["data"]), release.parts["data"]
    release_memory()
    frame = spark.recode(rows, Recoding.of(classes, part, behind, _recoded(policy)), policy.published, secret)
    draft = draft_remote(spark, {"data": (frame, int(np.asarray(part.counts).sum()))}, release, policy, chosen)
    progress(1.0, "certifying")
    exhibit = draft.read()
    seen, trace = match_to_provenance(exhibit.parts["data"], part, behind)  # I1
    strangers = _strangers(spark, rows, draft, policy, seen)
    rows.require_unchanged()  # I3
    release = replace(release, parts={"data": seen}, trace=replace(release.trace, rows={"data": trace}))
    del part, behind  # what was made is what was found from here on
    release_memory()
    exhibit = replace(exhibit, parts=release.parts, original=classes.table, trace=release.trace, strangers=strangers)
    return publication_of_draft(policy, chosen, release, draft, exhibit, seed=seed)


def _by_regions(
    engine: SparkEngine,
    rows: RemoteRows,
    classes: RemoteClasses,
    policy: Policy,
    chosen: Plan,
    secret: RunSecret,
    seed: int | None,
) -> Publication:
    """The same where classes do not fit on the driver: regions are solved, and shares audited, on the cluster."""
    from sfumato.engines.spark.regions import region_assigner

    regions, recoded = cut_regions(engine, policy, chosen.method, classes), _recoded(policy)
    solve = solver(policy, chosen.method, regions, secret, recoded)
    place = region_assigner(
        regions.leaves, partial(route_to_regions, regions.cuts), regions.bins, apart=chosen.method.cuts_as_regions
    )
    shares = classes.solved(place, solve, recoded).persist()
    placed = engine.placed(shares)
    release = marked(Release(Recoded(), {}, regions.records - placed, notes=(NOTE_OF_REGIONS,)), seed)
    frame = engine.recode_shares(rows, classes, shares, recoded, policy.published)
    draft = draft_remote(engine, {"data": (frame, placed)}, release, policy, chosen)
    engine.progress(1.0, "certifying")
    exhibit = draft.read()
    others = [name for name in classes.names if name in policy.published and name not in recoded]
    files = [draft.folder / name for name in draft.rows]
    wrong = engine.wrong(classes, shares, misplaced(regions.domains, recoded))
    wrong += engine.differing(files, classes, shares, recoded, others)
    wrong += _strangers(engine, rows, draft, policy, exhibit.parts["data"]) or 0
    rows.require_unchanged()  # I3
    shares.unpersist()
    classes.frame.unpersist()
    return publication_of_draft(policy, chosen, release, draft, replace(exhibit, strangers=wrong), seed=seed)


def _recoded(policy: Policy) -> list[str]:
    return [name for name in policy.quasi_identifiers if name in policy.published]


def collect_rows(engine: SparkEngine, rows: RemoteRows, policy: Policy, reason: str) -> pa.Table:
    """All rows of the columns that the policy names, for what cannot do without them."""
    wanted = [*policy.columns, *policy.key]
    if policy.person is not None:
        wanted += [*policy.person.columns, *policy.person.together]
    size = engine.size(rows)
    if size > MOST_ROWS:
        what = f"{reason}, and {size:,} rows are more than the {MOST_ROWS:,} that are brought to the driver"
        raise PolicyError(
            f"this cannot run with --engine spark: {what}", hint="use a method on classes, or change the policy"
        )
    found = engine.collect(rows, list(dict.fromkeys(wanted)))
    rows.require_unchanged()  # I3
    return found


def compare_with_source(exhibit: ReleaseView, engine: Any, original: Any) -> ReleaseView:
    """Return the view of a folder with the classes of its source; other columns are compared on the cluster."""
    spark = as_engine(engine)
    rows = spark.rows(exhibit.policy, original)
    if exhibit.form.replaces:
        return compare_replacement(exhibit, spark, rows)
    names = choose_subtables(exhibit.policy) if exhibit.form.joins_columns else class_columns(exhibit.policy)
    classes = spark.classes(rows, [name for name in names if name in rows.names])
    if not isinstance(classes, NumberedClasses):
        hint = "verify without the original, or give the driver more memory"
        raise DataError("the classes of the original do not fit on the driver", hint=hint)
    if exhibit.form.joins_columns:
        return rederive_subtables(exhibit, spark, rows, classes)
    if exhibit.form.buckets:
        return rederive_buckets(exhibit, spark, rows, classes)
    part = exhibit.parts.get("data")
    strange = None
    if part is not None and part.beside and exhibit.folder is not None:
        strange = spark.strangers(part_files(exhibit.folder, "data"), rows, _as_is(exhibit.policy))
    rows.require_unchanged()  # I3
    return replace(exhibit, original=classes.table, strangers=strange)


def compare_with_rows(exhibit: ReleaseView) -> ReleaseView:
    """Return the view of a folder with an original that is read here; other columns are compared, too."""
    part = exhibit.parts.get("data")
    if part is None or not part.beside or exhibit.folder is None or not exhibit.private:
        return exhibit
    return replace(
        exhibit,
        strangers=HERE.beyond(part_files(exhibit.folder, "data"), exhibit.original.frame, _as_is(exhibit.policy)),
    )


def _as_is(policy: Policy) -> list[str]:
    return [name for name in policy.published if policy.columns[name].role not in ("quasi-identifier", "replaced")]


def _strangers(engine: SparkEngine, rows: RemoteRows, draft: DraftFolder, policy: Policy, part: Part) -> int | None:
    """Rows that show something beside their classes that no record of the source has; none asked when all is in
    classes."""
    if not part.beside:
        return None
    return engine.strangers([draft.folder / name for name in draft.rows], rows, _as_is(policy))
