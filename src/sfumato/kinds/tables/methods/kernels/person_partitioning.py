"""Partition records recursively where one person may have several rows: one group after the other.

A group is a run of the order of records. Every proposal gives each record of the run a *key*; records with equal keys
are a child. Children that may not be published by themselves are the *rest*, which stays under the parent. A rest that
needs company borrows records of children that can spare them (`borrow`), else whole children join it, the smallest
first. All rows that fit what a rest is published as count against it, so that a rest is dear: the larger it is, the
less a cut is worth.

Invariants
    I1  Every part of a cut satisfies what is asked, with all rows that fit it; a run that cannot be cut is final.
    I2  What is asked of a part does not depend on what becomes of the others, so it holds in the end.

Cost: proposals × (records of the run, and rows that fit it) for every group ever formed; unusual ones where no other is
safe.


Crowds
------
Decide whether some records may be published together, where one person may have several rows.

Notation
    box     what a set of records is published as: the closed interval around it in every column
    M       the most rows of one person that fit the box, wherever they are published; at least 1
    fits    numbers of the rows, of people with several, that fit the box around a larger set: only they can fit a
            smaller one

Cost: one look at the records of the set, and one at the rows of `fits`, which ends when a person has too many.


Key order
---------
Places in the order of whole numbers: counted where the numbers lie close together, else sorted.


Rows that fit
-------------
How many rows of one person fit into each published box, at most.

Notation
    row     a row of a person who has several, as leaf codes; rows are sorted by one column, the *guide*
    box     what a group is published as: an interval of leaves in every column

Cost: for every box the rows whose guide lies in its interval, each comparison ending at the first column that does not
fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, IntArray
from sfumato.core.compiled import jit
from sfumato.kinds.tables.methods.kernels.cell_costs import CellCosts, cell_cost
from sfumato.kinds.tables.methods.kernels.partitioning import Trees

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


SINGLE = 0


class Crowd(NamedTuple):
    """Records: leaf codes, which point they are at, whose they are, what they hide; and all rows of people with
    several."""

    codes: CodeArray
    point: NDArray[np.int64]
    whose: NDArray[np.int64]
    value: NDArray[np.int64]
    """The sensitive values of a record, one column each."""
    having: NDArray[np.int64]
    """Who has which of them: the value itself for people with one row, else a number of its own for a person and a
    value."""
    row: NDArray[np.int64]
    person: NDArray[np.int64]


class CrowdWish(NamedTuple):
    """What is asked of a set: records, that nobody has more than a k-th of them; and of every sensitive column
    different values, their largest share of records and (`among`) of people, whether nobody may be certain to have
    one."""

    fewest: int
    k: int
    distinct: NDArray[np.int64]
    share: NDArray[np.float64]
    among: NDArray[np.float64]
    certain: NDArray[np.int64]
    values: NDArray[np.int64]
    value_of: NDArray[np.int64]
    """The value behind a number of `having`, one line for each sensitive column."""


class Ends(NamedTuple):
    """First leaf, and the one after the last, below the nodes of `Trees.node`."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


class CrowdDesk(NamedTuple):
    """Working memory for one set: zeros per person, value and number of `having`; its box; records with the most
    frequent sensitive values."""

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
    """Whether sensitive values are as many and as rare as asked; counts the most frequent ones."""
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
        fine = (
            fine
            and different >= wanted.distinct[hidden]
            and largest <= wanted.share[hidden] * (high - low) * (1 + 1e-12)
        )
        if fine and wanted.among[hidden] < 1.0:
            fine = few_have_it(crowd, wanted, desk, members, low, high, hidden)
    return fine


@jit
def few_have_it(
    crowd: Crowd, wanted: CrowdWish, desk: CrowdDesk, members: IntArray, low: int, high: int, hidden: int
) -> bool:
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
            while (
                depth < trees.depths[column]
                and trees.node[start + depth * size + lo] == trees.node[start + depth * size + last]
            ):
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
    """Write those of ``fits[begin:end]`` behind it that fit a box and are not alone there of their person; returns the
    new end."""
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
    """Return a longer copy of an array."""
    room = np.zeros(2 * least, dtype=np.int64)
    for i in range(len(fits)):
        room[i] = fits[i]
    return room


# Cutting people
# --------------


# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


NONE, LEAF, CHILD, FROM, POINT = 0, 1, 2, 3, 4
PLACES = 14
"""Where a range is cut when its median is no safe place."""


