"""Seed: whoever can try out the seed can repeat every draw, and what rests on draws that nobody can repeat is then no promise.

A manifest carries a mark when the release was made from a seed of fewer than 128 bits. Flipped ties, candidates that were drawn,
new values and the orders that keep sub-tables apart are undone by repeating the run. Groups of people who look alike stay groups,
so a table whose promises are about groups is only marked.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit


class SecretSeed(Check):
    """What the promises rest on was drawn by chance that nobody can repeat."""

    name: ClassVar[str] = "seed"
    on_classes: ClassVar[bool] = True
    forbids: ClassVar[bool] = False

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(exhibit.form.mark) and exhibit.form.rests_on_chance

    def examine(self, exhibit: Exhibit) -> Finding:
        reason = f"{exhibit.form.mark}; whoever tries out the seed undoes what was drawn, and no promise that rests on it holds"
        return Finding(self.name, False, {"bits": 128}, {}, reason=reason)
