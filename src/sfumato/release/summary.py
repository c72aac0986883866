"""The five questions about a release: what is promised, does it hold, what was lost, what is not covered, what next.

One object answers them for every medium: the command line, the reports, the studio and notebooks. One function decides
the headline. A headline *holds* only where a requirement about people is stated, every requirement was assessed, and
nothing is violated or left to decide.

Invariants
    I1  The summary of an adversary's view uses the published files and the certificate alone.
    I2  What was not assessed is an open point, never a success.


Effects
-------
What publishing did to the data, in sentences and shares: one class for each kind of data, found by its forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from sfumato.core.registry import catalogue, entry
from sfumato.core.wording import count_text, join_names, percent_text
from sfumato.models.base import Model
from sfumato.policy.policy import OPEN, UNPROTECTED, Acceptance, Policy
from sfumato.release.certificate import Finding, KnownAttack
from sfumato.release.form import Form
from sfumato.release.view import Applicable, ReleaseView

Verdict = Literal["holds", "open", "nothing", "broken"]
LABELS: Mapping[Verdict, str] = {
    "holds": "What was promised holds",
    "open": "What was promised holds, with open points",
    "nothing": "Nothing is promised about people",
    "broken": "This release does not keep what it promises",
}
"""The four headlines."""
UNASSESSED = "No violation found, but not every guarantee was assessed"
MARKS: Mapping[Verdict, str] = {"holds": "✓", "open": "!", "nothing": "!", "broken": "✗"}
_FIRST = ("files", "form")
"""Checks of which one that fails makes every other finding meaningless."""
_BESIDE = "signature"
"""The check that says something also about damaged files: who made them."""
_ALWAYS = ("people", "earlier promises")
"""Checks about people that are shown beside the models, also when they hold."""
_MOST_PARTS = 3
_MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class ReleaseHeadline:
    """The verdict, and what is guaranteed in one sentence."""

    verdict: Verdict
    label: str
    sentence: str

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """What happened to the cells of one column, as shares of all its published cells."""

    name: str
    unchanged: float
    generalized: float
    suppressed: float
    levels: tuple[tuple[str, float], ...] = ()
    """The most frequent kinds of generalized labels with their shares."""
    loss: float | None = None
    """Share of its domain that a cell gives up on average."""


@dataclass(frozen=True, slots=True)
class RiskChange:
    """A probability before and after publishing; `before` only where the original is at hand."""

    name: str
    after: float
    before: float | None = None
    promised: float | None = None


Action = Literal["count as known", "coarsen", "leave out", "require", "change"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing that can be done about an open point."""

    action: Action
    text: str
    """What it does, in the imperative and without a full stop."""
    edit: str = ""
    """What the policy says then, where that is one line."""


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """Something that is not covered, with its figure and what can be done about it."""

    text: str
    identifier: str = ""
    """What `accept:` names it by; empty where it cannot be accepted."""
    remedies: tuple[Remedy, ...] = ()
    columns: tuple[str, ...] = ()
    """The columns that it is about."""
    weight: float = 0.0
    """The share of the records that it is about, where that is known; heavier points are shown first."""
    accepted: Acceptance | None = None
    """Who accepts it and why, where the policy says so."""

    @property
    def figure(self) -> str:
        """The first figure of the text, with its unit.

        >>> OpenPoint("688 of 3,000 records are unique.").figure, OpenPoint("ward guesses it for 29.9 %.").figure
        ('688', '29.9 %')
        """
        found = _FIGURE.search(self.text)
        return found[0] if found else ""

    @property
    def advice(self) -> str:
        """What can be done, as one sentence."""
        ways = [remedy.text + (f" (`{remedy.edit}`)" if remedy.edit else "") for remedy in self.remedies]
        if not ways:
            return ""
        told = ", ".join(ways)
        return f"{told[:1].upper()}{told[1:]}{', or accept it' if self.identifier else ''}."

    @property
    def acceptance(self) -> str:
        """The line that accepts it, for `accept:` in the policy; empty where it cannot be accepted."""
        return f'- {{"{self.identifier}": {{by: NAME, reason: WHY}}}}' if self.identifier else ""

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        told: dict[str, Any] = {"text": self.text, "figure": self.figure, "advice": self.advice}
        told |= {"remedies": [asdict(remedy) for remedy in self.remedies]} if self.remedies else {}
        told |= {"id": self.identifier} if self.identifier else {}
        return told | ({"accepted": asdict(self.accepted)} if self.accepted else {})


