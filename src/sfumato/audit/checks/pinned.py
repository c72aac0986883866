"""Pinned values: people whose published number is the only one that the kept properties leave possible.

A value that differs from the original is not pinned: the release itself is the witness. For every value that is unchanged two
linear programs ask for the largest and the smallest number it could have while all properties and domains hold; it is pinned when
no other number of its domain lies between them.

Departures
    [multitype §5.6] says nothing about values that the properties determine.

Cost
    Two small linear programs per unchanged value; beyond MOST of them a random sample is judged and the count is scaled up.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.space import KeptSpace
from sfumato.forms.replaced import Replaced, WalkTrace
from sfumato.release.certificate import MEASURED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

MOST = 800


class Pinned(Check):
    """How many values the kept properties leave only one number for: reported, not forbidden."""

    name: ClassVar[str] = "pinned"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and exhibit.behind is not None and bool(exhibit.traced(WalkTrace).range)

    def examine(self, exhibit: Exhibit) -> Finding:
        space = KeptSpace(exhibit)
        unchanged, level = space.unchanged()
        chosen = np.random.default_rng(0).permutation(unchanged.size)[:MOST]
        pinned = sum(int(space.size[unchanged[at]]) for at in chosen if space.is_pinned(int(unchanged[at]), int(level[at])))
        whole = chosen.size == unchanged.size
        count = pinned if whole else round(pinned * unchanged.size / chosen.size)
        grade = MEASURED if whole else f"{MEASURED}, an estimate (from {chosen.size} of {unchanged.size} unchanged values)"
        achieved = {"pinned": count, "unchanged": int(space.size[unchanged].sum()), "values": int(space.size.sum())}
        reason = "reported, not forbidden: such values are published as they are"
        return Finding(self.name, True, {}, achieved, grade=grade, reason=reason)
