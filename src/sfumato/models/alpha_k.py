"""(α, k)-anonymity: at least k candidates for everybody, and no sensitive value has more than a share α of them.

Guarantee: a record is found with probability at most 1/k, a sensitive value guessed with probability at most α.
Paper: Wong, Li, Fu, Wang (2006), as cited in [boundaries §1].

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 0, 1, 1]), {"illness": (np.array([0, 1, 1, 0, 1]), ("flu", "gout"))})
>>> AlphaK(alpha=0.5, k=2).satisfied(link).tolist()
[False, True]
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from sfumato.data.arrays import BoolArray
from sfumato.data.linkage import Linkage
from sfumato.models.base import Model, everywhere, rounded


class AlphaK(Model):
    """At least k candidates for everybody, and no sensitive value has more than a share alpha of them."""

    name: ClassVar[str] = "alpha-k-anonymity"
    paper: ClassVar[str] = "Wong, Li, Fu, Wang 2006"
    bounds_candidates: ClassVar[bool] = True
    at_most: ClassVar[tuple[str, ...]] = ("alpha",)

    alpha: float = Field(gt=0, le=1, description="largest share of one sensitive value")
    k: int = Field(ge=1, description="fewest candidates")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        spreads = linkage.spread.values()
        limited = [spread.largest() <= self.alpha * spread.total() + 1e-9 for spread in spreads]
        return everywhere(linkage, [linkage.candidates >= self.k, *limited])

    def covers(self, other: Any) -> bool:
        return isinstance(other, AlphaK) and self.alpha <= other.alpha and self.k >= other.k

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        shares = [float((spread.largest() / spread.total()).max()) for spread in linkage.spread.values() if spread.kinds]
        fewest = int(linkage.candidates.min()) if len(linkage.candidates) else 0
        return {"alpha": rounded(max(shares, default=0.0)), "k": fewest}
