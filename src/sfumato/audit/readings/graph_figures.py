"""Figures of a graph: what one tie, or one person, can change in them is bounded by what was spent on each, added up.

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
        form, model = exhibit.of(NoisyFigures), claim.model
        if model.person_epsilon is not None:
            spent, asked, what = form.person_epsilon, model.person_epsilon, "all ties of one person; who the people are is known"
        elif model.tie_epsilon is not None:
            spent, asked, what = form.epsilon, model.tie_epsilon, "one tie; a person with d ties is protected at d times that"
        else:
            raise ReleaseError("figures of a graph promise edge-privacy or node-privacy and nothing else")
        holds = spent <= asked * (1 + 1e-9)
        reason = what if holds else f"{spent:g} is spent in all"
        achieved = {"epsilon": rounded(spent)}
        return Finding(model.name, holds, model.required(), achieved, grade="bound (at most this)", reason=reason)
