"""Emptiness: how many published baskets show no item at all; measured, and a warning where hardly anything is left to use.

On sparse data no item has a majority among a few baskets, and a vote publishes nothing under a certificate that holds. Privacy is
not at stake; that somebody takes the release for data is.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.forms.baskets import Basket, published_baskets
from sfumato.release.certificate import MEASURED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

NEARLY = 0.2
"""The share of empty baskets above which a release is called nearly empty."""


class Emptiness(Check):
    """Baskets that show no item: measured on the published rows."""

    name: ClassVar[str] = "emptiness"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def examine(self, exhibit: Exhibit) -> Finding:
        base = exhibit.once(published_baskets).base
        empty = float((base.sizes == 0).mean()) if len(base) else 1.0
        reason = f"{empty:.1%} of the published baskets show no item"
        if empty > NEARLY:
            reason = f"warning: the release is nearly empty, {reason}; items: dealt shows every item as often as records have it"
        return Finding(self.name, True, {}, {"empty": float(f"{empty:.6g}")}, grade=MEASURED, reason=reason)
