"""What was promised and what was found."""

from __future__ import annotations

from typing import ClassVar

from markupsafe import Markup

from sfumato.audit.base import Check
from sfumato.audit.certify import certify
from sfumato.registry import catalogue
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit, certified
from sfumato.report.section import Section, level, paragraph, table


def _checks() -> dict[str, str]:
    """Name → meaning of everything the audit checks besides claims, from the checks themselves."""
    return {name: (cls.__doc__ or "").splitlines()[0] for name, cls in catalogue("audit.checks", Check).items()}


_HOW = (
    "Every line was recomputed from what was published, by code that calls no method. What methods and audit both stand on "
    "(reading, policy, models) could err for both, so the floor counts claims about groups a second time, from raw cells."
)


class Promises(Section):
    """Each claim with the level asked for, the level found, and how sure that is."""

    name: ClassVar[str] = "promises"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "Promised and found"
    order: ClassVar[int] = 10

    def ready(self, exhibit: Exhibit) -> bool:
        return True

    def render(self, exhibit: Exhibit) -> Markup:
        meaning = _checks()
        found = exhibit.once(certify) if exhibit.private else certified(exhibit).findings
        claims = [finding for finding in found if finding.model not in meaning]
        checks = [finding for finding in found if finding.model in meaning]
        header = ("", "claim", "known to outsiders", "hidden", "asked", "found", "grade")
        parts = [table(header, map(_claim, claims))] if claims else []
        if checks:
            parts.append(Markup("<h3>Also checked</h3>"))
            parts.append(table(("", "check", "meaning"), [(_mark(f), f.model, f.reason or meaning[f.model]) for f in checks]))
        parts.append(paragraph(_HOW))
        if any(not finding.judged for finding in certified(exhibit).findings):
            parts.append(
                paragraph("? was promised and not judged, so it does not hold; · was measured, and nothing is promised by it.")
            )
        return Markup("").join(parts)


def _mark(finding: Finding) -> Markup:
    if finding.holds and not finding.judged:
        return Markup('<span class="open">{}</span>').format("?" if finding.open else "·")
    return Markup('<span class="yes">✓</span>') if finding.holds else Markup('<span class="no">✗</span>')


def _claim(finding: Finding) -> tuple[object, ...]:
    given, hide = ", ".join(finding.given) or "—", ", ".join(finding.hide) or "—"
    return _mark(finding), finding.model, given, hide, level(finding.required), level(finding.achieved), finding.grade
