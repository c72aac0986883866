"""Certify: judge every requirement of the policy and everything else that must be true, on what was published.

Guarantee: nothing here is taken from the method's word. The audit imports neither methods nor kernels. The independent
recount repeats what both depend on, and must agree.

Invariants
    I1  Fail closed: an error in evidence extraction, in a check or in the recount is a finding that does not hold.
        Files may be forged, so every kind of error is caught, here and nowhere else.
    I2  Every claim costs a look at all rows, so their number is bounded, and the audit stays linear in the size of the
        folder.
    I3  With a history no requirement is judged on this release alone; only the recount, which reads one folder, does
        so.
    I4  Where only different rows with their counts are at hand, whatever was not made for that is *not judged*.


Stated
------
What a certificate states beside what the audit found: a statement that cannot be found again is a violation.

An attacker who rewrites a folder can rewrite its certificate and every checksum. So nothing in it is taken at its word:
every finding, the records, the method and the figures are compared with what the published files (and whatever else is
at hand) give.

Guarantee
    `contradictions` is empty only if the certificate has a finding for every requirement of the policy, about the same
    columns and levels; shows no more protection than was found; is about nothing that nobody checks; and counts the
    records that are there.

What is not compared
    Findings that need evidence which is not at hand: the audit itself does not judge them. Findings that an older
    version did not make are not missed, and figures that it left out are not compared.

Invariants
    I1  An exact finding is the same for all people, so it must be stated as it was found.
    I2  What was found as a bound from above, or on some of the people, may be undercut by a statement made with more
        evidence, never exceeded.
    I3  Sentences carry names of models and counts, never a value of a person.
    I4  What a folder does not tell, its certificate knows from the data holder alone, who says no more than that it is
        as asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from sfumato.audit.recount import classes_violated_for_persons, compare_with_findings
from sfumato.audit.recount.recount import same_figure
from sfumato.core.errors import NotAssessed, ReleaseError, SfumatoError
from sfumato.core.registry import catalogue
from sfumato.core.wording import Worded, Wording
from sfumato.history.judge.series import is_series, judge_series
from sfumato.kinds.person_evidence import PEOPLE, persons_behind_rows
from sfumato.kinds.tables.evidence import population_source
from sfumato.models.base import Model
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.rule_reduction import revealing_dependency
from sfumato.release.certificate import (
    AS_ASKED,
    ERROR,
    MEASURED,
    NOT_JUDGED,
    NOTHING_PUBLISHED,
    SOURCE_RULE,
    Finding,
)
from sfumato.release.evidence import Check, Evidence, evidence_for
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView, certificate_of


class TooManyRequirements(Worded):
    """The policy has more requirements than the audit accepts."""

    name: ClassVar[str] = "claims"
    words: ClassVar[Wording] = Wording("Policy size", "policy-size", "integrity")


class RecountAgrees(Worded):
    """What the second implementation comes to."""

    name: ClassVar[str] = "floor"
    words: ClassVar[Wording] = Wording(
        "Independent recount",
        "recount",
        "integrity",
        holds=(
            "A second, independent implementation confirms {details.counted} of {details.claims guarantee/guarantees}.",
            "A second, independent implementation finds no other figures.",
        ),
        measured=(
            "A second implementation cannot count any of {found.claims guarantee/guarantees} from these files; it"
            " compared numbers of rows."
        ),
        violated="A second, independent implementation disagrees in {found.disagreements point/points}: {reason}",
    )


class CertificateMatch(Worded):
    """Whether the certificate of a folder says what was found."""

    name: ClassVar[str] = "certificate"
    words: ClassVar[Wording] = Wording(
        "Certificate",
        "certificate-match",
        "integrity",
        holds="The certificate states exactly what this audit found.",
        violated="The certificate differs from this audit in {found.contradictions point/points}: {reason}",
    )


class MethodMatch(Worded):
    """Whether the method of the policy makes releases of this form."""

    name: ClassVar[str] = "method"
    words: ClassVar[Wording] = Wording(
        "Method", "method-match", "integrity", holds="The method of the policy produces this kind of release."
    )


class SeriesNotJoined(Worded):
    """A later release of a series that was assessed alone."""

    name: ClassVar[str] = "earlier releases"
    words: ClassVar[Wording] = Wording("Earlier releases", "series-not-joined", "privacy")


class EarlierVersion(Worded):
    """A certificate that an older version wrote."""

    name: ClassVar[str] = "earlier version"
    words: ClassVar[Wording] = Wording(
        "Certificate version",
        "certificate-version",
        "measured",
        measured=(
            "The certificate was written by version {found.version}, which stated fewer limits. Read the limits named"
            " below."
        ),
        warns=lambda found: True,
        advice="Ask the publisher to certify the release again.",
    )


class AffectedVersion(Worded):
    """A release of a version with vulnerabilities that were mended since."""

    name: ClassVar[str] = "known vulnerabilities"
    words: ClassVar[Wording] = Wording(
        "Vulnerable version",
        "vulnerable-version",
        "measured",
        measured=(
            "An affected version made this release: {found.version}. Vulnerabilities mended since concern releases of"
            " its kind: {found.names} (docs/explanation/vulnerabilities.md says what to do)."
        ),
        warns=lambda found: True,
        advice="Ask the publisher to publish again with this version.",
    )


class TargetRows(Worded):
    """Whether a loaded database contains the released rows."""

    name: ClassVar[str] = "rows"
    words: ClassVar[Wording] = Wording(
        "Rows in the target",
        "rows",
        "integrity",
        holds="Exactly the released rows are in {found.tables table/tables}.",
        violated="{found.different} of {found.tables table/tables} differ: {reason}",
    )


class TargetServer(Worded):
    """Whether the server of a loaded database reports problems."""

    name: ClassVar[str] = "server"
    words: ClassVar[Wording] = Wording(
        "Database server",
        "server",
        "integrity",
        holds="The database server confirms all keys and constraints.",
        violated="The database server reports {found.complaints problem/problems}: {reason}",
    )


class SourceRule(Worded):
    """A rule of the policy, looked at in the original."""

    name: ClassVar[str] = SOURCE_RULE
    words: ClassVar[Wording] = Wording("Original data", "source-rule", "truth", holds="{reason}")


MOST_CLAIMS = 500
FLOOR = "floor"
"""The one finding of a certificate that is neither a requirement nor a check of the catalogue."""
NOTHING_COUNTED = "no claim of this release can be counted from its files a second time, so nothing was confirmed"
_UNCOUNTED = "this check does not support different rows with their counts (partitioned Parquet files)"


def certify(exhibit: ReleaseView, *, recount: bool = True) -> tuple[Finding, ...]:
    """Return all findings: the requirements in the order of the policy, the checks that apply, the recount."""
    if len(exhibit.policy.claims) > MOST_CLAIMS:  # I2
        return (
            Finding("claims", False, reason=f"the policy makes more claims than the {MOST_CLAIMS} that can be judged"),
        )
    alone, checked = judge_claims(exhibit), examine_all(exhibit)
    claims = (
        list(together(exhibit, alone)) if is_series(exhibit) else [finding for finding in alone if finding is not None]
    )
    if exhibit.folder is None or not recount:
        return (*claims, *checked)
    counted = [mine if one is None else one for mine, one in zip(claims, alone, strict=True)]
    return (*claims, *checked, recounted(exhibit, exhibit.folder, [*counted, *checked]))


def recounted(exhibit: ReleaseView, folder: Path, found: Sequence[Finding]) -> Finding:
    """Compare the findings with the recount, which reads the files of the folder itself and shares nothing with the
    audit.

    Where a person may have several rows and the data holder knows whose they are, people are counted again, too; where
    there is a table of the population, so are its people. Where no requirement can be counted from the files nothing
    was confirmed, and the finding says that instead of holding."""
    try:
        whose = None if exhibit.counted else exhibit.once(persons_behind_rows)
        everybody = population_source(exhibit)
        wrong, counted, claims = compare_with_findings(
            folder, [each.to_json() for each in found], exhibit.over_files, everybody
        )
        if whose is not None and any(each.model == PEOPLE and each.verdict is True for each in found):
            counted, claims = counted + 1, claims + 1
            if broken := classes_violated_for_persons(folder, whose):
                wrong.append(f"{PEOPLE}: said to hold, and {broken} class(es) break it")
    except Exception as error:  # I1
        return Finding(FLOOR, False, {"disagreements": 0}, {"disagreements": 1}, reason=refusal(error))
    if not wrong and not counted:
        return Finding(FLOOR, True, {}, {"counted": 0, "claims": claims}, grade=MEASURED, reason=NOTHING_COUNTED)
    some = f"{counted} of {claims} claims were counted again" if counted < claims else ""
    details, asked = {"counted": counted, "claims": claims}, {"disagreements": 0}
    return Finding(
        FLOOR, not wrong, asked, {"disagreements": len(wrong)}, reason="; ".join(wrong) or some, details=details
    )


def compare_with_certificate(exhibit: ReleaseView, found: tuple[Finding, ...]) -> Finding:
    """Whether the certificate in a folder states what was found."""
    try:
        return agreement(exhibit, evidence_for(exhibit.form), found)
    except Exception as error:  # I1
        return Finding("certificate", False, reason=refusal(error), details=_stopped(error))


def judge_claims(exhibit: ReleaseView) -> list[Finding | None]:
    """One finding per requirement about this release by itself; a part that cannot be read is a violation, not a crash.

    Where there are several releases, a requirement that is about all of them by its own definition has none.
    """
    reading, several = evidence_for(exhibit.form), is_series(exhibit)
    lone = replace(exhibit, history=None) if several else exhibit
    apart = [several and (claim.model.joint or reading.joins_itself) for claim in exhibit.policy.claims]
    return [
        None if one else _judged(reading, lone, claim) for one, claim in zip(apart, exhibit.policy.claims, strict=True)
    ]


def _judged(reading: Evidence, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
    try:
        if exhibit.counted and (not reading.on_classes or claim.model.joint):  # I4
            raise NotAssessed(f"no audit rule judges {claim.model.name} on counted rows of a {exhibit.form}")
        if claim.model.of_population and not reading.in_population:
            raise NotAssessed(f"no audit rule counts the people of a population in a {exhibit.form}")
        if claim.needs_joint and (claim.model.orders_values or not reading.reads_combinations):
            raise ReleaseError(
                f"no audit rule judges {claim.model.name} of a combination of columns in a {exhibit.form}"
            )
        if not exhibit.form.reads_knowledge and (why := revealing_dependency(exhibit.policy, claim)):
            raise ReleaseError(why)
        if claim.tells_nothing(exhibit.policy.published):
            why = "this release does not publish what the requirement hides"
            asked = claim.model.required()
            return Finding(claim.model.name, True, asked, NOTHING_PUBLISHED, claim.given, claim.hide, reason=why)
        return reading.judge(exhibit, claim)
    except Exception as error:  # I1
        return _unjudged(claim, error)


def together(exhibit: ReleaseView, alone: Sequence[Finding | None]) -> Iterator[Finding]:
    """The findings of the requirements over everything published so far (I3)."""
    for claim, finding in zip(exhibit.policy.claims, alone, strict=True):
        try:
            if exhibit.counted and not (exhibit.history is not None and exhibit.history.counted):  # I4
                raise NotAssessed(
                    "nobody judges several releases where only different rows with their counts are at hand"
                )
            if claim.needs_joint:
                raise ReleaseError(
                    f"nobody judges {claim.model.name} of a combination of columns over several releases"
                )
            yield judge_series(exhibit, claim, finding)
        except Exception as error:  # I1
            yield _unjudged(claim, error)


def _unjudged(claim: PrivacyRequirement, error: Exception) -> Finding:
    asked, why = claim.model.required(), refusal(error)
    if isinstance(error, NotAssessed):
        return Finding(claim.model.name, True, asked, {}, claim.given, claim.hide, NOT_JUDGED, why)
    return Finding(claim.model.name, False, asked, {}, claim.given, claim.hide, reason=why, details=_stopped(error))


def _stopped(error: Exception) -> dict[str, str]:
    """That the audit itself could not go on, as a detail of the finding; what it refuses in its own words is no
    error."""
    return {} if isinstance(error, SfumatoError) else {ERROR: type(error).__name__}


def examine_all(exhibit: ReleaseView) -> list[Finding]:
    """One finding per check that applies."""
    findings = []
    checks = [cls() for cls in catalogue("checks", Check).values()]
    for place, check in enumerate(checks):
        if exhibit.told is not None:
            exhibit.told(place / len(checks), check.name)
        try:
            if check.applies(exhibit):
                findings.append(check.examine(exhibit))
            elif exhibit.counted and check.concerned(exhibit):  # I4
                findings.append(Finding(check.name, True, grade=NOT_JUDGED, reason=_UNCOUNTED))
        except NotAssessed as error:
            findings.append(Finding(check.name, True, grade=NOT_JUDGED, reason=error.what))
        except Exception as error:  # I1
            findings.append(Finding(check.name, False, reason=refusal(error), details=_stopped(error)))
    return findings


def refusal(error: Exception) -> str:
    """Why something could not be looked at: our own words, or the kind of error, whose words may quote a value of a
    person."""
    if isinstance(error, SfumatoError):
        return error.what
    return f"the published files cannot be read as this form ({type(error).__name__})"


# Stated
# ------


_TWICE = 2.0
_SIX_DIGITS = 1e-5


def agreement(exhibit: ReleaseView, reading: Evidence, found: Sequence[Finding]) -> Finding:
    """Whether the certificate in the folder says what was found."""
    wrong = [*contradictions(exhibit, reading, found)]
    return Finding(
        "certificate", not wrong, {"contradictions": 0}, {"contradictions": len(wrong)}, reason="; ".join(wrong)
    )


def contradictions(exhibit: ReleaseView, reading: Evidence, found: Sequence[Finding]) -> Iterator[str]:
    """What the certificate states and nobody finds, in sentences (I3)."""
    stated, claims = certificate_of(exhibit).findings, len(exhibit.policy.claims)
    steady = reading.steady and not certificate_of(exhibit).earlier  # a version that graded some bounds as exact
    for place, mine in enumerate(found[:claims]):
        yield from _claim(place, mine, stated[place] if place < len(stated) else None, steady=steady)
        yield from _boasts(exhibit, place, mine, stated)
    yield from _checks(exhibit, stated[claims:], {finding.model: finding for finding in found[claims:]})
    yield from _records(exhibit)
    method = exhibit.policy.method
    if method is None or certificate_of(exhibit).method != method.name:
        yield "the certificate names another method than the policy"
    yield from _figures(exhibit)


def _claim(place: int, mine: Finding, theirs: Finding | None, *, steady: bool) -> Iterator[str]:
    name = f"claim {place + 1}, {mine.model}"
    if theirs is None or theirs.model != mine.model:
        yield f"{name}: the certificate has no finding for it"
        return
    if set(theirs.given) != set(mine.given) or set(theirs.hide) != set(mine.hide):
        yield f"{name}: the certificate names other columns"
    if not _equal(theirs.required, mine.required):
        yield f"{name}: the certificate names another level that was asked for"
    if theirs.grade == AS_ASKED and not _equal(theirs.achieved, theirs.required):
        yield f"{name}: stated as asked, with another level than was asked for"
    if theirs.open or mine.open:
        return
    if theirs.grade == AS_ASKED:
        if theirs.holds != mine.holds:
            yield f"{name}: stated as {_word(theirs)} as asked, found as {_word(mine)}"
        return
    if theirs.holds != mine.holds:
        yield f"{name}: stated as {_word(theirs)}, found as {_word(mine)}"
    elif not _level_agrees(mine, theirs):
        yield f"{name}: the certificate states another level than was found"
    if theirs.grade != mine.grade and (mine.grade == "exact" or steady):  # I1
        yield f"{name}: the certificate calls it {_grade(theirs)}, and it is {_grade(mine)}"


def _boasts(exhibit: ReleaseView, place: int, mine: Finding, stated: Sequence[Finding]) -> Iterator[str]:
    """A level that the published files do not tell is stated as asked, and no better (I4), at least by this version."""
    theirs = stated[place] if place < len(stated) else None
    if theirs is None or not mine.open or not theirs.judged or theirs.grade == AS_ASKED:
        return
    if exhibit.private or exhibit.history is not None or certificate_of(exhibit).earlier:
        return
    if any(theirs.required.values()):
        yield f"claim {place + 1}, {mine.model}: the certificate states a level that the published files do not tell"


def _word(finding: Finding) -> str:
    return "holding" if finding.holds else "broken"


def _grade(finding: Finding) -> str:
    """The first word of a grade that we know; a forged one is not repeated (I3)."""
    word = finding.grade.partition(" ")[0].rstrip(",")
    return word if word in ("exact", "bound", "estimate", "measured") else "something else"


def _level_agrees(mine: Finding, theirs: Finding) -> bool:
    if _equal(theirs.achieved, mine.achieved):
        return True
    if mine.grade == "exact" or not mine.achieved or not theirs.achieved:  # I1
        return False
    if mine.grade == "bound (from below)":  # proofs are found within a time, and another run may find more
        return True
    model = catalogue("models", Model)[mine.model]
    if mine.grade.startswith("estimate ±"):
        return _near(model, mine.achieved, theirs.achieved)
    return set(theirs.achieved) == set(mine.achieved) and model.reaches(mine.achieved, theirs.achieved)  # I2


def _near(model: type[Model], mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Two draws of the same estimate: levels that are not far apart, everything else the same."""
    if set(mine) != set(theirs):
        return False
    levels = [(mine[key], theirs[key]) for key in mine if key in model.levels]
    others = all(mine[key] == theirs[key] for key in mine if key not in model.levels)
    numbers = all(_is_number(level) for pair in levels for level in pair)
    return others and numbers and all(max(pair) <= _TWICE * min(pair) + _SIX_DIGITS for pair in levels)


