"""Recovered: the figures of the original graph that the published one still tells, each with its standard error.

Measured on the published graph alone, so that a certificate may carry it. Paper: [multitype §4.3]; see `metrics.recovery`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sfumato.forms.graph import Edges, published_graph
from sfumato.metrics.base import Metric
from sfumato.metrics.recovery import Recovery, recover
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Recovered(Metric):
    """Density, degrees, triangles, transitivity and modularity before the flip, each with a standard error."""

    name: ClassVar[str] = "recovered"
    range: ClassVar[str] = "estimates with standard errors"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)
    paper: ClassVar[str] = "multitype §4.3"
    needs_original: ClassVar[bool] = False

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.of(Edges).flip is not None

    def measure(self, exhibit: Exhibit) -> dict[str, Any]:
        flip = exhibit.of(Edges).flip
        assert flip is not None
        return summary(recover(exhibit.once(published_graph), flip, distribution=False))


def summary(recovery: Recovery) -> dict[str, Any]:
    """Every figure as JSON; `degrees` is the average, with the error of one person's degree beside it."""
    figures: dict[str, Any] = recovery.to_json()
    figures["degrees"]["standard_error_of_one_person"] = recovery.degree_error
    return figures
