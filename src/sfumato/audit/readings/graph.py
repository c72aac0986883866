"""A graph: an outsider sees who is joined to whom, under new names, and knows how pairs were flipped.

For k-degree anonymity everybody's candidates are the people with the same published number of ties. A structural attack is no
matter of candidates: it is judged by the bounds on what planted accounts can achieve under the declared flip.

Paper: [multitype §4.5], [obfuscation §3]
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Reading
from sfumato.audit.evidence import Evidence
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.data.linkage import Linkage
from sfumato.errors import ReleaseError
from sfumato.models.channel import ChannelModel
from sfumato.policy.claims import Claim
from sfumato.release.certificate import Finding


class GraphReading(Reading):
    """People with the same number of ties look alike; planted accounts are bounded by the declared flip."""

    name: ClassVar[str] = "graph"

    def read(self, evidence: Evidence, claim: Claim) -> Linkage:
        degrees = published_graph(evidence).degrees
        return Linkage.of_groups(np.unique(degrees, return_inverse=True)[1].astype(np.int64), {})

    def judge(self, evidence: Evidence, claim: Claim) -> Finding:
        if not isinstance(claim.model, ChannelModel):
            return super().judge(evidence, claim)
        flip, nodes = EdgeChannel.from_public(evidence.public), published_nodes(evidence)
        holds = claim.model.holds(flip, nodes)
        reason = "" if holds else f"the declared flip would have to be at least {claim.model.needed_mu(nodes):g}"
        level = claim.model.level(flip, nodes)
        return Finding(claim.model.name, holds, claim.model.required(), level, grade="bound (at most this)", reason=reason)

    def published(self, evidence: Evidence) -> int:
        return published_nodes(evidence)


def published_nodes(evidence: Evidence) -> int:
    """How many people the manifest says the graph has."""
    try:
        return int(evidence.public["nodes"])
    except (KeyError, TypeError, ValueError):
        raise ReleaseError("the manifest does not say how many people the graph has") from None


def published_graph(evidence: Evidence) -> Graph:
    """The published edges as a graph."""
    return Graph.from_table(evidence.parts["edges"].table, published_nodes(evidence))
