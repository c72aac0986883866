"""Exploring: what levels and methods cost, candidates side by side, what limits a column, what a flip of ties
protects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.core.errors import PolicyError
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.methods.edge_perturbation import EdgePerturbation, operating_curve, recommend_point
from sfumato.kinds.graphs.methods.edge_perturbation import picture as curve_picture
from sfumato.policy.policy import Policy
from sfumato.release.method import Progress
from sfumato.ui.studio.work.profiles import policy_of
from sfumato.workflow.explore.comparison import compare, why_coarse
from sfumato.workflow.explore.exploration import exploration_chart
from sfumato.workflow.explore.explore import explore
from sfumato.workflow.explore.variants import Sweep

FIGURES = ("loss", "query_error", "suppressed", "seconds")


def sweep(
    progress: Progress, policy: str, folder: str, levels: dict[str, list[float]], budget: float
) -> dict[str, Any]:
    """What levels and methods cost; finished points are kept in `folder`, so that going on costs nothing twice."""
    found = explore(policy, sweep=Sweep(levels=levels), budget=budget, folder=folder, progress=progress)
    texts = {str(number): found.text(number, Path(policy).parent) for number in range(1, len(found.points) + 1)}
    measured = [figure for figure in FIGURES if any(getattr(point, figure) is not None for point in found.points)]
    pictures = {figure: str(exploration_chart(found, figure)) for figure in measured}
    return found.to_json() | {"pictures": pictures, "texts": texts}


def side_by_side(progress: Progress, texts: dict[str, str], base: str) -> dict[str, Any]:
    """Candidates column by column, with class sizes and risk before and after."""
    candidates = {number: Policy.parse(text, base=base) for number, text in texts.items()}
    return compare(candidates, progress=progress).to_json()


def coarseness(progress: Progress, text: str, base: str, column: str, budget: float) -> dict[str, Any]:
    """Why a column is so coarse."""
    return why_coarse(Policy.parse(text, base=base), column, budget=budget, progress=progress).to_json()


def flips(progress: Progress, policy: str) -> dict[str, Any]:
    """The operating curve of a graph: what each flip protects and what can be recovered, with a picture of the
    trade-off."""
    progress(0.1, "reading")
    graph = policy_of(policy).data.read(None)
    if not isinstance(graph, Graph):
        raise PolicyError("flips are about graphs", where="data", hint="the source is of another kind")
    progress(0.3, "counting patterns")
    curve = operating_curve(graph)
    best, why = recommend_point(curve, EdgePerturbation().at_most)
    points = [point.to_json() | {"recommended": point is best} for point in curve]
    return {
        "people": graph.nodes,
        "ties": graph.size,
        "points": points,
        "why": why,
        "picture": curve_picture(curve, best),
    }
