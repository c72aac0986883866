"""The spine: plan → run → certify → `Publication`. Only a release whose certificate holds may be written out or remembered.

>>> import sfumato as sf
>>> policy = sf.Policy.parse({"version": 1, "columns": {"age": "quasi-identifier", "illness": "sensitive"},
...                           "protect": [{"k-anonymity": {"k": 2}}], "method": {"mondrian": {}}})
>>> publication = sf.publish(policy, data={"age": ["30", "30", "40", "40"], "illness": ["a", "b", "a", "c"]}, seed=1)
>>> publication.certificate.holds, len(publication.release.parts["data"])
(True, 4)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.audit.certify import certify, reading_of
from sfumato.audit.database_source import require_sound
from sfumato.audit.evidence import Evidence
from sfumato.audit.original import in_original
from sfumato.data.arrays import IntArray
from sfumato.data.database import Database
from sfumato.data.table import Table
from sfumato.errors import AuditRefused, DataError, LedgerError, PolicyError
from sfumato.history.past_releases import History, new_release
from sfumato.io.database import DatabaseSource, given_url
from sfumato.ledger import Ledger
from sfumato.loading import Loading, has_target, load_target, unfinished, verify_target
from sfumato.methods.base import Progress, Task, silent
from sfumato.metrics.base import Comparison, Metric
from sfumato.plan import Plan, plan
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.public import write_public_policy
from sfumato.randomness import Randomness
from sfumato.registry import catalogue, nearest
from sfumato.release.certificate import LIMITS_PAGE, Certificate, Finding, Records
from sfumato.release.folder import (
    CERTIFICATE,
    POLICY,
    REPORT,
    Folder,
    Format,
    new_folder,
    read_folder,
    write_json,
    write_manifest,
    write_part,
)
from sfumato.release.release import Part, Release, Trace
from sfumato.release.trace_file import read_trace, save_trace, trace_path
from sfumato.report.view import View

Data = Any
"""A path, a polars, pandas or pyarrow frame, or what the policy's kind of data reads."""


@dataclass(frozen=True, slots=True)
class Publication:
    """A release with a certificate that holds."""

    policy: Policy
    plan: Plan
    release: Release
    certificate: Certificate
    original: Any = field(repr=False, default=None)
    ledger: Ledger | None = None
    history: History | None = field(repr=False, default=None)
    """Every release so far, this one last."""

    def write(self, out: str | Path, *, format: Format = "csv", report: bool = True) -> Path:
        """The release folder, whole or not at all, and never without its entry in the ledger; the private report goes beside it."""
        target = Path(out)
        if self.ledger is None:
            with new_folder(target) as folder:
                self._fill(folder, format, report)
        else:
            self._write_and_enter(self.ledger, target, format, report)
        if report:
            from sfumato.report.write import private_path, save_private

            save_private(self._view(self.policy, self.original), private_path(target))
        if self.release.trace.lasting:
            save_trace(self.release.trace, trace_path(target))
        return target

    def _write_and_enter(self, ledger: Ledger, target: Path, format: Format, report: bool) -> None:
        """Write, sync, append, rename: a folder never appears before its entry is safe in the ledger."""
        assert self.history is not None
        with ledger.writing() as base:
            if ledger.count(base) != len(self.history) - 1:
                hint = "publish again; the new release must be judged with it"
                raise LedgerError("another release was entered in the meantime", where=str(ledger.path), hint=hint)
            memory = self.history.chapters[-1].memory()

            def enter(draft: Path) -> None:
                ledger.append(base, draft, memory, self.release.trace.seed)
                base.commit()

            with new_folder(target, before_rename=enter) as folder:
                self._fill(folder, format, report)

    def _view(self, policy: Policy, original: Any = None) -> View:
        history = self.history if original is not None else None
        return View(self.release.form, self.release.parts, policy, self.certificate, self.release.public, original, history)

    def _fill(self, folder: Path, format: Format, report: bool) -> None:
        rows = {}
        for name, part in self.release.parts.items():
            file = f"{name}.{format}"
            write_part(part, folder / file)
            rows[file] = len(part)
        method = {self.plan.method.name: self.plan.method.model_dump(exclude_defaults=True)}
        write_public_policy(self.policy, method, folder)
        write_json(self.certificate.to_json(), folder / CERTIFICATE)
        if report:
            from sfumato.report.page import render

            (folder / REPORT).write_text(render(self._view(Policy.read(folder / POLICY))), encoding="utf-8")
        write_manifest(folder, self.release.form, self.release.public, rows, __version__)


