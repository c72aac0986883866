"""`join`: the outsider who collects every release so far, joins them, and looks everybody up.

Plays three adversaries of growing strength: the match join trusts every consistent combination of rows, the kernel join drops what
no pairwise matching allows, the full join keeps only what some way to pair up all rows allows. People whom a join leaves with fewer
values than the claim promised are counted, with how far they fall below; rows where a person may stand in several.

Of releases that were made where their rows lie people are joined who went the same way through all of them, with their number: the
figures are those of the same people one by one. Memory grows with the people once, while they are counted.

Where pseudonyms tie the rows of a person people are counted who share all their rows in all releases, row by row.
Of baskets the labels are intersected that everybody's blocks show. Of graphs nothing about single people is joined: what all flips
together allow is shown, and `structural` with `releases` plays it.

Paper: [sequential §3, §7.1 tests (a) and (b)]
Cost: exact decisions for three and more releases are bounded by a time budget; what stays undecided counts as possible.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks._joined_blocks import joined_blocks
from sfumato.attacks._joined_people import joined_people
from sfumato.attacks.base import Attack
from sfumato.audit.base import reading_of
from sfumato.audit.sequence_claims import Step, timeline
from sfumato.audit.series import cohorts_known
from sfumato.data.linkage import Linkage
from sfumato.engines.local import HERE
from sfumato.errors import LedgerError
from sfumato.forms.basket_blocks import BasketBlocks
from sfumato.forms.graph import Edges
from sfumato.history.courses import counted_history
from sfumato.history.linked_people import ties_rows
from sfumato.history.promises import promises
from sfumato.ledger import Ledger
from sfumato.models.k_diversity import KDiversity
from sfumato.models.k_linkability import KLinkability
from sfumato.policy.claims import Claim
from sfumato.release.certificate import Finding
from sfumato.release.past import History


class JoinAttack(Attack):
    """Join all releases of a ledger and count the people who fall below a level, and by how much."""

    name: ClassVar[str] = "join"
    paper: ClassVar[str] = "sequential §3, §7"

    ledger: str = Field(description="the ledger with the releases")
    k: int = Field(default=0, ge=0, description="the level people should have; 0: what the last policy promised")
    release: int = Field(default=0, ge=0, description="join only the releases up to this one; 0: all")

    def run(self) -> dict[str, Any]:
        if not Path(self.ledger).exists():
            raise LedgerError("no such ledger", where=self.ledger)
        history = _everything(Ledger(self.ledger))
        last = history.releases[-1].exhibit.policy
        promised = promises(last, history)
        if isinstance(history.releases[-1].exhibit.form, Edges):
            return {"releases": len(history)} | {str(claim): finding.achieved for claim, finding in _of_flips(history, promised)}
        columns = dict.fromkeys([*(name for claim in promised for name in claim.hide), *last.sensitive])
        return {column: self._joined(history, column, promised) for column in columns}

    def _joined(self, history: History, column: str, promised: list[Claim]) -> dict[str, Any]:
        """What the joins leave of one hidden column, beside the most that any claim promised of it."""
        if isinstance(history.releases[-1].exhibit.form, BasketBlocks):
            return joined_blocks(History(history.releases[: self.release or len(history)]), column)
        if ties_rows(history):
            return joined_people(History(history.releases[: self.release or len(history)]), column, promised)
        asked = [claim.model.demand().diversity for claim in promised if column in claim.hide]
        level = float(self.k or max(asked, default=2.0))
        cohorts = cohorts_known(history.releases[-1].exhibit)
        steps = timeline(history, column, only=self.release or len(history), level=level, budget=60.0, cohorts=cohorts)
        return self._column(steps, level, history.releases[-1].exhibit.policy.candidate_word)

    def _column(self, steps: list[Step], level: float, word: str) -> dict[str, Any]:
        if not steps:
            return {"releases": 0, "remark": "the column was never published"}
        step = steps[-1]
        played = {name: _fallen(linkage, level, word) for name, linkage in step.joins.items()}
        return {"releases": step.release, "level": level, **played, "undecided": step.undecided}


def _everything(book: Ledger) -> History:
    """All releases: of everybody one by one or, where one was made where its rows lie, of how many people went which way."""
    return counted_history(HERE, book.chronicle()) if book.distant else book.history()


def _of_flips(history: History, promised: list[Claim]) -> list[tuple[Claim, Finding]]:
    """What all flips together allow, claim by claim."""
    newest = replace(history.releases[-1].exhibit, history=history)
    return [(claim, reading_of(newest.form).judge_all(newest, claim)) for claim in promised]


def _fallen(linkage: Linkage, level: float, word: str) -> dict[str, Any]:
    """How many people, or rows of people, are left with too few values, and how far below they fall."""
    (spread,) = linkage.spread.values()
    values = spread.distinct()
    missing = np.maximum(np.ceil(level) - values, 0).astype(np.int64)
    by_how_much = {str(int(gap)): int(linkage.people[missing == gap].sum()) for gap in np.unique(missing[missing > 0])}
    return {
        "linkability": KLinkability(k=1).achieved(linkage)["k"],
        "diversity": KDiversity(k=1).achieved(linkage)["k"],
        word: int(linkage.people.sum()),
        f"{word}_below": int(linkage.people[missing > 0].sum()),
        "missing_values": by_how_much,
    }
