"""Graph: ``edges.csv`` with ``source,target`` of renamed people.


Graph figures
-------------
Figures of a graph: ``figures.csv`` with ``figure,value``, ``degrees.csv`` with ``degree,people``, and a graph drawn
from them if wanted.

What is published are noisy figures; ``edges.csv`` (``source,target``), when there is one, is drawn from the published
degrees and holds nobody's tie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.arrays import IntArray
from sfumato.core.errors import ReleaseError
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.data.table import Table
from sfumato.io.table_files import read_exact
from sfumato.policy.policy import Policy
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past_releases import Memory, RememberedTable, rows_covered_once
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView, of_parts

MOST_ALONE = 20_000_000
"""People without a tie cost a manifest nothing and a reader memory; so many are believed."""


@dataclass(frozen=True)
class GraphProvenance(Provenance):
    """Also the new name of every person, how the original numbers people, and what is known about the fewest ties to
    add."""

    names: IntArray | None = None
    numbering: str = ""
    fewest_added_edges: int | None = None
    proof: str = ""


class Edges(Form):
    """Who knows whom, with ties flipped at random or ties added."""

    name: ClassVar[str] = "graph"
    kind: ClassVar[str] = "graph"
    knowledge: ClassVar[str] = "the published graph"
    company: ClassVar[str] = "graphs"
    remembered: ClassVar[bool] = True

    nodes: int = Field(ge=0, description="how many people there are")
    mu: float | None = Field(
        default=None, ge=0, le=1, description="the chance that a pair is flipped, when both ways are alike"
    )
    delete: float | None = Field(default=None, ge=0, le=1, description="the chance that a tie is taken away")
    add: float | None = Field(default=None, ge=0, le=1, description="the chance that a tie is invented")
    edge_epsilon: float | None = Field(default=None, description="what randomized response promises for one tie alone")
    only_added: bool = Field(default=False, description="whether ties were added and none taken away")
    added_edges: int | None = Field(
        default=None, ge=0, description="only in folders of earlier versions: ties that were added"
    )
    fewest_added_edges: int | None = Field(
        default=None, ge=0, description="only in folders of earlier versions: ties to be added"
    )
    proof: str = Field(default="", description="only in folders of earlier versions: how the fewest ties are known")

    @model_validator(mode="after")
    def _whole(self) -> Edges:
        if (self.delete is None) != (self.add is None):
            raise ValueError("the manifest does not say how edges were flipped")
        if (self.added_edges is None) != (self.fewest_added_edges is None):
            raise ValueError("the manifest does not say how many edges were added and needed")
        return self

    @property
    def flip(self) -> EdgeChannel | None:
        """How ties were flipped, when they were."""
        return None if self.delete is None or self.add is None else EdgeChannel(self.delete, self.add)

    @property
    def grown(self) -> bool:
        """Whether ties were added and none taken away."""
        return self.only_added or self.added_edges is not None

    @property
    def rests_on_chance(self) -> bool:
        return self.flip is not None

    @property
    def recoverable(self) -> bool:
        return self.flip is not None

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["edges"])
        yield from differing_columns(exhibit, "edges", ["source", "target"])
        if self.flip is None and not self.grown:
            yield "the manifest says neither how ties were flipped nor how many were added"
        if "edges" in exhibit.parts and self.nodes > 2 * len(exhibit.parts["edges"]) + MOST_ALONE:
            yield "the manifest says that there are more people without any tie than can be looked at"

    def read_part(self, file: Path) -> pa.Table:
        """Nobody may have a tie."""
        return read_exact(file)

    def trace_type(self) -> type[Provenance]:
        return GraphProvenance

    def records(self, exhibit: ReleaseView) -> int:
        return self.nodes

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Provenance, original: Graph) -> Memory:
        """Who everybody is: the name in the source, and the number in the release."""
        names = np.asarray(
            trace.names if isinstance(trace, GraphProvenance) and trace.names is not None else np.arange(self.nodes)
        )
        known = original.labels or tuple(map(str, range(original.nodes)))
        keys = (*known, *(f"alone {number}" for number in range(self.nodes - len(known))))
        nobody = np.zeros(self.nodes, dtype=np.bool_)
        return Memory(keys, names.astype(np.int64), Table(pa.table({})), nobody)

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        """Nobody is known by columns here: what several publications say together is a matter of their noise."""
        return ()

    def shown(self, exhibit: ReleaseView) -> tuple[str, ...]:
        return ()

    def accounts(self, exhibit: ReleaseView, memory: Memory) -> bool:
        return rows_covered_once(memory.rows, self.nodes)


def fewest_added_edges(exhibit: ReleaseView) -> tuple[int | None, str]:
    """How many ties any such graph must add and how that is known: figures of the original, from the private
    provenance."""
    trace, form = exhibit.traced(GraphProvenance), exhibit.of(Edges)
    if trace.fewest_added_edges is not None:
        return int(trace.fewest_added_edges), trace.proof
    return form.fewest_added_edges, form.proof


def flipped_form(flip: EdgeChannel, nodes: int, *, keeps_edges: bool = False) -> Edges:
    """Return the form of a graph whose ties were flipped.

    If the number of edges was kept, the probability of a new edge was computed from it, and publishing it reveals the
    number: an adversary who knows all edges but one computes the last one. So no ε is stated for one tie, also where
    both chances are alike."""
    public = {"delete": flip.delete, "add": flip.add} if keeps_edges else flip.to_public()
    return Edges.model_validate({"nodes": nodes} | public)


def original_graph(exhibit: ReleaseView) -> Graph:
    """The original with the people whom an edge list cannot name: those of the release beyond its own have no tie
    there."""
    original: Graph = exhibit.original
    alone = exhibit.once(published_graph).nodes - original.nodes
    return original.joined(alone, [], []) if alone > 0 else original


def unnamed_nodes(exhibit: ReleaseView) -> int:
    """People of the release whom the original does not name: that there are any is the manifest's word."""
    if not exhibit.private or exhibit.traced(GraphProvenance).names is not None:
        return 0
    return max(0, exhibit.once(published_graph).nodes - int(exhibit.original.nodes))


