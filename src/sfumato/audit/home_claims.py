"""Claims about set-valued records over several releases: what homes said when they were published, and nothing after it.

Blocks of people who are new are judged like a first release. That all other blocks say no more than the homes of their people did
is counted for every release of the history (`history.home_blocks`); what homes promised is what their own releases were judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.forms.basket_blocks import BlockTrace
from sfumato.history.home_blocks import fresh_blocks, misplaced
from sfumato.policy.claims import Claim
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.past import History, PastRelease
from sfumato.release.release import Part

Judge = Callable[[Exhibit, Claim], Finding]


def judge_homes(exhibit: Exhibit, claim: Claim, judge: Judge) -> Finding:
    """The finding over all releases; `judge` is the one about a release by itself."""
    history = exhibit.history
    assert history is not None
    wrong = list(dict.fromkeys(sentence for r in range(1, len(history)) for sentence in misplaced(_until(history, r))))
    asked = claim.model.required()
    if wrong:
        return Finding(claim.model.name, False, asked, {}, claim.given, claim.hide, reason="; ".join(wrong))
    if not claim.hide:  # how many rows a block has is counted on the newest release alone
        alone = judge(replace(exhibit, history=None), claim)
        return replace(alone, reason=alone.reason if not alone.holds else f"{alone.reason}, over {len(history)} releases")
    found = list(_of_homes(exhibit, claim, judge))
    broken = next((one for one in found if one.open or not one.holds), None)
    if broken is not None:
        return broken
    worst = min(found, key=lambda one: claim.model.strength(one.achieved))
    told = f"in the blocks in which people were first published, over {len(history)} releases"
    return Finding(claim.model.name, True, asked, worst.achieved, claim.given, claim.hide, _weakest(found), told)


def _until(history: History, r: int) -> History:
    return History(history.releases[: r + 1])


def _of_homes(exhibit: Exhibit, claim: Claim, judge: Judge) -> Iterator[Finding]:
    """The claim on the homes of every release: as promised then, or judged again."""
    history = exhibit.history
    assert history is not None
    for past in history.releases[:-1]:
        if set(claim.hide) & set(past.published):
            yield _promised(past, claim) or judge(past.exhibit, claim)
    fresh = fresh_blocks(history)
    if fresh.any():
        yield judge(_rows_of(exhibit, fresh), claim)


def _promised(past: PastRelease, claim: Claim) -> Finding | None:
    """What an earlier release promised of the same columns, when it is at least as much: it was judged when it was entered."""
    for mine in past.exhibit.policy.claims:
        same = mine.model.name == claim.model.name and mine.hide == claim.hide
        if same and mine.model.reaches(mine.model.required(), claim.model.required()):
            return Finding(claim.model.name, True, claim.model.required(), mine.model.required(), claim.given, claim.hide)
    return None


def _weakest(found: list[Finding]) -> str:
    return next((one.grade for one in found if one.grade != "exact"), "exact")


def _rows_of(exhibit: Exhibit, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Exhibit:
    """The release as if only some of its rows had been published, with the records behind them."""
    table = exhibit.parts["data"].table.filter(pa.array(kept))
    part = replace(exhibit, parts={"data": Part(table)}, history=None, folder=None)
    if exhibit.behind is None:
        return part
    people, rows = np.unique(np.asarray(exhibit.behind["data"])[kept], return_inverse=True)
    trace = replace(exhibit.traced(BlockTrace), rows={"data": rows.reshape(-1).astype(np.int64)})
    return replace(part, original=exhibit.original.take(people), trace=trace)