class PeopleBoard(NamedTuple):
    """Everything that stays the same."""

    crowd: Crowd
    wanted: CrowdWish
    trees: Trees
    ends: Ends
    costs: CellCosts
    desk: CrowdDesk


class Run(NamedTuple):
    """Working memory for one run: where it and the rows that fit it begin and end; the current proposal (for one
    column, and for another, what makes a child, and where); records in the order of their keys, with their parts; where
    children begin, their M."""

    span: NDArray[np.int64]
    cut: NDArray[np.int64]
    members: NDArray[np.int64]
    part: NDArray[np.int64]
    start: NDArray[np.int64]
    most: NDArray[np.int64]
    rest: NDArray[np.int64]
    best: NDArray[np.int64]
    """Per record of the table: its part by the best cut so far."""
    saved: NDArray[np.float64]
    extent: NDArray[np.int64]
    size: NDArray[np.int64]


@jit
def cut_for_people(board: PeopleBoard, order: IntArray, first: IntArray, run: Run) -> IntArray:
    """The group of every record of `order`, whose runs from `first` to `first` are cut into groups that may be
    published (I1)."""
    final = np.full(len(board.crowd.point), -1, dtype=np.int64)
    several = len(board.crowd.person)
    stack = np.zeros((len(order) + len(first) + 1, 4), dtype=np.int64)
    fits = np.zeros(4 * several + 16, dtype=np.int64)
    for row in range(several):
        fits[row] = row
    waiting = len(first) - 1
    for place in range(waiting):
        stack[place, 0] = first[place]
        stack[place, 1] = first[place + 1]
        stack[place, 3] = several
    groups = 0
    while waiting > 0:
        waiting -= 1
        begin = stack[waiting, 2]
        end = stack[waiting, 3]
        if 2 * end - begin > len(fits):
            fits = longer(fits, 2 * end - begin)
        run.span[0] = stack[waiting, 0]
        run.span[1] = stack[waiting, 1]
        draw_box(board.crowd, board.trees, board.ends, order, run.span[0], run.span[1], board.desk.whole)
        run.span[2] = end
        run.span[3] = keep_fitting(board.crowd, board.desk, board.desk.whole, fits, begin, end)
        parts = best_parts(board, run, order, fits)
        if parts > 0:
            waiting = push(order, run, parts, stack, waiting)
        else:
            for i in range(run.span[0], run.span[1]):
                final[order[i]] = groups
            groups += 1
    return final


@jit
def push(order: IntArray, run: Run, parts: int, stack: IntArray, waiting: int) -> int:
    """Sort a run by its parts and let them wait; returns how many wait."""
    low = run.span[0]
    high = run.span[1]
    offset = np.zeros(parts + 1, dtype=np.int64)
    for i in range(low, high):
        offset[run.best[order[i]] + 1] += 1
    for part in range(parts):
        offset[part + 1] += offset[part]
        stack[waiting, 0] = low + offset[part]
        stack[waiting, 1] = low + offset[part + 1]
        stack[waiting, 2] = run.span[2]
        stack[waiting, 3] = run.span[3]
        waiting += 1
    for i in range(low, high):
        part = run.best[order[i]]
        run.rest[offset[part]] = order[i]
        offset[part] += 1
    for i in range(low, high):
        order[i] = run.rest[i - low]
    return waiting


@jit
def best_parts(board: PeopleBoard, run: Run, order: IntArray, fits: IntArray) -> int:
    """How many parts the best cut of a run makes, 0 when there is none; `run.best` tells the part of every record."""
    if run.span[1] - run.span[0] < 2 * board.wanted.fewest:
        return 0
    run.saved[0] = 0.0
    columns = board.crowd.codes.shape[1]
    extent = np.zeros((columns, 4), dtype=np.int64)
    measure(board, run, order, extent)
    parts = 0
    for column in range(columns):
        if extent[column, 0] < extent[column, 1]:
            way = CHILD if board.trees.start[column] >= 0 else FROM
            parts = tried(board, run, order, fits, parts, column, way, extent[column, 2], 0, NONE, 0)
            if way == FROM:
                parts = tried(board, run, order, fits, parts, column, way, extent[column, 3], 0, NONE, 0)
    return parts if parts > 0 else last_parts(board, run, order, fits, extent)


