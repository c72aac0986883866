"""What a recipient learns from a release folder with a perturbed graph: every figure with its interval, and what cannot be said.

Guarantee
    Only published files are used: the edges, and the flip that the manifest declares. Intervals are estimate ± z · standard error,
    clamped to what the figure can be (`metrics.recovery`). Of one person's number of ties the error is told as a figure of its own.
What cannot be recovered
    Path lengths and the diameter [multitype §4.6]: a flip with μ N ≥ ln N joins almost everybody within a few steps whatever the
    graph was, and the number of shortest paths is no sum over few pairs, so there is nothing to invert. The published graph's own
    are told by anybody who counts them; they are those of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from sfumato.errors import ReleaseError
from sfumato.forms.graph import Edges, published_graph
from sfumato.metrics.recovery import RecoveredFigure, recover
from sfumato.release.exhibit import Exhibit

_RANGES = {"density": (0.0, 1.0), "transitivity": (0.0, 1.0), "modularity": (-0.5, 1.0)}


def recover_graph(exhibit: Exhibit, confidence: float = 0.95, patterns: Sequence[str] = ()) -> dict[str, Any]:
    """Figures with intervals, and notes, as one JSON document."""
    flip, graph = exhibit.of(Edges).flip, exhibit.once(published_graph)
    if flip is None:
        raise ReleaseError("there is nothing to recover: the release holds no ties that were flipped at random")
    found = recover(graph, flip, distribution=False, patterns=patterns)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    figures = {name: _interval(name, figure, z) for name, figure in found.items()}
    figures["degree of one person, error"] = {"estimate": found.degree_error, "low": None, "high": None}
    return {
        "confidence": confidence,
        "people": graph.nodes,
        "edge_epsilon": flip.epsilon,
        "figures": figures,
        "notes": _notes(flip.add, graph.nodes),
    }


def _interval(name: str, figure: RecoveredFigure, z: float) -> dict[str, float | None]:
    if not math.isfinite(figure.estimate) or not math.isfinite(figure.standard_error):
        return {"estimate": None, "low": None, "high": None}
    low, high = figure.interval(z)
    least, most = _RANGES.get(name, (0.0, math.inf))
    return {"estimate": figure.estimate, "low": max(low, least), "high": min(high, most)}


def _notes(add: float, nodes: int) -> list[str]:
    told = ["path lengths and diameter are not recovered: flipped ties join people at random, and shortest paths cannot be undone"]
    if add * nodes >= math.log(max(nodes, 2)):
        told.append(
            f"about {add * nodes:,.0f} ties of every person are noise, so everybody is within a few steps of everybody else"
        )
    return told
