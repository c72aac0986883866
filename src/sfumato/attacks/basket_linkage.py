"""`basket-linkage`: the outsider who knows a person's whole item set and looks it up among the published baskets.

For each person the adversary keeps the published records whose possible worlds contain the person's set, and guesses the most
frequent label among them.

Paper: the adversary of [multitype Def. 1].
Cost: pairs of a record and a published record that share an item.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sfumato.attacks.base import ReleaseAttack
from sfumato.audit.compatible import Compatibility
from sfumato.audit.readings.baskets import label_codes
from sfumato.data.baskets import Baskets
from sfumato.data.worlds import PublishedBaskets
from sfumato.forms.baskets import Basket, published_baskets
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class BasketLinkage(ReleaseAttack):
    """Look every person up by their whole item set; report candidates and how often the best guess of a label is right."""

    name: ClassVar[str] = "basket-linkage"
    paper: ClassVar[str] = "multitype Def. 1"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        return play(exhibit.original, exhibit.once(published_baskets))


def play(original: Baskets, published: PublishedBaskets) -> dict[str, Any]:
    """What the outsider gets."""
    known = Compatibility.of(original, published)
    candidates = known.candidates()[known.person]
    found = candidates[candidates > 0]
    result: dict[str, Any] = {
        "people": len(original),
        "fewest_candidates": int(candidates.min()),
        "mean_candidates": float(candidates.mean()),
        "mean_chance_to_find_the_row": float((1 / found).mean()) if len(found) else 0.0,
    }
    for name in (name for name in published.labels if name in original.labels):
        codes, values = label_codes(published, name)
        spread = known.spread(codes, max(len(values), 1))
        best = np.asarray(spread.argmax(axis=1)).reshape(-1)
        guess = np.array([*values, ""], dtype=object)[best[known.person]]
        result[f"guesses_right:{name}"] = float((guess == original.labels[name]).mean())
        counts = np.unique(original.labels[name].astype(str), return_counts=True)[1]
        result[f"most_frequent_label:{name}"] = float(counts.max() / len(original))
    return result
