"""Figures: published figures of a graph are well formed, and near the original where that is at hand.

Noise of scale s is beyond 40 s with chance e^−40, so a figure farther off was not made as the manifest says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.forms.graph_figures import DEGREES, FIGURES, NoisyFigures
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_FAR = 40.0


class FiguresNear(Check):
    """Degrees are degrees of so many people; the number of edges is as near as its noise allows."""

    name: ClassVar[str] = "figures"
    forms: ClassVar[tuple[type[Form], ...]] = (NoisyFigures,)

    def examine(self, exhibit: Exhibit) -> Finding:
        wrong = [*_malformed(exhibit)]
        if exhibit.private and not wrong:
            wrong += _far(exhibit)
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _malformed(exhibit: Exhibit) -> Iterator[str]:
    form, degrees, figures = exhibit.of(NoisyFigures), exhibit.parts[DEGREES].table, exhibit.parts[FIGURES].table
    people = [int(value) for value in degrees["people"].to_pylist()]
    if sum(people) != form.nodes or any(value <= 0 for value in people):
        yield "the degrees are not those of as many people as the manifest says"
    listed = [int(value) for value in degrees["degree"].to_pylist()]
    if any(not 0 <= value < max(form.nodes, 1) for value in listed) or len(set(listed)) < len(listed):
        yield "a degree is impossible, or told twice"
    wanted = ["edges", *(["triangles"] if form.epsilon_triangles else [])]
    if sorted(figures["figure"].to_pylist()) != sorted(wanted):
        yield "the figures are not those that the manifest pays for"


def _far(exhibit: Exhibit) -> Iterator[str]:
    form, figures = exhibit.of(NoisyFigures), exhibit.parts[FIGURES].table
    told = {
        str(name): float(value) for name, value in zip(figures["figure"].to_pylist(), figures["value"].to_pylist(), strict=True)
    }
    if abs(told["edges"] - exhibit.original.size) > _FAR / form.epsilon_edges + 1:
        yield "the number of edges is farther off than its noise"
