"""k-degree anonymity by adding edges: every original edge stays, and as few new ones as possible make every degree common.

Guarantee
    Everybody shares the published number of ties with at least k − 1 others, and every original edge is published. The
    certificate says how many edges were added and how many any graph of this kind must add at least; where both agree the
    release is the best possible. Nothing more is promised: who knows friends of a person, ties among them, or planted accounts
    before publication (see `structural-attack`) may recognize people, because all original edges are there to be recognized.
    Added edges are not marked, but whoever can guess which ties are natural may guess some of them.

Paper
    [obfuscation §3.4], after Liu and Terzi.

Invariants
    I1  Names are new, who is raised among equals is drawn, and partners are mixed (`degrees.additions`): running the method
        again on the published graph repeats none of its choices.
    I2  The manifest tells the number of added edges and its bound, on purpose: figures about the whole graph.

Departures
    [obfuscation §3.4] describes the problem and reports no figures for it. The optimum is proven by the solver up to `exact_up_to`
    people; beyond, a bound by counting (`degrees.bound`) says how far from the optimum a release may be.

Cost
    O(D·k²) for D different degrees, O(L²) for L people who are raised, and sorting the edges.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.data.graph import Graph
from sfumato.errors import Infeasible, SfumatoError
from sfumato.forms.graph import Edges, GraphTrace
from sfumato.methods.base import Method, Task
from sfumato.methods.graphs.degrees.additions import additions
from sfumato.methods.graphs.degrees.bound import fewest_edges
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Part, Release

UNCOVERED = (
    "an outsider knows of a person's ties only their number; who knows friends of a person, ties among them, or planted accounts "
    "may recognize people, because every original edge is published",
    "added edges are not marked, but are not made to look natural: an outsider who can tell which ties are likely may guess some",
)


class DegreeAnonymity(Method):
    """Add as few edges as possible until everybody shares the number of ties with k − 1 others; every edge stays."""

    name: ClassVar[str] = "degree-anonymity"
    form: ClassVar[type[Form]] = Edges
    paper: ClassVar[str] = "obfuscation §3.4"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)

    exact_up_to: int = Field(default=60, ge=0, description="most people for whom the solver looks for the proven optimum")
    effort: float = Field(default=10, gt=0, description="how long the solver may try, in deterministic seconds of its own")

    def refusal(self, policy: Policy) -> str:
        if not policy.claims:
            return "it needs a k-degree-anonymity under 'protect'"
        if any(not _counts_people(claim) for claim in policy.claims):
            return "added edges promise nothing but k-degree-anonymity"
        return ""

    def unremembered(self, policy: Policy) -> str:
        return "people with as many ties as others in one release need not be so in the next; publish without a ledger"

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return _counts_people(claim)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 10, "it makes degrees common and keeps every edge"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        """How many edges have to be added at least, from the source when it can be read; nothing is drawn."""
        try:
            graph: Graph = policy.data.read()
        except SfumatoError as wrong:
            return [f"the source cannot be read from here, so nothing is predicted: {wrong.what}"]
        said = [f"source: {graph.nodes:,} people, {graph.size:,} edges"]
        try:
            return [*said, *self._predicted(graph, _feasible(policy, graph))]
        except Infeasible as error:
            return [*said, f"warning: {error.what}; publishing will be refused ({error.hint})"]

    def _predicted(self, graph: Graph, k: int) -> list[str]:
        least = fewest_edges(graph, k)
        if not least:
            return ["every degree is shared by enough people already or nearly so; counting asks for no new edge"]
        share = least / max(graph.size, 1)
        said = [f"output: every edge stays, and no graph of this kind adds fewer than {least:,} ({share:.1%})"]
        return said if graph.nodes > self.exact_up_to else [*said, "the solver looks for the proven optimum"]

    def run(self, task: Task) -> Release:
        graph: Graph = task.data
        k = _feasible(task.policy, graph)
        task.progress(0.1, "adding edges")
        chance = task.randomness
        added = additions(graph, k, chance.child("partners"), exact_up_to=self.exact_up_to, effort=self.effort)
        names = chance.child("names").permutation(graph.nodes)  # I1
        published = graph.joined(0, added.low, added.high).relabelled(names)
        part = Part({name: np.asarray(column, dtype=np.int64) for name, column in published.to_columns().items()})
        return Release(
            Edges(nodes=graph.nodes, only_added=True),  # I2
            {"edges": part},
            trace=GraphTrace(
                names=names, numbering=graph.numbering, fewest_added_edges=added.least, proof=added.proof, lasting=True
            ),
            notes=UNCOVERED,
        )


def _counts_people(claim: Claim) -> bool:
    """Whether people with the same degree, if they are many enough, are all that the claim asks for."""
    demand = claim.model.demand()
    return demand.sufficient and not demand.of_values


def _feasible(policy: Policy, graph: Graph) -> int:
    """The largest k of the claims, or `Infeasible`."""
    k = max(claim.model.demand().candidates for claim in policy.claims)
    if graph.nodes < k:
        what = f"no degree can be shared by {k} people in a graph of {graph.nodes}"
        raise Infeasible(what, where=policy.document.where("protect"), hint=f"ask for k of at most {graph.nodes}, or add people")
    return k
