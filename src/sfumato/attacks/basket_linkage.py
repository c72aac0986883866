"""`basket-linkage`: the outsider who knows a person's whole item set and looks it up among the published baskets.

For each person the adversary keeps the published records whose possible worlds contain the person's set, and guesses the most
frequent label among them.

Paper: the adversary of [multitype Def. 1].
Cost: pairs of a record and a published record that share an item.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.base import Attack
from sfumato.audit.compatible import Compatibility
from sfumato.audit.readings.baskets import label_codes
from sfumato.data.baskets import Baskets
from sfumato.data.published_baskets import from_table
from sfumato.data.table import Table
from sfumato.data.worlds import PublishedBaskets
from sfumato.errors import PolicyError
from sfumato.policy.policy import Policy
from sfumato.release.folder import POLICY, Folder, read_folder


class BasketLinkage(Attack):
    """Look every person up by their whole item set; report candidates and how often the best guess of a label is right."""

    name: ClassVar[str] = "basket-linkage"
    paper: ClassVar[str] = "multitype Def. 1"

    target: str = Field(description="the release folder")
    original: str = Field(description="the original records, which play the outsider's knowledge and score the guesses")

    def run(self) -> dict[str, Any]:
        _, policy, published = open_baskets(self.target)
        return play(policy.data.read(self.original), published)


def open_baskets(target: str) -> tuple[Folder, Policy, PublishedBaskets]:
    """A release folder of the form baskets, its policy and its records."""
    folder = read_folder(Path(target))
    if folder.form != "baskets":
        raise PolicyError(f"this adversary reads baskets, not a {folder.form}", where=target)
    separator = str(folder.public.get("separator", " "))
    return folder, Policy.read(Path(target) / POLICY), from_table(Table(folder.parts["data"].table), separator)


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
