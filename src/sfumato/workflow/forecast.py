"""Foresight: everything that can be said before a release is made, as data first and as sentences for people.

Nothing decides by looking for words in a sentence: findings are findings, warnings have identifiers, and `sentences` is
only how they are shown. Rows are read where the source is a table in a file or a database: to judge rules and to look
for columns that would undo the release. Then `reads_rows` says so.


Preview
-------
A dry run: what a few rows would become, replaced columns only; nothing is written or remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.errors import AuditRefused, Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.core.registry import nearest
from sfumato.core.wording import join_names, number_text
from sfumato.data.table import Table
from sfumato.engines.spark.workflow.publish import describe_plan, require_fit
from sfumato.history.judge.earlier_requirements import (
    describe_history_constraints,
    require_compatible_forms,
    require_no_background_link,
    require_no_weaker_adversary,
)
from sfumato.history.ledger import Ledger
from sfumato.history.reference_distribution import policy_of_series
from sfumato.policy.policy import Policy
from sfumato.release.certificate import Finding
from sfumato.release.evidence import SourceReport, Warning, source_audit
from sfumato.release.method import Progress, Task, no_progress
from sfumato.release.past_releases import History
from sfumato.release.release import Release
from sfumato.release.summary import vanished
from sfumato.workflow.arguments import ledger_of
from sfumato.workflow.column_options import ColumnOptions, options_for
from sfumato.workflow.plan import Plan, plan
from sfumato.workflow.trial import Trial, can_try, try_policy


@dataclass(frozen=True, slots=True)
class PublishForecast:
    """What would happen, and what is known already."""

    plan: Plan
    reasons: tuple[str, ...]
    """Why this method, and what it would do."""
    promises: tuple[str, ...]
    """The requirements in words."""
    history: tuple[str, ...] = ()
    """What earlier releases mean for this one."""
    findings: tuple[Finding, ...] = ()
    """Rules and constraints, judged on the original."""
    warnings: tuple[Warning, ...] = ()
    """What a steward should look at and has not accepted."""
    costs: tuple[str, ...] = ()
    """What can be said about the work only with the data at hand."""
    reads_rows: bool = False
    """Whether the source was read to say this."""
    summary: tuple[str, ...] = ()
    """What the findings say in few sentences, where they are many."""
    trial: Trial | None = None
    """What a trial run published, where one was made."""
    options: ColumnOptions | None = None
    """What would bring the column back that lost most, where one is suppressed in most rows."""

    def sentences(self) -> Iterator[str]:
        """All of it for people, warnings excepted."""
        yield self.reasons[0]
        yield from self.promises
        yield from self.reasons[1:]
        yield from self.history
        yield from self.summary or (finding.reason for finding in self.findings if finding.reason)
        yield from self.costs
        if self.trial is not None:
            yield self.trial.sentence()

    def to_json(self) -> dict[str, Any]:
        told = [{"id": warning.identifier, "text": warning.text} for warning in self.warnings]
        findings = [finding.to_json() for finding in self.findings]
        method, form = self.plan.method.name, self.plan.form.name
        return {
            "method": method,
            "form": form,
            "sentences": list(self.sentences()),
            "findings": findings,
            "warnings": told,
        } | self._forecast()

    def _forecast(self) -> dict[str, Any]:
        if self.trial is None:
            return {}
        options = {} if self.options is None else {"options": self.options.to_json()}
        return {"forecast": self.trial.to_json() | options}


def forecast_publish(
    policy: Policy | str | Path,
    *,
    ledger: str | Path | None = None,
    since: str | None = None,
    elsewhere: bool = False,
    tried: bool = False,
) -> PublishForecast:
    """Read and plan; read the rows of a table or a database to judge rules and to look for columns that would undo the
    release.

    Parameters
    ----------
    policy
        The policy, or the path of one.
    ledger
        The ledger whose releases bind this one.
    since
        Of a database: an earlier release folder; what changed in the schema since becomes a warning.
    elsewhere
        Rows stay on a cluster: what cannot run there is refused, and none is read.
    tried
        Make a trial run of a generalized table, to forecast what would be lost.

    Returns
    -------
    Foresight
        Reasons, promises, findings, warnings and costs.
    """
    policy = policy if isinstance(policy, Policy) else Policy.read(policy)
    book = ledger_of(policy, ledger, new=None)
    planned = plan(policy, records=None if elsewhere else policy.data.size(), remembering=book is not None)
    bound, history = _past(planned, book)
    with policy.data.within():
        told, data = (_left_there(planned, book), None) if elsewhere else _with_data(planned, since, history)
        report, costs, read = told
        trial, failed = _tried(planned, data) if tried and book is None else (None, ())
        options = _options(policy, trial, data)
    report = _with_warnings(policy, report, (*failed, *_vanishing(trial)))
    return PublishForecast(
        planned,
        (*planned.reasons, *planned.method.describe(policy)),
        tuple(_promises(policy)),
        bound,
        report.findings,
        report.warnings,
        (*report.notes, *costs),
        read,
        report.summary,
        trial,
        options,
    )


def _options(policy: Policy, trial: Trial | None, data: Any) -> ColumnOptions | None:
    """What would bring the column back that lost most, where one is suppressed in most rows."""
    gone = [] if trial is None else [point.columns[0] for point in vanished(trial.summary.columns)]
    if trial is None or not gone:
        return None
    lost = {column.name: column.loss or 0.0 for column in trial.summary.columns}
    try:
        return options_for(policy, max(gone, key=lambda name: lost[name]), data)
    except (Infeasible, AuditRefused):  # a sample may have no release
        return None


def _tried(planned: Plan, data: Any) -> tuple[Trial | None, tuple[Warning, ...]]:
    """A trial run, or a warning why it found no release."""
    if not can_try(planned, data):
        return None, ()
    try:
        return try_policy(planned.policy, data), ()
    except (Infeasible, AuditRefused) as error:
        hint = f"; {error.hint}" if error.hint else ""
        return None, (Warning("forecast", f"a trial run found no release: {error.what}{hint}"),)


def _vanishing(trial: Trial | None) -> Iterator[Warning]:
    """Warn of columns that the trial run suppressed in most rows."""
    for point in () if trial is None else vanished(trial.summary.columns):
        yield Warning(f"suppressed:{point.columns[0]}", f"{point.text} {point.advice}")


def _with_warnings(policy: Policy, report: SourceReport, found: Sequence[Warning]) -> SourceReport:
    """The report with further warnings, unless the policy accepts them."""
    accepted = {warning.identifier for warning in found} & set(policy.accept)
    gone = {f"accepted but no longer there: {identifier}" for identifier in accepted}
    notes = (
        *(note for note in report.notes if note not in gone),
        *(f"accepted: {warning}" for warning in found if warning.identifier in accepted),
    )
    more = tuple(warning for warning in found if warning.identifier not in accepted)
    return replace(report, warnings=(*report.warnings, *more), notes=notes)


def _past(planned: Plan, book: Ledger | None) -> tuple[tuple[str, ...], History | None]:
    """What the ledger means for this release, and what it remembers; refuses what cannot be judged with it."""
    if book is None:
        return (), None
    history = book.history()
    require_compatible_forms(history, planned.form)
    require_no_background_link(history, planned.policy)
    require_no_weaker_adversary(history, planned.policy)
    if book.distant:
        told = (
            f"{len(history)} earlier release(s) in {book.path.name}: how claims stand is counted where their people"
            " lie, not here"
        )
        return (told,), None
    policy = policy_of_series(planned.policy, history)
    return (*_begun(book), *describe_history_constraints(history, policy, book.path.name)), history


def _begun(book: Ledger) -> Iterator[str]:
    if not book.path.exists():
        yield f"ledger {book.path.name} is not there: publish with --new-ledger begins it"


def _promises(policy: Policy) -> Iterator[str]:
    for claim in policy.claims:
        asked = ", ".join(f"{key} = {number_text(value)}" for key, value in claim.model.required().items())
        known = f"an adversary who knows {join_names(claim.given)}" if claim.given else "an adversary"
        hidden = f", for {join_names(claim.hide)}" if claim.hide else ""
        yield f"promise: {claim.model.name} ({asked}) against {known}{hidden}"


def _left_there(planned: Plan, book: Ledger | None) -> tuple[SourceReport, tuple[str, ...], bool]:
    """What can be said about rows that lie on a cluster, and are not read for that."""
    require_fit(planned.policy)
    return SourceReport(), (describe_plan(planned.policy, planned.method, book is not None),), False


Told = tuple[SourceReport, tuple[str, ...], bool]


def _with_data(planned: Plan, since: str | None, history: History | None) -> tuple[Told, Any]:
    """What the source says: rules that hold in it, columns that undo the release, what the work will cost; and its
    rows, where they were read."""
    policy, source = planned.policy, source_audit(planned.policy)
    reads = source.reads_rows(policy)
    source.rehearse(policy)
    data = source.read(policy) if reads else None
    try:
        after = planned.method.after(policy, history, data) if history is not None else []
        if not reads:
            return (source.glance(policy), tuple(after), False), None
        said = set(planned.method.describe(policy))
        costs = [sentence for sentence in planned.method.describe(policy, data) if sentence not in said]
        return (source.examine(policy, data, since, planned.form), (*costs, *after), True), data
    except Infeasible as error:
        raise PolicyError(error.what, where=error.where, hint=error.hint) from None


# Preview
# -------


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of one table: for every replaced column its value before and after."""

    table: str
    columns: tuple[str, ...]
    before: tuple[tuple[str | None, ...], ...]
    after: tuple[tuple[str | None, ...], ...]

    def to_json(self) -> dict[str, Any]:
        rows = [
            {name: {"before": b, "after": a} for name, b, a in zip(self.columns, old, new, strict=True)}
            for old, new in zip(self.before, self.after, strict=True)
        ]
        return {"table": self.table, "rows": rows}


