"""Splitting: sub-tables of rows that lie on a cluster. Which columns stand together is chosen from classes; rows never
come here.

A table without buckets is some columns of all records, in an order of its own. A table with buckets is assigned like an
Anatomy table, with its own secret: the buckets of one table reveal nothing about the others. The private provenance is
the secret of the run and the number of buckets of each table. From it an audit with the original assigns the rows
again.

Invariants
    I1  Every table has its own keys for its order, its assignment and its bucket numbers: nothing but shared columns
        links two tables.
    I2  Every column that is published makes classes, those of no role too: tables are joined by whatever they share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import DataError, ReleaseError
from sfumato.data.table import Table
from sfumato.engines.protocol import NumberedClasses, RunSecret
from sfumato.engines.spark.workflow.anatomy import NOTE, expected_bucket_kinds, secret_of, told_by
from sfumato.engines.spark.workflow.draft import draft_remote, marked
from sfumato.kinds.subtables.form import SubTables, SubTablesProvenance
from sfumato.kinds.subtables.guardian_normal_form import SubTable
from sfumato.kinds.subtables.joint_estimate import BUCKET, COLUMN, SENSITIVE
from sfumato.kinds.subtables.methods.buckets import bucket_numbers
from sfumato.kinds.subtables.methods.subtable_method import SubTableMethod, notes_of, stands_alone
from sfumato.models.base import Model
from sfumato.policy.policy import Policy
from sfumato.policy.rule_reduction import privacy_rules
from sfumato.release.folder import part_files, read_provenance
from sfumato.release.release import Release
from sfumato.release.view import ReleaseView
from sfumato.workflow.plan import Plan
from sfumato.workflow.publication import Publication, publication_of_draft

if TYPE_CHECKING:
    from sfumato.engines.spark.buckets import BucketedRows
    from sfumato.engines.spark.engine import SparkEngine
    from sfumato.engines.spark.source import RemoteRows


def choose_subtables(policy: Policy) -> list[str]:
    """The columns of a class: all that is published (I2), and what rules hide."""
    hidden = [name for rule in privacy_rules(policy).wanted for name in sorted(rule.hide)]
    return [name for name in policy.columns if name in {*policy.published, *hidden}]


def publish_subtables(
    engine: SparkEngine, rows: RemoteRows, policy: Policy, chosen: Plan, secret: RunSecret, seed: int | None
) -> Publication:
    """Make and certify sub-tables of distant rows."""
    assert isinstance(chosen.method, SubTableMethod)
    classes = engine.classes(rows, choose_subtables(policy))
    if not isinstance(classes, NumberedClasses):
        hint = "publish fewer columns, coarsen them, or give the driver more memory (SparkEngine(most_classes=…))"
        raise DataError(
            "sub-tables are chosen and judged by classes of records, and they do not fit on the driver", hint=hint
        )
    engine.progress(0.1, "choosing the tables")
    tables, data = chosen.method.tables_of(policy, classes.table)
    made = {
        f"table-{place + 1}": _made(
            engine, rows, classes.table, table, f"table-{place + 1}", data.asked, policy, secret
        )
        for place, table in enumerate(tables)
    }
    deals = {part: one.deal for part, one in made.items() if one.deal is not None}
    numbers = {part: (deal.buckets, deal.attempt) for part, deal in deals.items()}
    trace = SubTablesProvenance(
        secret=secret.content.hex(),
        buckets={part: buckets for part, (buckets, _) in numbers.items()},
        attempt={part: attempt for part, (_, attempt) in numbers.items()},
        lasting=True,
    )
    release = marked(Release(SubTables(), {}, trace=trace, notes=(*notes_of(tables), NOTE)), seed)
    records = classes.table.records
    frames = {name: (frame, records) for part, one in made.items() for name, frame in one.parts(part)}
    draft = draft_remote(engine, frames, release, policy, chosen)
    engine.progress(1.0, "certifying")
    strangers, misplaced = _compared(engine, draft.folder, rows, made)
    rows.require_unchanged()
    for deal in deals.values():
        deal.rows.forget()
    exhibit = replace(draft.read(), original=classes.table, trace=trace, strangers=strangers, misplaced=misplaced)
    return publication_of_draft(policy, chosen, release, draft, exhibit, seed=seed)


def rederive_subtables(
    exhibit: ReleaseView, engine: SparkEngine, rows: RemoteRows, classes: NumberedClasses
) -> ReleaseView:
    """Return the view of a folder with its source; with the provenance rows are assigned again and compared."""
    exhibit = replace(exhibit, original=classes.table)
    assert exhibit.folder is not None
    trace = read_provenance(exhibit.folder, exhibit.form)
    if not isinstance(trace, SubTablesProvenance) or not trace.secret:
        return exhibit
    secret = secret_of(trace)
    made = {part: _again(exhibit, engine, rows, classes.table, part, trace, secret) for part in _tables(exhibit)}
    strangers, misplaced = _compared(engine, exhibit.folder, rows, made)
    rows.require_unchanged()
    for one in made.values():
        if one.deal is not None:
            one.deal.rows.forget()
    return replace(exhibit, strangers=strangers, misplaced=misplaced)


@dataclass(frozen=True)
class Deal:
    """The rows of a table in their buckets, and what repeats it."""

    rows: BucketedRows
    buckets: int
    attempt: int


@dataclass(frozen=True)
class SplitTable:
    """One sub-table: rows of some columns, or an assignment to buckets that hides one of them."""

    names: tuple[str, ...]
    """The columns that it publishes unchanged."""
    frame: Any = None
    deal: Deal | None = None
    hidden: str = ""

    def parts(self, part: str) -> Iterator[tuple[str, Any]]:
        """The frames of its parts, each with the key that puts it in order."""
        if self.deal is None:
            yield part, self.frame
        else:
            yield part, self.deal.rows.shown()
            yield f"{part}{SENSITIVE}", self.deal.rows.listed_by_name(self.hidden)


def _made(
    engine: SparkEngine,
    rows: RemoteRows,
    classes: Table,
    table: SubTable,
    part: str,
    asked: Any,
    policy: Policy,
    secret: RunSecret,
) -> SplitTable:
    """Make a table of the schema; the rows of one that hides a column go to as many buckets as the models allow."""
    own = _own(secret, part)
    if stands_alone(table):
        names = tuple(name for name in policy.published if name in table.columns)
        return SplitTable(names, engine.projected(rows, names, own.key("order of rows")))
    (hidden,) = table.guarded
    names = tuple(name for name in policy.published if name in table.visible)
    return SplitTable(names, deal=_dealt(engine, rows, classes, names, hidden, asked(hidden), own), hidden=hidden)


def _own(secret: RunSecret, part: str) -> RunSecret:
    """The secret of one table (I1)."""
    return RunSecret(secret.key("table", part).encode())


def _dealt(
    engine: SparkEngine,
    rows: RemoteRows,
    classes: Table,
    names: Sequence[str],
    hidden: str,
    models: Sequence[Model],
    secret: RunSecret,
) -> Deal:
    text, deck = classes.text(hidden), engine.deck(rows, _layout(names, hidden), secret, classes.records)
    for attempt, buckets in enumerate(bucket_numbers(models, classes.records)):
        known = expected_bucket_kinds(hidden, text, buckets)
        if known and not all(model.satisfied(told_by(known, (hidden,))).all() for model in models):
            continue
        dealt = engine.dealt(deck, hidden, sorted(text.labels), buckets, secret, attempt)
        if known or all(model.satisfied(told_by(engine.kinds(dealt), (hidden,))).all() for model in models):
            return Deal(dealt, buckets, attempt)
        dealt.frame.unpersist()
    return Deal(engine.dealt(deck, hidden, sorted(text.labels), 1, secret, 0), 1, 0)


def _layout(names: Sequence[str], hidden: str) -> Any:
    from sfumato.engines.spark.buckets import BucketLayout

    return BucketLayout(tuple(names), (), (hidden,))


def _tables(exhibit: ReleaseView) -> list[str]:
    return [part for part in exhibit.parts if not part.endswith(SENSITIVE)]


def _again(
    exhibit: ReleaseView,
    engine: SparkEngine,
    rows: RemoteRows,
    classes: Table,
    part: str,
    trace: SubTablesProvenance,
    secret: RunSecret,
) -> SplitTable:
    """A table of the folder as the provenance says that it was made."""
    names, own = tuple(name for name in exhibit.parts[part].shown if name != BUCKET), _own(secret, part)
    if BUCKET not in exhibit.parts[part].shown:
        return SplitTable(names)
    about = exhibit.tables[f"{part}{SENSITIVE}"].text(COLUMN).labels if f"{part}{SENSITIVE}" in exhibit.parts else ()
    buckets, attempt = int(trace.buckets.get(part, 0)), int(trace.attempt.get(part, 0))
    if len(about) != 1 or about[0] not in classes.names or buckets < 1:
        raise ReleaseError("the private provenance belongs to another release", hint="remove it to audit without it")
    deck = engine.deck(rows, _layout(names, about[0]), own, classes.records)
    dealt = engine.dealt(deck, about[0], sorted(classes.text(about[0]).labels), buckets, own, attempt)
    return SplitTable(names, deal=Deal(dealt, buckets, attempt), hidden=about[0])


def _compared(engine: SparkEngine, folder: Path, rows: RemoteRows, made: Mapping[str, SplitTable]) -> tuple[int, int]:
    """By how many rows, and by how many listed values, all tables together differ from the records."""
    plain = [(part_files(folder, part), table.names) for part, table in made.items() if table.deal is None]
    strangers, misplaced = engine.misprojected(plain, rows) if plain else 0, 0
    for part, table in made.items():
        if table.deal is not None:
            lists = {table.hidden: part_files(folder, f"{part}{SENSITIVE}")}
            wrong, values = engine.misdealt(part_files(folder, part), lists, table.deal.rows, rows)
            strangers, misplaced = strangers + wrong, misplaced + values
    return strangers, misplaced
