"""Figures of a graph: what one tie can change in them is bounded by what was spent on each, added up.

The noise itself is the method's word, as in every form that rests on chance; the check *figures* compares the published figures
with the original where that is at hand.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Reading
from sfumato.data.linkage import Linkage
from sfumato.errors import ReleaseError
from sfumato.forms.graph_figures import NoisyFigures
from sfumato.models.base import rounded
from sfumato.policy.claims import Claim
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class GraphFiguresReading(Reading):
    """The epsilons of all figures together."""

    name: ClassVar[str] = "graph figures"
    form: ClassVar[type[Form]] = NoisyFigures

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        raise ReleaseError("figures of a graph leave nobody among candidates")

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        spent, asked = exhibit.of(NoisyFigures).epsilon, claim.model.tie_epsilon
        if asked is None:
            raise ReleaseError("figures of a graph promise edge-privacy and nothing else")
        holds = spent <= asked * (1 + 1e-9)
        reason = "one tie; a person with d ties is protected at d times that" if holds else f"{spent:g} is spent in all"
        achieved = {"epsilon": rounded(spent)}
        return Finding(claim.model.name, holds, claim.model.required(), achieved, grade="bound (at most this)", reason=reason)