def publish(
    policy: Policy | str | Path,
    data: Data = None,
    *,
    seed: int | None = None,
    jobs: int = 1,
    engine: str = "local",
    progress: Progress = silent,
    ledger: str | Path | None = None,
) -> Publication:
    """Make and certify a release; raises `Infeasible` or `AuditRefused` rather than giving less than was asked."""
    policy = policy if isinstance(policy, Policy) else Policy.read(policy)
    if engine != "local":
        raise PolicyError(f"there is no engine '{engine}' in this installation", hint="use --engine local")
    plan(policy)  # refuse the impossible before data moves
    _check_schema(policy, data)
    progress(0.0, "reading")
    dataset = policy.data.read(data)
    check_columns(policy, dataset)
    if isinstance(dataset, Database) and isinstance(policy.data, DatabaseSource) and not policy.data.subset:
        require_sound(policy, dataset)
    chosen = plan(policy, records=getattr(dataset, "rows", None))
    if policy.keep and not chosen.method.keeps_rules:
        _check_rules(policy, dataset)
    book = ledger_of(policy, ledger)
    earlier = _remembered(book, chosen, policy)
    task = Task(policy, dataset, Randomness(seed), jobs, engine, progress, earlier)
    release = chosen.method.run(task)
    release = replace(release, trace=replace(release.trace, seed=seed))
    progress(1.0, "certifying")
    history = _continued(earlier, policy, release, dataset)
    certificate = _certificate(policy, chosen, release, dataset, history)
    history = _certified(history, certificate)
    if not certificate.holds:
        wrong = "; ".join(f"{finding.model}: {finding.reason or 'violated'}" for finding in certificate.violations)
        hint = "nothing was published; this is a defect of the method, please report it"
        raise AuditRefused(f"the audit refused the release: {wrong}", hint=hint)
    return Publication(policy, chosen, release, certificate, dataset, book, history)


def _check_schema(policy: Policy, data: Data) -> None:
    """A database's policy must fit its schema, and its target be another database that can be reached, before a row is read."""
    if not isinstance(policy.data, DatabaseSource) or isinstance(data, Database):
        return
    url = given_url(str(data)) if data is not None else policy.data.source_url()
    BoundPolicy(policy, policy.data.read_schema(url)).require_fit()
    if has_target(policy):
        policy.data.target_url()


def load_release(policy: Policy | str | Path, out: str | Path, *, progress: Progress = silent, replace: bool = False) -> Loading:
    """Load the target of a policy from a release folder made under it; a load that was cut off goes on where it was."""
    policy = policy if isinstance(policy, Policy) else Policy.read(policy)
    return load_target(policy, Path(out), progress=progress, replace=replace)


def is_unfinished(policy: Policy, out: str | Path) -> bool:
    """Whether `out` is a release of a database under this policy that still has to be loaded."""
    if not has_target(policy):
        return False
    method = plan(policy).method
    return unfinished(policy, Path(out), {method.name: method.model_dump(exclude_defaults=True)})


def ledger_of(policy: Policy, given: str | Path | None) -> Ledger | None:
    """The ledger that was given or that the policy names; it needs a key to know records again."""
    if given is None and not policy.ledger:
        return None
    path = Path(given) if given is not None else policy.base / policy.ledger
    if policy.data.name == "table" and not policy.key:
        hint = "name the column(s) that identify a record across releases; they are never published"
        raise PolicyError("a ledger needs 'key:'", where=policy.document.where("ledger"), hint=hint)
    return Ledger(path)


def constraints(policy: Policy, ledger: str | Path | None = None) -> list[str]:
    """What the earlier releases mean for the next one, in sentences; touches no rows of the data."""
    book = ledger_of(policy, ledger)
    if book is None:
        return []
    from sfumato.audit.sequence_claims import foresight

    history = book.history()
    if not history:
        return [f"ledger: {book.path.name} is empty; this will be the first release"]
    sentences = [f"ledger: {len(history)} earlier release(s) in {book.path.name}"]
    for claim in policy.claims:
        if claim.model.joint:
            sentences += foresight(history, claim, policy)
    return sentences


def _remembered(book: Ledger | None, chosen: Plan, policy: Policy) -> History | None:
    """The earlier releases; refused when the method would not look at them although a claim is about all of them."""
    if book is None:
        return None
    if not chosen.method.remembers and any(claim.model.joint for claim in policy.claims):
        where, hint = policy.document.where("method"), "write 'method: {sequential: {}}'"
        raise PolicyError(f"{chosen.method.name} does not look at earlier releases", where=where, hint=hint)
    return book.history()


def _continued(earlier: History | None, policy: Policy, release: Release, dataset: Any) -> History | None:
    """The history with this release as its last chapter; also without a ledger, when a claim is about all releases."""
    if not isinstance(dataset, Table) or release.form != "recoded table":
        if earlier is not None:
            raise PolicyError(f"a ledger remembers recoded tables so far, not {release.form}", hint="publish without a ledger")
        return None
    if earlier is None and not any(claim.model.joint for claim in policy.claims):
        return None
    so_far = earlier.chapters if earlier is not None else ()
    return History((*so_far, new_release(len(so_far) + 1, policy, release, dataset)))


def _certified(history: History | None, certificate: Certificate) -> History | None:
    if history is None:
        return None
    return History((*history.chapters[:-1], replace(history.chapters[-1], certificate=certificate)))


def _check_rules(policy: Policy, dataset: Any) -> None:
    """A method that leaves records as they are cannot make a rule true that is broken already."""
    broken = [sentence for sentence in in_original(policy, dataset) if "is broken" in sentence]
    if broken:
        hint = "clean the data, drop the rule, or replace its columns with a method that keeps rules"
        raise DataError("; ".join(broken), where=policy.document.where("keep"), hint=hint)


