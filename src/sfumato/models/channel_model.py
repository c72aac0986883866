"""Models of the noise alone: what an adversary can achieve at most, whatever the data are, given how pairs were
flipped.

Such a promise is no predicate on candidates: nothing about single people is counted. It is judged on a
`PublishedChannel`, which is what the manifest of a graph declares, and is a bound by nature.


Telling apart
-------------
Two people behind two published nodes: how often the best guess of who is who is right.

Guarantee
    An adversary who knows less than all, or who must find one person among many, guesses no better: being shown the two
    nodes that stand for the person and for one other is help. So a bound here bounds every search, as long as there is
    such an other person.

Notation
    advantage   success − 1/2, half the total variation distance between "first is the person" and "second is the
                person"

Several publications flip independently. The distance of what is seen together is at most the sum of the distances, so
advantages add up to a bound, exact for one publication."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfumato.core.arrays import BoolArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.models.base import Model


class PublishedChannel(NamedTuple):
    """How every pair of so many people was flipped."""

    flip: EdgeChannel
    nodes: int


class ChannelModel(Model):
    """A model of the noise itself; it does not depend on the people in the graph."""

    judges: ClassVar[type] = PublishedChannel
    needs_sensitive: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("graph",)

    @abstractmethod
    def holds(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> bool:
        """Whether the flip keeps the promise among so many people, beside those of earlier publications."""

    @abstractmethod
    def level(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> dict[str, Any]:
        """What the flips achieve together, under the names of the parameters."""

    @abstractmethod
    def needed_mu(self, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
        """The smallest symmetric flip that keeps the promise beside earlier publications; 0.5 when none does."""

    @abstractmethod
    def covered(self) -> Mapping[str, str]:
        """The attacks that the promise is about, by name, in words."""

    @property
    def needs_new_ties(self) -> bool:
        """Whether losing edges is not enough: ties that nobody has must appear as often as ties are lost."""
        return True

    def satisfied(self, seen: PublishedChannel) -> BoolArray:
        return np.array([self.holds(*seen)], dtype=np.bool_)

    def achieved(self, seen: PublishedChannel) -> dict[str, Any]:
        return self.level(*seen)


def as_channel_model(model: Model) -> ChannelModel | None:
    """The model when it is one of the noise, else nothing."""
    return model if isinstance(model, ChannelModel) else None


# Telling apart
# -------------


_STEP = 1e-4


def best_success_over_releases(success: Callable[[float], float], flips: Sequence[EdgeChannel]) -> float:
    """The bound on the best guess over all publications; one that flips in one direction more than in the other tells
    all."""
    if not all(flip.is_symmetric for flip in flips):
        return 1.0
    return min(1.0, 0.5 + math.fsum(success(flip.delete) - 0.5 for flip in flips))


def smallest_mu(holds: Callable[[EdgeChannel], bool]) -> float:
    """The smallest symmetric flip, to four digits, at which a promise that grows easier with μ holds; 0.5 when none
    does."""
    low, high = 0, round(0.5 / _STEP)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(EdgeChannel.symmetric(middle * _STEP)):
            high = middle
        else:
            low = middle
    return round(high * _STEP, 4)
