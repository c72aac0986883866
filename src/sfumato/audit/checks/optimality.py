"""Optimality: what was published does not lose less than its method says is possible.

The bound is about utility, not about privacy. It cannot be proven again from the published files, but it can be refuted: by a
loss below the bound, or by a release that claims a proven optimum and loses more than the bound.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.forms.recoded import Recoded
from sfumato.metrics.optimality import measured, said_of, statement
from sfumato.release.certificate import MEASURED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_ROUNDING = 2e-5


class OptimalityHonest(Check):
    """The measured loss is not below the bound that was claimed for all releases."""

    name: ClassVar[str] = "optimality"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and said_of(exhibit) is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        said = statement(exhibit)
        loss, bound = measured(exhibit, said), said.lower_bound
        wrong = []
        if loss < bound * (1 - _ROUNDING) - 1e-12:
            wrong.append(f"the release loses {loss:.6g}, less than the {bound:.6g} that were said to be the least possible")
        if said.proven_optimal and loss > bound * (1 + _ROUNDING) + 1e-9:
            wrong.append(f"the release is called optimal but loses {loss:.6g} with a bound of {bound:.6g}")
        achieved = {said.objective: float(f"{loss:.6g}"), "lower_bound": bound}
        return Finding(self.name, not wrong, {}, achieved, grade="exact" if wrong else MEASURED, reason="; ".join(wrong))
