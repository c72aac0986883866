"""Random edge perturbation: every pair of people flips with a small probability, and everybody gets a new name.

Guarantee
    Each pair is protected by randomized response with ε = ln((1 − μ)/μ). Where the policy names a structural attack, μ is the
    smallest flip under which the bounds of `models.structural_attack` hold, or the policy's own μ when that is enough. With
    `keep_edges` an edge is lost with probability q and as many appear elsewhere: only attacks along paths are bounded, and ε is
    large, because an edge in the release is almost surely an edge in the original.
    With a ledger the bounds are about all publications together: μ is raised until they hold, or nothing is published. New names
    are drawn every time.

Paper
    [multitype §4.2, §4.4.5]

Invariants
    I1  Nothing in the manifest depends on the edges: μ is a function of the number of people and of earlier flips. Under
        `keep_edges` the chance of a new edge is rounded to two digits, which tells the number of edges no better than the release.
    I2  The output is not larger than `at_most`; what would be larger is refused before anything is drawn.

Cost
    O(h + μN²/2), see `data.flipping`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.flipping import reflipped
from sfumato.data.graph import Graph
from sfumato.errors import Infeasible, SfumatoError
from sfumato.forms.graph import Edges, GraphTrace, flipped
from sfumato.history.promises import promises
from sfumato.methods.base import Method, Task
from sfumato.methods.graphs.curve import operating_curve, recommended, table
from sfumato.methods.graphs.curve_picture import picture
from sfumato.methods.graphs.prediction import prediction
from sfumato.models.channel import ChannelModel, on_channel
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.past import History
from sfumato.release.release import Part, Release

UNCOVERED = "accounts that stand out by their number of ties to other people are not covered by any bound of structural-attack"


class EdgePerturbation(Method):
    """Flip every pair of people with a small probability; analysts undo the flip on average."""

    name: ClassVar[str] = "edge-perturbation"
    form: ClassVar[type[Form]] = Edges
    paper: ClassVar[str] = "multitype §4"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)
    remembers: ClassVar[bool] = True

    mu: float | None = Field(default=None, gt=0, lt=0.5, description="chance that a pair flips; absent: derived from 'protect'")
    keep_edges: bool = Field(default=False, description="lose edges with mu and gain as many, a weaker promise and a small output")
    at_most: int = Field(default=50_000_000, ge=1, description="largest number of edges to publish")

    def refusal(self, policy: Policy) -> str:
        attacks = _attacks(policy)
        if self.mu is None and not attacks:
            return "it needs 'mu', or a structural-attack to withstand under 'protect'"
        if len(attacks) < len(policy.claims):
            return "random flips promise nothing about the published degrees"
        if self.keep_edges and any(attack.needs_new_ties for attack in attacks):
            return "keeping the number of edges withstands only attacks along paths; say 'against: paths' to accept that"
        return ""

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return on_channel(claim.model) is not None

    def preference(self, records: int | None) -> tuple[int, str]:
        return 10, "it withstands structural attacks and lets analysts recover the figures"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        """What would come out, from the source when it can be read; nothing is drawn."""
        try:
            graph = policy.data.read()
        except SfumatoError as wrong:
            return [f"the source cannot be read from here, so nothing is predicted: {wrong.what}"]
        curve = operating_curve(graph)
        point, why = recommended(curve, self.at_most)
        advice = f"recommended: {why}" if point is not None else f"nothing is recommended: {why}"
        return [*_dropped(graph), *prediction(graph, self.flip(policy, graph), self.at_most), *table(curve), advice]

    def picture(self, policy: Policy) -> str:
        curve = operating_curve(policy.data.read())
        return picture(curve, recommended(curve, self.at_most)[0])

    def after(self, policy: Policy, history: History, data: Any = None) -> list[str]:
        if not history:
            return []
        try:
            graph = policy.data.read()
        except SfumatoError:
            return ["the source cannot be read from here, so what earlier flips leave is not said"]
        return [
            f"beside {len(history)} earlier flip(s) every pair will be flipped with {self.flip(policy, graph, history).delete:g}"
        ]

    def flip(self, policy: Policy, graph: Graph, history: History | None = None) -> EdgeChannel:
        """The flip that will be used beside those of earlier publications, or `Infeasible`."""
        earlier = history or History()
        attacks = [*filter(None, (on_channel(claim.model) for claim in promises(policy, earlier)))]
        before = [flip for past in earlier.releases if (flip := past.exhibit.of(Edges).flip) is not None]
        nodes = min([graph.nodes, *(past.exhibit.of(Edges).nodes for past in earlier.releases)])
        needed = max((attack.needed_mu(nodes, before) for attack in attacks), default=0.0)
        if needed >= 0.5 and before:
            hint = "promise less; a first release with more noise than it needs leaves room for a second one"
            raise Infeasible(f"{len(before)} earlier release(s) leave no flip below one half that keeps the promise", hint=hint)
        if needed >= 0.5:
            hint = "raise success_at_most, or bound only one kind of attack with 'against: ties' or 'against: paths'"
            raise Infeasible("no flip below one half withstands so few planted accounts that well", hint=hint)
        if self.mu is not None and self.mu < needed:
            raise Infeasible(f"mu {self.mu:g} does not withstand the attack", hint=f"mu of at least {needed:g}, or leave mu out")
        mu = self.mu if self.mu is not None else needed
        return _balanced(mu, graph) if self.keep_edges else EdgeChannel.symmetric(mu)

    def run(self, task: Task) -> Release:
        graph: Graph = task.data
        flip = self.flip(task.policy, graph, task.history)
        _check_size(graph, flip, self.at_most)
        task.progress(0.1, "flipping")
        names = task.randomness.child("names").permutation(graph.nodes)
        published = reflipped(graph.relabelled(names), flip, task.randomness)
        attacks = _attacks(task.policy)
        notes = [f"{attack.name} covers {words}" for attack in attacks for words in attack.covered().values()]
        part = Part({name: np.asarray(column, dtype=np.int64) for name, column in published.to_columns().items()})
        return Release(
            flipped(flip, graph.nodes),  # I1
            {"edges": part},
            trace=GraphTrace(names=names),
            notes=(*notes, UNCOVERED, _promise(flip)),
        )


def _attacks(policy: Policy) -> list[ChannelModel]:
    return [*filter(None, (on_channel(claim.model) for claim in policy.claims))]


def _balanced(delete: float, graph: Graph) -> EdgeChannel:
    exact = EdgeChannel.keeping_edges(delete, graph.size, graph.pairs)
    return EdgeChannel(delete, float(f"{exact.add:.2g}"))  # I1


def _check_size(graph: Graph, flip: EdgeChannel, at_most: int) -> None:
    expected = flip.expected_edges(graph.pairs, graph.size)
    if expected > at_most:  # I2
        hint = f"allow more with 'at_most', withstand less, or use keep_edges; mu up to {at_most / max(graph.pairs, 1):.1e} fits"
        raise Infeasible(f"about {expected:,.0f} edges would be published, more than {at_most:,}", hint=hint)


def _promise(flip: EdgeChannel) -> str:
    return f"one tie alone is protected by randomized response with epsilon {flip.epsilon:.2f}; a person has many ties"


def _dropped(graph: Graph) -> list[str]:
    loops, duplicates = graph.dropped.loops, graph.dropped.duplicates
    values = "".join(f", and '{name}' of every tie" for name in graph.dropped.values)
    said = f"{loops:,} loops and {duplicates:,} repeated edges are dropped{values}"
    return [f"source: {graph.nodes:,} people, {graph.size:,} edges; {said}"]
