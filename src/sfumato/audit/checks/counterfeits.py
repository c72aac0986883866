"""Counterfeits: no more rows stand in for people who left than the policy allows, counted beside the records of the source."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.forms.recoded import Recoded
from sfumato.models.base import rounded
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Counterfeits(Check):
    """Rows that stand in for people who left stay within the policy's limit."""

    name: ClassVar[str] = "counterfeits"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.policy.series.counterfeits_at_most is not None and (exhibit.private or exhibit.records is not None)

    def examine(self, exhibit: Exhibit) -> Finding:
        limit, many = exhibit.policy.series.counterfeits_at_most, exhibit.of(Recoded).counterfeits
        assert limit is not None
        inputs = exhibit.inputs if exhibit.records is None or exhibit.private else exhibit.records.input
        fine = many <= limit * inputs + 1e-9
        return Finding(
            self.name,
            fine,
            {"counterfeits_at_most": limit},
            {"counterfeits_at_most": rounded(many / max(inputs, 1)), "counterfeits": many, "input": inputs},
            reason="" if fine else f"{many} rows stand in beside {inputs} records, the policy allows {limit:.3%}",
        )
