"""The two trades of the audit: readings, which turn published parts into `Linkage`, and checks, which judge everything
else.

A new form of release needs one reading in ``audit/readings``; a new thing to check is one file in ``audit/checks``.


Source
------
The source of a policy before anything is made: whether it fits, what holds in it, and what deserves a warning.

What can be said differs by the kind of data; a kind that has something to say is one file in ``audit/sources``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.core.errors import DataError, ReleaseError
from sfumato.core.registry import catalogue, declaring
from sfumato.core.wording import Worded, count_text
from sfumato.data.linkage import Linkage
from sfumato.policy.policy import UNPROTECTED, Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.certificate import AT_MOST, Finding
from sfumato.release.form import Form
from sfumato.release.past_releases import History
from sfumato.release.view import Applicable, ReleaseView


@dataclass(frozen=True, slots=True)
class ViolationCount:
    """What was found about people: classes (or groups of people) that break a requirement, and whether everything could
    be judged."""

    broken: int
    complete: bool = True
    fewest: int | None = None
    """The smallest n // M: among how many people a row stands at least."""


class Evidence(ABC):
    """What an adversary makes of a form of release."""

    name: ClassVar[str]
    form: ClassVar[type[Form]]
    """The form it reads."""
    grade: ClassVar[str] = "exact"
    steady: ClassVar[bool] = True
    """Whether it comes to the same finding with and without the original, the provenance and the history."""
    on_classes: ClassVar[bool] = False
    """Whether it reads parts that are different rows with counts; a requirement is not judged where it does not."""

    in_population: ClassVar[bool] = False
    """Whether it counts people of a population; a requirement about them is not judged where it does not."""

    reads_combinations: ClassVar[bool] = False
    """Whether it reads the joint distribution of several sensitive columns; a requirement that needs it is not judged
    where it does not."""

    joins_itself: ClassVar[bool] = False
    """Whether it judges requirements over several releases by itself (`judge_all`), where there are no tables that
    could be joined."""

    rows_are_records: ClassVar[bool] = False
    """Whether every published row, of one table or of several, is one record: people are counted by names beside the
    rows."""

    @abstractmethod
    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        """Everybody's candidates for an adversary who knows the requirement's given columns."""

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        """The requirement's finding: the model applied to what was read."""
        linkage = self.read(exhibit, claim)
        return evaluate_requirement(claim, linkage, self.grade, linkage.note, exhibit.policy.record_word)

    def of_people(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> ViolationCount | None:
        """Return what the data holder finds about persons with several unlinked rows; None if the policy has no
        persons.
        """
        return None

    def judge_all(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        """Judge the requirement over all releases of the view's history, for evidence that joins releases by itself."""
        raise ReleaseError(f"several releases of a {self.form.name} cannot be judged together")

    def steps(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> list[tuple[int, Finding]]:
        """(release, finding over all releases until then), as far as they can be judged again."""
        history = exhibit.history or History()
        return [(history.releases[-1].number, self.judge_all(exhibit, claim))] if history else []

    def so_far(self, history: History, policy: Policy) -> Iterator[str]:
        """What earlier releases mean for the next one, in sentences; of readings that join by themselves."""
        return iter(())


def evaluate_requirement(
    claim: PrivacyRequirement, linkage: Linkage, grade: str, note: str, word: str = "people"
) -> Finding:
    """What the requirement's model makes of each person's candidates; `note` is the reason where it holds, `word` what
    was counted."""
    verdict = claim.model.satisfied(linkage)
    below = int(linkage.people[~verdict].sum())
    return Finding(
        model=claim.model.name,
        holds=not below,
        required=claim.model.required(),
        achieved=claim.model.achieved(linkage),
        given=claim.given,
        hide=claim.hide,
        grade=AT_MOST if grade == "exact" and claim.model.is_bound(linkage) else grade,
        reason=below_text(below, word, int((~verdict).sum())) if below else note,
    )


def below_text(below: int, word: str, classes: int | None = None) -> str:
    """How many people or records do not reach a level, and in how many equivalence classes.

    >>> below_text(1, "people", 1)
    '1 person in 1 equivalence class does not reach the required level'
    >>> below_text(1200, "records")
    '1,200 records do not reach the required level'
    """
    one = {"people": "person"}.get(word, word.removesuffix("s"))
    inside = "" if classes is None else " in " + count_text(classes, "equivalence class", "equivalence classes")
    return f"{count_text(below, one, word)}{inside} {'does' if below == 1 else 'do'} not reach the required level"


def evidence_for(form: Form) -> Evidence:
    """The reading for a form of release; a form that nobody reads cannot be judged."""
    for reading in declaring("evidence", Evidence, f"form: ClassVar[type[Form]] = {type(form).__name__}"):
        if reading.form is type(form):  # the one for this very form before that of its kin
            return reading()
    able = [reading for reading in catalogue("evidence", Evidence).values() if isinstance(form, reading.form)]
    if able:
        return max(able, key=lambda reading: len(reading.form.__mro__))()
    raise ReleaseError(f"nobody can read a {form}", hint="a form needs a reading in audit/readings")


class Check(Applicable, Worded):
    """Something that must be true of a release besides its requirements."""

    steady: ClassVar[bool] = True
    """Whether its figures are the same whatever is at hand, so that a certificate can be compared with them."""

    forbids: ClassVar[bool] = True
    """Whether a release that breaks it is not even made; else it is made, and its certificate says that it does not
    hold."""

    asked: ClassVar[bool] = False
    """Whether the policy sets its level, so that a release which falls short of it is no defect of the method."""

    @abstractmethod
    def examine(self, exhibit: ReleaseView) -> Finding:
        """The verdict."""


# Source
# ------


@dataclass(frozen=True, slots=True)
class Warning:
    """Something a steward should look at; its identifier stays the same as long as policy and schema do."""

    identifier: str
    text: str
    final: bool = False
    """Whether publishing is refused because of it, whatever the policy accepts."""

    def __str__(self) -> str:
        return f"{self.text} [{self.identifier}]"


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What was found in a source: findings about rules and constraints, and warnings that the policy has not
    accepted."""

    findings: tuple[Finding, ...] = ()
    warnings: tuple[Warning, ...] = ()
    notes: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    """What the findings say in few sentences; without it every finding speaks for itself."""


class SourceAudit:
    """What is known about the original before a release is made; by default nothing."""

    name: ClassVar[str] = ""
    """The kind of data."""

    def read(self, policy: Policy, data: Any = None) -> Any:
        """The dataset; what cannot fit is refused before a row of it is read."""
        return policy.data.read(data)

    def rehearse(self, policy: Policy) -> None:
        """Refuse a target that could not be loaded, before a row is read; `examine` reports what else prevents the
        load.
        """

    def require_sound(self, policy: Policy, dataset: Any, *, rules_stay: bool) -> None:
        """Refuse a dataset that a release could not mend; `rules_stay`: the method leaves records as they are."""

    def reads_rows(self, policy: Policy) -> bool:
        """Whether `examine` has something to look at; only then the source is read for a foresight."""
        return False

    def glance(self, policy: Policy) -> SourceReport:
        """What can be said when the source is not read."""
        return without_accepted_warnings(policy.accept, [*unprotected_columns(policy)])

    def examine(
        self, policy: Policy, dataset: Any, since: str | None = None, form: type[Form] | None = None
    ) -> SourceReport:
        """Findings and warnings about the original.

        `since` is an earlier release folder to compare with, `form` what would be published, when that is known.
        """
        return self.glance(policy)


def unprotected_columns(policy: Policy) -> Iterator[Warning]:
    """Warn about sensitive columns that are published and that no privacy requirement names."""
    for name in policy.unprotected:
        told = f"'{name}' is sensitive and published, and no requirement limits what can be learned about it"
        yield Warning(UNPROTECTED + name, told)


def source_audit(policy: Policy) -> SourceAudit:
    """The audit of this policy's kind of source."""
    return catalogue("source audits", SourceAudit).get(policy.data.name, SourceAudit)()


def without_accepted_warnings(
    accept: Iterable[str], warnings: Sequence[Warning], findings: tuple[Finding, ...] = (), notes: tuple[str, ...] = ()
) -> SourceReport:
    """A report without the warnings that the policy accepts by name; what was accepted becomes a note."""
    met = {warning.identifier for warning in warnings}
    accepted = set(accept) - {warning.identifier for warning in warnings if warning.final}
    told = [f"accepted: {warning}" for warning in warnings if warning.identifier in accepted]
    told += [f"accepted but no longer there: {identifier}" for identifier in sorted(accepted - met)]
    kept = tuple(warning for warning in warnings if warning.identifier not in accepted)
    return SourceReport(findings, kept, (*notes, *told))


def require_findings_hold(findings: tuple[Finding, ...], where: str, hint: str) -> None:
    """Refuse when a finding does not hold."""
    broken = [finding.reason for finding in findings if not finding.holds]
    if broken:
        raise DataError("; ".join(broken), where=where, hint=hint)