@of_parts
def published_graph(exhibit: ReleaseView) -> Graph:
    """The published edges as a graph; ask for it with ``exhibit.once(published_graph)``."""
    assert isinstance(exhibit.form, Edges)
    if "edges" not in exhibit.parts:
        raise ReleaseError("the release has no edges")
    if exhibit.form.nodes > 2 * len(exhibit.parts["edges"]) + MOST_ALONE:
        raise ReleaseError("the manifest says that there are more people than can be looked at")
    return Graph.from_table(exhibit.parts["edges"].table, exhibit.form.nodes)


# Graph figures
# -------------


FIGURES, DEGREES, EDGES = "figures", "degrees", "edges"


class NoisyFigures(Form):
    """Noisy figures of a graph: edges, triangles, degrees, and a graph drawn from the degrees."""

    name: ClassVar[str] = "graph figures"
    kind: ClassVar[str] = "graph"
    knowledge: ClassVar[str] = "the published figures"

    nodes: int = Field(ge=0, description="how many people there are; taken for known")
    epsilon_edges: float = Field(gt=0, description="spent on the number of edges")
    epsilon_degrees: float = Field(gt=0, description="spent on the sorted degrees")
    epsilon_triangles: float | None = Field(
        default=None, gt=0, description="spent on the number of triangles, if it is published"
    )
    limit: int | None = Field(
        default=None,
        ge=1,
        description="most ties of one person that count; then all ties of a person are protected, not one",
    )
    drawn: bool = Field(default=False, description="whether a graph is drawn from the published degrees")

    @property
    def epsilon(self) -> float:
        """What is spent in all: figures of the same graph add up."""
        return self.epsilon_edges + self.epsilon_degrees + (self.epsilon_triangles or 0.0)

    @property
    def person_epsilon(self) -> float:
        """What is spent on all ties of one person: without a limit, on each of as many as a person can have."""
        return self.epsilon if self.limit is not None else self.epsilon * max(self.nodes - 1, 1)

    @property
    def rests_on_chance(self) -> bool:
        return True

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, [FIGURES, DEGREES, *([EDGES] if self.drawn else [])])
        yield from differing_columns(exhibit, FIGURES, ["figure", "value"])
        yield from differing_columns(exhibit, DEGREES, ["degree", "people"])
        yield from differing_columns(exhibit, EDGES, ["source", "target"])

    def read_part(self, file: Path) -> pa.Table:
        return read_exact(file)

    def records(self, exhibit: ReleaseView) -> int:
        return self.nodes
