"""Figures: published figures of a graph are well formed, and near the original where that is at hand.

Noise of scale s is beyond 40 s with chance e^−40, so a figure farther off was not made as the manifest says. Where only so many
ties of a person count, they are counted here once more, by asking for every tie in the order of names. Of a graph that was drawn,
nobody has more ties than a published degree, and so many ties are there as random pairs of ends leave: two people with a and b of
2m ends are tied with the chance 1 − exp(−ab / 2m), and eight standard deviations below that sum is no chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.forms.graph_figures import DEGREES, EDGES, FIGURES, NoisyFigures
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
        if not wrong and exhibit.of(NoisyFigures).drawn:
            wrong += _not_drawn(exhibit)
        if exhibit.private and not wrong:
            wrong += _far(exhibit)
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _malformed(exhibit: Exhibit) -> Iterator[str]:
    form, degrees, figures = exhibit.of(NoisyFigures), exhibit.parts[DEGREES].table, exhibit.parts[FIGURES].table
    people = [int(value) for value in degrees["people"].to_pylist()]
    if sum(people) != form.nodes or any(value <= 0 for value in people):
        yield "the degrees are not those of as many people as the manifest says"
    listed = [int(value) for value in degrees["degree"].to_pylist()]
    most = form.nodes - 1 if form.limit is None else form.limit
    if any(not 0 <= value <= max(most, 0) for value in listed) or len(set(listed)) < len(listed):
        yield "a degree is impossible, or told twice"
    wanted = ["edges", *(["triangles"] if form.epsilon_triangles else [])]
    if sorted(figures["figure"].to_pylist()) != sorted(wanted):
        yield "the figures are not those that the manifest pays for"


def _not_drawn(exhibit: Exhibit) -> Iterator[str]:
    """What a graph that was drawn from the published degrees cannot be."""
    people, degrees, edges = exhibit.of(NoisyFigures).nodes, exhibit.parts[DEGREES].table, exhibit.parts[EDGES].table
    ends = np.sort(np.array([edges["source"].to_pylist(), edges["target"].to_pylist()], dtype=np.int64).reshape(2, -1), axis=0)
    if ends.size and (ends.min() < 0 or ends.max() >= people or (ends[0] == ends[1]).any()):
        yield "the drawn graph has people whom the manifest does not count, or somebody tied to themselves"
        return
    if np.unique(ends, axis=1).shape[1] < ends.shape[1]:
        yield "the drawn graph has a tie twice"
    values, counts = (np.array(degrees[name].to_pylist(), dtype=np.int64) for name in ("degree", "people"))
    if (np.sort(np.bincount(ends.reshape(-1), minlength=people)) > np.sort(np.repeat(values, counts))).any():
        yield "somebody in the drawn graph has more ties than the published degrees"
    expected = _expected(values.astype(np.float64), counts.astype(np.float64))
    if ends.shape[1] < expected - 8 * expected**0.5:
        yield "the drawn graph has fewer ties than its degrees leave to chance"


def _expected(values: FloatArray, counts: FloatArray) -> float:
    """Pairs of people who are tied, on average, when ends are paired at random."""
    ends = float(values @ counts)
    if ends < 2:
        return 0.0
    tied = -np.expm1(-np.outer(values, values) / ends)
    return float((counts @ tied @ counts - counts @ np.diag(tied)) / 2)


def _far(exhibit: Exhibit) -> Iterator[str]:
    form, figures, original = exhibit.of(NoisyFigures), exhibit.parts[FIGURES].table, exhibit.original
    unnamed = form.nodes - original.nodes
    if unnamed < 0 or (unnamed and form.limit is None):
        yield "the original has another number of people"
        return
    told = {
        str(name): float(value) for name, value in zip(figures["figure"].to_pylist(), figures["value"].to_pylist(), strict=True)
    }
    ties = None if form.limit is None else _within(original, form.limit)
    edges, changed = (original.size, 1) if ties is None else (int(ties.sum()) // 2, form.limit or 1)
    if abs(told["edges"] - edges) > _FAR * changed / form.epsilon_edges + 1:
        yield "the number of edges is farther off than its noise"
    if ties is not None:
        degrees = exhibit.parts[DEGREES].table
        listed = np.repeat(*(np.array(degrees[name].to_pylist(), dtype=np.int64) for name in ("degree", "people")))
        whole = np.append(ties, np.zeros(unnamed, dtype=np.int64))
        apart = max(abs(int((listed <= most).sum() - (whole <= most).sum())) for most in range(form.limit or 1))
        if apart > _FAR * 2 * (form.limit or 1) / form.epsilon_degrees + 1:
            yield "the degrees are farther off than their noise"


def _within(graph: Any, limit: int) -> IntArray:
    """How many ties of everybody count when no more than so many of a person do, in the order of names."""
    names = graph.labels or range(graph.nodes)
    ties = np.zeros(graph.nodes, dtype=np.int64)
    pairs = zip(*(ends.tolist() for ends in graph.edges()), strict=True)
    for one, other in sorted(pairs, key=lambda pair: sorted((names[pair[0]], names[pair[1]]))):
        if ties[one] < limit and ties[other] < limit:
            ties[[one, other]] += 1
    return ties
