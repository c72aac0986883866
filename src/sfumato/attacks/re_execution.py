"""`re-execution`: the outsider who knows everybody's items and runs the program again to get blocks or ring.

Blocks look at items only, so the outsider gets all of them; within one every row is equally likely, less the rows of insiders.

Where the ring looks at items only, the outsider gets the whole all-assignments graph and still has k equally likely rows for
each person; what is left is to guess labels, also with the hint that a withheld label is probably one that is frequent nearby.
Where rings are arranged by label, only the true turn reproduces the arrangement: the outsider, granted the arrangement, tries
every turn and reads off everything.

Paper: against [multitype Algorithm 2] and every label-aware deterministic order.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.attacks.base import ReleaseAttack
from sfumato.audit.compatible import on_one_universe
from sfumato.data.baskets import Baskets
from sfumato.data.sets import Sets
from sfumato.data.worlds import WITHHELD, PublishedBaskets
from sfumato.errors import PolicyError
from sfumato.forms.basket_blocks import BasketBlocks
from sfumato.forms.baskets import Basket, published_baskets
from sfumato.policy.beside_items import everything_known
from sfumato.randomness import Randomness
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class ReExecution(ReleaseAttack):
    """Run the program again on everybody's items, find each person's candidates, and guess rows and labels."""

    name: ClassVar[str] = "re-execution"
    paper: ClassVar[str] = "multitype 3.4"

    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)
    quick: ClassVar[bool] = False
    headline: ClassVar[str] = "rows_found"

    insiders: float = Field(default=0.0, ge=0, lt=1, description="share of the people whose rows the outsider knows (blocks)")

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        if not isinstance(exhibit.form, cls.forms):
            return ""
        return (
            "whoever knows everybody's items can run the method again; rows stay hidden among their candidates, but who also knows "
            "matches of others has fewer left, on a ring (not in blocks) even far away from those"
        )

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        from sfumato.methods.baskets.needs import Needs
        from sfumato.methods.baskets.nonreciprocal import Nonreciprocal

        choice = exhibit.policy.method
        if isinstance(exhibit.form, BasketBlocks):
            return play_blocks(exhibit, self.insiders)
        if choice is None or choice.name != Nonreciprocal.name:
            raise PolicyError("this adversary re-runs blocks and rings", where=self.target)
        method = Nonreciprocal(**choice.parameters)
        if method.labels == "shift":
            raise PolicyError("rings arranged by label fall to any re-execution", where=self.target, hint="see docs/limits.md")
        balance = method.allowance(Needs.of(claim.model for claim in exhibit.policy.claims))
        return play(exhibit.original, exhibit.once(published_baskets), method.order, exhibit.of(Basket).degree, balance)


def play_blocks(exhibit: Exhibit, share: float) -> dict[str, Any]:
    """What the outsider gets from blocks, with a share of the people as insiders: the chance of everybody else's row."""
    from sfumato.methods.baskets.partition import partition

    baskets, form = exhibit.original, exhibit.of(BasketBlocks)
    blocks = partition(everything_known(exhibit.policy, baskets), form.degree)
    chance = Randomness(seed=0).generator()  # the adversary's own choice of insiders; nothing of this is published
    insider = chance.random(len(baskets)) < share
    known = np.bincount(blocks.block, weights=insider[blocks.order])
    left = (blocks.sizes - known)[blocks.block][~insider[blocks.order]]
    promised = 1 / (form.degree - form.insiders)
    return {
        "people": len(baskets),
        "blocks": len(blocks.sizes),
        "insiders": int(insider.sum()),
        "fewest_candidates": int(left.min()),
        "rows_found": float((1 / left).mean()),
        "promised": promised,
        "people_beyond_the_promise": int((1 / left > promised + 1e-12).sum()),
    }


def play(original: Baskets, published: PublishedBaskets, order_name: str, degree: int, balance: float = 0.0) -> dict[str, Any]:
    """What the outsider gets from a label-blind ring."""
    from sfumato.methods.baskets.orders import ORDERS

    sets, worlds = on_one_universe(original, published)
    order = ORDERS[order_name](original.sets, degree)
    row_at = places(sets, worlds, order, degree, balance)
    result: dict[str, Any] = {
        "people": len(original),
        "rows_placed_on_the_ring": float((row_at >= 0).mean()),
        "candidates_each": degree,
        "chance_to_find_the_row": 1 / degree,
    }
    for name in (name for name in published.labels if name in original.labels):
        shown = published.labels[name][row_at]
        truth = original.labels[name][order]
        result[f"guesses_right:{name}"] = float((guesses(shown, degree, hints=False) == truth).mean())
        result[f"guesses_right_with_hints:{name}"] = float((guesses(shown, degree, hints=True) == truth).mean())
    return result


def places(
    sets: Sets, published: PublishedBaskets, order: NDArray[np.int64], degree: int, balance: float = 0.0
) -> NDArray[np.int64]:
    """For each place of the ring a published row with the content that belongs there; −1 where there is none."""
    from sfumato.methods.baskets.rings import members
    from sfumato.methods.baskets.voting import vote

    votes = vote(sets, order[members(len(sets), degree)].astype(np.int32), balance)
    waiting: dict[tuple[bytes, bytes, int], list[int]] = {}
    for row in range(len(published)):
        waiting.setdefault(_content(published.base, published.doubt, published.threshold, row), []).append(row)
    row_at = np.full(len(sets), -1, dtype=np.int64)
    for place in range(len(sets)):
        same = waiting.get(_content(votes.base, votes.doubt, votes.threshold, place))
        if same:
            row_at[place] = same.pop()
    return row_at


def _content(base: Sets, doubt: Sets, threshold: NDArray[np.int64], row: int) -> tuple[bytes, bytes, int]:
    return base.row(row).tobytes(), doubt.row(row).tobytes(), int(threshold[row])


def guesses(shown: NDArray[np.object_], degree: int, *, hints: bool) -> NDArray[np.object_]:
    """For the record at each place: the label that weighs most among its candidates, the next `degree` places."""
    count = len(shown)
    near = [_suspects(shown, place, degree) if hints and shown[place] == WITHHELD else [] for place in range(count)]
    guess = np.empty(count, dtype=object)
    for place in range(count):
        weight: Counter[str] = Counter()
        for step in range(degree):
            at = (place + step) % count
            if shown[at] != WITHHELD:
                weight[shown[at]] += 1.0  # type: ignore[assignment]
            for label in near[at]:
                weight[label] += 1 / len(near[at])  # type: ignore[assignment]
        guess[place] = max(weight, key=weight.__getitem__) if weight else WITHHELD
    return guess


def _suspects(shown: NDArray[np.object_], place: int, degree: int) -> list[str]:
    """Labels shown within reach of a withheld one: it was withheld because it equals one of them."""
    around = {shown[(place + step) % len(shown)] for step in range(1 - degree, degree)} - {WITHHELD}
    return sorted(around)


def turns_that_reproduce(pool: NDArray[np.int64], ring: NDArray[np.int64], shown: NDArray[np.int64], different: int) -> list[int]:
    """Turns r for which re-running the arrangement with the labels that r implies gives the same ring.

    `pool` are the ring's records in the label-blind order, `ring` their places as arranged, `shown` the labels by place.
    """
    from sfumato.methods.baskets.shifts import spaced

    found = []
    for turn in range(different):
        labels = np.zeros(int(pool.max()) + 1, dtype=np.int64)
        labels[ring] = np.roll(shown, -turn)
        again = spaced(pool, labels, different)
        if again is not None and (again == ring).all():
            found.append(turn)
    return found