@jit
def last_parts(board: PeopleBoard, run: Run, order: IntArray, fits: IntArray, extent: IntArray) -> int:
    """Where no usual cut is safe: points, leaves or children of two columns, leaves of one, other ranges."""
    columns = len(extent)
    parts = tried(board, run, order, fits, 0, 0, POINT, 0, 0, NONE, 0)
    for one in range(columns):
        if extent[one, 0] == extent[one, 1]:
            continue
        above = CHILD if board.trees.start[one] >= 0 else FROM
        for other in range(one + 1, columns):
            if extent[other, 0] == extent[other, 1]:
                continue
            beside = CHILD if board.trees.start[other] >= 0 else FROM
            for way in range(4):
                first = LEAF if way < 2 else above
                second = LEAF if way % 2 == 0 else beside
                parts = tried(
                    board, run, order, fits, parts, one, first, extent[one, 2], other, second, extent[other, 2]
                )
        if above == CHILD:
            parts = tried(board, run, order, fits, parts, one, LEAF, 0, 0, NONE, 0)
        else:
            width = extent[one, 1] - extent[one, 0]
            for place in range(min(PLACES, width)):
                at = extent[one, 0] + 1 + place * width // min(PLACES, width)
                parts = tried(board, run, order, fits, parts, one, FROM, at, 0, NONE, 0)
    return parts


