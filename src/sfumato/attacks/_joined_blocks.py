"""Joining several releases of baskets: whoever knows everybody's items knows the block of everybody in each of them.

In every release a person's label is one of those that the block shows, each as likely as it is frequent there; a block with hidden
labels says nothing here. The adversary multiplies what all releases say. What is guessed so is compared with what the first release
of each person says alone: people who kept their companions give away no more than that.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sfumato.history.home_blocks import seats
from sfumato.release.past import History, PastRelease

Belief = dict[str, float]


def joined_blocks(history: History, column: str) -> dict[str, Any]:
    """Labels left and labels guessed, from the first release of everybody alone and from all of them."""
    alone: dict[str, Belief | None] = {}
    joined: dict[str, Belief | None] = {}
    truth: dict[str, str] = {}
    for past in history.releases:
        if column in past.memory.values.names:
            for key, label, belief in _said(past, column):
                truth.setdefault(key, label)
                alone.setdefault(key, belief)
                joined[key] = _both(joined.get(key), belief)
    if not truth:
        return {"releases": 0, "remark": "the column was never published"}
    told = {"first release alone": alone, "all releases": joined}
    figures = {name: _figures(beliefs, truth) for name, beliefs in told.items()}
    less = sum(_left(joined[key]) < _left(alone[key]) for key in truth)
    return {"releases": len(history), "people": len(truth), **figures, "people_with_fewer_labels_left": less}


def _said(past: PastRelease, column: str) -> list[tuple[str, str, Belief | None]]:
    """Key, true label and what the own block says, for everybody of a release."""
    block, shown = seats(past)
    text = past.memory.values.text(column)
    labels = [text.labels[code] for code in text.codes.tolist()]
    counts: dict[int, Counter[str]] = {}
    closed = set()
    for place, number in enumerate(block.tolist()):
        counts.setdefault(number, Counter())[labels[place]] += 1
        if not shown[column][place]:
            closed.add(number)
    laws = {n: None if n in closed else {label: c / mine.total() for label, c in mine.items()} for n, mine in counts.items()}
    return [(key, labels[place], laws[int(block[place])]) for place, key in enumerate(past.memory.keys)]


def _both(one: Belief | None, other: Belief | None) -> Belief | None:
    if one is None or other is None:
        return one or other
    weight = {label: share * other[label] for label, share in one.items() if label in other}
    total = sum(weight.values())
    return {label: share / total for label, share in weight.items()} if total else one


def _left(belief: Belief | None) -> float:
    return float("inf") if belief is None else len(belief)


def _figures(beliefs: dict[str, Belief | None], truth: dict[str, str]) -> dict[str, Any]:
    """The fewest labels left to anybody, and how often the likeliest one is right, in the mean over draws among equals."""
    told = {key: belief for key, belief in beliefs.items() if belief is not None}
    if not told:
        return {"fewest_labels": None, "guesses_right": None}
    right = 0.0
    for key, belief in told.items():
        best = max(belief.values())
        likeliest = [label for label, share in belief.items() if share > best - 1e-12]
        right += (truth[key] in likeliest) / len(likeliest)
    return {"fewest_labels": min(map(len, told.values())), "guesses_right": right / len(told)}
