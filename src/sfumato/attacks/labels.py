"""`labels`: guess the labels of people in blocks, knowing everybody's items and how items and labels go together.

Blocks hide which row is whose; they cannot hide that insulin goes with diabetes. The adversary learns naive Bayes on people whose
guesses are not scored, and puts each block together so that every label is given to one person (`audit.joint_guess`).

The figure
    `guesses_right:column` with the release beside `guesses_right_from_items:column` without it, and `promised:column`, 1/l. Labels
    independent of items stay below the promise; where the figure is above, the audit says so and the claim is not shown to hold.

Paper: Kifer (2009), on buckets; [multitype 3.4] assumes that it away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.attacks.base import ReleaseAttack, promised_share
from sfumato.audit.readings.basket_blocks import joint_guess_of
from sfumato.errors import PolicyError
from sfumato.forms.basket_blocks import BasketBlocks, blocks_of
from sfumato.forms.baskets import published_baskets
from sfumato.policy.beside_items import everything_known
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

if TYPE_CHECKING:
    from sfumato.methods.baskets.partition import Partition


class LabelGuess(ReleaseAttack):
    """Learn which labels go with which items, then give every label of a block to one of its people."""

    name: ClassVar[str] = "labels"
    paper: ClassVar[str] = "Kifer 2009"
    forms: ClassVar[tuple[type[Form], ...]] = (BasketBlocks,)
    headline: ClassVar[str] = "guesses_right"

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        if not isinstance(exhibit.form, cls.forms) or not exhibit.policy.sensitive:
            return ""
        return (
            "labels that follow from items are guessed by whoever knows how, and a block helps: each of its labels is given to one "
            "of its people; what is promised holds for labels independent of items"
        )

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        behind = exhibit.behind["data"] if exhibit.behind is not None else people_by_block(exhibit)
        figures: dict[str, Any] = {"people": len(exhibit.original)}
        for name in (name for name in exhibit.policy.sensitive if name in exhibit.original.labels):
            found = joint_guess_of(exhibit, name, behind)
            figures[f"guesses_right_from_items:{name}"] = found.alone
            figures[f"guesses_right:{name}"] = found.with_release
            figures[f"promised:{name}"] = promised_share(exhibit, name)
        rights = [value for key, value in figures.items() if key.startswith("guesses_right:")]
        return figures | ({"guesses_right": max(rights)} if rights else {})


def people_by_block(exhibit: Exhibit) -> np.ndarray:
    """For each published row somebody of its block: blocks made again from the items, and known by what their rows show."""
    from sfumato.methods.baskets.partition import partition

    form = exhibit.of(BasketBlocks)
    made = partition(everything_known(exhibit.policy, exhibit.original), form.degree)
    published, block = exhibit.once(published_baskets), exhibit.once(blocks_of)
    mine = _contents(made, [tuple(sorted(exhibit.original.names[i] for i in row)) for row in _doubts(exhibit, made, form)])
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


def _doubts(exhibit: Exhibit, made: Partition, form: BasketBlocks) -> list[np.ndarray]:
    from sfumato.methods.baskets.block_rows import rows_of

    rows = rows_of(exhibit.original.sets, made, form.shows)
    return [rows.doubt.row(int(first)) for first in made.starts[:-1]]


def _contents(made: Partition, doubts: list[tuple[str, ...]]) -> list[Any]:
    return [(int(size), doubt) for size, doubt in zip(made.sizes, doubts, strict=True)]
