"""Figures of a graph: ``figures.csv`` with ``figure,value``, ``degrees.csv`` with ``degree,people``, and a graph drawn from them
if wanted.

What is published are noisy figures; ``edges.csv`` (``source,target``), when there is one, is drawn from the published degrees and
holds nobody's tie.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from sfumato.io.files import read_exact
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form, differing_columns, differing_parts

FIGURES, DEGREES, EDGES = "figures", "degrees", "edges"


class NoisyFigures(Form):
    """Noisy figures of a graph: edges, triangles, degrees, and a graph drawn from the degrees."""

    name: ClassVar[str] = "graph figures"
    kind: ClassVar[str] = "graph"

    nodes: int = Field(ge=0, description="how many people there are; taken for known")
    epsilon_edges: float = Field(gt=0, description="spent on the number of edges")
    epsilon_degrees: float = Field(gt=0, description="spent on the sorted degrees")
    epsilon_triangles: float | None = Field(default=None, gt=0, description="spent on the number of triangles, when it is told")
    limit: int | None = Field(
        default=None, ge=1, description="most ties of one person that count; then all ties of a person are protected, not one"
    )
    drawn: bool = Field(default=False, description="whether a graph is drawn from the published degrees")

    @property
    def epsilon(self) -> float:
        """What is spent in all: figures of the same graph add up."""
        return self.epsilon_edges + self.epsilon_degrees + (self.epsilon_triangles or 0.0)

    @property
    def person_epsilon(self) -> float:
        """What is spent on all ties of one person: without a limit, on each of as many as somebody can have."""
        return self.epsilon if self.limit is not None else self.epsilon * max(self.nodes - 1, 1)

    @property
    def rests_on_chance(self) -> bool:
        return True

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, [FIGURES, DEGREES, *([EDGES] if self.drawn else [])])
        yield from differing_columns(exhibit, FIGURES, ["figure", "value"])
        yield from differing_columns(exhibit, DEGREES, ["degree", "people"])
        yield from differing_columns(exhibit, EDGES, ["source", "target"])

    def read_part(self, file: Path) -> pa.Table:
        return read_exact(file)

    def records(self, exhibit: Exhibit) -> int:
        return self.nodes
