"""Judging: a draft that lies on disk becomes a `Publication`, or the refusal of what does not hold.

The audit reads the draft back as its own exhibit and judges that. Only what holds may be written out or remembered, and the
certificate says nothing that the published files do not say.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import __version__
from sfumato.attacks.base import known_attacks
from sfumato.audit.base import Check
from sfumato.audit.certify import certify
from sfumato.data.cards import card_html, table_html
from sfumato.data.memory import give_back
from sfumato.ledger import Ledger
from sfumato.methods.base import Progress, silent
from sfumato.metrics.base import figures
from sfumato.policy.policy import Policy
from sfumato.registry import catalogue
from sfumato.release.certificate import LIMITS_PAGE, Certificate, Finding, Records
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import Format
from sfumato.release.head import Place
from sfumato.release.past import History, PastRelease
from sfumato.release.release import Release
from sfumato.spine.assumptions import assumed
from sfumato.spine.disclose import disclosed
from sfumato.spine.plan import Plan
from sfumato.spine.refusing import refusal
from sfumato.spine.write import DraftFolder, write_out

if TYPE_CHECKING:
    from sfumato.release.signature import SigningKey

_SHOWN = 5


@dataclass(frozen=True, slots=True, repr=False)
class Publication:
    """A release with a certificate that holds; of one that rests on a seed that can be guessed, a certificate that says so."""

    policy: Policy
    plan: Plan
    release: Release
    exhibit: Exhibit = field(repr=False)
    """The release as the audit saw it, on the data holder's side."""
    certificate: Certificate
    """What stands in the folder: nothing in it that the published files do not say."""
    draft: DraftFolder = field(repr=False)
    ledger: Ledger | None = None
    place: Place | None = field(repr=False, default=None)
    """Where it will stand in the ledger."""
    seed: int | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        counts = self.certificate.records
        verdict = "holds" if self.certificate.holds else "does not hold"
        loss = self.certificate.utility.get("loss")
        cost = f", loss {loss:.4g}" if isinstance(loss, float) else ""
        return f"Publication({counts.published:,} of {counts.input:,} records with {self.certificate.method}, {verdict}{cost})"

    def _repr_html_(self) -> str:
        return self.certificate._repr_html_() + _first_rows(self.release)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was judged with the original at hand, with its figures; for the data holder."""
        return self.exhibit.once(certify)

    @property
    def utility(self) -> dict[str, Any]:
        """Every figure of utility, those that need the original included; for the data holder."""
        return self.exhibit.once(figures)

    @property
    def original(self) -> Any:
        return self.exhibit.original

    @property
    def history(self) -> History | None:
        """Every release so far, this one last."""
        return self.exhibit.history

    def write(
        self, out: str | Path, *, format: Format | None = None, report: bool = True, sign: str | Path | SigningKey | None = None
    ) -> Path:
        """The release folder, whole or not at all, and never without its entry in the ledger; the private report goes beside it.

        Parameters
        ----------
        out
            The release folder; it must not be there yet.
        format
            Of the published parts, when another is wanted than was certified; then they are certified again.
        report
            Whether reports are written.
        sign
            An Ed25519 private key, or the path of one: the folder gets a signed statement about everything in it.
        """
        if format is not None and format != self.draft.format:
            return recertified(self, format).write(out, report=report, sign=sign)
        key = None if sign is None else _key(sign)
        place = None if self.ledger is None or self.place is None else (self.ledger, self.place)
        return write_out(self.draft, self.exhibit, Path(out), place=place, seed=self.seed, report=report, key=key)


def _first_rows(release: Release) -> str:
    """What is published begins like this."""
    part = next(iter(release.parts.values()))
    if part.counts is not None:
        return ""  # they lie elsewhere
    rows = part.table.slice(0, _SHOWN).to_pylist()
    body = table_html(list(part.table.column_names), [list(row.values()) for row in rows])
    return card_html("", f"The first of {len(part):,} published rows", (), body)


def _key(sign: str | Path | SigningKey) -> SigningKey:
    """Cryptography is loaded when there is a key."""
    from sfumato.release.signature import SigningKey

    return sign if isinstance(sign, SigningKey) else SigningKey.read(sign)


def recertified(publication: Publication, format: Format) -> Publication:
    """The same release in another format of files; what is certified is again what lies on disk."""
    history = publication.history
    earlier = None if history is None else replace(history, releases=history.releases[:-1])
    given = (publication.policy, publication.plan, publication.release, publication.original)
    return certified(*given, earlier, publication.ledger, publication.place, publication.seed, format)


def certified(
    policy: Policy,
    chosen: Plan,
    release: Release,
    dataset: Any,
    earlier: History | None,
    book: Ledger | None,
    place: Place | None,
    seed: int | None,
    format: Format,
    told: Progress = silent,
) -> Publication:
    """Write the draft, look at it with the audit's own eyes, and refuse whatever does not hold."""
    give_back(max(map(len, release.parts.values()), default=0))
    draft = DraftFolder.of(release, policy, chosen.declaration, format)
    exhibit = replace(draft.read(), original=dataset, trace=release.trace, told=told)
    exhibit = replace(exhibit, population=policy.everybody(), population_file=policy.everybody_file())
    return judged_draft(policy, chosen, release, draft, exhibit, earlier, book, place, seed)