_FIGURE = re.compile(r"(?<![\w.])\d[\d,.]*(?<![.,])(?: %)?")


@dataclass(frozen=True, slots=True)
class Summary:
    """The answers to the five questions."""

    headline: ReleaseHeadline
    promised: tuple[Finding, ...] = ()
    """The requirements and what was found, as the policy lists them."""
    violated: tuple[Finding, ...] = ()
    """Everything that does not hold, first causes first."""
    further: tuple[Finding, ...] = ()
    """Everything else that was checked."""
    lost: tuple[str, ...] = ()
    columns: tuple[ColumnChange, ...] = ()
    risks: tuple[RiskChange, ...] = ()
    open_points: tuple[OpenPoint, ...] = ()
    """What a person has to decide about."""
    accepted: tuple[OpenPoint, ...] = ()
    """Open points that the policy accepts, each with a name and a reason."""
    limits: tuple[KnownAttack, ...] = ()
    next_steps: tuple[str, ...] = ()
    stopped: bool = False
    """Whether files are damaged, so that nothing else was assessed."""

    @property
    def passed(self) -> tuple[Finding, ...]:
        """The further checks that hold."""
        return tuple(finding for finding in self.further if finding.state == "holds")

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "verdict": self.headline.verdict,
            "label": self.headline.label,
            "headline": self.headline.sentence,
            "promised": [finding.sentence for finding in self.promised],
            "violated": [finding.sentence for finding in self.violated],
            "checks_passed": len(self.passed),
            "lost": list(self.lost),
            "columns": {
                each.name: {"unchanged": each.unchanged, "generalized": each.generalized, "suppressed": each.suppressed}
                for each in self.columns
            },
            "risks": [asdict(risk) for risk in self.risks],
            "not_covered": [point.to_json() for point in self.open_points],
            "accepted": [point.to_json() for point in self.accepted],
            "next": list(self.next_steps),
        }


def is_requirement(finding: Finding) -> bool:
    """Whether a finding is about a privacy requirement that promises something to people.

    >>> [is_requirement(Finding("k-anonymity", True, {"k": k}, {"k": k})) for k in (5, 1)]
    [True, False]
    >>> is_requirement(Finding("truthfulness", True, {"rows": 0}, {"rows": 0}))
    False
    """
    model = entry("models", Model, finding.model)
    return model is not None and not model.is_trivial(finding.required)


def decide_headline(findings: Sequence[Finding], policy: Policy, form: Form, open_points: int = 0) -> ReleaseHeadline:
    """The one headline of a release: what it says, and whether that holds.

    Parameters
    ----------
    findings
        What the audit found, or what a certificate states.
    policy, form
        Whom the requirements are about, and what is known where they name no column.
    open_points
        How many points beside the findings a person has to decide.
    """
    promised = [finding for finding in findings if is_requirement(finding)]
    violated = causes(findings)
    if violated:
        first = violated[0]
        return ReleaseHeadline("broken", LABELS["broken"], f"{first.title}: {first.sentence}")
    invented = getattr(form, "counterfeits", 0)  # classes count them, and they are nobody
    unit = "people" if policy.person is None and not invented else "records"
    guarantee = _guarantee([finding.headline(unit, form.knowledge) for finding in promised])
    if not promised:
        return ReleaseHeadline(
            "nothing", LABELS["nothing"], "No requirement limits what can be learned about a person."
        )
    if any(finding.open for finding in promised):  # I2
        return ReleaseHeadline("open", UNASSESSED, f"Promised: {guarantee}")
    accepted = {each.point for each in policy.acceptances}
    warned = any(
        finding.state == "warning" and finding_point(finding).identifier not in accepted for finding in findings
    )
    waiting = bool(open_points) or warned or any(finding.open for finding in findings) or bool(policy.unexplained)
    verdict: Verdict = "open" if waiting else "holds"
    return ReleaseHeadline(verdict, LABELS[verdict], guarantee)


