"""How common every number of ties is in a graph that gained edges, what that took, and what it takes at least."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.data.arrays import IntArray
from sfumato.data.graph import Graph
from sfumato.forms.graph import Edges, fewest_added, published_graph
from sfumato.metrics.graph_change import transitivity
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.report.charts import bars, paired_bars
from sfumato.report.section import Section, paragraph, table


class CommonDegrees(Section):
    """Added edges beside the fewest possible, and how many people share each number of ties."""

    name: ClassVar[str] = "degrees"
    title: ClassVar[str] = "How common every number of ties is"
    order: ClassVar[int] = 21
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.of(Edges).grown

    def render(self, exhibit: Exhibit) -> Markup:
        graph = exhibit.once(published_graph)
        parts = [paragraph(_added(exhibit, graph)), *_least(exhibit, graph), _groups(exhibit, graph)]
        parts.append(Markup("<h3>People by number of ties</h3>"))
        parts.append(_compared(exhibit.original, graph) if exhibit.private else bars(_shares(graph), title="Degree distribution"))
        return Markup("").join(parts)


def _added(exhibit: Exhibit, graph: Graph) -> str:
    added = graph.size - exhibit.original.size if exhibit.private else None
    count = "others were added and are not marked."
    if added is not None:
        count = f"{added:,} were added ({added / max(graph.size, 1):.1%} of what is published) and are not marked."
    return (
        f"{graph.size:,} edges among {graph.nodes:,} people are published. Every original edge is among them; {count} "
        "Nothing was flipped, so there is nothing to undo: counts of ties can only be too high."
    )


def _least(exhibit: Exhibit, graph: Graph) -> list[Markup]:
    """For the data holder: how near this is to the fewest edges that would do."""
    least, proof = fewest_added(exhibit)
    if not exhibit.private or least is None:
        return []
    added = graph.size - exhibit.original.size
    how = "a constraint solver proved it, and the audit checks what counting alone proves"
    said = (
        f"No graph of this kind can add fewer than {least:,} edges ({how if proof == 'solver' else 'counting degrees proves it'})."
    )
    if added == least:
        return [paragraph(f"{said} This release adds no more than that: it is the best possible.")]
    return [
        paragraph(f"{said} At most {added - least:,} of the added edges, {(added - least) / added:.1%}, might have been saved.")
    ]


def _groups(exhibit: Exhibit, graph: Graph) -> Markup:
    graphs = {"published": graph} | ({"original": exhibit.original} if exhibit.private else {})
    figures = {name: _figures(one) for name, one in graphs.items()}
    rows = [[what, *(figures[name][what] for name in graphs)] for what in figures["published"]]
    return table(("", *graphs), rows)


def _figures(graph: Graph) -> dict[str, str]:
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


def _shares(graph: Graph) -> list[tuple[str, float, str]]:
    bins = _bins(int(graph.degrees.max(initial=0)))
    return [(name, share := _share(graph.degrees, low, high), f"{share:.1%}") for low, high, name in bins]


def _compared(original: Graph, graph: Graph) -> Markup:
    bins = _bins(int(graph.degrees.max(initial=0)))
    rows = [(name, _share(original.degrees, low, high), _share(graph.degrees, low, high)) for low, high, name in bins]
    return paired_bars(rows, title="Degree distribution, original and published", names=("original", "published"))
