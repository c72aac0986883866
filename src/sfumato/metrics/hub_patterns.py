"""Sort people by whom they follow: the target pattern of hubs nearest to each person's own, before a flip.

An example of mining on a published graph. The number of hubs in which a person differs from a target is a sum of edge indicators,
so putting (y − a)/c for each gives the distance before the flip without bias; the nearest target wins. Under a symmetric flip
this changes all distances of a person alike, so the nearest target is the one on the published graph as it is.

Paper
    [multitype §4.6.3], Figure 4.9.

Departures
    The paper measures distances on the published graph as it is; that is the same for the symmetric flip and wrong for any other.

>>> from sfumato.data.graph import Graph
>>> star = Graph.from_pairs([0, 0, 1], [2, 3, 3], 5)
>>> nearest_patterns(star, EdgeChannel.symmetric(0.0), hubs=[0, 1], people=[2, 3, 4], targets=[[0, 0], [1, 0], [1, 1]]).tolist()
[1, 2, 0]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph


def nearest_patterns(
    graph: Graph, flip: EdgeChannel, *, hubs: ArrayLike, people: ArrayLike, targets: ArrayLike
) -> NDArray[np.int64]:
    """For each of `people` the row of `targets` (0/1 per hub) that differs least from their ties before the flip."""
    hub, person = np.asarray(hubs, dtype=np.int64), np.asarray(people, dtype=np.int64)
    wanted = np.asarray(targets, dtype=np.float64)
    seen = graph.has_edges(np.repeat(person, len(hub)), np.tile(hub, len(person))).reshape(len(person), len(hub))
    tied = (seen - flip.add) / flip.slope
    distance = tied @ (1 - 2 * wanted.T) + wanted.sum(axis=1)
    return np.asarray(distance.argmin(axis=1))
