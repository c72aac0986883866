"""What a published graph still tells, and what finding planted accounts in it would take.


Degrees
-------
How common every number of ties is in a graph that gained edges, what that took, and what it takes at least.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.core.arrays import IntArray
from sfumato.core.html.charts import histogram
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.form import Edges, fewest_added_edges, published_graph
from sfumato.kinds.graphs.metrics import transitivity
from sfumato.kinds.graphs.recovery import DegreeLaw, recover
from sfumato.release.form import Form
from sfumato.release.report_section import Section, paragraph, table
from sfumato.release.view import ReleaseView, certificate_of

_AXES = ("number of edges of a node", "share of the nodes")
_NAMES = ("edges", "density", "degrees", "wedges", "triangles", "open_triads", "transitivity", "modularity")


class GraphFigures(Section):
    """Recovered figures with errors, the recovered degree distribution, and the share of noise."""

    name: ClassVar[str] = "graph"
    title: ClassVar[str] = "What the graph still tells"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return "recovered" in certificate_of(exhibit).utility

    def render(self, exhibit: ReleaseView) -> Markup:
        flip = exhibit.of(Edges).flip
        assert flip is not None
        published = exhibit.once(published_graph)
        law = DegreeLaw.fit(published.degrees, flip, replicates=0)
        chart = (
            _compared(exhibit, law)
            if exhibit.private
            else histogram(_binned(law), title="Estimated degree distribution", axes=_AXES)
        )
        heading = Markup("<h3>Number of ties, recovered</h3>")
        return Markup("").join([paragraph(_noise(published, flip)), _figures(exhibit), heading, chart])


def _noise(published: Graph, flip: EdgeChannel) -> str:
    noise = flip.add * published.pairs / max(published.size, 1)
    return (
        f"{published.size:,} edges among {published.nodes:,} people are published; about {min(noise, 1):.1%} of them"
        f" are noise. An edge is lost with probability {flip.delete:.3g}, a new one appears with probability"
        f" {flip.add:.3g}. The figures below are what the original must have been like, each with its standard error."
    )


def _figures(exhibit: ReleaseView) -> Markup:
    recovered: Mapping[str, Any] = certificate_of(exhibit).utility["recovered"]
    names = [name for name in _NAMES if name in recovered]
    header: tuple[str, ...] = ("figure", "estimate", "standard error")
    rows = [
        [name.replace("_", " "), *(_written(recovered[name][key]) for key in ("estimate", "standard_error"))]
        for name in names
    ]
    if exhibit.private:
        header += ("original",)
        true = recover(exhibit.original, 0.0, distribution=False)
        known = ["—" if name == "modularity" else _written(true[name].estimate) for name in names]
        rows = [[*row, figure] for row, figure in zip(rows, known, strict=True)]
    return table(header, rows)


def _written(value: float | None) -> str:
    return "not recoverable" if value is None else f"{value:,.4g}"


def _edges(top: int) -> list[int]:
    edges = [0, 1]
    while edges[-1] < top:
        edges.append(edges[-1] * 2)
    return edges


def _binned(law: DegreeLaw) -> list[tuple[str, float | None, float]]:
    edges = _edges(len(law.share))
    rows: list[tuple[str, float | None, float]] = []
    for low, high in pairwise(edges):
        share = float(law.share[low:high].sum())
        rows.append((str(low) if high == low + 1 else f"{low}–{high - 1}", None, share))
    return rows


def _compared(exhibit: ReleaseView, law: DegreeLaw) -> Markup:
    rows = []
    degrees = exhibit.original.degrees
    edges = _edges(max(len(law.share), int(degrees.max(initial=0)) + 1))
    for low, high in pairwise(edges):
        before = float(((degrees >= low) & (degrees < high)).mean())
        rows.append((str(low) if high == low + 1 else f"{low}–{high - 1}", before, float(law.share[low:high].sum())))
    title = "Degree distribution, original and estimated"
    return histogram(rows, title=title, axes=_AXES, names=("original", "estimated"))


# Degrees
# -------


class CommonDegrees(Section):
    """Added edges beside the fewest possible, and how many people share each number of ties."""

    name: ClassVar[str] = "degrees"
    title: ClassVar[str] = "How common every number of ties is"
    order: ClassVar[int] = 21
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.of(Edges).grown

    def render(self, exhibit: ReleaseView) -> Markup:
        graph = exhibit.once(published_graph)
        parts = [paragraph(_added(exhibit, graph)), *_least(exhibit, graph), _groups(exhibit, graph)]
        parts.append(Markup("<h3>People by number of ties</h3>"))
        parts.append(
            _degrees_compared(exhibit.original, graph)
            if exhibit.private
            else histogram(_shares(graph), title="Degree distribution", axes=_AXES)
        )
        return Markup("").join(parts)


def _added(exhibit: ReleaseView, graph: Graph) -> str:
    added = graph.size - exhibit.original.size if exhibit.private else None
    count = "others were added and are not marked."
    if added is not None:
        count = f"{added:,} were added ({added / max(graph.size, 1):.1%} of what is published) and are not marked."
    return (
        f"{graph.size:,} edges among {graph.nodes:,} people are published. Every original edge is among them; {count} "
        "Nothing was flipped, so there is nothing to undo: counts of ties can only be too high."
    )


def _least(exhibit: ReleaseView, graph: Graph) -> list[Markup]:
    """For the data holder: how near this is to the fewest edges that would do."""
    least, proof = fewest_added_edges(exhibit)
    if not exhibit.private or least is None:
        return []
    added = graph.size - exhibit.original.size
    how = "a constraint solver proved it, and the audit checks what counting alone proves"
    said = (
        f"No graph of this kind can add fewer than {least:,} edges"
        f" ({how if proof == 'solver' else 'counting degrees proves it'})."
    )
    if added == least:
        return [paragraph(f"{said} This release adds no more than that: it is the best possible.")]
    return [
        paragraph(
            f"{said} At most {added - least:,} of the added edges, {(added - least) / added:.1%}, might have been"
            " saved."
        )
    ]


def _groups(exhibit: ReleaseView, graph: Graph) -> Markup:
    graphs = {"published": graph} | ({"original": exhibit.original} if exhibit.private else {})
    figures = {name: _degrees_figures(one) for name, one in graphs.items()}
    rows = [[what, *(figures[name][what] for name in graphs)] for what in figures["published"]]
    return table(("", *graphs), rows)


def _degrees_figures(graph: Graph) -> dict[str, str]:
    degrees, people = np.unique(graph.degrees, return_counts=True)
    return {
        "different numbers of ties": f"{len(degrees):,}",
        "people who share the rarest": f"{int(people.min(initial=graph.nodes)):,}",
        "largest number of ties": f"{int(degrees.max(initial=0)):,}",
        "average number of ties": f"{2 * graph.size / max(graph.nodes, 1):.2f}",
        "transitivity": f"{transitivity(graph):.4f}",
    }


def _bins(top: int) -> list[tuple[int, int, str]]:
    """0, 1, 2–3, 4–7, …"""
    edges = [0, 1]
    while edges[-1] <= top:
        edges.append(edges[-1] * 2)
    return [(low, high, str(low) if high == low + 1 else f"{low}–{high - 1}") for low, high in pairwise(edges)]


def _share(degrees: IntArray, low: int, high: int) -> float:
    return float(((degrees >= low) & (degrees < high)).sum()) / max(len(degrees), 1)


def _shares(graph: Graph) -> list[tuple[str, float | None, float]]:
    bins = _bins(int(graph.degrees.max(initial=0)))
    return [(name, None, _share(graph.degrees, low, high)) for low, high, name in bins]


def _degrees_compared(original: Graph, graph: Graph) -> Markup:
    bins = _bins(int(graph.degrees.max(initial=0)))
    rows = [(name, _share(original.degrees, low, high), _share(graph.degrees, low, high)) for low, high, name in bins]
    title = "Degree distribution, original and published"
    return histogram(rows, title=title, axes=_AXES, names=("original", "published"))
