"""Boxes, diversity, the index of points and the joining of groups against plain twins."""

import numpy as np
import pytest
from plain_index import PlainGathering, plain_best_cell, plain_box, plain_join_round, plain_nearest, plain_side
from random_problems import draw

from sfumato.kinds.tables.methods.class_merging import _boxes
from sfumato.kinds.tables.methods.greedy_clustering import Layout
from sfumato.kinds.tables.methods.kernels.cell_costs import BOX, enclose, free, join_round, widen, widen_column, widened
from sfumato.kinds.tables.methods.kernels.greedy_clustering import (
    ask_for_diversity,
    best_cell,
    forget_group,
    meet,
    nearest,
    open_root,
    spend,
    suffices,
    take,
)
from sfumato.kinds.tables.methods.recoding_costs import columns_of
from sfumato.kinds.tables.methods.recoding_problem import Requirement
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.p_sensitivity import PSensitivity


def work_of(seed, *, rows=60, columns=3, sensitive=2, values=5):
    source = np.random.default_rng(seed)
    names = tuple(f"s{j}" for j in range(sensitive))
    claims = (Requirement(KAnonymity(k=3)), *((Requirement(PSensitivity(p=2), names),) if names else ()))
    drawn = draw(
        source, rows=rows, columns=columns, sensitive=sensitive, bounded=False, requirements=claims, values=values
    )
    layout = Layout.of(drawn.problem, None, None)
    return source, drawn.problem, layout, layout.work(drawn.problem, columns_of(drawn.problem, "height"))


def combos(words):
    """The numbers of the bits that are set."""
    return {64 * at + bit for at, word in enumerate(words.tolist()) for bit in range(64) if word >> bit & 1}


@pytest.mark.twin(of=[enclose, widened, widen, widen_column, free])
@pytest.mark.parametrize("seed", range(25))
def test_a_box_grows_to_the_smallest_one_around_its_points(seed):
    source, _, _, work = work_of(seed)
    columns, codes = work.columns, work.table.codes
    some = [codes[i] for i in source.integers(0, len(codes), 6)]
    box = np.zeros(codes.shape[1] + 1, BOX)
    enclose(box, some[0])
    for size, point in enumerate(some[1:], start=1):
        before, after = plain_box(columns, some[:size]), plain_box(columns, some[: size + 1])
        for j, code in enumerate(point):
            assert widened(columns, j, box, code) == after[j][2]
            one = box.copy()
            assert widen_column(columns, j, one, code) == (before[j][:2] != after[j][:2])
            assert (one["lo"][j], one["hi"][j], one["price"][j]) == after[j][:3]
        assert widen(columns, box, point) == ([side[:2] for side in before] != [side[:2] for side in after])
        assert [tuple(side) for side in box[["lo", "hi", "price", "rest"]][:-1].tolist()] == after
    free(box)
    assert all(widened(columns, j, box, code) == 0 for point in codes for j, code in enumerate(point))


