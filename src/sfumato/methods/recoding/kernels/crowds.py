"""Whether some records may be published together, where one person may stand in several rows.

Notation
    box     what a set of records is published as: the closed interval around it in every column
    M       the most rows of one person that fit the box, wherever they are published; at least 1
    fits    numbers of the rows, of people with several, that fit the box around a larger set: only they can fit a smaller one

Cost: one look at the records of the set, and one at the rows of `fits`, which ends when somebody has too many.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, IntArray
from sfumato.methods.recoding.kernels.cutting import Trees

SINGLE = 0


class Crowd(NamedTuple):
    """Records: leaf codes, which point they are at, whose they are, what they hide; and all rows of people with several."""

    codes: CodeArray
    point: NDArray[np.int64]
    whose: NDArray[np.int64]
    value: NDArray[np.int64]
    """The hidden values of a record, one column each."""
    having: NDArray[np.int64]
    """Who has which of them: the value itself for people with one row, else a number of its own for a person and a value."""
    row: NDArray[np.int64]
    person: NDArray[np.int64]


class CrowdWish(NamedTuple):
    """What is asked of a set: records, that nobody has more than a k-th of them; and of every hidden column different values, their
    largest share of records and (`among`) of people, whether nobody may be certain to have one."""

    fewest: int
    k: int
    distinct: NDArray[np.int64]
    share: NDArray[np.float64]
    among: NDArray[np.float64]
    certain: NDArray[np.int64]
    values: NDArray[np.int64]
    value_of: NDArray[np.int64]
    """The value behind a number of `having`, one line for each hidden column."""


class Ends(NamedTuple):
    """First leaf, and the one after the last, below the nodes of `Trees.node`."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


class CrowdDesk(NamedTuple):
    """Room for one set: zeros per person, value and number of `having`; its box; records with the most frequent hidden values."""

    tally: NDArray[np.int64]
    value: NDArray[np.int64]
    had: NDArray[np.int64]
    box: NDArray[np.int64]
    whole: NDArray[np.int64]
    largest: NDArray[np.int64]


@jit
def rows_allowed(
    crowd: Crowd, wanted: CrowdWish, trees: Trees, ends: Ends, desk: CrowdDesk, members: IntArray, low: int, high: int,
    fits: IntArray, begin: int, end: int,
) -> int:  # fmt: skip
    """M of ``members[low:high]`` when everything that is asked of them holds, else 0."""
    if high - low < wanted.fewest or not varied(crowd, wanted, desk, members, low, high):
        return 0
    limit = (high - low) // wanted.k
    for hidden in range(len(wanted.certain)):
        if wanted.certain[hidden] > 0:
            limit = min(limit, high - low - desk.largest[hidden])
    if limit < 1:
        return 0
    draw_box(crowd, trees, ends, members, low, high, desk.box)
    most = most_in_box(crowd, desk.box, fits, begin, end, limit, desk)
    return most if most <= limit else 0


@jit
def varied(crowd: Crowd, wanted: CrowdWish, desk: CrowdDesk, members: IntArray, low: int, high: int) -> bool:
    """Whether hidden values are as many and as rare as asked; counts the most frequent ones."""
    fine = True
    for hidden in range(len(wanted.distinct)):
        different = 0
        largest = 0
        for i in range(low, high):
            value = crowd.value[members[i], hidden]
            if desk.value[value] == 0:
                different += 1
            desk.value[value] += 1
            largest = max(largest, desk.value[value])
        for i in range(low, high):
            desk.value[crowd.value[members[i], hidden]] = 0
        desk.largest[hidden] = largest
        fine = fine and different >= wanted.distinct[hidden] and largest <= wanted.share[hidden] * (high - low) * (1 + 1e-12)
        if fine and wanted.among[hidden] < 1.0:
            fine = few_have_it(crowd, wanted, desk, members, low, high, hidden)
    return fine


@jit
def few_have_it(crowd: Crowd, wanted: CrowdWish, desk: CrowdDesk, members: IntArray, low: int, high: int, hidden: int) -> bool:
    """Whether every value is had by at most the share of people that is allowed."""
    people = 0
    most = 0
    for i in range(low, high):
        whose = crowd.whose[members[i]]
        if whose == SINGLE or desk.tally[whose] == 0:
            people += 1
        desk.tally[whose] = 1
        code = crowd.having[members[i], hidden]
        if code < wanted.values[hidden] or desk.had[code] == 0:
            desk.value[wanted.value_of[hidden, code]] += 1
        desk.had[code] = 1
        most = max(most, desk.value[wanted.value_of[hidden, code]])
    for i in range(low, high):
        code = crowd.having[members[i], hidden]
        desk.tally[crowd.whose[members[i]]] = 0
        desk.had[code] = 0
        desk.value[wanted.value_of[hidden, code]] = 0
    return most <= wanted.among[hidden] * people + 1e-9


@jit
def draw_box(crowd: Crowd, trees: Trees, ends: Ends, members: IntArray, low: int, high: int, box: IntArray) -> None:
    """The closed interval around points in every column: ``box[0]`` to ``box[1]``."""
    for column in range(crowd.codes.shape[1]):
        lo = crowd.codes[members[low], column]
        last = lo
        for i in range(low, high):
            lo = min(lo, crowd.codes[members[i], column])
            last = max(last, crowd.codes[members[i], column])
        start = trees.start[column]
        if start < 0:
            box[0, column] = lo
            box[1, column] = last + 1
        else:
            size = trees.size[column]
            depth = 1
            while depth < trees.depths[column] and trees.node[start + depth * size + lo] == trees.node[start + depth * size + last]:
                depth += 1
            box[0, column] = ends.low[start + (depth - 1) * size + lo]
            box[1, column] = ends.high[start + (depth - 1) * size + lo]


@jit
def is_inside(codes: IntArray, row: int, box: IntArray) -> bool:
    """Whether a row fits a box."""
    for column in range(codes.shape[1]):
        if codes[row, column] < box[0, column] or codes[row, column] >= box[1, column]:
            return False
    return True


@jit
def most_in_box(crowd: Crowd, box: IntArray, fits: IntArray, begin: int, end: int, limit: int, desk: CrowdDesk) -> int:
    """M of a box; something above the limit when it is above it."""
    most = 1
    for i in range(begin, end):
        if is_inside(crowd.row, fits[i], box):
            person = crowd.person[fits[i]]
            desk.tally[person] += 1
            if desk.tally[person] > most:
                most = desk.tally[person]
                if most > limit:
                    break
    for i in range(begin, end):
        desk.tally[crowd.person[fits[i]]] = 0
    return most


@jit
def keep_fitting(crowd: Crowd, desk: CrowdDesk, box: IntArray, fits: IntArray, begin: int, end: int) -> int:
    """Write those of ``fits[begin:end]`` behind it that fit a box and are not alone there of their person; returns the new end."""
    for i in range(begin, end):
        if is_inside(crowd.row, fits[i], box):
            desk.tally[crowd.person[fits[i]]] += 1
    place = end
    for i in range(begin, end):
        if desk.tally[crowd.person[fits[i]]] > 1 and is_inside(crowd.row, fits[i], box):
            fits[place] = fits[i]
            place += 1
    for i in range(begin, end):
        desk.tally[crowd.person[fits[i]]] = 0
    return place


@jit
def longer(fits: IntArray, least: int) -> IntArray:
    """More room, with what is there."""
    room = np.zeros(2 * least, dtype=np.int64)
    for i in range(len(fits)):
        room[i] = fits[i]
    return room
