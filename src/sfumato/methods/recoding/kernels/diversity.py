"""What would make a group more diverse: sensitive values that it has, that are left, and the combos that bring most new ones.

Paper: [boundaries Def. 12, 13]

Notation
    combo     a distinct tuple of sensitive values
    level     diversity of a combo and a group: the summed weights of the columns where the combo's value is new
    fresh     per sensitive column, the combos whose value is not in the group yet, as bits
    present   the combos that are left in the root, as bits
    pattern   a set of columns, as bits; combos that are fresh in exactly these columns have the same level

Cost: words of 64 combos × patterns down to the highest level that is present, per pick.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray
from sfumato.methods.recoding.kernels.boxes import BOX, Records, Whole, record
from sfumato.methods.recoding.kernels.point_index import STEP, PointTable, Wish

PATTERNS = 6
"""With more sensitive columns than this, diversity is computed combo by combo instead of word by word."""

KIND = record("demanded", "weight", "met", "left")


class Gathering(NamedTuple):
    """The group that is being gathered, and what is left for it."""

    box: Records
    wish: Wish
    fresh: IntArray
    present: IntArray
    kinds: Records
    """Per sensitive column the different values that are demanded, their weight, those the group has, those the root has left."""
    value_left: IntArray
    """Records of the root that are left with each sensitive value."""
    combo_left: IntArray
    met: IntArray
    """The values of the group, as value × columns + column; the first entry counts them."""
    patterns: IntArray
    """Sets of columns from the most diverse to the least, and their rank; equal ranks are ties."""
    steps: Records


def new_draft(table: PointTable, distinct: IntArray, weight: IntArray) -> Gathering:
    """Room for a group; `weight` are the integer weights of the sensitive columns."""
    width, words, values = table.codes.shape[1], -(-len(table.values) // 64), len(table.holder_start)
    kinds = np.zeros(len(weight), dtype=KIND)
    kinds["demanded"], kinds["weight"] = distinct, weight
    return Gathering(
        np.zeros(width + 1, BOX), Wish(np.zeros(1, np.int64), np.zeros(words, np.int64), np.zeros(table.bits.shape[1], np.int64)),
        np.full((len(weight), words), -1, np.int64), np.zeros(words, np.int64), kinds, np.zeros(values, np.int64),
        np.zeros(len(table.values), np.int64), np.zeros(values + 1, np.int64), _patterns(weight), np.zeros(width + 1, STEP),
    )  # fmt: skip


def _patterns(weight: IntArray) -> IntArray:
    """Sets of columns as bits, by falling summed weight; sets of equal weight share a rank."""
    if len(weight) > PATTERNS:
        return np.zeros((2, 0), np.int64)
    bits = np.arange(1 << len(weight))
    level = sum(((bits >> column & 1) * weight[column] for column in range(len(weight))), np.zeros(len(bits), np.int64))
    order = np.argsort(-level, kind="stable")
    return np.stack([order, np.cumsum(np.append(0, np.diff(level[order]) != 0))]).astype(np.int64)


@jit
def open_root(table: PointTable, draft: Gathering, first: Whole, last: Whole) -> None:
    """Count the sensitive values and the combos of a root, whose cells are ``first:last``."""
    _clear(draft.present)
    for cell in range(first, last):
        combo = table.cells[cell].combo
        draft.combo_left[combo] = 0
        for column in range(len(draft.kinds)):
            draft.kinds[column].left = draft.value_left[table.values[combo, column]] = 0
    for cell in range(first, last):
        combo, count = table.cells[cell].combo, table.cells[cell].count
        draft.present[combo >> 6] |= 1 << (combo & 63)
        draft.combo_left[combo] += count
        for column in range(len(draft.kinds)):
            value = table.values[combo, column]
            draft.kinds[column].left += draft.value_left[value] == 0
            draft.value_left[value] += count


@jit
def suffices(kinds: Records, left: Whole, k: Whole) -> bool:
    """Whether what is left can make another group. (I2)"""
    for column in range(len(kinds)):
        if kinds[column].left < kinds[column].demanded:
            return False
    return bool(left >= max(k, 1))


@jit
def forget_group(draft: Gathering, table: PointTable) -> None:
    """No value is present any more."""
    for at in range(1, draft.met[0] + 1):
        _turn_over(table, draft.met[at] // len(draft.kinds), draft.fresh[draft.met[at] % len(draft.kinds)])
    draft.met[0] = 0
    for column in range(len(draft.kinds)):
        draft.kinds[column].met = 0


@jit
def _turn_over(table: PointTable, value: Whole, fresh: IntArray) -> None:
    """Fresh combos that hold a value become stale, and stale ones fresh."""
    for at in range(table.holder_start[value], table.holder_start[value + 1]):
        fresh[table.holders[at] >> 6] ^= 1 << (table.holders[at] & 63)


@jit
def meet(draft: Gathering, table: PointTable, combo: Whole) -> None:
    """Note the sensitive values of a combo as present."""
    for column in range(len(draft.kinds)):
        if draft.fresh[column, combo >> 6] & (1 << (combo & 63)):
            value = table.values[combo, column]
            draft.kinds[column].met += 1
            draft.met[0] += 1
            draft.met[draft.met[0]] = value * len(draft.kinds) + column
            _turn_over(table, value, draft.fresh[column])


@jit
def ask_for_diversity(draft: Gathering) -> None:
    """Wish for the highest level that is left in the root."""
    if len(draft.kinds) == 0:
        draft.wish.picky[0] = 0
        return
    draft.wish.picky[0] = 1
    if draft.patterns.shape[1]:
        _mask(draft)
    else:
        _mask_by_combo(draft)
    _clear(draft.wish.folded)
    for word in range(len(draft.wish.mask)):
        draft.wish.folded[word & (len(draft.wish.folded) - 1)] |= draft.wish.mask[word]


@jit
def _mask(draft: Gathering) -> None:
    """The combos of the highest level that are present: word by word, one set of fresh columns after the other."""
    mask, at, some = draft.wish.mask, 0, False
    while not some:
        rank = draft.patterns[1, at]
        _clear(mask)
        while at < draft.patterns.shape[1] and draft.patterns[1, at] == rank:
            for word in range(len(mask)):
                mask[word] |= _matching(draft.present[word], draft.fresh, word, draft.patterns[0, at])
                some |= mask[word] != 0
            at += 1


@jit
def _mask_by_combo(draft: Gathering) -> None:
    """The same, combo by combo."""
    mask, highest = draft.wish.mask, -1
    for combo in range(len(draft.combo_left)):
        word, bit, level = combo >> 6, 1 << (combo & 63), 0
        if draft.present[word] & bit == 0:
            continue
        for column in range(len(draft.kinds)):
            level += draft.kinds[column].weight if draft.fresh[column, word] & bit else 0
        if level > highest:
            _clear(mask)
            highest = level
        if level == highest:
            mask[word] |= bit


@jit
def _clear(words: IntArray) -> None:
    for word in range(len(words)):
        words[word] = 0


@jit
def _matching(present: Whole, fresh: IntArray, word: Whole, pattern: Whole) -> Whole:
    """Combos that are fresh in exactly the columns of the pattern."""
    for column in range(len(fresh)):
        present &= fresh[column, word] if pattern >> column & 1 else ~fresh[column, word]
    return present


@jit
def spend(draft: Gathering, table: PointTable, combo: Whole, many: Whole) -> None:
    """Records of a combo are no longer left."""
    draft.combo_left[combo] -= many
    if draft.combo_left[combo] == 0:
        draft.present[combo >> 6] &= ~(1 << (combo & 63))
    for column in range(len(draft.kinds)):
        value = table.values[combo, column]
        draft.value_left[value] -= many
        draft.kinds[column].left -= draft.value_left[value] == 0
