"""Publish: plan → run → draft → certify → `Publication`. Only a release whose certificate holds may be written out or remembered.

What is certified is what lies on disk: the draft is written first, read back as the audit's own exhibit, and judged there.

>>> import sfumato as sf
>>> policy = sf.Policy.parse({"version": 1, "columns": {"age": "quasi-identifier", "illness": "sensitive"},
...                           "protect": [{"k-anonymity": {"k": 2}}], "method": {"mondrian": {}}})
>>> publication = sf.publish(policy, data={"age": ["30", "30", "40", "40"], "illness": ["a", "b", "a", "c"]}, seed=1)
>>> publication.certificate.holds, len(publication.release.parts["data"])
(True, 4)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.attacks.base import known_attacks
from sfumato.audit.certify import certify
from sfumato.audit.source import source_audit
from sfumato.errors import AuditRefused, PolicyError
from sfumato.ledger import Ledger
from sfumato.methods.base import Progress, Task, silent
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness
from sfumato.release.certificate import LIMITS_PAGE, Certificate, Records
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import Format
from sfumato.release.past import History, PastRelease
from sfumato.release.release import Release
from sfumato.spine.measure import figures
from sfumato.spine.plan import Plan, plan
from sfumato.spine.write import Draft, write_out

Data = Any
"""A path, a polars, pandas or pyarrow frame, or what the policy's kind of data reads."""


@dataclass(frozen=True, slots=True)
class Publication:
    """A release with a certificate that holds."""

    policy: Policy
    plan: Plan
    release: Release
    exhibit: Exhibit = field(repr=False)
    """The release as the audit saw it, on the data holder's side."""
    certificate: Certificate
    draft: Draft = field(repr=False)
    ledger: Ledger | None = None
    seed: int | None = field(repr=False, default=None)

    @property
    def original(self) -> Any:
        return self.exhibit.original

    @property
    def history(self) -> History | None:
        """Every release so far, this one last."""
        return self.exhibit.history

    def write(self, out: str | Path, *, format: Format | None = None, report: bool = True) -> Path:
        """The release folder, whole or not at all, and never without its entry in the ledger; the private report goes beside it."""
        if format is not None and format != self.draft.format:
            return recertified(self, format).write(out, report=report)
        return write_out(self.draft, self.exhibit, Path(out), ledger=self.ledger, seed=self.seed, report=report)


def publish(
    policy: Policy | str | Path,
    data: Data = None,
    *,
    seed: int | None = None,
    jobs: int = 1,
    progress: Progress = silent,
    ledger: str | Path | None = None,
    format: Format = "csv",
) -> Publication:
    """Make and certify a release; raises `Infeasible` or `AuditRefused` rather than giving less than was asked.

    Parameters
    ----------
    policy
        What must stay private and what must stay true: a `Policy` or the path of one.
    data
        Takes the place of the policy's own source: a path, or a polars, pandas or pyarrow frame.
    seed
        Repeats a run in tests; whoever knows the seed can undo the release.
    jobs
        How many processes may work.
    progress
        Told how far the work is, as a share and a word.
    ledger
        The ledger to judge this release with and to remember it in, instead of the one the policy names.
    format
        Of the published parts.

    Returns
    -------
    Publication
        The release, its certificate, and `write` for the release folder.
    """
    policy = policy if isinstance(policy, Policy) else Policy.read(policy)
    book = ledger_of(policy, ledger)
    plan(policy, remembering=book is not None)  # refuse the impossible before data moves
    source = source_audit(policy)
    progress(0.0, "reading")
    dataset = source.read(policy, data)
    chosen = plan(policy, records=getattr(dataset, "rows", None), remembering=book is not None)
    source.require_sound(policy, dataset, rules_stay=not chosen.method.keeps_rules)
    earlier = None if book is None else book.history()
    release = chosen.method.run(Task(policy, dataset, Randomness(seed), jobs, progress, earlier))
    progress(1.0, "certifying")
    return _certified(policy, chosen, release, dataset, earlier, book, seed, format)


def recertified(publication: Publication, format: Format) -> Publication:
    """The same release in another format of files; what is certified is again what lies on disk."""
    history = publication.history
    earlier = None if history is None else History(history.releases[:-1])
    given = (publication.policy, publication.plan, publication.release, publication.original)
    return _certified(*given, earlier, publication.ledger, publication.seed, format)


def _certified(
    policy: Policy,
    chosen: Plan,
    release: Release,
    dataset: Any,
    earlier: History | None,
    book: Ledger | None,
    seed: int | None,
    format: Format,
) -> Publication:
    """Write the draft, look at it with the audit's own eyes, and refuse whatever does not hold."""
    draft = Draft.of(release, policy, chosen.declaration, format)
    exhibit = replace(draft.read(), original=dataset, trace=release.trace)
    exhibit = replace(exhibit, certificate=Certificate((), _records(exhibit, release.suppressed)))
    exhibit = replace(exhibit, history=_continued(earlier, policy, release, exhibit))
    certificate = _certificate(exhibit, chosen, release)
    if not certificate.holds:
        wrong = "; ".join(f"{finding.model}: {finding.reason or 'violated'}" for finding in certificate.violations)
        hint = "nothing was published; this is a defect of the method, please report it"
        raise AuditRefused(f"the audit refused the release: {wrong}", hint=hint)
    exhibit = exhibit.certified(certificate)
    draft.seal(certificate)
    return Publication(policy, chosen, release, exhibit, certificate, draft, book, seed)


def _records(exhibit: Exhibit, suppressed: int) -> Records:
    published = exhibit.form.records(exhibit)
    return Records(published + suppressed, published, suppressed)


def _certificate(exhibit: Exhibit, chosen: Plan, release: Release) -> Certificate:
    assert exhibit.records is not None
    return Certificate(
        certify(exhibit),
        exhibit.records,
        utility=figures(exhibit),
        assumptions=(*assumptions(exhibit.policy), *release.notes),
        limits=(LIMITS_PAGE,),
        method=chosen.method.name,
        version=__version__,
        attacks=known_attacks(exhibit),
    )


def assumptions(policy: Policy) -> tuple[str, ...]:
    """What must be true outside the data for the findings to mean what they say."""
    if not policy.quasi_identifiers:
        return ()
    return (
        "outsiders know at most the quasi-identifiers of people, and nothing of the sensitive columns: "
        "they have no opinion beforehand which values go with whom",
        "one row is one person, and no person is in the table twice",
    )


def _continued(earlier: History | None, policy: Policy, release: Release, exhibit: Exhibit) -> History | None:
    """The history with this release as its last; also without a ledger, when a claim is about all releases."""
    if earlier is None and not (release.form.remembered and any(claim.model.joint for claim in policy.claims)):
        return None
    so_far = earlier.releases if earlier is not None else ()
    memory = release.form.memory(policy, release.parts, release.trace, exhibit.original)
    return History((*so_far, PastRelease(exhibit.as_published(), memory, len(so_far) + 1)))


def ledger_of(policy: Policy, given: str | Path | None) -> Ledger | None:
    """The ledger that was given or that the policy names; it needs a key to know records again."""
    if given is None and not policy.ledger:
        return None
    path = Path(given) if given is not None else policy.base / policy.ledger
    if policy.data.needs_key and not policy.key:
        hint = "name the column(s) that identify a record across releases; they are never published"
        raise PolicyError("a ledger needs 'key:'", where=policy.document.where("ledger"), hint=hint)
    return Ledger(path)
