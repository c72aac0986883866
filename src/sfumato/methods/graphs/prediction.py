"""What a flip will do to a graph, told before anything is drawn: size of the output and standard error of every figure.

The variance of every recovered figure is a sum of pattern counts of the original (`metrics.pattern_counts`), which the data
holder has; so the standard error is known in advance, exactly.
"""

from __future__ import annotations

import math

from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.metrics.pattern_counts import PatternCounts
from sfumato.metrics.recovery import RecoveredFigure, degree_error, triad_figures

EXPLODES = 10.0


def prediction(graph: Graph, flip: EdgeChannel, at_most: int) -> list[str]:
    """Sentences for the data holder, with warnings where the output explodes or a figure drowns."""
    expected = flip.expected_edges(graph.pairs, graph.size)
    growth = expected / max(graph.size, 1)
    spoken = f"mu = {flip.delete:g}" if flip.is_symmetric else f"delete = {flip.delete:g}, add = {flip.add:.3g}"
    said = [f"flip: {spoken}; edge-level epsilon = {flip.epsilon:.2f}"]
    said.append(f"output: about {expected:,.0f} edges, {growth:,.1f} times as many")
    if expected > at_most:
        said.append(f"warning: more than the {at_most:,} edges allowed; publishing will be refused")
    elif growth > EXPLODES:
        said.append(f"warning: the output explodes; {1 - graph.size * (1 - flip.delete) / expected:.1%} of its edges will be noise")
    return said + [_figure(name, figure) for name, figure in predicted(graph, flip).items()]


def predicted(graph: Graph, flip: EdgeChannel) -> dict[str, RecoveredFigure]:
    """Every recoverable figure of the original with the standard error its recovery will have."""
    counts = PatternCounts(graph)
    figures = triad_figures(graph.nodes, counts.maps, flip)
    average = figures["degrees"].estimate
    figures["degree_of_one_person"] = RecoveredFigure(average, degree_error(graph.nodes, average, flip))
    return figures


def _figure(name: str, figure: RecoveredFigure) -> str:
    relative = figure.standard_error / abs(figure.estimate) if figure.estimate else math.inf
    drowned = " (warning: drowned in noise)" if relative > 0.5 else ""
    return f"predicted: {name.replace('_', ' ')} ± {figure.standard_error:.3g} ({relative:.1%}){drowned}"
