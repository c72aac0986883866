"""A graph: an adversary sees the published edges under new names, and knows the flip probabilities.

For k-degree anonymity each person's candidates are the people with the same published number of ties. A structural
attack is no matter of candidates: it is judged by the bounds on what planted accounts can achieve under the declared
flip. Several publications are judged by the exact law of all flips together (`models.structural_attack`,
`edge_privacy`); people and ties may differ between them: what is bounded is what flips say, whatever they flipped.

Paper: [multitype §4.5], [obfuscation §3]


Graph figures
-------------
Figures of a graph: what one tie, or one person, can change in them is bounded by what was spent on each, added up.

The noise itself is the method's word, as in every form that rests on chance; the check *figures* compares the published
figures with the original where that is at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from sfumato.core.errors import ReleaseError
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.linkage import Linkage
from sfumato.kinds.graphs.form import Edges, NoisyFigures, published_graph
from sfumato.models.base import round_significant
from sfumato.models.channel_model import as_channel_model
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.certificate import AT_MOST, Finding
from sfumato.release.evidence import Evidence
from sfumato.release.form import Form
from sfumato.release.past_releases import History
from sfumato.release.view import ReleaseView


class GraphReading(Evidence):
    """People with the same number of ties look alike; planted accounts are bounded by the declared flip."""

    name: ClassVar[str] = "graph"
    form: ClassVar[type[Form]] = Edges
    joins_itself: ClassVar[bool] = True

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        degrees = exhibit.once(published_graph).degrees
        return Linkage.of_groups(np.unique(degrees, return_inverse=True)[1].astype(np.int64), {})

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        model = as_channel_model(claim.model)
        if model is None:
            return super().judge(exhibit, claim)
        flip, nodes = _flip(exhibit), exhibit.of(Edges).nodes
        holds = model.holds(flip, nodes)
        reason = "" if holds else f"the declared flip would have to be at least {model.needed_mu(nodes):g}"
        return Finding(model.name, holds, model.required(), model.level(flip, nodes), grade=AT_MOST, reason=reason)

    def judge_all(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        history = exhibit.history
        assert history is not None
        model = as_channel_model(claim.model)
        if model is None:
            raise ReleaseError("numbers of ties are not judged over several releases")
        *before, last = [_flip(past.exhibit) for past in history.releases]
        nodes = min(past.exhibit.of(Edges).nodes for past in history.releases)
        holds, level = model.holds(last, nodes, before), model.level(last, nodes, before)
        told = f"what {len(history)} publications say together" + ("" if holds else " is more than was promised")
        return Finding(model.name, holds, model.required(), level, grade=AT_MOST, reason=told)

    def steps(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> list[tuple[int, Finding]]:
        releases = (exhibit.history or History()).releases
        until = [replace(exhibit, history=History(releases[: place + 1])) for place in range(len(releases))]
        return [(past.number, self.judge_all(seen, claim)) for past, seen in zip(releases, until, strict=True)]

    def so_far(self, history: History, policy: Policy) -> Iterator[str]:
        *before, last = [_flip(past.exhibit) for past in history.releases]
        nodes = min(past.exhibit.of(Edges).nodes for past in history.releases)
        for model in filter(None, (as_channel_model(claim.model) for claim in policy.claims)):
            level = ", ".join(f"{key} {value:g}" for key, value in model.level(last, nodes, before).items())
            yield f"after release {len(history)} {model.name} stands at {level}; every further release wears it down"


def _flip(exhibit: ReleaseView) -> EdgeChannel:
    flip = exhibit.of(Edges).flip
    if flip is None:
        raise ReleaseError("the manifest does not say how edges were flipped")
    return flip


# Graph figures
# -------------


class GraphFiguresReading(Evidence):
    """The epsilons of all figures together."""

    name: ClassVar[str] = "graph figures"
    form: ClassVar[type[Form]] = NoisyFigures

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        raise ReleaseError("figures of a graph leave nobody among candidates")

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        form, model = exhibit.of(NoisyFigures), claim.model
        if model.person_epsilon is not None:
            spent, asked, what = (
                form.person_epsilon,
                model.person_epsilon,
                "all ties of one person; who the people are is known",
            )
        elif model.tie_epsilon is not None:
            spent, asked, what = (
                form.epsilon,
                model.tie_epsilon,
                "one tie; a person with d ties is protected at d times that",
            )
        else:
            raise ReleaseError("figures of a graph promise edge-privacy or node-privacy and nothing else")
        holds = spent <= asked * (1 + 1e-9)
        reason = what if holds else f"{spent:g} is spent in all"
        achieved = {"epsilon": round_significant(spent)}
        return Finding(model.name, holds, model.required(), achieved, grade=AT_MOST, reason=reason)
