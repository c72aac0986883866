"""The time that long work still takes, as a figure that never grows.

A share of the work and the time it took say when the rest may be done. Early shares mislead, so nothing is said before
a tenth is done; then a later estimate may only bring the end nearer. Work that is late says so, instead of moving its
end. A limit that is kept is the most that is ever said.

>>> clock = RemainingTime()
>>> [clock.left(share, seconds) for share, seconds in ((0.02, 1.0), (0.25, 5.0), (0.5, 8.0), (0.5, 14.0), (0.5, 30.0))]
[None, 15.0, 8.0, 2.0, 0.0]
>>> RemainingTime(limit=10.0).left(0.0, 4.0)
6.0
"""

from __future__ import annotations

from dataclasses import dataclass

ENOUGH = 0.1
"""The share of the work after which an estimate is made."""
SOON = 1.0
"""Seconds of work after which an estimate is made."""


@dataclass(slots=True)
class RemainingTime:
    """The end of one piece of work, in seconds after it began; it only moves nearer."""

    limit: float | None = None
    """Seconds after which the work ends at the latest."""
    end: float | None = None

    def left(self, share: float, spent: float) -> float | None:
        """Return the seconds that are left after `spent` seconds with this share done; nothing while it is unknown, and
        0 where the work takes longer than was estimated."""
        known = [end for end in (self.end, self.limit) if end is not None]
        if share >= ENOUGH and spent >= SOON:
            known.append(spent / share)
        if not known:
            return None
        self.end = min(known)
        return max(self.end - spent, 0.0)
