"""What was promised and what was found.


Limits
------
What was suppressed, what is assumed, and what the certificate does not say.


Words
-----
What the words of the page mean: the models by their own definitions, the rest as in the glossary of the documentation.


Utility
-------
The information loss of each column, and how useful the release is.

The data holder sees every figure, others those of the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from markupsafe import Markup

from sfumato.audit.certify import certify
from sfumato.core.html.charts import share_bars
from sfumato.core.registry import catalogue
from sfumato.core.wording import join_names, percent_text, summary_of
from sfumato.kinds.tables.information_loss import OptimalityGap, statement
from sfumato.models.base import Model
from sfumato.release.certificate import Finding
from sfumato.release.metric import figures, meanings
from sfumato.release.report_section import Section, bullets, paragraph, table
from sfumato.release.summary_html import coded, state_chip
from sfumato.release.view import ReleaseView, certificate_of

_HOW = (
    "Every finding was recomputed from what was published, by code that calls no method. What methods and audit share"
    " (reading, policy, models) could be wrong for both, so a second implementation counts the guarantees again from"
    " raw cells."
)
_GROUPS = {"privacy": "Privacy", "truth": "Agreement with the original", "integrity": "Files and certificate"}


class Promises(Section):
    """Each requirement and check with its state and a sentence."""

    name: ClassVar[str] = "promises"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "All findings"
    order: ClassVar[int] = 10

    def ready(self, exhibit: ReleaseView) -> bool:
        return True

    def render(self, exhibit: ReleaseView) -> Markup:
        found = exhibit.once(certify) if exhibit.private else certificate_of(exhibit).findings
        models = catalogue("models", Model)
        parts = [_listed("Requirements", [finding for finding in found if finding.model in models], known=True)]
        rest = [finding for finding in found if finding.model not in models]
        parts += [
            _listed(title, [f for f in rest if f.group == group and not f.measured]) for group, title in _GROUPS.items()
        ]
        parts += [_listed("Measured, not promised", [finding for finding in rest if finding.measured]), paragraph(_HOW)]
        if any(finding.open for finding in found):
            parts.append(
                paragraph("Not assessed means: it was promised, and the files at hand are not enough to decide.")
            )
        return Markup("").join(parts)


def _listed(title: str, findings: list[Finding], *, known: bool = False) -> Markup:
    if not findings:
        return Markup("")
    row = Markup("<tr><td>{}</td><td><b>{}</b></td><td>{}{}</td></tr>")
    rows = Markup("").join(
        row.format(_mark(f), f.title, coded(f.sentence), _about(f) if known else "") for f in findings
    )
    return Markup(
        '<h3>{}</h3><div class="scroll" tabindex="0" role="group" aria-label="Findings">'
        '<table class="cards"><tbody>{}</tbody></table></div>'
    ).format(title, rows)


def _about(finding: Finding) -> Markup:
    given = f"Known to the adversary: {join_names(finding.given)}." if finding.given else ""
    parts = [given, finding.wording.limit and f"Not promised: {finding.wording.limit}"]
    return Markup('<br><span class="soft">{}</span>').format(" ".join(filter(None, parts)))


def _mark(finding: Finding) -> Markup:
    return state_chip(finding)


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
        words = (
            f"{records.suppressed:,} of {records.input:,} records were suppressed because no safe group could hold"
            " them."
        )
        if not records.suppressed:
            words = f"No record was suppressed: all {records.input:,} are published."
        unsaid = [
            "It does not protect somebody about whom an outsider knows more than the columns named above.",
            "It judges this release together with earlier ones only when a ledger was kept.",
            (
                "It does not protect facts about groups: a fact about all members of a class is "
                "a fact about each of them."
            ),
        ]
        return Markup("").join([
            paragraph(words),
            Markup("<h3>The findings assume</h3>"), bullets(certificate_of(exhibit).assumptions),
            Markup("<h3>What this certificate does not say</h3>"), bullets(unsaid),
        ])  # fmt: skip


# Words
# -----


GLOSSARY = {
    "adversary": "Somebody who reads the release and wants to learn about a person.",
    "quasi-identifier": (
        "A column that an adversary may know about a person and can link with, such as age, sex or postcode."
    ),
    "sensitive attribute": "A column whose value an adversary must not infer, such as a diagnosis or an income.",
    "equivalence class": "All rows of one release with equal published quasi-identifiers.",
    "suppression": "A record, or a single cell, is not published. A suppressed cell is `*`.",
    "generalization": "Replacing a value by a more general one, such as 43 by 40-49.",
    "information loss": (
        "The average share of its domain that a published cell covers: 0 for exact values, 1 for `*`. A "
        "suppressed record counts 1 per column."
    ),
    "query error": "The median relative error of random COUNT queries on the release.",
    "re-identification risk": (
        "Prosecutor: the target is in the table. Journalist: membership is unknown. Marketer: the "
        "average over all records."
    ),
    "finding, grade": (
        "A finding is one result with its figures. Its grade says how sure it is: exact, bound, "
        "estimate, measured or not assessed."
    ),
    "independent recount": "A second, plain implementation that counts every model again from the published files.",
}
"""The entries of ``docs/glossary.md`` that every report explains; a test compares them."""


class Words(Section):
    """The models of the policy and the words of the page, each in a sentence or two."""

    name: ClassVar[str] = "words"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "What the words mean"
    order: ClassVar[int] = 95

    def ready(self, exhibit: ReleaseView) -> bool:
        return True

    def render(self, exhibit: ReleaseView) -> Markup:
        models = catalogue("models", Model)
        found = [finding for finding in certificate_of(exhibit).findings if finding.model in models]
        told = {finding.title: summary_of(models[finding.model]) for finding in found} | GLOSSARY
        return table(("word", "meaning"), told.items())


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
        rows = [(name, float(share), f"{name}: {percent_text(float(share))}") for name, share in columns.items()]
        words = (
            "Share of its domain that a cell of each column covers on average: 0 % is the "
            "exact value, 100 % is full suppression."
        )
        axis = "share of its domain that a cell covers"
        chart = [paragraph(words), share_bars(rows, title="Information loss per column", axis=axis)] if rows else []
        titles = meanings(exhibit.form)
        listed = [
            (title, _written(value), f"{meaning} ({name})")
            for name, value in told.items()
            if not _nested(value)
            for title, meaning in [titles.get(name, (name.replace("_", " "), ""))]
        ]
        return Markup("").join([*chart, table(("figure", "value", "meaning"), listed), *_best_possible(exhibit)])


def _shown(exhibit: ReleaseView) -> Mapping[str, Any]:
    return exhibit.once(figures) if exhibit.private else certificate_of(exhibit).utility


def _best_possible(exhibit: ReleaseView) -> list[Markup]:
    """What no release of this kind can be below, when the method proved something."""
    told = _shown(exhibit)
    if (
        not exhibit.private
        or not OptimalityGap().applies(exhibit)
        or not {"lower_bound", "optimality_gap"} <= set(told)
    ):
        return []
    said = statement(exhibit)
    loss, bound, gap = (float(told[name]) for name in (said.objective, "lower_bound", "optimality_gap"))
    if said.proven_optimal:
        words = (
            f"No release of this kind can lose less than {bound:.4g} ({said.objective}), and this one does not lose"
            " more."
        )
    else:
        words = (
            f"No release of this kind can lose less than {bound:.4g} ({said.objective}); this one loses {loss:.4g}, "
            f"so at most {gap:.1%} of its loss could have been saved."
        )
    kind = f"Of this kind: {said.space}. Proof: {said.proof}."
    return [paragraph(words), paragraph(kind)]


def _nested(value: object) -> bool:
    """Whether a figure is a table of figures, which a section of its own shows."""
    return isinstance(value, Mapping) and any(isinstance(entry, Mapping) for entry in value.values())


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_written(entry)}" for key, entry in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
