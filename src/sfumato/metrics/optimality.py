"""Optimality: how far a release is from the least loss that any release of its kind can have, as its method proved.

The loss is measured on what was published; the bound is the method's word and stands in the manifest with the space it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sfumato.metrics.base import Comparison, Metric
from sfumato.metrics.entropy_loss import EntropyLoss
from sfumato.metrics.loss import Loss
from sfumato.metrics.ntil import NormalizedTotalInformationLoss

OBJECTIVES: dict[str, type[Metric]] = {cls.name: cls for cls in (Loss, EntropyLoss, NormalizedTotalInformationLoss)}


class OptimalityGap(Metric):
    """Share of the loss that the best release of this kind could save at most; 0 for a proven optimum."""

    name: ClassVar[str] = "optimality_gap"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "obfuscation §3.3"

    def applies(self, comparison: Comparison) -> bool:
        return super().applies(comparison) and statement(comparison.public) is not None

    def measure(self, comparison: Comparison) -> float:
        said = statement(comparison.public)
        assert said is not None
        loss = measured(comparison, said)
        return max(1.0 - float(said["lower_bound"]) / loss, 0.0) if loss > 0 else 0.0


class LowerBound(OptimalityGap):
    """No release of this kind can lose less than this, in the figure that the policy minimizes."""

    name: ClassVar[str] = "lower_bound"
    range: ClassVar[str] = "that of the figure"

    def measure(self, comparison: Comparison) -> float:
        said = statement(comparison.public)
        assert said is not None
        return float(said["lower_bound"])


def statement(public: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the method says about the best release, when it says something."""
    said = public.get("optimality")
    return said if isinstance(said, Mapping) and said.get("objective") in OBJECTIVES else None


def measured(comparison: Comparison, said: Mapping[str, Any]) -> float:
    """The figure that the policy minimizes, on what was published."""
    return float(OBJECTIVES[said["objective"]]().measure(comparison))
