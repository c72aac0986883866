"""`basket-linkage`: the adversary who knows a person's whole item set and looks it up among the published baskets.

For each person the adversary keeps the published records whose possible worlds contain the person's set, and guesses
the most frequent label among them.

Paper: the adversary of [multitype Def. 1].
Cost: pairs of a record and a published record that share an item.


Few items
---------
`few-items`: the adversary who knows at most m items of a person and looks for baskets that contain them.

Works on any file of set-valued records, from any publisher, so that existing releases can be judged by the measure
practitioners use (k^m-anonymity); on a release folder of this program it uses base, doubtful items and thresholds.

Paper: Terrovitis, Mamoulis, Kalnis (2008), as cited in [multitype 2].


Labels
------
`labels`: guess the labels of people in blocks, knowing each person's items and how items and labels go together.

Blocks hide which row is whose; they cannot hide that insulin goes with diabetes. The adversary learns naive Bayes on
people whose guesses are not scored, and puts each block together so that every label is given to one person
(`baskets.block_evidence`).

The figure
    `guesses_right:column` with the release beside `guesses_right_from_items:column` without it, and `promised:column`,
    1/l. Labels independent of items stay below the promise; where the figure is above, the audit says so and the
    requirement is not shown to hold.

Paper: Kifer (2009), on buckets; [multitype 3.4] assumes that it away.


Re execution
------------
`re-execution`: the adversary who knows each person's items and runs the program again to get blocks or ring.

Blocks look at items only, so the adversary gets all of them; within one every row is equally likely, less the rows of
insiders.

If the ring depends on items only, the adversary gets the whole all-assignments graph and still has k equally likely
rows for each person. The adversary can only guess labels, also with the hint that a suppressed label is probably one
that is frequent nearby. Where rings are arranged by label, only the true turn reproduces the arrangement: the
adversary, granted the arrangement, tries every turn and reads off everything.

Paper: against [multitype Algorithm 2] and every label-aware deterministic order.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.arrays import IntArray
from sfumato.core.effort import USUAL, Effort
from sfumato.core.errors import PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.io.basket_source import BasketSource
from sfumato.kinds.baskets.block_evidence import joint_guess_of
from sfumato.kinds.baskets.evidence import Compatibility, align_item_universes, fewest_matching_rows, label_codes
from sfumato.kinds.baskets.form import Basket, BasketBlocks, blocks_of, published_baskets
from sfumato.kinds.baskets.known_columns import items_with_known_columns
from sfumato.kinds.baskets.published_baskets import WITHHELD, PublishedBaskets
from sfumato.release.attack import ReleaseAttack, largest_allowed_share
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView

if TYPE_CHECKING:
    from sfumato.kinds.baskets.methods.record_order import Partition


class BasketLinkage(ReleaseAttack):
    """Look up every person by the whole item set; report candidates and how often the best label guess is right."""

    name: ClassVar[str] = "basket-linkage"
    paper: ClassVar[str] = "multitype Def. 1"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        return play(exhibit.original, exhibit.once(published_baskets))


def play(original: Baskets, published: PublishedBaskets) -> dict[str, Any]:
    """What the adversary gets."""
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


# Few items
# ---------


class FewItems(ReleaseAttack):
    """Know up to m items of a person; report the fewest baskets that fit and how many people a given k leaves
    unprotected."""

    name: ClassVar[str] = "few-items"
    paper: ClassVar[str] = "multitype §2"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    target: str = Field(description="a release folder, or a published file of baskets")
    original: str = Field(default="", description="the original records; needed for a release folder")
    m: int = Field(default=2, ge=1, le=8, description="largest number of items that the adversary knows")
    k: int = Field(default=5, ge=2, description="count people with fewer candidates than this")
    items: str = Field(default="", description="the column of items, for a CSV file")
    separator: str = Field(default=" ", description="separator between items, for a CSV file")

    def run(self) -> dict[str, Any]:
        if Path(self.target).is_dir():
            if not self.original:
                raise PolicyError(
                    "a release folder is judged against the original", where=self.target, hint="add --original"
                )
            return super().run()
        sets = BasketSource(source=self.target, items=self.items, separator=self.separator).read().sets
        nothing = Sets.of([()] * len(sets), sets.width)
        return self._figures(fewest_matching_rows(sets, sets, nothing, np.zeros(len(sets), dtype=np.int64), self.m))

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        people, worlds = align_item_universes(exhibit.original, exhibit.once(published_baskets))
        return self._figures(fewest_matching_rows(people, worlds.base, worlds.doubt, worlds.threshold, self.m))

    def _figures(self, least: IntArray) -> dict[str, Any]:
        return {
            "people": len(least),
            "m": self.m,
            "fewest_baskets": int(least.min()),
            f"people_below_{self.k}": int((least < self.k).sum()),
        }


# Labels
# ------


class LabelGuess(ReleaseAttack):
    """Learn which labels go with which items, then assign the labels of each block to its members."""

    name: ClassVar[str] = "labels"
    paper: ClassVar[str] = "Kifer 2009"
    forms: ClassVar[tuple[type[Form], ...]] = (BasketBlocks,)
    headline: ClassVar[str] = "guesses_right"

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        if not isinstance(exhibit.form, cls.forms) or not exhibit.policy.sensitive:
            return ""
        return (
            "labels that depend on items can be predicted, and a block helps: each of its "
            "labels belongs to one of its people; the guarantee holds for labels independent "
            "of items"
        )

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        behind = exhibit.behind["data"] if exhibit.behind is not None else people_by_block(exhibit)
        figures: dict[str, Any] = {"people": len(exhibit.original)}
        for name in (name for name in exhibit.policy.sensitive if name in exhibit.original.labels):
            found = joint_guess_of(exhibit, name, behind)
            figures[f"guesses_right_from_items:{name}"] = found.alone
            figures[f"guesses_right:{name}"] = found.with_release
            figures[f"promised:{name}"] = largest_allowed_share(exhibit, name)
        rights = [value for key, value in figures.items() if key.startswith("guesses_right:")]
        return figures | ({"guesses_right": max(rights)} if rights else {})


def people_by_block(exhibit: ReleaseView) -> np.ndarray:
    """For each published row a person of its block: blocks made again from the items, and known by what their rows
    show."""
    from sfumato.kinds.baskets.methods.record_order import partition

    form = exhibit.of(BasketBlocks)
    items = items_with_known_columns(exhibit.policy, exhibit.original)
    made = partition(items, form.degree, effort=exhibit.policy.effort)
    published, block = exhibit.once(published_baskets), exhibit.once(blocks_of)
    mine = _contents(
        made, [tuple(sorted(exhibit.original.names[i] for i in row)) for row in _doubts(exhibit, made, form)]
    )
    waiting: dict[Any, list[int]] = {}
    for number in range(int(block.max()) + 1):
        rows = np.flatnonzero(block == number)
        key = (len(rows), tuple(sorted(published.names[i] for i in published.doubt.row(int(rows[0])))))
        waiting.setdefault(key, []).append(number)
    behind = np.full(len(block), -1, dtype=np.int64)
    for index, key in enumerate(mine):
        if not waiting.get(key):
            raise PolicyError("the blocks made again are not those published", hint="play it where the release is made")
        behind[np.flatnonzero(block == waiting[key].pop())] = made.order[made.starts[index] : made.starts[index + 1]]
    return behind


def _doubts(exhibit: ReleaseView, made: Partition, form: BasketBlocks) -> list[np.ndarray]:
    from sfumato.kinds.baskets.methods.blocks import published_rows_of

    rows = published_rows_of(exhibit.original.sets, made, form.shows)
    return [rows.doubt.row(int(first)) for first in made.starts[:-1]]


def _contents(made: Partition, doubts: list[tuple[str, ...]]) -> list[Any]:
    return [(int(size), doubt) for size, doubt in zip(made.sizes, doubts, strict=True)]


# Re execution
# ------------


class ReExecution(ReleaseAttack):
    """Run the program again on all item sets, find the candidates of each person, and guess rows and labels."""

    name: ClassVar[str] = "re-execution"
    paper: ClassVar[str] = "multitype 3.4"

    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)
    quick: ClassVar[bool] = False
    headline: ClassVar[str] = "rows_found"

    insiders: float = Field(
        default=0.0, ge=0, lt=1, description="share of the people whose rows the adversary knows (blocks)"
    )

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        if not isinstance(exhibit.form, cls.forms):
            return ""
        return (
            "an adversary who knows the items of all people can run the method again; rows "
            "stay hidden among their candidates, but an adversary who also knows matches of "
            "others has fewer candidates, on a ring (not in blocks) even far away from those"
        )

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        from sfumato.kinds.baskets.methods.nonreciprocal import Nonreciprocal
        from sfumato.kinds.baskets.methods.voting import RingRequirements

        choice = exhibit.policy.method
        if isinstance(exhibit.form, BasketBlocks):
            return play_blocks(exhibit, self.insiders)
        if choice is None or choice.name != Nonreciprocal.name:
            raise PolicyError("this adversary re-runs blocks and rings", where=self.target)
        method = Nonreciprocal(**choice.parameters)
        if method.labels == "shift":
            hint = "see docs/explanation/limits.md"
            raise PolicyError("rings arranged by label fall to any re-execution", where=self.target, hint=hint)
        balance = method.allowance(RingRequirements.of(claim.model for claim in exhibit.policy.claims))
        worlds, degree = exhibit.once(published_baskets), exhibit.of(Basket).degree
        return re_execution_play(exhibit.original, worlds, method.order, degree, balance, exhibit.policy.effort)


def play_blocks(exhibit: ReleaseView, share: float) -> dict[str, Any]:
    """What the adversary gets from blocks, with a share of the people as insiders: the chance of all people else's
    row."""
    from sfumato.kinds.baskets.methods.record_order import partition

    baskets, form = exhibit.original, exhibit.of(BasketBlocks)
    items = items_with_known_columns(exhibit.policy, baskets)
    blocks = partition(items, form.degree, effort=exhibit.policy.effort)
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


def re_execution_play(
    original: Baskets,
    published: PublishedBaskets,
    order_name: str,
    degree: int,
    balance: float = 0.0,
    effort: Effort = USUAL,
) -> dict[str, Any]:
    """What the adversary gets from a label-blind ring."""
    from sfumato.kinds.baskets.methods.nonreciprocal import ORDERS

    sets, worlds = align_item_universes(original, published)
    order = ORDERS[order_name](original.sets, degree, effort)
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
    from sfumato.kinds.baskets.methods.nonreciprocal import ring_members
    from sfumato.kinds.baskets.methods.voting import vote

    votes = vote(sets, order[ring_members(len(sets), degree)].astype(np.int32), balance)
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
    """Return labels shown within reach of a suppressed one: it was suppressed because it equals one of them."""
    around = {shown[(place + step) % len(shown)] for step in range(1 - degree, degree)} - {WITHHELD}
    return sorted(around)


def turns_that_reproduce(
    pool: NDArray[np.int64], ring: NDArray[np.int64], shown: NDArray[np.int64], different: int
) -> list[int]:
    """Turns r for which re-running the arrangement with the labels that r implies gives the same ring.

    `pool` are the ring's records in the label-blind order, `ring` their places as arranged, `shown` the labels by
    place."""
    from sfumato.kinds.baskets.methods.nonreciprocal import space_labels

    found = []
    for turn in range(different):
        labels = np.zeros(int(pool.max()) + 1, dtype=np.int64)
        labels[ring] = np.roll(shown, -turn)
        again = space_labels(pool, labels, different)
        if again is not None and (again == ring).all():
            found.append(turn)
    return found
