"""What was promised and what was found.


Limits
------
What was suppressed, what is assumed, and what the certificate does not say.


Utility
-------
What was given up, column by column, and what the release is still good for.

The data holder sees every figure, others those of the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from markupsafe import Markup

from sfumato.audit.certify import certify
from sfumato.core.html.charts import bars
from sfumato.core.registry import catalogue
from sfumato.kinds.tables.information_loss import OptimalityGap, statement
from sfumato.release.certificate import Finding
from sfumato.release.evidence import Check
from sfumato.release.metric import Metric, figures
from sfumato.release.report_section import Section, bullets, level, paragraph, table
from sfumato.release.view import ReleaseView, certificate_of


def _checks() -> dict[str, str]:
    """Name → meaning of everything the audit checks besides claims, from the checks themselves."""
    return {name: (cls.__doc__ or "").splitlines()[0] for name, cls in catalogue("checks", Check).items()}


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

    def ready(self, exhibit: ReleaseView) -> bool:
        return True

    def render(self, exhibit: ReleaseView) -> Markup:
        meaning = _checks()
        found = exhibit.once(certify) if exhibit.private else certificate_of(exhibit).findings
        claims = [finding for finding in found if finding.model not in meaning]
        checks = [finding for finding in found if finding.model in meaning]
        header = ("", "claim", "known to outsiders", "hidden", "asked", "found", "grade")
        parts = [table(header, map(_claim, claims))] if claims else []
        if checks:
            parts.append(Markup("<h3>Also checked</h3>"))
            parts.append(table(("", "check", "meaning"), [(_mark(f), f.model, f.reason or meaning[f.model]) for f in checks]))
        parts.append(paragraph(_HOW))
        if any(not finding.judged for finding in certificate_of(exhibit).findings):
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


# Limits
# ------


class Limits(Section):
    """Assumptions and limits in plain words."""

    name: ClassVar[str] = "limits"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "Suppressed, assumed, not said"
    order: ClassVar[int] = 90

    def ready(self, exhibit: ReleaseView) -> bool:
        return True

    def render(self, exhibit: ReleaseView) -> Markup:
        records = certificate_of(exhibit).records
        words = f"{records.suppressed:,} of {records.input:,} records were suppressed because no safe group could hold them."
        if not records.suppressed:
            words = f"No record was suppressed: all {records.input:,} are published."
        unsaid = [
            "It does not protect somebody about whom an outsider knows more than the columns named above.",
            "It judges this release together with earlier ones only when a ledger was kept.",
            "It says nothing about groups of people: a truth about everybody in a class is a truth about each of them.",
        ]
        return Markup("").join([
            paragraph(words),
            Markup("<h3>The findings assume</h3>"), bullets(certificate_of(exhibit).assumptions),
            Markup("<h3>What this certificate does not say</h3>"), bullets(unsaid),
        ])  # fmt: skip


# Utility
# -------


class UtilitySection(Section):
    """The loss of each column and the figures of the certificate."""

    name: ClassVar[str] = "utility"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "What was given up"
    order: ClassVar[int] = 30

    def ready(self, exhibit: ReleaseView) -> bool:
        return any(not _nested(value) for value in _shown(exhibit).values())

    def render(self, exhibit: ReleaseView) -> Markup:
        told = dict(_shown(exhibit))
        columns = told.pop("loss_by_column", {})
        rows = [(name, float(share), _percent(float(share))) for name, share in columns.items()]
        words = "Share of its domain that a cell of each column gives up on average: 0 % is the exact value, 100 % says nothing."
        chart = [paragraph(words), bars(rows, title="Loss per column")] if rows else []
        meaning = _meanings(exhibit)
        listed = [(name, _written(value), meaning.get(name, "")) for name, value in told.items() if not _nested(value)]
        return Markup("").join([*chart, table(("figure", "value", "meaning"), listed), *_best_possible(exhibit)])


def _shown(exhibit: ReleaseView) -> Mapping[str, Any]:
    return exhibit.once(figures) if exhibit.private else certificate_of(exhibit).utility


def _percent(share: float) -> str:
    """One digit for what would otherwise read as nothing at all."""
    return f"{100 * share:.1g}%" if 0 < share < 0.0005 else f"{share:.1%}"


def _best_possible(exhibit: ReleaseView) -> list[Markup]:
    """What no release of this kind can be below, when the method proved something."""
    told = _shown(exhibit)
    if not exhibit.private or not OptimalityGap().applies(exhibit) or not {"lower_bound", "optimality_gap"} <= set(told):
        return []
    said = statement(exhibit)
    loss, bound, gap = (float(told[name]) for name in (said.objective, "lower_bound", "optimality_gap"))
    if said.proven_optimal:
        words = f"No release of this kind can lose less than {bound:.4g} ({said.objective}), and this one does not lose more."
    else:
        words = (
            f"No release of this kind can lose less than {bound:.4g} ({said.objective}); this one loses {loss:.4g}, "
            f"so at most {gap:.1%} of its loss could have been saved."
        )
    kind = f"Of this kind: {said.space}. Proof: {said.proof}."
    return [paragraph(words), paragraph(kind)]


def _meanings(exhibit: ReleaseView) -> dict[str, str]:
    """What each figure says, in the words of its metric."""
    metrics = catalogue("metrics", Metric).values()
    return {cls.figure or cls.name: (cls.__doc__ or "").splitlines()[0] for cls in metrics if isinstance(exhibit.form, cls.forms)}


def _nested(value: object) -> bool:
    """Whether a figure is a table of figures, which a section of its own shows."""
    return isinstance(value, Mapping) and any(isinstance(entry, Mapping) for entry in value.values())


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_written(entry)}" for key, entry in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
