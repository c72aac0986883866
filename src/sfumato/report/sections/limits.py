"""What was suppressed, what is assumed, and what the certificate does not say."""

from __future__ import annotations

from typing import ClassVar

from markupsafe import Markup

from sfumato.release.exhibit import Exhibit, certified
from sfumato.report.section import Section, bullets, paragraph


class Limits(Section):
    """Assumptions and limits in plain words."""

    name: ClassVar[str] = "limits"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "Suppressed, assumed, not said"
    order: ClassVar[int] = 90

    def ready(self, exhibit: Exhibit) -> bool:
        return True

    def render(self, exhibit: Exhibit) -> Markup:
        records = certified(exhibit).records
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
            Markup("<h3>The findings assume</h3>"), bullets(certified(exhibit).assumptions),
            Markup("<h3>What this certificate does not say</h3>"), bullets(unsaid),
        ])  # fmt: skip
