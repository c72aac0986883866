"""Load: from a release folder into a test database, and the audit of what stands there afterwards.

Invariants
    I1  Only a complete, certified folder is loaded; the digest of its manifest (without the report) is the name of the
        load.
    I2  A load that was cut off goes on table by table with the same folder; a target that is complete already is only
        judged again.
    I3  `target.json` appears in the folder when the audit has seen the target, and names the manifest it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from dataclasses import replace as changed_to
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.core.errors import AuditRefused, DataError, PolicyError, ReleaseError
from sfumato.data.database import Database, Schema, ServerFinding
from sfumato.data.table import Table
from sfumato.io.database_source import DatabaseSource, given_url
from sfumato.io.plain_files import files_of, read_plain, read_tree
from sfumato.io.sql import Loaded, connect, dialect_of, load, read_back, read_schema, refresh, server_findings
from sfumato.io.sql.rows import RowCounter
from sfumato.kinds.testdata.database_checks import JoinSize, join_sizes, judge_target
from sfumato.kinds.testdata.database_view import DatabaseView
from sfumato.kinds.testdata.form import DatabaseForm, bound_policy, schema_of, tables_of
from sfumato.kinds.testdata.leaked_values import Originals, original_values
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.policy import Policy, public_policy
from sfumato.release.certificate import Finding
from sfumato.release.folder import AGAIN, MANIFEST, POLICY, TARGET, read_folder, write_json
from sfumato.release.method import Progress, no_progress
from sfumato.release.view import ReleaseView
from sfumato.workflow.plan import plan

_JOBS, _LOADING = 4, 0.6


@dataclass(frozen=True, slots=True)
class Loading:
    """What a load did and what the audit found in the target."""

    findings: tuple[Finding, ...]
    rows: Mapping[str, int]
    resumed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    joins: tuple[JoinSize, ...] = ()
    """For every reference how many rows find the row that they refer to, in the release and in the target."""
    refreshed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Per table how many rows a refresh added, changed and removed."""

    @property
    def holds(self) -> bool:
        return all(finding.holds for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        findings = [finding.to_json() for finding in self.findings]
        joins = [one.to_json() for one in self.joins]
        told = {"holds": self.holds, "findings": findings, "rows": dict(self.rows), "left_out": list(self.left_out)}
        told |= {"joins": joins} if joins else {}
        return told | (
            {"refreshed": {name: dict(one) for name, one in self.refreshed.items()}} if self.refreshed else {}
        )


def release_name(folder: Path) -> str:
    """A digest of everything in the manifest but the report, which may be written again."""
    manifest = read_tree(folder / MANIFEST)
    for name in AGAIN:
        manifest["files"].pop(name, None)
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def has_target(policy: Policy) -> bool:
    """Whether the policy wants a database loaded."""
    return policy.data.loads


def is_unfinished(policy: Policy, out: str | Path) -> bool:
    """Whether `out` is a release under this policy whose target was not loaded to the end (I2)."""
    folder = Path(out)
    if (
        not has_target(policy)
        or not folder.is_dir()
        or not {MANIFEST, POLICY} <= files_of(folder).keys()
        or _recorded(folder)
    ):
        return False
    return read_plain(folder / POLICY) == public_policy(policy, plan(policy).declaration).encode()


def load_release(
    policy: Policy | str | Path,
    out: str | Path,
    *,
    progress: Progress = no_progress,
    replace: bool = False,
    jobs: int | None = None,
    published: ReleaseView | None = None,
    refreshing: Path | None = None,
) -> Loading:
    """Load the target of a policy from a release folder made under it; a load that was cut off goes on where it was.

    `jobs` tables are loaded at once into a server that takes them so; without it as many as there are cores, at most
    four. `published` is the view from which the folder was just certified and written; then neither the folder nor the
    source is read again. `refreshing` is the folder of the release that the target holds; then only rows that differ
    are written."""
    policy = policy if isinstance(policy, Policy) else Policy.read(policy)
    with policy.data.within():
        jobs = jobs or min(os.cpu_count() or 1, _JOBS)
        told: dict[str, Any] = {"progress": progress, "published": published, "refreshing": refreshing}
        return load_target(policy, Path(out), replace=replace, jobs=jobs, **told)


def require_target(policy: Policy, *, replace: bool = False) -> None:
    """Refuses what the load would refuse in the end, before anything is read or made."""
    source = policy.data
    assert isinstance(source, DatabaseSource)
    standing = source.standing(source.read_schema())
    if standing and not replace:
        what = "has rows" if source.mode == "fill" else "is in the target"
        hint = "choose an empty target, or replace what stands there with --replace"
        raise DataError(f"table '{standing[0]}' {what} already", where="data.target", hint=hint)


def _recorded(folder: Path) -> bool:
    """Whether a record of a load that holds belongs to this manifest."""
    try:
        record = read_tree(folder / TARGET)
        return bool(record["holds"]) and record["release"] == release_name(folder)
    except (ReleaseError, KeyError, TypeError, AttributeError):
        return False


def load_target(
    policy: Policy,
    folder: Path,
    *,
    progress: Progress = no_progress,
    replace: bool = False,
    jobs: int = 1,
    published: ReleaseView | None = None,
    refreshing: Path | None = None,
) -> Loading:
    """Load a release folder into the policy's target and judge it there; refused when something does not hold."""
    source = policy.data
    assert isinstance(source, DatabaseSource)
    target, schema = source.target_url(), source.read_schema()
    release = read_folder(folder) if published is None else published.as_published()
    if release.damage:  # I1
        raise ReleaseError(
            f"the folder was changed: {release.damage[0]}", where=str(folder), hint="remove it and publish again"
        )
    tables = release.once(tables_of)
    namespace = source.place_in(target)
    rows = {name: table.rows for name, table in tables.items()}
    done, changes = Loaded(rows, (), ()), dict[str, dict[str, int]]()

    def told(done: float, what: str) -> None:
        progress(_LOADING * done, what)

    try:
        own = source.source_url()  # a target that is the source is refused
        if refreshing is not None:
            changes = _refreshed(target, schema, refreshing, tables, told, namespace=namespace, source=own)
        else:
            how: dict[str, Any] = {"replace": replace, "mode": source.loading(), "jobs": jobs, "namespace": namespace}
            done = load(target, schema, tables, fingerprint=release_name(folder), progress=told, source=own, **how)
    except DataError:
        if replace or not _complete(release, target, schema, namespace):
            raise
    progress(_LOADING, "judging the target")
    before: Database = published.original if published is not None else _replaced_columns(source, policy, schema)
    old = original_values(BoundPolicy.of(policy, schema), before)
    findings, joins = judge_load(release, target, schema, namespace, old, progress)
    found = Loading(findings, rows, done.resumed, done.left_out, joins, changes)
    _record(found, folder)
    if not found.holds:
        wrong = "; ".join(f"{finding.model}: {finding.reason}" for finding in found.findings if not finding.holds)
        raise AuditRefused(
            f"the audit refuses the target: {wrong}", where=str(folder / TARGET), hint="do not use the target"
        )
    return found


def _refreshed(
    target: str, schema: Schema, last: Path, tables: Mapping[str, Table], told: Progress, **where: str | None
) -> dict[str, dict[str, int]]:
    """Write what has changed since the last release; how many rows were added, changed and removed."""
    found = refresh(target, schema, last_loaded(last).once(tables_of), tables, tell=told, **where)
    return {table: asdict(one) for table, one in found.items()}


def last_loaded(folder: Path) -> ReleaseView:
    """The release that a target holds: undamaged, and loaded with an audit that holds."""
    found = read_folder(folder)
    if found.damage or not _recorded(folder):
        hint = "publish without --refresh, with --replace"
        raise ReleaseError("the last release was not loaded to the end, or was changed", where=str(folder), hint=hint)
    return found


def _complete(release: ReleaseView, target: str, schema: Schema, namespace: str | None) -> bool:
    """Whether an earlier run had loaded everything, keys too, and was cut off before it could say so."""
    try:
        rows, server, *_ = judge_load(release, target, schema, namespace)[0]
        return rows.holds and server.holds
    except DataError:  # a target that cannot be queried is not complete; the error of the load itself is reported
        return False


def _replaced_columns(source: DatabaseSource, policy: Policy, schema: Schema) -> Database:
    """Read the original values of replaced columns again: a resumed load has not read the source."""
    changed = BoundPolicy.of(policy, schema).changed
    names = {table.name: {column.name for column in changed if column.table == table.name} for table in schema.tables}
    wanted = [table for table in schema.tables if names[table.name]]
    cut = tuple(
        changed_to(table, columns=tuple(c for c in table.columns if c.name in names[table.name])) for table in wanted
    )
    return source.read_tables(source.source_url(), changed_to(schema, tables=cut))


def judge_load(
    release: ReleaseView,
    target: str,
    schema: Schema,
    namespace: str | None,
    originals: Originals | None = None,
    progress: Progress = no_progress,
) -> tuple[tuple[Finding, ...], tuple[JoinSize, ...]]:
    """Judge a target against the release it was loaded from: findings, the first about the rows, and join sizes."""
    there = read_schema(target, namespace)
    known = {table.name for table in schema.tables}
    mine = changed_to(there, tables=tuple(table for table in there.tables if table.name in known))
    asked = server_findings(target, schema, namespace=namespace)
    complaints = [_complaint(found) for found in asked if _wrong(found, schema, there)]
    rest = (1 - _LOADING) / 2
    back = read_back(target, mine, progress=lambda done, what: progress(_LOADING + rest * done, what))
    joins = _count_joins(release, target, there, namespace)
    told = partial(_last_part, progress, rest)
    return judge_target(release, back, complaints, originals, told, joins), joins


def _last_part(progress: Progress, rest: float, done: float, what: str) -> None:
    progress(1 - rest + rest * done, what)


def _count_joins(release: ReleaseView, target: str, there: Schema, namespace: str | None) -> tuple[JoinSize, ...]:
    """The join size of every reference in the release, and as the target's server counts it."""
    found = []
    kinds = {(table.name, column.name): column.native for table in there.tables for column in table.columns}
    with connect(target, namespace=namespace) as link:
        counter = RowCounter(link)
        for size in join_sizes(release.once(DatabaseView)):
            child, parent = (
                [(str(c.table), c.name) for c in side] for side in (size.reference.child, size.reference.parent)
            )
            if not {*child, *parent} <= kinds.keys():
                continue  # a table or a column is missing, and the finding about rows says so
            unlike = any(kinds[one] != kinds[other] for one, other in zip(child, parent, strict=True))
            names = {one[1]: other[1] for one, other in zip(child, parent, strict=True)}
            after = counter.joined(child[0][0], names, parent[0][0], as_text=unlike)
            found.append(changed_to(size, before=size.after, after=after, lost=max(0, size.after - after)))
    return tuple(found)


def _wrong(found: ServerFinding, schema: Schema, there: Schema) -> bool:
    """What the other kind of database cannot have (a check, a key in a circle) is left out and named; all else must
    stand."""
    foreign = found.what == "check" and not found.present and schema.dialect != there.dialect
    circular = found.what == "foreign key" and not found.present and not found.violations and there.dialect == "duckdb"
    return not foreign and not circular and not found.holds


def _complaint(found: ServerFinding) -> str:
    what = (
        f"broken {found.violations} time(s)"
        if found.violations
        else "not there"
        if not found.present
        else "not validated"
    )
    return f"{found.what} of '{found.table}' ({', '.join(found.columns) or found.name}) is {what}"


def verify_target(release: ReleaseView, target: str) -> tuple[Finding, ...]:
    """Findings about a target, from the folder and the target; with the original also that no old value stands
    there."""
    if not release.form.has_target:
        raise PolicyError("only a database has a target", hint="verify this release without --target")
    url, form = given_url(target), release.of(DatabaseForm)
    shown = release.as_published()
    namespace = form.namespace if form.namespace and dialect_of(url) == "postgresql" else None
    old = original_values(release.once(bound_policy), release.original) if release.private else None
    return judge_load(shown, url, Schema(shown.once(schema_of).tables, form.dialect), namespace, old)[0]


def _record(found: Loading, folder: Path) -> None:
    """I3: whole or not at all."""
    write_json({"release": release_name(folder)} | found.to_json(), folder / TARGET)
