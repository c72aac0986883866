"""Boxes that are opened among some groups (`kernels.opening`, `kernels.clearing`): the arrays that the compiled loops work on, made
and read back.

Groups that annealing has made are often no cheaper than those it began with, and still hold boxes that are worth having: these are
offered to the groups that were there, which take what saves something.

Invariants
    I1  Nothing is said about groups whose claims the loop cannot read (`terms_of` gives none).
    I2  The same groups, work and number give the same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.arrays import CodeArray, IntArray
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.problem import RecodingProblem
from sfumato.methods.recoding.units import Entries

if TYPE_CHECKING:
    from sfumato.methods.recoding.ground import Ground
    from sfumato.methods.recoding.kernels.box_drawing import Workbench
    from sfumato.methods.recoding.kernels.cell_costs import CellCosts
    from sfumato.methods.recoding.kernels.clearing import Site
    from sfumato.methods.recoding.kernels.seating import Seating, Shape
    from sfumato.methods.recoding.kernels.terms import Terms

KnownBoxes = tuple[CodeArray, CodeArray, IntArray]
"""The first and last leaf of some boxes in every column, and the region of each."""
Five = tuple[IntArray, IntArray, IntArray, IntArray, IntArray]
Eight = tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]

HOT, HOTTER, COLD = 0.03, 0.06, 0.002
"""Temperatures, as shares of the mean cost of a group: at first, at first where groups are cleared, and in the end."""
OFFERS = 4
"""How often all boxes of another grouping are offered, at most."""


def terms_of(problem: RecodingProblem, claims: Claims) -> Terms | None:
    """What the claims ask of a group, as numbers; none when a model asks for what numbers do not say (I1)."""
    from sfumato.methods.recoding.kernels.terms import Terms

    demands = [(requirement, requirement.model.demand()) for requirement in problem.requirements]
    if not all(demand.told for _, demand in demands):
        return None
    placed = np.where(problem.out[problem.cell_point], 0, problem.row_cell.counts)
    kinds, share, entropy, far, overall = [], [], [], [], []
    for name in claims.hidden:
        asked = [demand for requirement, demand in demands if name in requirement.hide]
        kinds.append(max(demand.distinct for demand in asked))
        share.append(min(demand.largest_share for demand in asked))
        entropy.append(max(demand.entropy for demand in asked))
        far.append(min(demand.distance for demand in asked))
        labels = next(len(column.labels) for column in problem.sensitive if column.name == name)
        tally = np.bincount(problem.cell_values[name], weights=placed, minlength=labels)
        overall.append(tally / max(tally.sum(), 1.0))
    start = np.cumsum([0, *map(len, overall)]).astype(np.int64)
    fewest = max([claims.fewest, *(demand.fewest for _, demand in demands)])
    shares, disorder, near = (np.array(each, dtype=np.float64) for each in (share, entropy, far))
    whole = np.concatenate([*overall, np.zeros(0)])
    return Terms(fewest, start, np.array(kinds, dtype=np.int64), shares, disorder, near, whole)


def shape_of(problem: RecodingProblem, columns: IntArray) -> Shape:
    """The trees of the columns, in the order of the search."""
    from sfumato.methods.recoding.kernels.seating import Shape

    none = np.zeros(0, dtype=np.int64)
    domains = [problem.domains[column] for column in columns]
    trees = [domain if isinstance(domain, Hierarchy) else None for domain in domains]
    sides = [(tree.parent, tree.lo, tree.hi) if tree else (none, none, none) for tree in trees]
    before = np.cumsum([0, *(len(parent) for parent, _, _ in sides)])[:-1]
    start = np.where([tree is not None for tree in trees], before, -1).astype(np.int64)
    parent, lo, hi = (np.concatenate(side).astype(np.int64) for side in zip(*sides, strict=True))
    return Shape(parent, lo, hi, start, np.array([domain.size for domain in domains], dtype=np.int64))


def with_boxes_opened(ground: Ground, entries: Entries, work: int, number: int, *, clearing: bool = False) -> Entries:
    """The groups after some work, from hot to cold (I2).

    With `clearing` several groups are given up at once (`kernels.clearing`), which is for claims on numbers alone.
    """
    from sfumato.methods.recoding.kernels.clearing import clear_groups
    from sfumato.methods.recoding.kernels.opening import open_boxes

    if ground.terms is None:
        return entries
    unit, stand = _seated(ground, entries)
    desk = desk_for(stand)
    live = stand.live[: stand.number[0]]
    mean = float((stand.size[live] * stand.cost[live]).sum()) / max(len(live), 1)
    if mean <= 0.0:
        return entries
    dice = np.array([88172645463325252 ^ (number * 0x9E3779B97F4A7C15 & (1 << 63) - 1)], dtype=np.uint64)
    before = _total(stand)
    told = stand, ground.costs, ground.shape, ground.terms, desk
    if clearing:
        clear_groups(*told, site_for(stand), HOTTER * mean, COLD * mean, work, dice)
    else:
        open_boxes(*told, HOT * mean, COLD * mean, work, dice)
    if _total(stand) > before - 1e-9:  # then what was there takes what is better in what was found
        boxes = _boxes(stand)
        unit, stand = _seated(ground, entries)
        _offered(ground, stand, desk_for(stand), boxes, dice)
    kept = np.flatnonzero(stand.records > 0)
    return Entries.tidy(unit[stand.unit[kept]], stand.home[kept], stand.records[kept])


def _seated(ground: Ground, entries: Entries) -> tuple[IntArray, Seating]:
    """The units of some groups, and their seating."""
    assert ground.terms is not None
    unit, local = np.unique(entries.unit, return_inverse=True)
    return unit, seating_of(
        np.ascontiguousarray(ground.codes[unit]), ground.units.tags[unit], ground.units.region[unit], ground.costs, ground.shape,
        ground.terms, Entries(local.astype(np.int64), entries.group, entries.count),
    )  # fmt: skip


def _total(stand: Seating) -> float:
    live = stand.live[: stand.number[0]]
    return float((stand.size[live] * stand.cost[live]).sum())


def _boxes(stand: Seating) -> KnownBoxes:
    """The boxes of all groups as they are."""
    live = stand.live[: stand.number[0]]
    return stand.lo[live], stand.last[live], stand.region[stand.unit[stand.of_group[live]]]


def _offered(ground: Ground, stand: Seating, desk: Workbench, boxes: KnownBoxes, dice: Any) -> None:
    """Boxes of another grouping of the same units, opened where that saves something, until none does."""
    from sfumato.methods.recoding.kernels.opening import offer_boxes

    assert ground.terms is not None
    for _ in range(OFFERS):
        if offer_boxes(stand, ground.costs, ground.shape, ground.terms, desk, *boxes, dice) > -1e-9:
            return


def seating_of(
    code: CodeArray, tags: CodeArray | IntArray, region: IntArray, costs: CellCosts, shape: Shape, terms: Terms, entries: Entries
) -> Seating:
    """The groups of some units, each unit with its leaves, hidden values and region."""
    from sfumato.methods.recoding.kernels.seating import Seating, fill_bits, measure_first

    units, columns = code.shape
    pieces, groups = len(entries.unit), int(entries.group[-1]) + 1
    room, most = 2 * pieces + units + 200, groups + int(entries.count.sum()) // max(terms.fewest, 1) + 2
    words = (units + 63) // 64
    number = np.unique(region, return_inverse=True)[1].astype(np.int64)
    tag = (tags.astype(np.int64) + terms.start[:-1]).reshape(units, len(terms.kinds))
    rank = [np.concatenate([[0], np.cumsum(np.bincount(code[:, c], minlength=n) > 0)]) for c, n in enumerate(shape.size)]
    base = np.cumsum([0, *(int(each[-1]) + 1 for each in rank)]).astype(np.int64)
    first_rank = np.cumsum([0, *map(len, rank)])[:-1].astype(np.int64)
    tally = np.zeros((most, int(terms.start[-1])), dtype=np.int64)
    for h in range(tag.shape[1]):
        np.add.at(tally, (entries.group, tag[entries.unit, h]), entries.count)
    stand = Seating(
        code, tag, number, np.zeros((int(number.max()) + 1, words), dtype=np.uint64),
        np.zeros((int(base[-1]), words), dtype=np.uint64), base, np.concatenate(rank).astype(np.int64), first_rank,
        *_pieces(entries, units, room, most), _size(entries, most), np.zeros(most), np.zeros((most, columns), dtype=np.int32),
        np.zeros((most, columns), dtype=np.int32), tally, *_lists(groups, most, pieces, room),
    )  # fmt: skip
    fill_bits(stand)
    measure_first(stand, costs, shape, groups)
    return stand


def _size(entries: Entries, most: int) -> IntArray:
    return np.bincount(entries.group, weights=entries.count, minlength=most).astype(np.int64)


def _pieces(entries: Entries, units: int, room: int, most: int) -> Eight:
    """Unit, records and home of each piece, and the lists of units and groups."""
    pieces = len(entries.unit)
    unit, records = np.zeros((2, room), dtype=np.int64)
    home, beside, after, before = np.full((4, room), -1, dtype=np.int64)
    unit[:pieces], records[:pieces], home[:pieces] = entries.unit, entries.count, entries.group
    order = np.argsort(entries.unit, kind="stable")
    same = entries.unit[order][1:] == entries.unit[order][:-1]
    beside[order[:-1][same]] = order[1:][same]
    of_unit, of_group = np.full(units, -1, dtype=np.int64), np.full(most, -1, dtype=np.int64)
    of_unit[entries.unit[order[::-1]]] = order[::-1]
    follows = np.flatnonzero(entries.group[1:] == entries.group[:-1])
    after[follows], before[follows + 1] = follows + 1, follows
    first = entries.first[:-1]
    of_group[: len(first)] = first
    return unit, records, home, beside, of_unit, after, before, of_group


def _lists(groups: int, most: int, pieces: int, room: int) -> Five:
    """Groups that are live and free, pieces that are spare, and how many of each."""
    live, free, spare = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64), np.zeros(room, dtype=np.int64)
    place = np.full(most, -1, dtype=np.int64)
    live[:groups], place[:groups] = np.arange(groups), np.arange(groups)
    free[: most - groups] = np.arange(most - 1, groups - 1, -1)
    spare[: room - pieces] = np.arange(room - 1, pieces - 1, -1)
    return live, place, free, spare, np.array([groups, most - groups, room - pieces], dtype=np.int64)


def desk_for(stand: Seating) -> Workbench:
    """Room for a step."""
    from sfumato.methods.recoding.kernels.box_drawing import Workbench
    from sfumato.methods.recoding.kernels.rehousing import STRAYS

    room, (most, columns) = len(stand.unit), stand.lo.shape
    moves = room + STRAYS + 1
    found, inside, gives, donors = (np.zeros(n, dtype=np.int64) for n in (room, most, most, most))
    return Workbench(
        np.zeros(stand.below.shape[1], dtype=np.uint64), found, inside, gives, donors, np.zeros((moves, 4), dtype=np.int64),
        np.zeros(moves, dtype=np.int64), np.full(most, -1, dtype=np.int64), np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int64), np.zeros(most), np.zeros((most, columns), dtype=np.int64),
        np.zeros((most, columns), dtype=np.int64), np.zeros(columns, dtype=np.int64), np.zeros(columns, dtype=np.int64),
        np.zeros(stand.tally.shape[1], dtype=np.int64), np.zeros(3, dtype=np.int64),
    )  # fmt: skip


def site_for(stand: Seating) -> Site:
    """Room for a step that clears groups."""
    from sfumato.methods.recoding.kernels.clearing import CLEARED, NEAR, Site

    room, columns = len(stand.unit), stand.lo.shape[1]
    group, near, unit, records, lo, last, number = (
        np.zeros(n, dtype=np.int64) for n in (CLEARED, NEAR, room, room, columns, columns, 2)
    )
    return Site(group, near, np.zeros(NEAR), unit, records, np.zeros(room), lo, last, number)
