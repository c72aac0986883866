"""Optimality: how far a release is from the least loss that any release of its kind can have, as its method proved.

The loss is measured on what was published; the bound is the method's word with the space it is about. It is a figure of the
original, so it stands in the private trace and never in the folder; folders of earlier versions have it in their manifest.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.forms.recoded import Optimality, Recoded, RecodedTrace
from sfumato.metrics.base import Metric
from sfumato.metrics.entropy_loss import EntropyLoss
from sfumato.metrics.loss import Loss
from sfumato.metrics.ntil import NormalizedTotalInformationLoss
from sfumato.release.exhibit import Exhibit

OBJECTIVES: dict[str, type[Metric]] = {cls.name: cls for cls in (Loss, EntropyLoss, NormalizedTotalInformationLoss)}


class OptimalityGap(Metric):
    """Share of the loss that the best release of this kind could save at most; 0 for a proven optimum."""

    name: ClassVar[str] = "optimality_gap"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "obfuscation §3.3"

    def ready(self, exhibit: Exhibit) -> bool:
        return said_of(exhibit) is not None

    def measure(self, exhibit: Exhibit) -> float:
        said = statement(exhibit)
        loss = measured(exhibit, said)
        return max(1.0 - said.lower_bound / loss, 0.0) if loss > 0 else 0.0


class LowerBound(OptimalityGap):
    """No release of this kind can lose less than this, in the figure that the policy minimizes."""

    name: ClassVar[str] = "lower_bound"
    range: ClassVar[str] = "that of the figure"

    def measure(self, exhibit: Exhibit) -> float:
        return statement(exhibit).lower_bound


def said_of(exhibit: Exhibit) -> Optimality | None:
    """What the method says about the best release, when the private trace (or an old manifest) has it."""
    return exhibit.traced(RecodedTrace).optimality or exhibit.of(Recoded).optimality


def statement(exhibit: Exhibit) -> Optimality:
    """What the method says about the best release, for who knows that it says something."""
    said = said_of(exhibit)
    assert said is not None
    return said


def measured(exhibit: Exhibit, said: Optimality) -> float:
    """The figure that the policy minimizes, on what was published."""
    return float(OBJECTIVES[said.objective]().measure(exhibit))