def preview(
    policy: Policy | str | Path,
    data: Any = None,
    *,
    rows: int = 5,
    table: str | None = None,
    seed: int | None = None,
    progress: Progress = no_progress,
) -> list[Sample]:
    """Before and after, for some rows of every published table; graphs and sets of items have no rows to compare."""
    policy = policy if isinstance(policy, Policy) else Policy.read(policy)
    method = plan(policy).method
    if not method.form.replaces and policy.data.name != "table":
        what = f"a {method.form.name} has no rows that stand beside rows of the original"
        raise PolicyError(what, where=policy.document.where("method"), hint="publish it and look at its report")
    with policy.data.within():
        dataset = policy.data.read(data)
        release = method.run(Task(policy, dataset, Randomness(seed), progress=progress))
        found = list(samples_of(policy, dataset, release, rows))
    if table is not None and table not in {sample.table for sample in found}:
        hint = nearest(table, [sample.table for sample in found])
        raise PolicyError(f"no column of a table '{table}' is replaced", where="--table", hint=hint)
    return [sample for sample in found if table in (None, sample.table)]


def samples_of(policy: Policy, dataset: Any, release: Release, rows: int) -> Iterator[Sample]:
    """Some published rows of every part beside the rows of the original that they stand for."""
    if not release.form.replaces:
        yield from _recoded_samples(dataset, release, rows)
        return
    for part in (name for name in release.parts if name not in release.form.beside_people):
        table, original, columns = release.form.beside(part, policy, dataset)
        if columns:
            yield _sample(table, columns, original, release, part, rows)


