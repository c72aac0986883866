"""Models of the noise alone: what an outsider can achieve at most, whatever the data are, given how pairs were flipped.

Such a promise is no predicate on candidates: nothing about single people is counted. It is judged on a `PublishedChannel`, which is
what the manifest of a graph declares, and is a bound by nature.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfumato.data.arrays import BoolArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.models.base import Model


class PublishedChannel(NamedTuple):
    """How every pair of so many people was flipped."""

    flip: EdgeChannel
    nodes: int


class ChannelModel(Model):
    """What must be true of the noise, whoever the people are."""

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


def on_channel(model: Model) -> ChannelModel | None:
    """The model when it is one of the noise, else nothing."""
    return model if isinstance(model, ChannelModel) else None
