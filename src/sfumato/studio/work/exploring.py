"""Exploring: what levels and methods cost, candidates side by side, what limits a column, what a flip of ties protects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.data.graph import Graph
from sfumato.errors import PolicyError
from sfumato.exploration.comparison import compare
from sfumato.exploration.explore import explore
from sfumato.exploration.limits import why_coarse
from sfumato.exploration.page import picture
from sfumato.exploration.variants import Sweep
from sfumato.methods.base import Progress
from sfumato.methods.graphs.curve import operating_curve, recommended
from sfumato.methods.graphs.curve_picture import picture as curve_picture
from sfumato.methods.graphs.edge_perturbation import EdgePerturbation
from sfumato.policy.policy import Policy
from sfumato.studio.work.profiles import policy_of

FIGURES = ("loss", "query_error", "suppressed", "seconds")


def sweep(progress: Progress, policy: str, folder: str, levels: dict[str, list[float]], budget: float) -> dict[str, Any]:
    """What levels and methods cost; finished points are kept in `folder`, so that going on costs nothing twice."""
    found = explore(policy, sweep=Sweep(levels=levels), budget=budget, folder=folder, progress=progress)
    texts = {str(number): found.text(number, Path(policy).parent) for number in range(1, len(found.points) + 1)}
    measured = [figure for figure in FIGURES if any(getattr(point, figure) is not None for point in found.points)]
    pictures = {figure: str(picture(found, figure)) for figure in measured}
    return found.to_json() | {"pictures": pictures, "texts": texts}


def side_by_side(progress: Progress, texts: dict[str, str], base: str) -> dict[str, Any]:
    """Candidates column by column, with class sizes and risk before and after."""
    candidates = {number: Policy.parse(text, base=base) for number, text in texts.items()}
    return compare(candidates, progress=progress).to_json()


def coarseness(progress: Progress, text: str, base: str, column: str, budget: float) -> dict[str, Any]:
    """Why a column is so coarse."""
    return why_coarse(Policy.parse(text, base=base), column, budget=budget, progress=progress).to_json()


def flips(progress: Progress, policy: str) -> dict[str, Any]:
    """The operating curve of a graph: what each flip protects and what can be recovered, with a picture of the trade-off."""
    progress(0.1, "reading")
    graph = policy_of(policy).data.read(None)
    if not isinstance(graph, Graph):
        raise PolicyError("flips are about graphs", where="data", hint="the source is of another kind")
    progress(0.3, "counting patterns")
    curve = operating_curve(graph)
    best, why = recommended(curve, EdgePerturbation().at_most)
    points = [point.to_json() | {"recommended": point is best} for point in curve]
    return {"people": graph.nodes, "ties": graph.size, "points": points, "why": why, "picture": curve_picture(curve, best)}
