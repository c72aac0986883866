"""Verify: the independent audit of a release folder, from its published files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.audit.certify import certify, compare_with_certificate
from sfumato.core.errors import LedgerError, PolicyError, ReleaseError, SfumatoError
from sfumato.core.html.pages import block_html
from sfumato.core.registry import entry
from sfumato.data.memory_map import USUAL, memory_bound, parse_memory_size
from sfumato.engines.local import HERE
from sfumato.engines.protocol import FileEngine
from sfumato.history.judge.series import published_cells_of
from sfumato.history.ledger import Ledger
from sfumato.policy.policy import OPEN
from sfumato.release.attack import known_attacks
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Finding, verdict_of
from sfumato.release.folder import read_folder, with_private_data
from sfumato.release.method import Method
from sfumato.release.past_releases import History
from sfumato.release.signature import UNSIGNED, examine_signature
from sfumato.release.summary import Summary, summarize
from sfumato.release.summary_html import headline_html, summary_html
from sfumato.release.view import ReleaseView, certificate_of
from sfumato.release.vulnerabilities import PAGE, concerning
from sfumato.workflow.publication import list_accepted, list_assumptions, public_findings

if TYPE_CHECKING:
    from sfumato.release.signature import VerifyingKey


@dataclass(frozen=True, slots=True)
class Audit:
    """What an independent audit of a release folder found."""

    findings: tuple[Finding, ...]
    signature: str = UNSIGNED
    """Whether the folder is signed, and whether that was checked."""
    view: ReleaseView | None = field(default=None, repr=False, compare=False)
    """The release as it was looked at."""

    @property
    def holds(self) -> bool:
        """Everything that was promised was judged, and nothing is violated."""
        return not self.violated and self.complete

    @property
    def violated(self) -> bool:
        """Something was judged and found broken."""
        return any(not finding.holds for finding in self.findings)

    @property
    def open(self) -> tuple[Finding, ...]:
        """Promises that the evidence at hand neither shows nor refutes; they do not hold."""
        return tuple(finding for finding in self.findings if finding.open)

    @property
    def complete(self) -> bool:
        return not self.open

    def summary(self, *next_steps: str) -> Summary:
        """The answers to the five questions, from the published files: what is promised, does it hold, what was lost,
        what is not covered, what next."""
        assert self.view is not None
        seen = self.view.as_published()
        attacks = (
            ()
            if any(finding.model == "files" and not finding.holds for finding in self.findings)
            else known_attacks(seen)
        )
        return summarize(seen, self.findings, attacks=attacks, next_steps=next_steps)

    def _repr_html_(self) -> str:
        if self.view is None:
            return f"<pre>{escape(repr(self))}</pre>"
        told = self.summary()
        return block_html(str(headline_html(told, 4)), str(summary_html(told)))

    def to_json(self) -> dict[str, Any]:
        """``holds`` is null when nothing is violated but something is left open."""
        findings = [finding.to_json() for finding in self.findings]
        not_judged = [finding.model for finding in self.open]
        judged = {"holds": verdict_of(self.findings), "complete": self.complete, "not_judged": not_judged}
        return judged | {"signature": self.signature, "findings": findings}


def verify(
    folder: str | Path,
    *,
    original: Any = None,
    ledger: str | Path | None = None,
    target: str | None = None,
    signer: str | Path | VerifyingKey | None = None,
    engine: Any = None,
    population: Any = None,
    memory: str | None = None,
) -> Audit:
    """Audit a release folder from its published files.

    Parameters
    ----------
    folder
        The release folder.
    original
        The original data; then truthfulness, boundaries and constraints are judged too.
    ledger
        The ledger of the series; then the release is judged together with all before it.
    target
        URL of the test database that was loaded; then its content is judged too.
    signer
        The data holder's Ed25519 public key (PEM, ``ssh-ed25519 …`` or base64), or a file with it. The folder must then
        be signed with this key, and every file must be the signed one.
    engine
        A Spark session, or a `SparkEngine`: parts that are folders, and the original, are counted on its cluster.
    population
        The table of the population, for requirements about it.
    memory
        Memory limit for databases, like ``"1 GB"``; 2 GB without it.

    Returns
    -------
    Audit
        The findings, and whether everything holds.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> people = {"age": ["30", "30", "40", "40"], "illness": ["flu", "gout", "flu", "cold"]}
    >>> draft = sf.Policy.table(people).quasi("age").sensitive("illness").protect(sf.k_anonymity(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = sf.publish(draft).write(f"{folder}/release", report=False)
    ...     sf.verify(f"{folder}/release", original=people).holds
    True
    """
    with memory_bound(USUAL if memory is None else _amount(memory)):
        return _verified(Path(folder), original, ledger, target, signer, engine, population)


def _amount(memory: str) -> int:
    try:
        return parse_memory_size(memory)
    except ValueError as error:
        raise PolicyError(f"'{memory}' is no amount of memory", where="--memory", hint=str(error)) from None


def _verified(
    folder: Path,
    original: Any,
    ledger: str | Path | None,
    target: str | None,
    signer: str | Path | VerifyingKey | None,
    engine: Any,
    population: Any,
) -> Audit:
    key = None if signer is None else _key(signer)
    exhibit = _opened(folder, HERE if engine is None else _engine(engine))
    history = None if ledger is None else _history(Ledger(ledger), folder, exhibit, engine)
    exhibit = beside(exhibit, original, history, engine)
    if ledger is not None:
        _require_kept(exhibit, Ledger(ledger), folder)
    exhibit = exhibit if population is None else _among(exhibit, population)
    sentence, signed = examine_signature(folder, key)
    loaded = () if target is None else _in_target(exhibit, target)
    return Audit((*audit_of(exhibit).findings, *loaded, *signed), sentence, exhibit)


def _history(book: Ledger, folder: Path, exhibit: ReleaseView, engine: Any) -> History:
    """The releases until this one: of all people, or, where people lie beside the ledger, of how many went which
    way."""
    if not book.distant:
        return book.history_until(folder)
    from sfumato.engines.spark.workflow.history import history_until

    return history_until(book, folder, exhibit, HERE if engine is None else _engine(engine))


def _among(exhibit: ReleaseView, population: Any) -> ReleaseView:
    source = exhibit.policy.data
    return replace(exhibit, population=source.read(population), population_file=source.as_written(population))


def _require_kept(exhibit: ReleaseView, book: Ledger, folder: Path) -> None:
    """Check that the summary of all releases in the ledger, which the next publish uses, agrees with the releases."""
    kept = None if book.distant else book.kept_with(folder)
    if kept is not None and not kept.equals(exhibit.once(published_cells_of).to_arrow()):
        hint = "the next release would be judged with it: do not publish on this ledger; restore it from a backup"
        raise LedgerError(
            "what is kept beside the ledger is not what its releases say", where=str(book.path), hint=hint
        )


def _engine(engine: Any) -> FileEngine:
    """What works on clusters knows how to publish; who only verifies a folder waits for none of it."""
    from sfumato.engines.spark.workflow.publish import as_engine

    return as_engine(engine)


def beside(exhibit: ReleaseView, original: Any, history: History | None, engine: Any) -> ReleaseView:
    """Return the view with the data holder's original, read here or counted on the cluster."""
    if original is None:
        return with_private_data(exhibit, original, history)
    from sfumato.engines.spark.workflow.publish import as_engine, collect_rows, compare_with_rows, compare_with_source

    if engine is not None and exhibit.counted:
        return replace(compare_with_source(exhibit, engine, original), history=history)
    if engine is not None:
        spark = as_engine(engine)
        rows = spark.rows(exhibit.policy, original)
        original = collect_rows(spark, rows, exhibit.policy, f"a {exhibit.form} is compared row by row")
    return compare_with_rows(with_private_data(exhibit, original, history))


def _key(signer: str | Path | VerifyingKey) -> VerifyingKey:
    """Cryptography is imported when there is a key."""
    from sfumato.release.signature import VerifyingKey

    return signer if isinstance(signer, VerifyingKey) else VerifyingKey.read(signer)


def _in_target(exhibit: ReleaseView, url: str) -> tuple[Finding, ...]:
    """Read the content of a database target; drivers are imported only if there is one."""
    from sfumato.workflow.database_load import verify_target

    return tuple(verify_target(exhibit, url))


def audit_of(exhibit: ReleaseView) -> Audit:
    """The audit of a folder that is open: every requirement and check, the certificate, and whether the method fits the
    form."""
    found = certify(exhibit)
    stated = (_stated(exhibit, found), made_by(exhibit))
    told = (*_before(exhibit), *_unused(exhibit), *_less_is_compared(exhibit), *_affected(exhibit))
    return Audit((*found, *told, *stated), view=exhibit)


def _before(exhibit: ReleaseView) -> Iterator[Finding]:
    """What was published before a release is a part of its promise: without the ledger that is not judged."""
    entered = certificate_of(exhibit).ledger
    if exhibit.history is None and entered is not None and entered.get("release") != 1:
        reason = (
            "it is not the first release of its ledger and was judged alone; give the ledger to judge all of them"
            " together"
        )
        yield Finding("earlier releases", True, grade=NOT_JUDGED, reason=reason)


def _unused(exhibit: ReleaseView) -> Iterator[Finding]:
    """Provenance that lies beside the folder and belongs to another release is no evidence about this one."""
    if exhibit.trace.foreign:
        reason = "the private provenance file beside the folder was written for another release and was not used"
        yield Finding("provenance", True, {}, {"used": 0}, grade=MEASURED, reason=reason)


def _less_is_compared(exhibit: ReleaseView) -> Iterator[Finding]:
    """What a reader of a certificate that says it is of an earlier version must know: it may have been made to say
    so."""
    if certificate_of(exhibit).earlier:
        reason = "assumptions and attacks that its version did not name are not missed; read what verify names"
        yield Finding(
            "earlier version",
            True,
            achieved={"version": certificate_of(exhibit).version},
            grade=MEASURED,
            reason=reason,
        )


def _affected(exhibit: ReleaseView) -> Iterator[Finding]:
    """Vulnerabilities of the version that made the release."""
    if names := [each.name for each in concerning(exhibit)]:
        version = certificate_of(exhibit).version
        readable = version if version.replace(".", "").isalnum() and len(version) < 20 else "unknown"
        achieved = {"version": readable, "names": ", ".join(names)}
        reason = f"{len(names)} vulnerabilities that were mended since concern releases of its kind ({PAGE})"
        yield Finding("known vulnerabilities", True, {}, achieved, grade=MEASURED, reason=reason)


def _stated(exhibit: ReleaseView, found: tuple[Finding, ...]) -> Finding:
    """Whether the certificate states what was found and what it does not protect against."""
    told, hushed = (
        _findings_stated(exhibit, found),
        [*filter(None, [_hushed(exhibit), _struck_out(exhibit), _accepted_otherwise(exhibit)])],
    )
    if not hushed:
        return told
    count = int(told.achieved.get("contradictions", 1 - told.holds)) + len(hushed)
    return Finding(
        "certificate",
        False,
        {"contradictions": 0},
        {"contradictions": count},
        reason="; ".join(filter(None, [told.reason, *hushed])),
    )


def _hushed(exhibit: ReleaseView) -> str:
    """Attacks that apply and that the certificate leaves out or talks down, or names without cause; empty when there
    are none.

    A certificate of an earlier version may word them differently and not know all of them: there, only names are
    compared."""
    stated = certificate_of(exhibit).attacks
    if stated is None:
        return ""
    known = known_attacks(exhibit)
    if certificate_of(exhibit).earlier:
        strange = {attack.name for attack in stated} - {attack.name for attack in known}
        return f"{len(strange)} attack(s) of the certificate do not concern this release" if strange else ""
    return (
        ""
        if sorted(map(astuple, stated)) == sorted(map(astuple, known))
        else "the certificate does not name the attacks that apply"
    )


def _struck_out(exhibit: ReleaseView) -> str:
    """Assumptions that the certificate leaves out; one of an earlier version may word them differently."""
    said = certificate_of(exhibit)
    if said.earlier:
        return ""
    missing = set(list_assumptions(exhibit)) - set(said.assumptions)
    return f"the certificate leaves out {len(missing)} assumption(s)" if missing else ""


def _accepted_otherwise(exhibit: ReleaseView) -> str:
    """Whether the certificate accepts something else than the published policy; one of before may name nothing."""
    stated, written = certificate_of(exhibit).accepted, list_accepted(exhibit.policy)
    if list(stated) == list(written) or (not stated and not any(one["point"].startswith(OPEN) for one in written)):
        return ""
    return "the certificate does not name the open points that the policy accepts"


def _findings_stated(exhibit: ReleaseView, found: tuple[Finding, ...]) -> Finding:
    """Whether the certificate states what was found or, where original or ledger show more, as much as a folder may
    say."""
    plain = compare_with_certificate(exhibit, found)
    if plain.holds or not (exhibit.private or exhibit.history is not None):
        return plain
    told = compare_with_certificate(exhibit, public_findings(exhibit, found))
    return told if told.holds else plain


def _opened(folder: Path, engine: FileEngine = HERE) -> ReleaseView:
    """The folder as it lies there; a folder that cannot be read is a violation, whatever is wrong with it."""
    try:
        return read_folder(folder, engine=engine)
    except ReleaseError:
        raise
    except SfumatoError as error:
        raise ReleaseError(error.what, where=error.where or str(folder), hint=error.hint) from None
    except Exception as error:
        raise ReleaseError(f"the folder cannot be read ({type(error).__name__})", where=str(folder)) from error


def made_by(exhibit: ReleaseView) -> Finding:
    """Whether the method that the policy names makes releases of this form, for this policy."""
    wrong = "".join(_unmade(exhibit))
    return Finding("method", not wrong, {"misfits": 0}, {"misfits": int(bool(wrong))}, reason=wrong)


def _unmade(exhibit: ReleaseView) -> Iterator[str]:
    """Only the name and the form are compared: what a method would accept today may differ from what it accepted
    then."""
    named = exhibit.policy.method
    method = None if named is None else entry("methods", Method, named.name)
    if method is None:
        yield "the policy in the folder names no method that is known"
    elif type(exhibit.form) is not method.form:
        yield f"{method.name} makes a {method.form.name}, and the manifest says {exhibit.form}"
    elif exhibit.policy.data.name not in method.kinds:
        yield f"{method.name} does not work on {exhibit.policy.data.name} data"
