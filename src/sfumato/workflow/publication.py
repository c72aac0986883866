"""Judging: a draft that lies on disk becomes a `Publication`, or the refusal of what does not hold.

The audit reads the draft back as its own view and judges that. Only what holds may be published or remembered, and the
certificate states only what the published files show.


Refusing
--------
Refusing: why nothing is published, with the reason and a way out.

Earlier releases may have said too much; what was asked may not be had; or the method made what the audit does not let
pass, which is a defect of ours and said as one.


Disclose
--------
Disclose: which of the data holder's findings a release folder may contain.

Everything is judged with the original at hand, and a release is refused when anything is broken. But a figure that was
found with the original says something about it that the published files do not say. So the folder gets the findings
that an adversary comes to with the folder alone; of the others only that they hold at the level that was asked for.
Their figures are in the private report.

Invariants
    I1  What is disclosed is a function of the published files, of the counts of records and of the fact that everything
        holds: two originals with the same published rows get the same certificate.
    I2  A finding about all releases together is never shown as the one about this release alone.


Assumptions
-----------
What every certificate assumes, from the folder alone: so that nobody can strike out an assumption unnoticed.

What a method adds about the way a release was made is in its notes, and cannot be verified from the files.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import __version__
from sfumato.audit.certify import FLOOR, certify
from sfumato.core.errors import AuditRefused, Infeasible, SfumatoError
from sfumato.core.html.pages import block_html, card_html, table_html
from sfumato.core.registry import catalogue
from sfumato.data.memory_map import release_memory_of_rows
from sfumato.history.judge.earlier_requirements import already_disclosed, records_to_leave_out
from sfumato.history.ledger import Ledger
from sfumato.history.ledger.entries import LedgerPlace
from sfumato.history.reference_distribution import describe_references
from sfumato.history.standing_requirements import is_membership_known
from sfumato.kinds.person_evidence import PEOPLE, PER_BUCKET
from sfumato.kinds.tables.source_audit import rules_in_original
from sfumato.policy.constraint_language.syntax_tree import SameMultiset
from sfumato.policy.kept_constraints import integrity_rules
from sfumato.policy.policy import Policy
from sfumato.release.attack import known_attacks
from sfumato.release.certificate import AS_ASKED, LIMITS_PAGE, NOT_JUDGED, Certificate, Finding, Records
from sfumato.release.evidence import Check, evidence_for
from sfumato.release.folder import Format
from sfumato.release.method import Progress, no_progress
from sfumato.release.metric import figures
from sfumato.release.past_releases import History, PastRelease
from sfumato.release.release import Release
from sfumato.release.summary import Summary, summarize
from sfumato.release.summary_html import headline_html, summary_html
from sfumato.release.view import ReleaseView
from sfumato.workflow.plan import Plan
from sfumato.workflow.write import DraftFolder, write_out

if TYPE_CHECKING:
    from sfumato.release.signature import SigningKey


_SHOWN = 5


@dataclass(frozen=True, slots=True, repr=False)
class Publication:
    """A release with the certificate of its audit.

    `publish` returns it. The certificate holds; a release from a guessable seed has a certificate that says so.

    Attributes
    ----------
    certificate
        The findings and figures that are written into the folder.
    release
        The published parts: ``release.parts["data"].to_pandas()``.
    findings
        All findings with their figures, for the data holder.
    utility
        All utility figures, for the data holder.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["30", "30", "40", "40"], "illness": ["flu", "gout", "flu", "cold"]}
    >>> policy = sf.Policy.table(people).quasi("age").sensitive("illness").protect(sf.k_anonymity(2)).method("mondrian")
    >>> sf.publish(policy)
    Publication(4 of 4 records with mondrian, holds, loss 0)
    """

    policy: Policy
    plan: Plan
    release: Release
    exhibit: ReleaseView = field(repr=False)
    """The release as the audit saw it, on the data holder's side."""
    certificate: Certificate
    """The certificate for the folder: it states only what the published files show."""
    draft: DraftFolder = field(repr=False)
    ledger: Ledger | None = None
    place: LedgerPlace | None = field(repr=False, default=None)
    """Its position in the ledger."""
    seed: int | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        counts = self.certificate.records
        verdict = "holds" if self.certificate.holds else "does not hold"
        loss = self.certificate.utility.get("loss")
        cost = f", loss {loss:.4g}" if isinstance(loss, float) else ""
        return (
            f"Publication({counts.published:,} of {counts.input:,} records with {self.certificate.method},"
            f" {verdict}{cost})"
        )

    def _repr_html_(self) -> str:
        told = self.summary("publication.write(DIR) writes the release folder; sf.verify(DIR) audits it.")
        return block_html(str(headline_html(told, 4)), str(summary_html(told))) + _first_rows(self.release)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was judged with the original at hand, with its figures; for the data holder."""
        return self.exhibit.once(certify)

    def summary(self, *next_steps: str, private: bool = True) -> Summary:
        """The answers to the five questions: what is promised, does it hold, what was lost, what is not covered, what
        next.

        Parameters
        ----------
        next_steps
            What to do next, one sentence or command each.
        private
            Whether figures that need the original are among them.
        """
        exhibit = self.exhibit if private else self.exhibit.as_published()
        return summarize(exhibit, self.findings, attacks=self.certificate.attacks or (), next_steps=next_steps)

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
        self,
        out: str | Path,
        *,
        format: Format | None = None,
        report: bool = True,
        sign: str | Path | SigningKey | None = None,
    ) -> Path:
        """The release folder, whole or not at all, and never without its entry in the ledger; the private report goes
        beside it.

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
            return certify_again(self, format).write(out, report=report, sign=sign)
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


