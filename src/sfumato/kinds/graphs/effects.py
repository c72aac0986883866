"""What publishing did to a graph: how much of it is noise, and what can be estimated from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from sfumato.core.wording import number_text, percent_text
from sfumato.kinds.graphs.form import Edges, NoisyFigures
from sfumato.release.form import Form
from sfumato.release.metric import figures
from sfumato.release.summary import Effects
from sfumato.release.view import ReleaseView

_TOLD = {"edges": "edges", "triangles": "triangles", "transitivity": "transitivity"}


class GraphEffects(Effects):
    """Published edges: noise, additions, and estimates with their standard errors."""

    name: ClassVar[str] = "graph"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        edges = exhibit.tables["edges"].records
        told: Mapping[str, Any] = exhibit.once(figures)
        recovered = told.get("recovered")
        if isinstance(recovered, Mapping) and recovered["edges"]["estimate"] is not None:
            kept = float(recovered["edges"]["estimate"]) * (1 - float(getattr(exhibit.form, "delete", 0.0) or 0.0))
            noise = min(max(1 - kept / max(edges, 1), 0.0), 1.0)
            yield f"About {percent_text(noise)} of the {edges:,} published edges are noise. A single edge says little."
            told_by = [
                f"{word} {number_text(float(recovered[key]['estimate']))} ±"
                f" {number_text(float(recovered[key]['standard_error']))}"
                for key, word in _TOLD.items()
                if key in recovered and None not in (recovered[key]["estimate"], recovered[key]["standard_error"])
            ]
            yield f"Estimates for the original graph: {', '.join(told_by)} (standard error)."
        else:
            yield f"{edges:,} edges are published."
        if isinstance(added := told.get("added_edges"), int | float):
            yield f"{number_text(added)} published edges are not in the original."


class FigureEffects(Effects):
    """Noisy figures instead of a graph."""

    name: ClassVar[str] = "graph figures"
    forms: ClassVar[tuple[type[Form], ...]] = (NoisyFigures,)

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        yield "No edge is published, only noisy figures about the graph."