@pytest.mark.twin(of=[open_root, meet, forget_group, spend, suffices, ask_for_diversity])
@pytest.mark.parametrize(("sensitive", "values"), [(1, 4), (2, 5), (3, 40), (7, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_diversity_is_counted_as_with_sets(seed, sensitive, values):
    """Also with more combos than one word has bits, and with more columns than patterns are kept for."""
    source, _, layout, work = work_of(seed, rows=100, sensitive=sensitive, values=values)
    table, draft = work.table, work.draft
    plain = PlainGathering(table.values, layout.weight, layout.distinct)
    open_root(table, draft, 0, len(table.cells))
    plain.plain_open_root(table.cells)
    while plain.left:
        combo = int(source.choice(list(plain.left)))
        many = int(source.integers(1, plain.left[combo] + 1))
        if source.random() < 0.3:
            forget_group(draft, table)
            plain.plain_forget_group()
        meet(draft, table, combo)
        plain.plain_meet(combo)
        ask_for_diversity(draft)
        assert combos(draft.wish.mask) == plain.plain_ask_for_diversity()
        spend(draft, table, combo, many)
        plain.plain_spend(combo, many)
        assert combos(draft.present) == set(plain.left)
        assert draft.kinds["left"].tolist() == plain.left_kinds()
        assert draft.kinds["met"].tolist() == [len(have) for have in plain.have]
        for j in range(sensitive):
            assert combos(draft.fresh[j]) & set(range(len(table.values))) == plain.fresh(j)
        assert suffices(draft.kinds, plain.left.total(), 3) == plain.plain_suffices(3)


@pytest.mark.twin(of=[nearest, best_cell, take])
@pytest.mark.parametrize("sensitive", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_point_is_the_one_a_scan_finds(seed, sensitive):
    """Until nothing is left: records are handed out at random, boxes and wishes are random."""
    source, _, layout, work = work_of(seed, rows=150, sensitive=sensitive)
    table, draft = work.table, work.draft
    for root, (first, last) in enumerate(zip(layout.root_start[:-1], layout.root_start[1:], strict=True)):
        while table.points["left"][first:last].any():
            around = [table.codes[i] for i in source.integers(first, last, source.integers(0, 4))]
            free(draft.box)
            if around:
                enclose(draft.box, around[0])
            for point in around[1:]:
                widen(work.columns, draft.box, point)
            wish = wishes(source, table, draft, sensitive)
            found = nearest(root, table, work.columns, work.prefixes, draft.box, draft.wish, draft.steps)
            assert found == plain_nearest(table, work.columns, range(first, last), around, wish)
            point = (
                found if found >= 0 else int(source.choice(np.flatnonzero(table.points["left"][first:last]) + first))
            )
            assert best_cell(table, draft.wish, point) == plain_best_cell(table, wish, point)
            cell = plain_best_cell(table, None, point)
            take(table, work.prefixes, point, cell, int(source.integers(1, table.cells["count"][cell] + 1)))
        assert nearest(root, table, work.columns, work.prefixes, draft.box, draft.wish, draft.steps) == -1


def wishes(source, table, draft, sensitive):
    """A random set of combos in the index' own bits, or None when anything will do."""
    picky = sensitive > 0 and source.random() < 0.7
    draft.wish.picky[0] = picky
    if not picky:
        return None
    wanted = set(np.flatnonzero(source.random(len(table.values)) < 0.3).tolist())
    draft.wish.mask[:] = 0
    for combo in wanted:
        draft.wish.mask[combo >> 6] |= np.int64(1 << (combo & 63) if combo & 63 != 63 else -(1 << 63))
    draft.wish.folded[:] = 0
    for word, bits in enumerate(draft.wish.mask):
        draft.wish.folded[word & (len(draft.wish.folded) - 1)] |= bits
    return wanted


@pytest.mark.twin(of=[join_round])
@pytest.mark.parametrize("price", ["height", "width"])
@pytest.mark.parametrize("seed", range(12))
def test_failing_groups_join_the_neighbour_that_adds_least(seed, price):
    source = np.random.default_rng(seed)
    problem = draw(source, rows=80, columns=3, sensitive=0, bounded=seed % 2 == 1).problem
    columns = columns_of(problem, price)
    label = 4 * problem.regions.of + source.integers(0, 4, len(problem.points))
    grouping = problem.grouping(np.unique(label, return_inverse=True)[1])
    region = np.zeros(grouping.groups, dtype=np.int64)
    region[grouping.group] = problem.regions.of[problem.cell_point[grouping.cell]]
    order = np.argsort(region, kind="stable")
    start = np.searchsorted(region[order], np.arange(len(problem.regions) + 1))
    sizes = np.bincount(grouping.group, weights=grouping.count).astype(np.int64)[order]
    failing = source.random(grouping.groups) < 0.5
    members = [problem.points[problem.cell_point[grouping.cell[grouping.group == group]]] for group in order]
    expected = plain_join_round(columns, members, sizes, region[order], failing)
    found = join_round(columns, _boxes(problem, grouping, columns, order), sizes, region[order], start, failing)
    assert found.tolist() == expected


def test_the_smallest_side_of_a_tree_is_its_lowest_node():
    """What the twins stand on: only children change the height, not the interval."""
    _, problem, _, _ = work_of(3)
    columns = columns_of(problem, "height")
    for j, domain in enumerate(problem.domains):
        for code in range(domain.size):
            assert plain_side(columns, j, [code]) == (code, code + 1, 0)