def certify_again(publication: Publication, format: Format) -> Publication:
    """The same release in another format of files; what is certified is again what lies on disk."""
    history = publication.history
    earlier = None if history is None else replace(history, releases=history.releases[:-1])
    given = (publication.policy, publication.plan, publication.release, publication.original)
    return certify_draft(*given, earlier, publication.ledger, publication.place, publication.seed, format)


def certify_draft(
    policy: Policy,
    chosen: Plan,
    release: Release,
    dataset: Any,
    earlier: History | None,
    book: Ledger | None,
    place: LedgerPlace | None,
    seed: int | None,
    format: Format,
    told: Progress = no_progress,
) -> Publication:
    """Write the draft, look at it with the audit's own eyes, and refuse whatever does not hold."""
    release_memory_of_rows(max(map(len, release.parts.values()), default=0))
    draft = DraftFolder.of(release, policy, release.method or chosen.declaration, format)
    exhibit = replace(draft.read(), original=dataset, trace=release.trace, told=told)
    exhibit = replace(exhibit, population=policy.everybody(), population_file=policy.everybody_file())
    return publication_of_draft(policy, chosen, release, draft, exhibit, earlier, book, place, seed)


def publication_of_draft(
    policy: Policy,
    chosen: Plan,
    release: Release,
    draft: DraftFolder,
    exhibit: ReleaseView,
    earlier: History | None = None,
    book: Ledger | None = None,
    place: LedgerPlace | None = None,
    seed: int | None = None,
) -> Publication:
    """A publication from a draft that lies on disk, or the refusal of what does not hold; `exhibit` is the data
    holder's side.

    A view that has its history, with this release as the last, keeps it.
    """
    exhibit = replace(exhibit, certificate=Certificate((), _records(exhibit, release.suppressed)))
    if exhibit.history is None:
        exhibit = replace(exhibit, history=_continued(earlier, policy, release, exhibit))
    failed = [
        finding for finding in exhibit.once(certify) if (finding.open or not finding.holds) and _forbidden(finding)
    ]
    if failed:  # what was promised and could not be judged is refused like what is broken
        raise refusal_of(failed, policy, chosen, exhibit)
    certificate = _certificate(exhibit, chosen, release)
    certificate = certificate if place is None else replace(certificate, ledger=place.certified(draft.folder))
    exhibit = exhibit.certified(certificate)
    return Publication(policy, chosen, release, exhibit, certificate, draft, book, place, seed)


def _forbidden(finding: Finding) -> bool:
    """Whether a release with this finding must not be made at all."""
    check = catalogue("checks", Check).get(finding.model)
    return check is None or check.forbids


def _records(exhibit: ReleaseView, suppressed: int) -> Records:
    published = exhibit.form.records(exhibit)
    return Records(published + suppressed, published, suppressed)


def _certificate(exhibit: ReleaseView, chosen: Plan, release: Release) -> Certificate:
    """Return the certificate that the folder may contain."""
    assert exhibit.records is not None
    return Certificate(
        public_findings(exhibit, exhibit.once(certify)),
        exhibit.records,
        utility=figures(exhibit.as_published()),
        assumptions=(
            *list_assumptions(exhibit),
            *_of_releases(exhibit),
            *release.notes,
            *_scope_of_shares(exhibit.policy),
        ),
        limits=(LIMITS_PAGE,),
        method=chosen.method.name,
        version=__version__,
        attacks=known_attacks(exhibit),
        accepted=list_accepted(exhibit.policy),
    )


def _continued(earlier: History | None, policy: Policy, release: Release, exhibit: ReleaseView) -> History | None:
    """The history with this release as its last; also without a ledger, when a requirement is about all releases."""
    if earlier is None and not (release.form.remembered and any(claim.model.joint for claim in policy.claims)):
        return None
    so_far = earlier if earlier is not None else History()
    memory = release.form.memory(policy, release.parts, release.trace, exhibit.original)
    return so_far.then(PastRelease(exhibit.as_published(), memory, len(so_far) + 1))


