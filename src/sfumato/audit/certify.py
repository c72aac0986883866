"""Certify: judge every claim of the policy and everything else that must be true, on what was published.

Guarantee: nothing here is taken from the method's word. The audit imports neither methods nor kernels, and what both stand on is
counted a second time by the floor, which must agree.

Invariants
    I1  Fail closed: whatever goes wrong while a reading, a check or the floor looks at files is a finding that does not hold.
        Files may be forged, so every kind of error is caught, here and nowhere else.
    I2  Every claim costs a look at all rows, so their number is bounded, and the audit stays linear in the size of the folder.
    I3  Where there is a history no claim is judged on this release alone; only the floor, which reads one folder, counts that.
    I4  Where only different rows with their counts are at hand, whatever was not made for that is *not judged*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.audit.base import Check, Reading, reading_of
from sfumato.audit.floor import Everybody, broken_for_people, disagreements
from sfumato.audit.people import PEOPLE, names_behind
from sfumato.audit.population import everybody_of
from sfumato.audit.series import is_series, judge_series
from sfumato.audit.stated import agreement
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.policy.claims import Claim
from sfumato.policy.privacy import betraying
from sfumato.registry import catalogue
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.plain_files import OverFiles, one_by_one

MOST_CLAIMS = 500
_UNCOUNTED = "nobody looks at this where only different rows with their counts are at hand"


def certify(exhibit: Exhibit, *, recount: bool = True) -> tuple[Finding, ...]:
    """All findings: first the claims in the order of the policy, then the checks that apply, then the floor's own count."""
    if len(exhibit.policy.claims) > MOST_CLAIMS:  # I2
        return (Finding("claims", False, reason=f"the policy makes more claims than the {MOST_CLAIMS} that can be judged"),)
    alone, checked = judge_claims(exhibit), examine_all(exhibit)
    claims = list(together(exhibit, alone)) if is_series(exhibit) else [finding for finding in alone if finding is not None]
    if exhibit.folder is None or not recount:
        return (*claims, *checked)
    counted = [mine if one is None else one for mine, one in zip(claims, alone, strict=True)]
    whose = None if exhibit.counted else exhibit.once(names_behind)
    everybody = everybody_of(exhibit)
    return (*claims, *checked, recounted(exhibit.folder, [*counted, *checked], whose, exhibit.over_files, everybody))


def recounted(
    folder: Path,
    found: Sequence[Finding],
    whose: Mapping[str, Sequence[str]] | None = None,
    over_files: OverFiles = one_by_one,
    everybody: Everybody | None = None,
) -> Finding:
    """Whether the floor, which reads the files itself and shares nothing with us, comes to the same figures.

    `whose` names a person for every row of each table, where a person may stand in several and the data holder knows;
    `everybody` is the table of the population, where there is one.
    """
    try:
        wrong = disagreements(folder, [finding.to_json() for finding in found], over_files, everybody)
        said = any(finding.model == PEOPLE and finding.holds and finding.judged for finding in found)
        if whose is not None and said and (broken := broken_for_people(folder, whose)):
            wrong.append(f"{PEOPLE}: said to hold, and {broken} class(es) break it")
    except Exception as error:  # I1
        wrong = [refusal(error)]
    return Finding("floor", not wrong, {"disagreements": 0}, {"disagreements": len(wrong)}, reason="; ".join(wrong))


def compared(exhibit: Exhibit, found: tuple[Finding, ...]) -> Finding:
    """Whether the certificate in a folder states what was found."""
    try:
        return agreement(exhibit, reading_of(exhibit.form), found)
    except Exception as error:  # I1
        return Finding("certificate", False, reason=refusal(error))


def judge_claims(exhibit: Exhibit) -> list[Finding | None]:
    """One finding per claim about this release by itself; a part that cannot be read is a violation, not a crash.

    Where there are several releases, a claim that is about all of them by its own definition has none.
    """
    reading, several = reading_of(exhibit.form), is_series(exhibit)
    lone = replace(exhibit, history=None) if several else exhibit
    apart = [several and (claim.model.joint or reading.joins_itself) for claim in exhibit.policy.claims]
    return [None if one else _judged(reading, lone, claim) for one, claim in zip(apart, exhibit.policy.claims, strict=True)]


def _judged(reading: Reading, exhibit: Exhibit, claim: Claim) -> Finding:
    try:
        if exhibit.counted and (not reading.on_classes or claim.model.joint):  # I4
            raise ReleaseError(f"nobody judges {claim.model.name} on counted rows of a {exhibit.form}")
        if claim.model.of_population and not reading.in_population:
            raise ReleaseError(f"nobody counts the people of a population in a {exhibit.form}")
        if not exhibit.form.reads_knowledge and (why := betraying(exhibit.policy, claim)):
            raise ReleaseError(why)
        return reading.judge(exhibit, claim)
    except Exception as error:  # I1
        return _unjudged(claim, error)


def together(exhibit: Exhibit, alone: Sequence[Finding | None]) -> Iterator[Finding]:
    """The findings of the claims over everything published so far (I3)."""
    for claim, finding in zip(exhibit.policy.claims, alone, strict=True):
        try:
            if exhibit.counted and not (exhibit.history is not None and exhibit.history.counted):  # I4
                raise ReleaseError("nobody judges several releases where only different rows with their counts are at hand")
            yield judge_series(exhibit, claim, finding)
        except Exception as error:  # I1
            yield _unjudged(claim, error)


def _unjudged(claim: Claim, error: Exception) -> Finding:
    return Finding(claim.model.name, False, claim.model.required(), {}, claim.given, claim.hide, reason=refusal(error))


def examine_all(exhibit: Exhibit) -> list[Finding]:
    """One finding per check that applies."""
    findings = []
    checks = [cls() for cls in catalogue("audit.checks", Check).values()]
    for place, check in enumerate(checks):
        if exhibit.told is not None:
            exhibit.told(place / len(checks), check.name)
        try:
            if check.applies(exhibit):
                findings.append(check.examine(exhibit))
            elif exhibit.counted and check.concerned(exhibit):  # I4
                findings.append(Finding(check.name, True, grade=NOT_JUDGED, reason=_UNCOUNTED))
        except Exception as error:  # I1
            findings.append(Finding(check.name, False, reason=refusal(error)))
    return findings


def refusal(error: Exception) -> str:
    """Why something could not be looked at: our own words, or the kind of error, whose words may quote a value of a person."""
    if isinstance(error, SfumatoError):
        return error.what
    return f"the files are not what they should be ({type(error).__name__})"
