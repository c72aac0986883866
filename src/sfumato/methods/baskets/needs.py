"""What the claims of a policy ask of a ring: how many candidates, what share of a label, how many different labels.

>>> from sfumato.models.k_anonymity import KAnonymity
>>> from sfumato.models.l_diversity import LDiversity
>>> needs = Needs.of([KAnonymity(k=5), LDiversity(l=4, kind="frequency")])
>>> needs.degree(spread=1), needs.most(8)
(8, 2)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.models.base import Model


@dataclass(frozen=True, slots=True)
class Needs:
    """At least `candidates`; no label above 1/`diversity` of them; at least `different` labels shown."""

    candidates: int = 1
    diversity: float = 1.0
    different: int = 0

    @classmethod
    def of(cls, models: Iterable[Model]) -> Needs:
        """The strictest of all models together."""
        needs = [_of(model) for model in models]
        return cls(
            max((need.candidates for need in needs), default=1),
            max((need.diversity for need in needs), default=1.0),
            max((need.different for need in needs), default=0),
        )

    @property
    def about_labels(self) -> bool:
        return self.diversity > 1 or self.different > 1

    def degree(self, spread: int) -> int:
        """Candidates per record: a multiple of l, at least `spread` times l, and twice that where labels must be *shown*."""
        unit = max(1, math.ceil(self.diversity))
        wanted = max(self.candidates, spread * unit, 2 * self.different)
        return math.ceil(wanted / unit) * unit

    def most(self, degree: int) -> int:
        """How often one label may stand among `degree` candidates."""
        return max(1, math.floor(degree / self.diversity + 1e-9))


def able(model: Model) -> bool:
    """Whether a ring can be made to satisfy the model."""
    return model.demand().sufficient and not model.joint


def _of(model: Model) -> Needs:
    """A limit on shares gives as many labels by itself; where labels are counted, as many must also be shown."""
    demand = model.demand()
    shown = demand.distinct if demand.counts_values else 0
    return Needs(demand.fewest, demand.diversity, shown)
