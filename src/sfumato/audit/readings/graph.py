"""A graph: an outsider sees who is joined to whom, under new names, and knows how pairs were flipped.

For k-degree anonymity everybody's candidates are the people with the same published number of ties. A structural attack is no
matter of candidates: it is judged by the bounds on what planted accounts can achieve under the declared flip.

Paper: [multitype §4.5], [obfuscation §3]
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Reading
from sfumato.data.linkage import Linkage
from sfumato.errors import ReleaseError
from sfumato.forms.graph import Edges, published_graph
from sfumato.models.channel import ChannelModel
from sfumato.policy.claims import Claim
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class GraphReading(Reading):
    """People with the same number of ties look alike; planted accounts are bounded by the declared flip."""

    name: ClassVar[str] = "graph"
    form: ClassVar[type[Form]] = Edges

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        degrees = exhibit.once(published_graph).degrees
        return Linkage.of_groups(np.unique(degrees, return_inverse=True)[1].astype(np.int64), {})

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        if not isinstance(claim.model, ChannelModel):
            return super().judge(exhibit, claim)
        flip, nodes = exhibit.of(Edges).flip, exhibit.of(Edges).nodes
        if flip is None:
            raise ReleaseError("the manifest does not say how edges were flipped")
        holds = claim.model.holds(flip, nodes)
        reason = "" if holds else f"the declared flip would have to be at least {claim.model.needed_mu(nodes):g}"
        level = claim.model.level(flip, nodes)
        return Finding(claim.model.name, holds, claim.model.required(), level, grade="bound (at most this)", reason=reason)
