"""COUNT queries on published baskets: ``count where items has tea and items lacks soap and creed = x``, with bounds.

The estimate counts rows as they stand; the true count lies between the bounds. Under a vote a row stands for some set among its
possible worlds (`metrics.basket_queries`), and a hidden label may be any. Where items are dealt, a block tells exactly how many of
its records have each item: one item is counted exactly, several lie between what the counts force and what they allow in each block
(Fréchet).

>>> parse_question("count where items has 'green tea' and items lacks soap")
BasketQuestion(present=('green tea',), absent=('soap',), labels=())
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import BoolArray
from sfumato.data.worlds import WITHHELD
from sfumato.errors import PolicyError
from sfumato.forms.basket_blocks import BasketBlocks, blocks_of
from sfumato.forms.baskets import published_baskets
from sfumato.metrics.basket_queries import BasketAnswer, count, item_columns
from sfumato.policy.beside_items import known_columns
from sfumato.release.exhibit import Exhibit

_ASK = re.compile(r"\s*count(?:\s+where\s+(?P<conditions>.+?))?\s*$", re.IGNORECASE | re.DOTALL)
_WORD = r"'[^']*'|\"[^\"]*\"|[^\s'\"]+"
_CONDITION = re.compile(rf"\s*(?P<column>{_WORD})\s+(?P<verb>has|lacks|=)\s+(?P<value>{_WORD})\s*(?:and\b|$)", re.IGNORECASE)
_LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class BasketQuestion:
    """Items that must be there, items that must not, and labels as (column, value)."""

    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


def parse_question(text: str) -> BasketQuestion:
    """What is asked; anything else is an error."""
    asked = _ASK.match(text) if len(text) <= _LONGEST else None
    if asked is None:
        raise _wrong("a query begins with 'count where'")
    rest = asked["conditions"] or ""
    present: list[str] = []
    absent: list[str] = []
    labels: list[tuple[str, str]] = []
    while rest:
        found = _CONDITION.match(rest)
        if found is None:
            raise _wrong("a condition cannot be read")
        column, value, verb = found["column"].strip("'\""), found["value"].strip("'\""), found["verb"].lower()
        if verb == "=":
            labels.append((column, value))
        elif column == "items":
            (present if verb == "has" else absent).append(value)
        else:
            raise _wrong("only items can be had or lacked")
        rest = rest[found.end() :]
    return BasketQuestion(tuple(present), tuple(absent), tuple(labels))


def _wrong(what: str) -> PolicyError:
    return PolicyError(what, where="query", hint="count where items has tea and items lacks soap and creed = x")


def answer(exhibit: Exhibit, question: BasketQuestion) -> BasketAnswer:
    """The estimate, and between which counts the truth lies."""
    published = exhibit.once(published_baskets)
    for name, _ in question.labels:
        if name not in published.labels:
            raise PolicyError(f"the published baskets have no column '{name}'", where="query")
        if name in known_columns(exhibit.policy):
            hint = "ask for items and labels; the cells of the column stand in data.csv"
            raise PolicyError(f"rows show a range of '{name}' and no value, which is not counted", where="query", hint=hint)
    shown, maybe = _labelled(exhibit, question)
    if not question.labels and isinstance(exhibit.form, BasketBlocks) and exhibit.form.shows == "dealt":
        return _dealt(exhibit, question)
    asked = {"present": question.present, "absent": question.absent}
    if not question.labels:
        return count(published, **asked)
    sure, open_ = count(published.take(np.flatnonzero(shown)), **asked), count(published.take(np.flatnonzero(maybe)), **asked)
    return BasketAnswer(sure.estimate, sure.low, sure.high + open_.high)


def _labelled(exhibit: Exhibit, question: BasketQuestion) -> tuple[BoolArray, BoolArray]:
    """Rows that show all the labels asked for, and rows that may have them because one is hidden."""
    published = exhibit.once(published_baskets)
    fits = np.ones(len(published), dtype=np.bool_)
    shown = fits.copy()
    for name, value in question.labels:
        column = published.labels[name]
        shown &= column == value
        fits &= (column == value) | (column == WITHHELD)
    return shown, fits & ~shown


def _dealt(exhibit: Exhibit, question: BasketQuestion) -> BasketAnswer:
    """From how many records of every block have each item."""
    published, block = exhibit.once(published_baskets), exhibit.once(blocks_of)
    has = item_columns(published.base, published.names, [*question.present, *question.absent])
    has[:, len(question.present) :] = ~has[:, len(question.present) :]
    estimate = int(has.all(axis=1).sum())
    if not has.shape[1]:
        return BasketAnswer(len(block), len(block), len(block))
    sizes = np.bincount(block)
    each = np.stack([np.bincount(block, weights=column, minlength=len(sizes)) for column in has.T.astype(np.float64)])
    low = np.maximum(each.sum(axis=0) - (len(each) - 1) * sizes, 0).sum()
    return BasketAnswer(estimate, int(low), int(each.min(axis=0).sum()))