def _checks(exhibit: ReleaseView, stated: Sequence[Finding], found: Mapping[str, Finding]) -> Iterator[str]:
    known, older = catalogue("checks", Check), certificate_of(exhibit).earlier
    for name, often in Counter(finding.model for finding in stated).items():
        if name != FLOOR and (name not in known or not isinstance(exhibit.form, known[name].forms)):
            yield (
                f"{often} finding(s) of the certificate are about something that no check examines on a {exhibit.form}"
            )
        elif often > 1:
            yield f"the certificate has {often} findings about {name}"
    for theirs in stated:
        mine = found.get(theirs.model)
        if mine is None or not (mine.judged and theirs.judged):
            continue
        if theirs.holds != mine.holds:
            yield f"{theirs.model}: stated as {_word(theirs)}, found as {_word(mine)}"
        elif (theirs.model == FLOOR or known[theirs.model].steady) and not _same_figures(theirs, mine, older=older):
            yield f"{theirs.model}: the certificate states other figures than were found"


def _same_figures(theirs: Finding, mine: Finding, *, older: bool) -> bool:
    """All figures, or of an older version those that it states."""
    if older:
        pairs = ((theirs.achieved, mine.achieved), (theirs.required, mine.required))
        return all(
            key in found and same_figure(value, found[key]) for stated, found in pairs for key, value in stated.items()
        )
    return _equal(theirs.achieved, mine.achieved) and _equal(theirs.required, mine.required)


