"""What a published graph still tells, and what finding planted accounts in it would take."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

from markupsafe import Markup

from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.forms.graph import Edges, published_graph
from sfumato.metrics.degree_law import DegreeLaw
from sfumato.metrics.recovery import recover
from sfumato.release.exhibit import Exhibit, certified
from sfumato.release.form import Form
from sfumato.report.charts import columns, paired_bars
from sfumato.report.section import Section, paragraph, table

_NAMES = ("edges", "density", "degrees", "wedges", "triangles", "open_triads", "transitivity", "modularity")


class GraphFigures(Section):
    """Recovered figures with errors, the recovered degree distribution, and the share of noise."""

    name: ClassVar[str] = "graph"
    title: ClassVar[str] = "What the graph still tells"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: Exhibit) -> bool:
        return "recovered" in certified(exhibit).utility

    def render(self, exhibit: Exhibit) -> Markup:
        flip = exhibit.of(Edges).flip
        assert flip is not None
        published = exhibit.once(published_graph)
        law = DegreeLaw.fit(published.degrees, flip, replicates=0)
        chart = _compared(exhibit, law) if exhibit.private else columns(_binned(law), title="Recovered degree distribution")
        heading = Markup("<h3>Number of ties, recovered</h3>")
        return Markup("").join([paragraph(_noise(published, flip)), _figures(exhibit), heading, chart])


def _noise(published: Graph, flip: EdgeChannel) -> str:
    noise = flip.add * published.pairs / max(published.size, 1)
    return (
        f"{published.size:,} edges among {published.nodes:,} people are published; about {min(noise, 1):.1%} of them are noise. "
        f"An edge is lost with probability {flip.delete:.3g}, a new one appears with probability {flip.add:.3g}. "
        f"The figures below are what the original must have been like, each with its standard error."
    )


def _figures(exhibit: Exhibit) -> Markup:
    recovered: Mapping[str, Any] = certified(exhibit).utility["recovered"]
    names = [name for name in _NAMES if name in recovered]
    header: tuple[str, ...] = ("figure", "estimate", "standard error")
    rows = [[name.replace("_", " "), *(_written(recovered[name][key]) for key in ("estimate", "standard_error"))] for name in names]
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


def _binned(law: DegreeLaw) -> list[tuple[str, float, str]]:
    edges = _edges(len(law.share))
    rows = []
    for low, high in pairwise(edges):
        share = float(law.share[low:high].sum())
        rows.append((str(low) if high == low + 1 else f"{low}–{high - 1}", share, f"{share:.1%}"))
    return rows


def _compared(exhibit: Exhibit, law: DegreeLaw) -> Markup:
    rows = []
    degrees = exhibit.original.degrees
    edges = _edges(max(len(law.share), int(degrees.max(initial=0)) + 1))
    for low, high in pairwise(edges):
        before = float(((degrees >= low) & (degrees < high)).mean())
        rows.append((str(low) if high == low + 1 else f"{low}–{high - 1}", before, float(law.share[low:high].sum())))
    return paired_bars(rows, title="Degree distribution, original and recovered", names=("original", "recovered"))
