"""Opening boxes, the compiled steps against a plain twin: the same dice give the same groups, whatever is asked of
them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sfumato.kinds.tables.methods.class_merging import Entries
from sfumato.kinds.tables.methods.kernels.box_opening import (
    allowed,
    change,
    clear_groups,
    costly_piece,
    forget_inside,
    forget_step,
    hand_over,
    judged,
    lend,
    offer_boxes,
    open_boxes,
    price_of,
    undo,
)
from sfumato.kinds.tables.methods.kernels.class_membership import (
    Shape,
    Terms,
    closed,
    cost_beyond,
    dissolve,
    draw_box,
    draw_host,
    end_group,
    fill_bits,
    give,
    look_inside,
    measure,
    measure_first,
    met,
    move,
    new_group,
    region_of,
    rehouse,
    too_much,
    touch,
    units_inside,
    widen,
)
from sfumato.kinds.tables.methods.local_search import _boxes, desk_for, present_values, seating_of, site_for

from .plain_clearing import PlainClearing
from .plain_opening import PlainOpening, PlainStanding, PlainTerms
from .test_search_twins import SIZE, costs, plain_cell_cost

VALUES = 4
TREE = Shape(
    np.array([6, 6, 6, 7, 7, 7, 8, 8, 8]), np.array([0, 1, 2, 3, 4, 5, 0, 3, 0]), np.array([1, 2, 3, 4, 5, 6, 3, 6, 6]),
    np.array([-1, -1, 0]), np.full(3, SIZE),
)  # fmt: skip
"""Any interval of the first two columns; halves of halves in the third."""


def plain_closed(column, lo, last):
    if column < 2 or lo == last:
        return lo, last
    return (lo // 3 * 3, lo // 3 * 3 + 2) if lo // 3 == last // 3 else (0, SIZE - 1)


def asked(rng, style):
    """Nothing of values (in a crowd: with larger groups), different ones, shares, entropy, or a distance."""
    overall = rng.dirichlet(np.full(VALUES, 3.0)).tolist()
    fewest = int(rng.integers(2, 5)) + 4 * (style == "crowd")
    plain = {
        "size": PlainTerms(fewest, [], [], [], [], []),
        "crowd": PlainTerms(fewest, [], [], [], [], []),
        "kinds": PlainTerms(fewest, [2], [1.0], [0.0], [1.0], [overall]),
        "share": PlainTerms(fewest, [2], [0.6], [0.0], [1.0], [overall]),
        "entropy": PlainTerms(fewest, [2], [1.0], [0.6], [1.0], [overall]),
        "far": PlainTerms(fewest, [0], [1.0], [0.0], [0.4], [overall]),
    }[style]
    start = np.arange(len(plain.kinds) + 1) * VALUES
    numbers = [np.array(each, dtype=np.float64) for each in (plain.share, plain.entropy, plain.far)]
    flat = np.array([share for column in plain.overall for share in column], dtype=np.float64)
    return plain, Terms(fewest, start.astype(np.int64), np.array(plain.kinds, np.int64), *numbers, flat)


def table(rng, plain, units, leaves):
    """Units in two regions, and groups that meet the terms: the largest first, whatever fails joins the next."""
    codes = rng.integers(0, leaves, (units, 3)).astype(np.int32)
    tags = rng.integers(0, VALUES, (units, len(plain.kinds)))
    region = (np.arange(units) >= 2 * units // 3).astype(np.int64)
    many = rng.integers(1, 5, units)
    groups, waiting = [], []
    for unit in range(units):
        waiting.append((unit, int(many[unit])))
        told = [tuple(tags[u].tolist()) for u, n in waiting for _ in range(n)]
        last = unit + 1 == units or region[unit + 1] != region[unit]
        if last or plain.plain_met(told):
            groups.append(waiting)
            waiting = []
    return codes, [tuple(row) for row in tags.tolist()], region, groups


def both(rng, style):
    plain, terms = asked(rng, style)
    codes, tags, region, groups = table(rng, plain, 40, 4) if style == "crowd" else table(rng, plain, 24, SIZE)
    entries = [(unit, g, many) for g, members in enumerate(groups) for unit, many in members]
    columns = (np.array(column, dtype=np.int64) for column in zip(*entries, strict=True))
    marks = np.array(tags, dtype=np.int64).reshape(len(codes), len(plain.kinds))
    stand = seating_of(codes, marks, region, costs(), TREE, terms, Entries(*columns))
    spare = len(stand.size) - len(groups)
    twin = PlainStanding(
        codes.tolist(), tags, region.tolist(), groups, spare, plain_cell_cost, plain_closed, [SIZE] * 3, plain
    )
    return stand, terms, twin


def groups_of(stand):
    found = []
    for g in stand.live[: stand.number[0]]:
        members, p = [], stand.of_group[g]
        while p >= 0:
            members.append((int(stand.unit[p]), int(stand.records[p])))
            p = stand.after[p]
        found.append(sorted(members))
    return sorted(found)


def told_boxes(stand, twin):
    """The boxes of all groups, each with a unit of its region."""
    lo, last, _ = _boxes(stand)
    units = [twin.of_group[g][0] for g in stand.live[: stand.number[0]].tolist()]
    return [([*zip(*box, strict=True)], unit) for *box, unit in zip(lo.tolist(), last.tolist(), units, strict=True)]


@pytest.mark.twin(
    of=[
        open_boxes, draw_box, draw_host, units_inside, look_inside, touch, give, rehouse,
        move, new_group, end_group, widen, fill_bits,
    ]
)  # fmt: skip
@pytest.mark.parametrize("style", ["size", "crowd", "kinds", "share", "entropy", "far"])
@pytest.mark.parametrize("seed", range(6))
def test_steps_equal_those_of_the_twin(style, seed):
    rng = np.random.default_rng(seed)
    stand, terms, twin = both(rng, style)
    desk = desk_for(stand)
    dice, plain = np.array([seed + 11], dtype=np.uint64), [seed + 11]
    opening = PlainOpening(twin, plain)
    for step in range(30):
        heat = [1e-9, 3.0, 30.0][step % 3]
        open_boxes(stand, costs(), TREE, terms, desk, heat, heat, 1, dice)
        opening.plain_step(heat)
        assert int(dice[0]) == plain[0]
        assert groups_of(stand) == twin.everybody()


@pytest.mark.parametrize("style", ["size", "kinds", "share", "entropy", "far"])
@pytest.mark.parametrize("seed", range(4))
def test_values_that_nobody_has_change_no_step(style, seed):
    """Many values of which 4 occur: the same groups as over all values, and no more is counted than occurs."""
    rng = np.random.default_rng(seed)
    plain, terms = asked(rng, style)
    codes, tags, region, groups = table(rng, plain, 24, SIZE)
    entries = [(unit, g, many) for g, members in enumerate(groups) for unit, many in members]
    columns = [np.array(column, dtype=np.int64) for column in zip(*entries, strict=True)]
    overall = np.zeros(50 * len(terms.overall))
    overall[25::50] = terms.overall
    many = terms._replace(start=50 * terms.start, overall=overall)
    marks = 50 * np.array(tags, dtype=np.int64).reshape(len(codes), len(terms.kinds)) + 25
    few, numbered = present_values(many, marks)
    occurring = len(np.unique(marks)) if style in ("kinds", "share", "entropy") else len(overall)
    assert few.start[-1] == len(few.overall) == occurring
    found = []
    for told, tagged in ((many, marks), (few, numbered)):
        stand = seating_of(codes, tagged, region, costs(), TREE, told, Entries(*columns))
        before = groups_of(stand)
        dice = np.array([seed + 11], dtype=np.uint64)
        open_boxes(stand, costs(), TREE, told, desk_for(stand), 30.0, 3.0, 20_000, dice)
        found.append((groups_of(stand), int(dice[0])))
    assert found[0] == found[1] and found[0][0] != before


def test_groups_are_filled_up_again_and_dissolved():
    """Else the comparison above would not know what becomes of groups that lack records."""
    opened = []
    for seed in range(3):
        _, _, twin = both(np.random.default_rng(seed), "crowd")
        opened.append(PlainOpening(twin, [seed + 11]))
        for _ in range(60):
            opened[-1].plain_step(30.0)
    assert sum(each.filled for each in opened) >= 3 and sum(each.housed for each in opened) >= 3


@pytest.mark.twin(of=[offer_boxes])
@pytest.mark.parametrize("style", ["size", "kinds", "share"])
def test_offered_boxes_are_opened_as_by_the_twin(style):
    """The boxes of a grouping that was left, offered to what became of it: never dearer, and cheaper in some cases."""
    saved = 0
    for seed in range(6):
        stand, terms, twin = both(np.random.default_rng(seed), style)
        desk, boxes, told = desk_for(stand), _boxes(stand), told_boxes(stand, twin)
        dice, plain = np.array([seed + 11], dtype=np.uint64), [seed + 11]
        opening = PlainOpening(twin, plain)
        for _ in range(25):
            open_boxes(stand, costs(), TREE, terms, desk, 30.0, 30.0, 1, dice)
            opening.plain_step(30.0)
        before = twin.total()
        changed = offer_boxes(stand, costs(), TREE, terms, desk, *boxes, dice)
        opening.plain_offer(told)
        assert int(dice[0]) == plain[0]
        assert groups_of(stand) == twin.everybody()
        assert changed == pytest.approx(twin.total() - before, abs=1e-9)
        assert changed <= 1e-9
        saved += changed < -1e-9
    assert saved >= 1


@pytest.mark.parametrize("style", ["size", "kinds", "share", "entropy", "far"])
def test_steps_change_something_and_keep_the_terms(style):
    """Else the comparison above would compare nothing with nothing; terms are judged by the plain definition."""
    changed = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        stand, terms, twin = both(rng, style)
        first, dice = groups_of(stand), np.array([seed + 5], dtype=np.uint64)
        open_boxes(stand, costs(), TREE, terms, desk_for(stand), 3.0, 0.01, 300_000, dice)
        changed += groups_of(stand) != first
        ill = [group for group in first if not _holds(twin, group)]
        assert [group for group in groups_of(stand) if not _holds(twin, group) and group not in ill] == []
        assert sum(many for group in groups_of(stand) for _, many in group) == sum(
            many for group in first for _, many in group
        )
        assert all(len({twin.region[unit] for unit, _ in group}) == 1 for group in groups_of(stand))
    assert changed >= 3


def _holds(twin, group):
    return twin.terms.plain_met([twin.tags[unit] for unit, many in group for _ in range(many)])


@pytest.mark.twin(
    of=[
        clear_groups, allowed, change, costly_piece, forget_inside, forget_step, hand_over, dissolve, judged, lend,
        price_of, undo,
        cost_beyond, region_of,
    ]
)  # fmt: skip
def test_groups_are_cleared_as_by_the_twin():
    """And every kind of ending is met: exchanges of several groups, rests that stay together or are sent away; sound
    beginnings."""
    met_with = np.zeros(5, dtype=np.int64)
    for seed, style in product((*range(7), 17), ("size", "crowd")):
        stand, terms, twin = both(np.random.default_rng(seed), style)
        desk, site = desk_for(stand), site_for(stand)
        site = site._replace(near=site.near[: 2 + seed], far=site.far[: 2 + seed])
        dice, plain = np.array([seed + 11], dtype=np.uint64), [seed + 11]
        clearing, sound = (
            PlainClearing(twin, plain, nearest=2 + seed),
            all(_holds(twin, group) for group in groups_of(stand)),
        )
        for step in range(10):
            heat, before = [1e-9, 3.0, 30.0][step % 3], twin.total()
            changed = clear_groups(stand, costs(), TREE, terms, desk, site, heat, heat, 1, dice)
            clearing.plain_steps(heat)
            assert int(dice[0]) == plain[0]
            assert groups_of(stand) == twin.everybody()
            assert changed == pytest.approx(twin.total() - before, abs=1e-9)
            assert all(_holds(twin, group) for group in groups_of(stand)) or not sound
        met_with += [clearing.several, clearing.together, clearing.sent, clearing.again, sound]
    assert (met_with >= 1).all(), met_with


@pytest.mark.twin(of=[measure, measure_first, closed])
def test_boxes_and_their_costs():
    for seed in range(10):
        stand, _, twin = both(np.random.default_rng(seed), "size")
        for g in twin.live:
            measure(stand, costs(), TREE, g)
            assert list(zip(stand.lo[g].tolist(), stand.last[g].tolist(), strict=True)) == twin.box(g)
            assert stand.cost[g] == twin.cost(g)
        boxes, prices = (stand.lo.copy(), stand.last.copy()), stand.cost.copy()
        stand.cost[:], stand.lo[:], stand.last[:] = -1.0, -1, -1
        measure_first(stand, costs(), TREE, len(twin.live))
        some = slice(len(twin.live))
        assert np.array_equal(stand.cost[some], prices[some]) and (stand.cost[len(twin.live) :] == -1.0).all()
        assert np.array_equal(stand.lo[some], boxes[0][some]) and np.array_equal(stand.last[some], boxes[1][some])
    for lo in range(SIZE):
        for last in range(lo, SIZE):
            assert [closed(TREE, c, lo, last) for c in range(3)] == [plain_closed(c, lo, last) for c in range(3)]


@pytest.mark.twin(of=[met, too_much])
@pytest.mark.parametrize("style", ["size", "kinds", "share", "entropy", "far"])
def test_verdicts_equal_the_definition(style):
    verdicts = set()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        plain, terms = asked(rng, style)
        tally = rng.integers(0, 4, (1, VALUES * len(plain.kinds)))
        size = int(tally.sum()) if plain.kinds else int(rng.integers(0, 8))
        tags = [(value,) for value, many in enumerate(tally[0]) for _ in range(many)] if plain.kinds else [()] * size
        verdicts.add(plain.plain_met(tags))
        assert met(terms, tally, 0, size) == plain.plain_met(tags)
        tag, many = too_much(terms, tally, 0, size)
        found, expected = plain.plain_too_much(tags)
        assert (tag, many) == ((-1, 0) if found is None else (found[1], expected))
    assert verdicts == {True, False}