def check_columns(policy: Policy, dataset: Any) -> None:
    """Every column of the policy must be in the data."""
    if not isinstance(dataset, Table):
        return
    for name in (*policy.columns, *policy.key):
        if name not in dataset.names:
            where = policy.document.where("columns", name)
            raise DataError(f"the data has no column '{name}'", where=where, hint=nearest(name, dataset.names))


def _certificate(policy: Policy, chosen: Plan, release: Release, original: Any, history: History | None = None) -> Certificate:
    bare = Evidence(
        release.form,
        release.parts,
        policy,
        release.public,
        original=original,
        behind=release.trace.rows or None,
        private=release.trace.extra,
        history=history,
    )
    published = reading_of(release.form).published(bare)
    records = Records(published + release.suppressed, published, release.suppressed)
    findings = certify(replace(bare, records=records))
    return Certificate(
        findings,
        records,
        utility=measure_release(policy, release.form, release.parts, original, release.public, behind=release.trace.rows or None),
        assumptions=assumptions(policy, release.notes),
        limits=(LIMITS_PAGE,),
        method=chosen.method.name,
        version=__version__,
    )


def assumptions(policy: Policy, notes: tuple[str, ...]) -> tuple[str, ...]:
    """What must be true outside the data for the findings to mean what they say."""
    general = []
    if policy.quasi_identifiers:
        general.append("outsiders know at most the quasi-identifiers of people, and nothing of the sensitive columns")
        general.append("one row is one person, and no person is in the table twice")
    return (*general, *notes)


def measure_release(
    policy: Policy,
    form: str,
    parts: Mapping[str, Part],
    original: Any,
    public: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    behind: Mapping[str, IntArray] | None = None,
) -> dict[str, Any]:
    """Every metric that applies, under its name; `behind` are the rows of the private trace, when it is at hand."""
    comparison = replace(compare(policy, form, parts, original, public, parameters), behind=behind)
    figures = {}
    for cls in catalogue("metrics", Metric).values():
        metric = cls()
        if metric.applies(comparison):
            figures[metric.figure or metric.name] = _rounded(metric.measure(comparison))
    return figures


def compare(
    policy: Policy,
    form: str,
    parts: Mapping[str, Part],
    original: Any,
    public: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
) -> Comparison:
    """The release beside its original, as metrics and reports look at it."""
    recoded = {}
    if isinstance(original, Table) and form in ("recoded table", "anatomy"):
        recoded = {name: generalization_of(policy, name, original.text(name).labels) for name in policy.quasi_identifiers}
    tables = {name: Table(part.table) for name, part in parts.items()}
    return Comparison(form, tables, original, recoded, policy.sensitive, public, parameters or {}, policy.with_role("replaced"))


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


@dataclass(frozen=True, slots=True)
class Audit:
    """What an independent audit of a release folder found."""

    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Nothing that could be judged is violated; `complete` says whether everything could be."""
        return all(finding.holds for finding in self.findings)

    @property
    def open(self) -> tuple[Finding, ...]:
        """Claims that the evidence at hand neither shows nor refutes."""
        return tuple(finding for finding in self.findings if not finding.judged)

    @property
    def complete(self) -> bool:
        return not self.open

    def to_json(self) -> dict[str, Any]:
        findings = [finding.to_json() for finding in self.findings]
        not_judged = [finding.model for finding in self.open]
        return {"holds": self.holds, "complete": self.complete, "not_judged": not_judged, "findings": findings}


def verify(folder: str | Path, *, original: Data = None, ledger: str | Path | None = None, target: str | None = None) -> Audit:
    """Audit a release folder from its published files; with the original also truthfulness, boundaries and rules, with the
    ledger also together with all releases before it, with a target also the database that was loaded."""
    read, policy = open_release(folder)
    trace = _trace_of(folder) if original is not None else Trace()
    evidence = Evidence(
        read.form,
        read.parts,
        policy,
        read.public,
        records=read.certificate.records,
        damage=read.damage,
        original=None if original is None else policy.data.read(original),
        history=None if ledger is None else Ledger(ledger).history_until(Path(folder)),
        behind=trace.rows or None,
        private=trace.extra,
    )
    if target is None:
        return Audit(certify(evidence))
    if read.form != "database":
        raise PolicyError("only a database has a target", hint="verify this release without --target")
    return Audit((*certify(evidence), *verify_target(policy, read, target)))


def measure(folder: str | Path, *, original: Data, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The utility of a release folder, by all metrics that apply."""
    read, policy = open_release(folder)
    behind = _trace_of(folder).rows or None
    return measure_release(policy, read.form, read.parts, policy.data.read(original), read.public, parameters, behind=behind)


def _trace_of(folder: str | Path) -> Trace:
    """The private trace beside a folder; an empty one when there is none."""
    return read_trace(trace_path(Path(folder))) or Trace()


def open_release(folder: str | Path) -> tuple[Folder, Policy]:
    """A release folder and the policy in it."""
    read = read_folder(Path(folder))
    return read, Policy.read(Path(folder) / POLICY)