def _recoded_samples(dataset: Table, release: Release, rows: int) -> Iterator[Sample]:
    """Rows of every part beside the records they stand for; counterfeit records stand for none and are left out."""
    for part, behind in release.trace.rows.items():
        if part not in release.parts:  # people who stand behind the rows of another table
            continue
        columns = [name for name in release.parts[part].table.column_names if name in dataset.names]
        real = np.flatnonzero(np.asarray(behind) >= 0)[:rows]
        if columns and len(real):
            after = release.parts[part].table.select(columns).take(pa.array(real))
            before = [dataset.text(name) for name in columns]
            records = np.asarray(behind)[real]
            old = tuple(tuple(text.labels[text.codes[record]] for text in before) for record in records.tolist())
            yield Sample(part, tuple(columns), old, _texts(after))


def _sample(table: str, columns: list[str], original: pa.Table, release: Release, part: str, rows: int) -> Sample:
    """Published rows are in random order, so the first ones are a random choice."""
    after = release.parts[part].table.select(columns).slice(0, rows)
    before = original.select(columns).take(pa.array(release.trace.rows[part][:rows]))
    return Sample(table, tuple(columns), _texts(before), _texts(after))


def _texts(frame: pa.Table) -> tuple[tuple[str | None, ...], ...]:
    values = [
        [None if cell is None else str(cell) for cell in frame.column(name).to_pylist()] for name in frame.column_names
    ]
    return tuple(zip(*values, strict=True)) if values else ()
