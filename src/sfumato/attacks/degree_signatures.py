"""`degree-signatures`: the outsider who knows how many ties a person has in a published graph, and perhaps the friends' numbers.

k-degree anonymity leaves at least k people for every number of ties. Whoever also knows how many ties each friend has, in the
published graph, is left with those whose friends have the same numbers, and that is often one person: the promise does not speak
of it. The figures are counted on the published graph alone, so nobody's name is needed.

Paper
    [obfuscation §3.4] for numbers of ties.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.base import ReleaseAttack
from sfumato.data.arrays import IntArray
from sfumato.data.graph import Graph
from sfumato.forms.graph import Edges, published_graph
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import open_release
from sfumato.release.form import Form


class DegreeSignatures(ReleaseAttack):
    """Know a person's number of ties, and those of all friends; count who else looks so."""

    name: ClassVar[str] = "degree-signatures"
    paper: ClassVar[str] = "obfuscation §3.4"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)
    headline: ClassVar[str] = "found_by_ties"

    original: str = Field(default="", description="not needed: everything is counted on the published graph")

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        if not isinstance(exhibit.form, Edges) or not exhibit.form.grown:
            return ""
        return (
            "people are hidden by their number of ties alone; whoever also knows how many ties each friend of a person has in the "
            "published graph is often left with one"
        )

    def run(self) -> dict[str, Any]:
        return self.play(open_release(self.target))

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        graph = exhibit.once(published_graph)
        by_ties, by_friends = alike(graph.degrees), alike(signatures(graph))
        return {
            "people": graph.nodes,
            "fewest_by_ties": int(by_ties.min(initial=graph.nodes)),
            "found_by_ties": round(float((1 / by_ties).mean()), 4),
            "fewest_by_friends": int(by_friends.min(initial=graph.nodes)),
            "found_by_friends": round(float((1 / by_friends).mean()), 4),
            "alone_by_friends": round(float((by_friends == 1).mean()), 4),
        }


def signatures(graph: Graph) -> IntArray:
    """A number for everybody, the same for people whose friends have the same numbers of ties."""
    rows = [tuple(np.sort(graph.degrees[graph.neighbours_of(person)]).tolist()) for person in range(graph.nodes)]
    seen: dict[tuple[int, ...], int] = {}
    return np.array([seen.setdefault(row, len(seen)) for row in rows], dtype=np.int64)


def alike(values: IntArray) -> IntArray:
    """For everybody how many share the value."""
    _, of, often = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(often[of.reshape(-1)], dtype=np.int64)