def _guarantee(sentences: Iterable[str]) -> str:
    """Sentences about one adversary as one sentence.

    >>> _guarantee(["An adversary who knows age is left with at least 5 people.",
    ...             "An adversary who knows age is left with at least 2 different values of illness."])
    'An adversary who knows age is left with at least 5 people and at least 2 different values of illness.'
    """
    grouped: dict[str, list[str]] = {}
    for sentence in dict.fromkeys(filter(None, sentences)):
        subject, verb, rest = sentence.partition(_LEFT_WITH)
        grouped.setdefault(subject + verb if verb else sentence, []).append(rest.rstrip(".") if verb else "")
    made = [
        f"{start}{join_names([part for part in parts if part])}." if any(parts) else start
        for start, parts in grouped.items()
    ]
    more = len(made) - _MOST_PARTS
    return " ".join(made[:_MOST_PARTS]) + (f" And {count_text(more, 'further guarantee')}." if more > 0 else "")


_LEFT_WITH = " is left with "


def causes(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """What does not hold, first causes first: where files are damaged nothing else, since all other violations follow
    from that.

    >>> [finding.model for finding in causes([Finding("k-anonymity", False), Finding("files", False)])]
    ['files']
    """
    violated = [finding for finding in findings if not finding.holds]
    ordered = [finding for name in _FIRST for finding in violated if finding.model == name]
    if ordered:
        return (*ordered, *(finding for finding in violated if finding.model == _BESIDE))
    return tuple(sorted(violated, key=lambda finding: (finding.failed, not is_requirement(finding))))


def summarize(
    exhibit: ReleaseView,
    findings: Sequence[Finding],
    *,
    attacks: Sequence[KnownAttack] = (),
    next_steps: Sequence[str] = (),
) -> Summary:
    """Answer the five questions about a release as this side sees it (I1)."""
    violated = causes(findings)
    if violated and violated[0].model in _FIRST:
        return Summary(
            decide_headline(findings, exhibit.policy, exhibit.form),
            violated=violated,
            next_steps=tuple(next_steps),
            stopped=True,
        )
    effects = None if violated else effects_of(exhibit)  # files of a release that does not hold may say anything
    columns = tuple(effects.columns(exhibit)) if effects else ()
    points = [*_of_findings(findings), *_unprotected(exhibit.policy), *vanished(columns)]
    points += [*effects.exposed(exhibit)] if effects else []
    points = _by_weight(points, exhibit.policy.acceptances)
    waiting = tuple(point for point in points if point.accepted is None)
    shown = [finding for finding in findings if finding.holds and (_of_model(finding) or finding.model in _ALWAYS)]
    rest = [finding for finding in findings if finding.holds and finding not in shown and finding.state != "warning"]
    return Summary(
        decide_headline(findings, exhibit.policy, exhibit.form, len(waiting)),
        promised=tuple(shown),
        violated=violated,
        further=tuple(rest),
        lost=tuple(effects.lost(exhibit)) if effects else (),
        columns=columns,
        risks=tuple(effects.risks(exhibit)) if effects else (),
        open_points=waiting,
        accepted=tuple(point for point in points if point.accepted is not None),
        limits=tuple(attacks),
        next_steps=tuple(next_steps),
    )


def _of_model(finding: Finding) -> bool:
    return entry("models", Model, finding.model) is not None


def _of_findings(findings: Sequence[Finding]) -> Iterator[OpenPoint]:
    """Measured figures to act on, then what was not assessed."""
    for finding in findings:
        if finding.state == "warning":
            yield finding_point(finding)
    for finding in findings:
        if finding.open and not _of_model(finding):
            yield OpenPoint(f"{finding.title}: {finding.sentence[:1].lower() + finding.sentence[1:]}")


def finding_point(finding: Finding) -> OpenPoint:
    """The open point of a measured figure that no requirement limits."""
    columns = tuple(str(name) for name in finding.details.get("columns", ()))
    remedies = [*column_remedies(columns)] if columns else [Remedy("change", finding.advice.rstrip("."))]
    found, records = finding.achieved.get("alone", 0), finding.details.get("records", 0)
    weight = 1 + float(found) / float(records) if found and records else 0.0  # being found is worse than being guessed
    identifier = _identifier(finding.code, columns or finding.hide)
    return OpenPoint(finding.sentence, identifier, tuple(remedies), columns, weight)


def _identifier(code: str, columns: Iterable[str]) -> str:
    """The name of an open point; it names its columns, so that it is open again when another column comes in."""
    return OPEN + ":".join([code, *filter(None, [",".join(columns)])])


def column_remedies(columns: Sequence[str]) -> Iterator[Remedy]:
    """What can be done about columns that no requirement counts."""
    names, them = join_names(columns), "it" if len(columns) == 1 else "them"
    edit = columns[0] if len(columns) == 1 else ""
    yield Remedy("count as known", f"count {names} as known", f"{edit}: quasi-identifier" if edit else "")
    yield Remedy("coarsen", f"coarsen {them} with a hierarchy")
    yield Remedy("leave out", f"leave {them} out", "publish: false")


def _unprotected(policy: Policy) -> Iterator[OpenPoint]:
    for name in policy.unexplained:
        remedies = (
            Remedy("require", "add a requirement that hides it"),
            Remedy("leave out", "leave it out", f"{name}: {{role: sensitive, publish: false}}"),
        )
        told = f"{name} is sensitive, and no requirement limits what can be learned about it."
        yield OpenPoint(told, UNPROTECTED + name, remedies, (name,))


def vanished(columns: Iterable[ColumnChange]) -> Iterator[OpenPoint]:
    """Columns that say nothing in most rows."""
    for column in columns:
        if column.suppressed > _MOSTLY:
            remedies = (
                Remedy("coarsen", "generalize or leave out another column"),
                Remedy("change", "raise `suppress_at_most`"),
                Remedy("change", "lower the level"),
            )
            told = f"{column.name} is suppressed in {percent_text(column.suppressed)} of the rows."
            identifier = _identifier("suppressed", [column.name])
            yield OpenPoint(told, identifier, remedies, (column.name,), column.suppressed)


def open_point(code: str, text: str, columns: Sequence[str], *remedies: Remedy, weight: float = 0.0) -> OpenPoint:
    """An open point that effects found."""
    return OpenPoint(text, _identifier(code, columns), remedies, tuple(columns), weight)


def _by_weight(points: Iterable[OpenPoint], acceptances: Iterable[Acceptance]) -> list[OpenPoint]:
    """The heaviest points first and what was not assessed last; each with its acceptance."""
    accepted = {each.point: each for each in acceptances}
    marked = [replace(point, accepted=accepted.get(point.identifier)) for point in points]
    return sorted(marked, key=lambda point: (not point.identifier, -point.weight))


# Effects
# -------


class Effects(Applicable):
    """What publishing did to one kind of data; every form has one."""

    name: ClassVar[str]
    on_classes: ClassVar[bool] = True

    def lost(self, exhibit: ReleaseView) -> Iterable[str]:
        """What was given up, in sentences, the most important first."""
        return ()

    def columns(self, exhibit: ReleaseView) -> Iterable[ColumnChange]:
        """What happened to the cells of each column."""
        return ()

    def risks(self, exhibit: ReleaseView) -> Iterable[RiskChange]:
        """Probabilities before and after."""
        return ()

    def exposed(self, exhibit: ReleaseView) -> Iterable[OpenPoint]:
        """What a person can still find or guess, beyond the findings."""
        return ()


def effects_of(exhibit: ReleaseView) -> Effects | None:
    """Return the effects of the view's form: those of its own class before those of related forms."""
    able = [cls for cls in catalogue("effects", Effects).values() if cls().applies(exhibit)]
    nearest = [(max(len(form.__mro__) for form in cls.forms if isinstance(exhibit.form, form)), cls) for cls in able]
    return max(nearest, key=lambda pair: pair[0])[1]() if nearest else None


def records_sentence(exhibit: ReleaseView) -> str:
    """How many records are published, of how many."""
    records = exhibit.records
    if records is None:
        return ""
    if not records.suppressed:
        return f"All {records.input:,} records are published."
    share = percent_text(records.suppressed / max(records.input, 1))
    return f"{records.suppressed:,} of {records.input:,} records ({share}) are suppressed."
