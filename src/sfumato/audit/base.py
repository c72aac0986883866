"""The two trades of the audit: readings, which turn published parts into `Linkage`, and checks, which judge everything else.

A new form of release needs one reading in ``audit/readings``; a new thing to check is one file in ``audit/checks``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sfumato.data.linkage import Linkage
from sfumato.errors import ReleaseError
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.registry import catalogue, declaring
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.release.onlooker import Onlooker
from sfumato.release.past import History


@dataclass(frozen=True, slots=True)
class Tally:
    """What was found about people: classes (or groups of people) that break a claim, and whether everything could be judged."""

    broken: int
    complete: bool = True
    fewest: int | None = None
    """The smallest n // M: among how many people a row stands at least."""


class Reading(ABC):
    """What an outsider makes of a form of release."""

    name: ClassVar[str]
    form: ClassVar[type[Form]]
    """The form it reads."""
    grade: ClassVar[str] = "exact"
    steady: ClassVar[bool] = True
    """Whether it comes to the same finding with and without the original, the trace and the history."""
    on_classes: ClassVar[bool] = False
    """Whether it reads parts that are different rows with counts; a claim is not judged where it does not."""

    in_population: ClassVar[bool] = False
    """Whether it counts people of a population; a claim about them is not judged where it does not."""

    joins_itself: ClassVar[bool] = False
    """Whether it judges claims over several releases by itself (`judge_all`), where there are no tables that could be joined."""

    rows_are_records: ClassVar[bool] = False
    """Whether every published row, of one table or of several, is one record: people are counted by names beside the rows."""

    @abstractmethod
    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        """Everybody's candidates for an outsider who knows the claim's given columns."""

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        """The claim's finding: the model applied to what was read."""
        linkage = self.read(exhibit, claim)
        return judged(claim, linkage, self.grade, linkage.note, exhibit.policy.record_word)

    def of_people(self, exhibit: Exhibit, claim: Claim) -> Tally | None:
        """What the data holder finds about people who stand in several rows that nothing ties; nothing where nobody counts them."""
        return None

    def judge_all(self, exhibit: Exhibit, claim: Claim) -> Finding:
        """The claim's finding over all releases of the exhibit's history; of readings that join by themselves."""
        raise ReleaseError(f"several releases of a {self.form.name} cannot be judged together")

    def steps(self, exhibit: Exhibit, claim: Claim) -> list[tuple[int, Finding]]:
        """(release, finding over all releases until then), as far as they can be judged again."""
        history = exhibit.history or History()
        return [(history.releases[-1].number, self.judge_all(exhibit, claim))] if history else []

    def so_far(self, history: History, policy: Policy) -> Iterator[str]:
        """What earlier releases mean for the next one, in sentences; of readings that join by themselves."""
        return iter(())


def judged(claim: Claim, linkage: Linkage, grade: str, note: str, word: str = "people") -> Finding:
    """What the claim's model makes of everybody's candidates; `note` is the reason where it holds, `word` what was counted."""
    verdict = claim.model.satisfied(linkage)
    below = int(linkage.people[~verdict].sum())
    return Finding(
        model=claim.model.name,
        holds=not below,
        required=claim.model.required(),
        achieved=claim.model.achieved(linkage),
        given=claim.given,
        hide=claim.hide,
        grade=grade,
        reason=f"{below} {word} in {int((~verdict).sum())} group(s) fall below" if below else note,
    )


def reading_of(form: Form) -> Reading:
    """The reading for a form of release; a form that nobody reads cannot be judged."""
    for reading in declaring("audit.readings", Reading, f"form: ClassVar[type[Form]] = {type(form).__name__}"):
        if reading.form is type(form):  # the one for this very form before that of its kin
            return reading()
    able = [reading for reading in catalogue("audit.readings", Reading).values() if isinstance(form, reading.form)]
    if able:
        return max(able, key=lambda reading: len(reading.form.__mro__))()
    raise ReleaseError(f"nobody can read a {form}", hint="a form needs a reading in audit/readings")


class Check(Onlooker):
    """Something that must be true of a release besides its claims."""

    steady: ClassVar[bool] = True
    """Whether its figures are the same whatever is at hand, so that a certificate can be compared with them."""

    forbids: ClassVar[bool] = True
    """Whether a release that breaks it is not even made; else it is made, and its certificate says that it does not hold."""

    asked: ClassVar[bool] = False
    """Whether the policy sets its level, so that a release which falls short of it is no defect of the method."""

    @abstractmethod
    def examine(self, exhibit: Exhibit) -> Finding:
        """The verdict."""