# Refusing
# --------


_OF_RULES = {"rules", "rules of the policy", "constraints"}
"""Checks that find a rule broken."""


class NotFoundOverReleases(Infeasible):
    """What a method made does not keep the claims together with earlier releases; without some records it may."""

    records: frozenset[str] = frozenset()
    """Keys of these records; private."""

    def leaving_out(self, records: frozenset[str]) -> NotFoundOverReleases:
        """The same with the records without which it may be found."""
        self.records = records
        return self


def refusal_of(failed: list[Finding], policy: Policy, chosen: Plan, exhibit: ReleaseView) -> SfumatoError:
    """The error that says why these findings forbid the release."""
    return _told_before(failed, policy, exhibit) or _refused(failed, policy, chosen, exhibit)


def _told_before(failed: list[Finding], policy: Policy, exhibit: ReleaseView) -> Infeasible | None:
    """Why nothing is published where earlier releases have said too much for what is asked now; nothing when they have
    not."""
    history = exhibit.history
    if history is None or len(history) < 2 or evidence_for(exhibit.form).joins_itself:
        return None
    if not {finding.model for finding in failed} <= {
        *(claim.model.name for claim in policy.claims),
        "earlier promises",
        PEOPLE,
    }:
        return None
    why = "; ".join(dict.fromkeys(already_disclosed(History(history.releases[:-1]), policy)))
    hint = (
        "ask for no more than they leave, and give columns the roles that they had; 'check --ledger' says how claims"
        " stand"
    )
    return (
        Infeasible(f"{why}; nothing was published", where=policy.document.where("protect"), hint=hint) if why else None
    )


def _refused(failed: list[Finding], policy: Policy, chosen: Plan, exhibit: ReleaseView) -> SfumatoError:
    """Why nothing is published: what cannot be had, with the reason, or else a defect of the method."""
    dataset = exhibit.original
    wrong = "; ".join(f"{finding.model}: {finding.reason or 'violated'}" for finding in failed)
    names, claims = {finding.model for finding in failed}, {claim.model.name for claim in policy.claims}
    claims |= {name for name, check in catalogue("checks", Check).items() if check.asked}
    if chosen.method.finds_out() and names <= {*claims, "earlier promises"}:
        hint = (
            "lower the level, widen the domains, leave out rules that tell too much, or use another method; nothing was"
            " published"
        )
        return Infeasible(
            f"what was made does not keep what is asked: {wrong}", where=policy.document.where("protect"), hint=hint
        )
    stuck = _stuck(policy, dataset) if chosen.method.keeps_rules and names <= {"rules", *claims} else ""
    if stuck:
        hint = "drop one of these rules, or correct the data; nothing was published"
        return Infeasible(
            f"rules contradict each other on this data: {stuck}", where=policy.document.where("keep"), hint=hint
        )
    doubts = chosen.method.doubts(policy, dataset) if names <= _OF_RULES else []
    if doubts:
        hint = "put a key into the equation, widen the domains it is made of, or publish again; nothing was published"
        return Infeasible(f"{wrong}; {'; '.join(doubts)}", where=policy.document.where("keep"), hint=hint)
    joined = policy.series.by == "join" or any(claim.model.joint for claim in policy.claims)
    counted = not joined and all(
        finding.achieved for finding in failed
    )  # what could not be judged at all is refused as such
    if len(exhibit.history or ()) > 1 and counted and names <= {*claims, "earlier promises", PEOPLE}:
        return NotFoundOverReleases(
            f"no release was found that keeps what is asked together with earlier ones: {wrong}",
            where=policy.document.where("protect"),
            hint="nothing was published; try another method, ask for a lower level, or keep who left in the table",
        ).leaving_out(records_to_leave_out(exhibit))
    hint = "nothing was published; this is a defect of the method, please report it"
    return AuditRefused(f"the audit refused the release: {wrong}", hint=hint)


def _stuck(policy: Policy, dataset: Any) -> str:
    """Rules that the original breaks while another keeps its values as they are: only their order could change."""
    same = [str(rule) for rule in integrity_rules(policy) if isinstance(rule.body, SameMultiset)]
    broken = [finding.reason for finding in rules_in_original(policy, dataset) if not finding.holds] if same else []
    return "; ".join([*broken, *(f'"{rule}" leaves its values as they are' for rule in same)]) if broken else ""


# Disclose
# --------