def _records(exhibit: ReleaseView) -> Iterator[str]:
    said = certificate_of(exhibit).records
    try:
        published = exhibit.form.records(exhibit)
    except Exception:
        published = -1
    if (
        said.published != published
        or said.input != said.published + said.suppressed
        or min(said.input, said.suppressed) < 0
    ):
        yield "the records of the certificate are not those that are published"


def _figures(exhibit: ReleaseView) -> Iterator[str]:
    """Figures of utility: each is one that we measure, and those that the folder itself gives are what it gives.

    Older certificates hold figures that were measured on the original, and others on its domains; of these only names
    are compared."""
    stated = certificate_of(exhibit).utility
    metrics = {metric.figure or name: metric for name, metric in catalogue("metrics", Metric).items()}
    unknown = [name for name in stated if name not in metrics]
    if unknown:
        yield f"{len(unknown)} figure(s) of the certificate are none that anybody measures"
    if any(_needs_original(metrics[name]) for name in stated if name in metrics):
        return
    shown = exhibit.as_published()
    for cls in catalogue("metrics", Metric).values():
        name = cls.figure or cls.name
        if name in stated and cls().applies(shown) and not _near_figure(stated[name], cls().measure(shown)):
            yield f"the figure {name} of the certificate is not what the published files give"


def _needs_original(metric: type[Metric]) -> bool:
    return bool(getattr(metric, "needs_original", True))


def _near_figure(stated: Any, found: Any) -> bool:
    if isinstance(found, Mapping):
        return (
            isinstance(stated, Mapping)
            and set(stated) == set(found)
            and all(_near_figure(stated[k], found[k]) for k in found)
        )
    if _is_number(found) and _is_number(stated):
        return bool(found != found and stated != stated) or abs(found - stated) <= _SIX_DIGITS * max(abs(found), 1e-6)
    return bool(stated == found)


def _equal(stated: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    return set(stated) == set(found) and all(same_figure(stated[key], found[key]) for key in found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