@jit
def measure(board: PeopleBoard, run: Run, order: IntArray, extent: IntArray) -> None:
    """Per column the smallest and the largest code, and how to cut: the level of the children; or the median and the
    next code."""
    many = run.span[1] - run.span[0]
    mine = np.zeros(many, dtype=np.int64)
    trees = board.trees
    for column in range(len(extent)):
        lo = board.crowd.codes[order[run.span[0]], column]
        last = lo
        for i in range(many):
            mine[i] = board.crowd.codes[order[run.span[0] + i], column]
            lo = min(lo, mine[i])
            last = max(last, mine[i])
        extent[column, 0] = lo
        extent[column, 1] = last
        start = trees.start[column]
        if start >= 0:
            size = trees.size[column]
            depth = 1
            while (
                depth < trees.depths[column]
                and trees.node[start + depth * size + lo] == trees.node[start + depth * size + last]
            ):
                depth += 1
            extent[column, 2] = start + min(depth, trees.depths[column] - 1) * size
        else:
            extent[column, 2] = np.partition(mine, (many - 1) // 2)[(many - 1) // 2]
            extent[column, 3] = last
            for i in range(many):
                if mine[i] > extent[column, 2]:
                    extent[column, 3] = min(extent[column, 3], mine[i])


@jit
def place_of(board: PeopleBoard, record: int, column: int, way: int, at: int) -> int:
    """The child of a record by one column."""
    if way == NONE:
        return 0
    if way == POINT:
        return board.crowd.point[record]
    code = board.crowd.codes[record, column]
    if way == CHILD:
        return board.trees.child[at + code]
    if way == FROM:
        return 1 if code >= at else 0
    return code


@jit
def tried(
    board: PeopleBoard, run: Run, order: IntArray, fits: IntArray, parts: int, one: int, first: int, at: int,
    other: int,
    second: int, beside: int,
) -> int:  # fmt: skip
    """The number of parts of this cut when it is allowed and saves more than the best so far, else of the best so
    far."""
    run.cut[0] = one
    run.cut[1] = first
    run.cut[2] = other
    run.cut[3] = second
    many = run.span[1] - run.span[0]
    scale = np.int64(1 if second == NONE else 2147483648)
    key = np.zeros(many, dtype=np.int64)
    for i in range(many):
        record = order[run.span[0] + i]
        key[i] = place_of(board, record, one, first, at) * scale + place_of(board, record, other, second, beside)
    ranks = by_key(key)
    children = 0
    for i in range(many):
        run.members[i] = order[run.span[0] + ranks[i]]
        if i == 0 or key[ranks[i]] != key[ranks[i - 1]]:
            run.start[children] = i
            children += 1
        run.part[i] = children - 1
    run.start[children] = many
    made = safe_parts(board, run, children, fits) if children > 1 else 0
    if made < 2:
        return parts
    gain = gained(board, run, many, made)
    if gain <= run.saved[0]:
        return parts
    run.saved[0] = gain
    for i in range(many):
        run.best[run.members[i]] = run.part[i]
    return made


@jit
def gained(board: PeopleBoard, run: Run, many: int, made: int) -> float:
    """What a cut saves in its column, or in all where it has several; the larger the rest, the less it is worth."""
    columns = board.crowd.codes.shape[1]
    for part in range(made):
        run.size[part] = 0
    for i in range(many):
        part = run.part[i]
        for column in range(columns):
            code = board.crowd.codes[run.members[i], column]
            if run.size[part] == 0 or code < run.extent[part, 2 * column]:
                run.extent[part, 2 * column] = code
            if run.size[part] == 0 or code > run.extent[part, 2 * column + 1]:
                run.extent[part, 2 * column + 1] = code
        run.size[part] += 1
    saves = 0.0
    for column in range(columns):
        if run.cut[1] != POINT and run.cut[3] == NONE and column != run.cut[0]:
            continue
        lo = run.extent[0, 2 * column]
        last = run.extent[0, 2 * column + 1]
        after = 0.0
        for part in range(made):
            lo = min(lo, run.extent[part, 2 * column])
            last = max(last, run.extent[part, 2 * column + 1])
            after += run.size[part] * cell_cost(
                board.costs, column, run.extent[part, 2 * column], run.extent[part, 2 * column + 1]
            )
        saves += many * cell_cost(board.costs, column, lo, last) - after
    return saves * (1.0 - run.start[made] / many)


@jit
def safe_parts(board: PeopleBoard, run: Run, children: int, fits: IntArray) -> int:
    """The children as parts that may be published (I1): by themselves, or as the rest; 0 when that does not work.

    ``run.start`` at the number of parts tells how many records the rest has.
    """
    fine = 0
    for child in range(children):
        run.most[child] = allowed(board, run, run.members, run.start[child], run.start[child + 1], fits)
        if run.most[child] > 0:
            fine += 1
    if fine == 0:
        return 0
    many = run.start[children]
    taken = np.zeros(many, dtype=np.int64)
    for i in range(many):
        if run.most[run.part[i]] == 0:
            taken[i] = 1
    together = (
        fine == children or rest_holds(board, run, taken, many, fits) or borrow(board, run, taken, children, fits)
    )
    if not together and not join(board, run, taken, children, fine, fits):
        return 0
    return number(run, taken, children)


@jit
def allowed(board: PeopleBoard, run: Run, members: IntArray, low: int, high: int, fits: IntArray) -> int:
    """M of some records of the run when they may be published together, else 0 (I2)."""
    return rows_allowed(
        board.crowd,
        board.wanted,
        board.trees,
        board.ends,
        board.desk,
        members,
        low,
        high,
        fits,
        run.span[2],
        run.span[3],
    )


@jit
def number(run: Run, taken: IntArray, children: int) -> int:
    """Number the parts: safe children in their order, and the rest."""
    made = 0
    for child in range(children):
        if run.most[child] > 0:
            run.most[child] = made
            made += 1
    left = 0
    for i in range(run.start[children]):
        if taken[i] > 0:
            run.part[i] = made
            left += 1
        else:
            run.part[i] = run.most[run.part[i]]
    if left > 0:
        made += 1
    run.start[made] = left
    return made


@jit
def gather(run: Run, taken: IntArray, many: int) -> int:
    """Write the records that are taken beside each other; how many there are."""
    length = 0
    for i in range(many):
        if taken[i] > 0:
            run.rest[length] = run.members[i]
            length += 1
    return length


@jit
def rest_holds(board: PeopleBoard, run: Run, taken: IntArray, many: int, fits: IntArray) -> bool:
    """Whether the records that are taken may be published together."""
    length = gather(run, taken, many)
    return allowed(board, run, run.rest, 0, length, fits) > 0


@jit
def join(board: PeopleBoard, run: Run, taken: IntArray, children: int, fine: int, fits: IntArray) -> bool:
    """The smallest safe children join the rest until it may be published; false when none is left beside it then."""
    while fine > 1:
        smallest = -1
        fewest = 0
        for child in range(children):
            size = run.start[child + 1] - run.start[child]
            if run.most[child] > 0 and (smallest < 0 or size < fewest):
                smallest = child
                fewest = size
        run.most[smallest] = 0
        for i in range(run.start[smallest], run.start[smallest + 1]):
            taken[i] = 1
        fine -= 1
        if rest_holds(board, run, taken, run.start[children], fits):
            return True
    return False


@jit
def borrow(board: PeopleBoard, run: Run, taken: IntArray, children: int, fits: IntArray) -> bool:
    """Records of safe children that differ from the rest only where the cut is made join it, as many as it needs.

    False, and nothing is taken, when that does not help.
    """
    desk = board.desk
    many = run.start[children]
    length = gather(run, taken, many)
    draw_box(board.crowd, board.trees, board.ends, run.rest, 0, length, desk.box)
    for column in range(board.crowd.codes.shape[1]):
        if run.cut[1] == POINT or column == run.cut[0] or (run.cut[3] != NONE and column == run.cut[2]):
            desk.box[0, column] = desk.whole[0, column]
            desk.box[1, column] = desk.whole[1, column]
    most = most_in_box(board.crowd, desk.box, fits, run.span[2], run.span[3], len(board.crowd.person), desk)
    varied(board.crowd, board.wanted, desk, run.rest, 0, length)
    need = max(board.wanted.fewest, board.wanted.k * most)
    for hidden in range(len(board.wanted.certain)):
        if board.wanted.certain[hidden] > 0:
            need = max(need, desk.largest[hidden] + most)
    enough = take(board, run, taken, children, need - length) and rest_holds(board, run, taken, many, fits)
    if enough and lenders_hold(board, run, taken, children, fits):
        return True
    for i in range(many):
        if run.most[run.part[i]] > 0:
            taken[i] = 0
    return False


@jit
def take(board: PeopleBoard, run: Run, taken: IntArray, children: int, need: int) -> bool:
    """Take so many records from children that can spare them, point by point, so that they look alike; whether there
    are enough."""
    many = run.start[children]
    spare = np.zeros(children, dtype=np.int64)
    for child in range(children):
        if run.most[child] > 0:
            own = run.start[child + 1] - run.start[child]
            spare[child] = own - max(board.wanted.fewest, board.wanted.k * run.most[child])
    key = np.zeros(many, dtype=np.int64)
    for i in range(many):
        key[i] = board.crowd.point[run.members[i]] * len(board.crowd.point) + run.members[i]
    ranks = np.argsort(key)
    for rank in range(many):
        i = ranks[many - 1 - rank]
        if need > 0 and spare[run.part[i]] > 0 and is_inside(board.crowd.codes, run.members[i], board.desk.box):
            taken[i] = 1
            need -= 1
            spare[run.part[i]] -= 1
    return need <= 0


@jit
def lenders_hold(board: PeopleBoard, run: Run, taken: IntArray, children: int, fits: IntArray) -> bool:
    """Whether children that gave records may still be published."""
    for child in range(children):
        length = 0
        for i in range(run.start[child], run.start[child + 1]):
            if taken[i] == 0:
                run.rest[length] = run.members[i]
                length += 1
        lent = run.most[child] > 0 and length < run.start[child + 1] - run.start[child]
        if lent and allowed(board, run, run.rest, 0, length, fits) == 0:
            return False
    return True


# Key order
# ---------


# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


@jit
def by_key(key: IntArray) -> IntArray:
    """Places in the order of their keys; equal ones as they come where they are counted."""
    lo = key[0]
    last = key[0]
    for i in range(len(key)):
        lo = min(lo, key[i])
        last = max(last, key[i])
    if last - lo > 2 * len(key):
        return np.argsort(key)
    begin = np.zeros(last - lo + 2, dtype=np.int64)
    for i in range(len(key)):
        begin[key[i] - lo + 1] += 1
    for at in range(last - lo + 1):
        begin[at + 1] += begin[at]
    ranks = np.zeros(len(key), dtype=np.int64)
    for i in range(len(key)):
        ranks[begin[key[i] - lo]] = i
        begin[key[i] - lo] += 1
    return ranks


# Rows that fit
# -------------


@jit
def most_rows_of_one(
    codes: NDArray[np.int64], person: IntArray, guide: int, start: IntArray, lo: IntArray, hi: IntArray, tally: IntArray
) -> IntArray:
    """Per box the largest number of rows of one person that fit.

    `start[c]` is the first row whose guide is at least c; `tally` is a zero for every person, and is left so.
    """
    most = np.zeros(len(lo), dtype=np.int64)
    for box in range(len(lo)):
        first, last = start[lo[box, guide]], start[hi[box, guide]]
        for row in range(first, last):
            fits = True
            for column in range(codes.shape[1]):
                if codes[row, column] < lo[box, column] or codes[row, column] >= hi[box, column]:
                    fits = False
                    break
            if fits:
                tally[person[row]] += 1
                if tally[person[row]] > most[box]:
                    most[box] = tally[person[row]]
        for row in range(first, last):
            tally[person[row]] = 0
    return most
