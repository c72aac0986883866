"""Optimality: what was published does not lose less than its method says is possible.

The bound is about utility, not about privacy. It cannot be proven again from the published files, but it can be refuted: by a
loss below the bound, or by a release that claims a proven optimum and loses more than the bound.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.audit.evidence import Evidence
from sfumato.data.table import Table
from sfumato.metrics.base import Comparison
from sfumato.metrics.optimality import measured, statement
from sfumato.policy.generalizations import generalization_of
from sfumato.release.certificate import Finding

_ROUNDING = 2e-5


class Optimality(Check):
    """The measured loss is not below the bound that was claimed for all releases."""

    name: ClassVar[str] = "optimality"

    def applies(self, evidence: Evidence) -> bool:
        said = statement(evidence.public)
        return evidence.form == "recoded table" and said is not None and isinstance(evidence.original, Table)

    def examine(self, evidence: Evidence) -> Finding:
        said = statement(evidence.public)
        assert said is not None
        policy, original = evidence.policy, evidence.original
        domains = {name: generalization_of(policy, name, original.text(name).labels) for name in policy.quasi_identifiers}
        loss = measured(Comparison(evidence.form, evidence.tables, original, domains), said)
        bound = float(said["lower_bound"])
        wrong = []
        if loss < bound * (1 - _ROUNDING) - 1e-12:
            wrong.append(f"the release loses {loss:.6g}, less than the {bound:.6g} that were said to be the least possible")
        if said.get("proven_optimal") and loss > bound * (1 + _ROUNDING) + 1e-9:
            wrong.append(f"the release is called optimal but loses {loss:.6g} with a bound of {bound:.6g}")
        achieved = {said["objective"]: float(f"{loss:.6g}"), "lower_bound": bound}
        return Finding(self.name, not wrong, {}, achieved, reason="; ".join(wrong))