def public_findings(exhibit: ReleaseView, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings for the folder, from those of the data holder; what does not hold is shown as an adversary sees
    it."""
    outside = certify(exhibit.as_published(), recount=False)  # the recount has read the same files already
    seen = {
        _claim(finding): finding
        for finding in (*outside, *(each for each in found if each.model == FLOOR and each.measured))
    }
    series = {claim.model.name for claim in exhibit.policy.claims} if _several(exhibit) else set()
    shown = []
    for finding in found:
        public = None if finding.model in series else seen.get(_claim(finding))  # I2
        if public is not None and not public.open and (public.holds or not finding.holds):
            shown.append(public)
        elif finding.required or public is not None:
            told = f"over {len(exhibit.history or ())} releases" if finding.model in series else ""
            shown.append(
                _verdict(finding, told)
            )  # what asks for nothing and needs the original is the data holder's alone
    return tuple(shown)


def _claim(finding: Finding) -> Hashable:
    return finding.model, finding.given, finding.hide, repr(sorted(finding.required.items()))


def _several(exhibit: ReleaseView) -> bool:
    return exhibit.history is not None and len(exhibit.history) > 1


def _verdict(finding: Finding, reason: str) -> Finding:
    """That it holds as asked, and nothing else (I1)."""
    if not finding.judged:
        return replace(finding, achieved={}, grade=NOT_JUDGED, reason=reason, details={})
    exact = finding.required and not any(finding.required.values())
    achieved = dict(finding.required)
    grade = AS_ASKED if not exact else finding.grade if finding.certainty == "estimate" else "exact"
    return replace(finding, achieved=achieved, grade=grade, reason=reason, details={})


# Assumptions
# -----------


def list_accepted(policy: Policy) -> tuple[dict[str, str], ...]:
    """What the data holder accepts with a reason, as certificates state it."""
    return tuple({key: text for key, text in asdict(one).items() if text} for one in policy.acceptances)


def list_assumptions(exhibit: ReleaseView) -> tuple[str, ...]:
    """The sentences that the certificate of a release must hold."""
    return (*filter(None, [exhibit.form.mark]), *_of_policy(exhibit.policy), *describe_references(exhibit.policy))


def _of_releases(exhibit: ReleaseView) -> tuple[str, ...]:
    """How the adversary of requirements over several releases links rows: certificates of earlier versions do not say
    it."""
    if not _several(exhibit) or not any(claim.hide for claim in exhibit.policy.claims):
        return ()
    known = is_membership_known(exhibit.policy, exhibit.history)
    where = (
        "who is in which release"
        if known
        else "of one release that a person is in it, and nothing else about membership"
    )
    return (
        (
            f"over several releases the adversary knows {where}, and takes all exchanges of people inside a joint"
            " equivalence class for equally likely; an adversary who gives equal weight to all ways of linking rows"
            " between releases may believe a value more than the level says, unless no row of a joint class fits"
            " anybody of another one"
        ),
    )


def _of_policy(policy: Policy) -> tuple[str, ...]:
    """What must be true outside the data for the findings to mean what they say, and what the data holder took upon
    themselves."""
    accepted = tuple(f"the data holder accepts a warning: {identifier}" for identifier in policy.accept)
    accepted += () if policy.plugins is None else (policy.plugins.sentence,)
    if not policy.quasi_identifiers:
        return accepted
    return (
        (
            "outsiders know at most the quasi-identifiers of people, and nothing of the sensitive columns: they have no"
            " opinion beforehand which values go with whom, and do not ask why the method made this release and no"
            " other"
        ),
        *_whose_rows(policy),
        *_of_population(policy),
        *accepted,
    )


def _scope_of_shares(policy: Policy) -> tuple[str, ...]:
    """Return what the bounded shares refer to, if a person may have several unlinked rows."""
    several = policy.person is not None and not policy.person.linked
    shares = any(claim.model.demand().largest_share < 1 for claim in policy.claims)
    return (f"people in several rows: shares are bounded {PER_BUCKET}",) if several and shares else ()


def _of_population(policy: Policy) -> tuple[str, ...]:
    """What is assumed of those who are not in the table."""
    population = policy.population
    if population is None or not policy.of_population:
        return ()
    if population.file is not None:
        return (
            (
                "the data holder's table of the population has everybody who could be in the data, and outsiders have"
                " no better one"
            ),
        )
    drawn = "people entered the table at random, independent of their values"
    if population.weight is not None:
        return (f"'{population.weight}' says how many people of the population each record stands for; {drawn}",)
    return (f"a share of {population.fraction:g} of the population is in the table; {drawn}",)


def _whose_rows(policy: Policy) -> tuple[str, ...]:
    """What is assumed of rows and people."""
    if policy.person is None:
        return ("one row is one person, and no person is in the table twice",)
    if policy.person.linked:
        return (
            (
                f"the policy says whose rows they are; candidates are {policy.person.word}, and a pseudonym ties their"
                " rows"
            ),
        )
    tie = "columns that are published as they are do not tie the rows of a person together"
    return (f"the policy says whose rows they are, and candidates are {policy.person.word}; {tie}",)
