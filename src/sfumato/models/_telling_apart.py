"""Two people behind two published nodes: how often the best guess of who is who is right.

Guarantee
    An outsider who knows less than all, or who must find one person among many, guesses no better: being shown the two nodes that
    stand for the person and for one other is help. So a bound here bounds every search, as long as there is such an other person.

Notation
    advantage   success − 1/2, half the total variation distance between "first is the person" and "second is the person"

Several publications flip independently. The distance of what is seen together is at most the sum of the distances, so advantages
add up to a bound, exact for one publication.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sfumato.data.edge_channel import EdgeChannel

_STEP = 1e-4


def together(success: Callable[[float], float], flips: Sequence[EdgeChannel]) -> float:
    """The bound on the best guess over all publications; one that flips in one direction more than in the other tells all."""
    if not all(flip.is_symmetric for flip in flips):
        return 1.0
    return min(1.0, 0.5 + math.fsum(success(flip.delete) - 0.5 for flip in flips))


def smallest_mu(holds: Callable[[EdgeChannel], bool]) -> float:
    """The smallest symmetric flip, to four digits, at which a promise that grows easier with μ holds; 0.5 when none does."""
    low, high = 0, round(0.5 / _STEP)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(EdgeChannel.symmetric(middle * _STEP)):
            high = middle
        else:
            low = middle
    return round(high * _STEP, 4)