def judged_draft(
    policy: Policy,
    chosen: Plan,
    release: Release,
    draft: DraftFolder,
    exhibit: Exhibit,
    earlier: History | None = None,
    book: Ledger | None = None,
    place: Place | None = None,
    seed: int | None = None,
) -> Publication:
    """A publication from a draft that lies on disk, or the refusal of what does not hold; `exhibit` is the data holder's side.

    An exhibit that has its history, with this release as the last, keeps it.
    """
    exhibit = replace(exhibit, certificate=Certificate((), _records(exhibit, release.suppressed)))
    if exhibit.history is None:
        exhibit = replace(exhibit, history=_continued(earlier, policy, release, exhibit))
    failed = [finding for finding in exhibit.once(certify) if (finding.open or not finding.holds) and _forbidden(finding)]
    if failed:  # what was promised and could not be judged is refused like what is broken
        raise refusal(failed, policy, chosen, exhibit)
    certificate = _certificate(exhibit, chosen, release)
    certificate = certificate if place is None else replace(certificate, ledger=place.certified(draft.folder))
    exhibit = exhibit.certified(certificate)
    return Publication(policy, chosen, release, exhibit, certificate, draft, book, place, seed)


def _forbidden(finding: Finding) -> bool:
    """Whether a release with this finding must not be made at all."""
    check = catalogue("audit.checks", Check).get(finding.model)
    return check is None or check.forbids


def _records(exhibit: Exhibit, suppressed: int) -> Records:
    published = exhibit.form.records(exhibit)
    return Records(published + suppressed, published, suppressed)


def _certificate(exhibit: Exhibit, chosen: Plan, release: Release) -> Certificate:
    """What may stand in the folder."""
    assert exhibit.records is not None
    return Certificate(
        disclosed(exhibit, exhibit.once(certify)),
        exhibit.records,
        utility=figures(exhibit.as_published()),
        assumptions=(*assumed(exhibit), *release.notes),
        limits=(LIMITS_PAGE,),
        method=chosen.method.name,
        version=__version__,
        attacks=known_attacks(exhibit),
    )


def _continued(earlier: History | None, policy: Policy, release: Release, exhibit: Exhibit) -> History | None:
    """The history with this release as its last; also without a ledger, when a claim is about all releases."""
    if earlier is None and not (release.form.remembered and any(claim.model.joint for claim in policy.claims)):
        return None
    so_far = earlier if earlier is not None else History()
    memory = release.form.memory(policy, release.parts, release.trace, exhibit.original)
    return so_far.then(PastRelease(exhibit.as_published(), memory, len(so_far) + 1))
