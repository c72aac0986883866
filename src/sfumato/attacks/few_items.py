"""`few-items`: the outsider who knows at most m items of a person and looks for baskets that contain them.

Works on any file of set-valued records, whoever published it, so that existing releases can be judged by the measure
practitioners use (k^m-anonymity); on a release folder of this program it uses base, doubtful items and thresholds.

Paper: Terrovitis, Mamoulis, Kalnis (2008), as cited in [multitype 2].
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.base import ReleaseAttack
from sfumato.audit.compatible import on_one_universe
from sfumato.audit.itemsets import fewest_fits
from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.errors import PolicyError
from sfumato.forms.baskets import Basket, published_baskets
from sfumato.io.baskets import BasketSource
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class FewItems(ReleaseAttack):
    """Know up to m items of a person; report the fewest baskets that fit and how many people a given k leaves unprotected."""

    name: ClassVar[str] = "few-items"
    paper: ClassVar[str] = "multitype §2"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    target: str = Field(description="a release folder, or a file of baskets that somebody published")
    original: str = Field(default="", description="the original records; needed for a release folder")
    m: int = Field(default=2, ge=1, le=8, description="most items the outsider knows")
    k: int = Field(default=5, ge=2, description="count people left with fewer baskets than this")
    items: str = Field(default="", description="the column of items, for a CSV file")
    separator: str = Field(default=" ", description="what stands between items, for a CSV file")

    def run(self) -> dict[str, Any]:
        if Path(self.target).is_dir():
            if not self.original:
                raise PolicyError("a release folder is judged against the original", where=self.target, hint="add --original")
            return super().run()
        sets = BasketSource(source=self.target, items=self.items, separator=self.separator).read().sets
        nothing = Sets.of([()] * len(sets), sets.width)
        return self._figures(fewest_fits(sets, sets, nothing, np.zeros(len(sets), dtype=np.int64), self.m))

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        people, worlds = on_one_universe(exhibit.original, exhibit.once(published_baskets))
        return self._figures(fewest_fits(people, worlds.base, worlds.doubt, worlds.threshold, self.m))

    def _figures(self, least: IntArray) -> dict[str, Any]:
        return {
            "people": len(least),
            "m": self.m,
            "fewest_baskets": int(least.min()),
            f"people_below_{self.k}": int((least < self.k).sum()),
        }
