"""Joint buckets keep every hidden column diverse for whoever knows all the others; the residue could not be
published."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.kinds.subtables.methods.buckets import Lattice, joint_buckets


def worst_share(columns, rows):
    """The largest share of a value of one column among the rows of a bucket that agree on the other columns, by plain
    counting."""
    tuples = [tuple(int(codes[i]) for codes in columns) for i in rows]
    worst = 0.0
    for place in range(len(columns)):
        lines = Counter(each[:place] + each[place + 1 :] for each in tuples)
        worst = max(
            worst, *(count / lines[each[:place] + each[place + 1 :]] for each, count in Counter(tuples).items())
        )
    return worst


@st.composite
def tables(draw):
    count = draw(st.integers(8, 60))
    return [
        np.array(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
        for _ in range(draw(st.integers(2, 3)))
    ]


@given(tables(), st.sampled_from([0, 200]))
@settings(max_examples=40, deadline=None)
def test_every_bucket_is_diverse_in_every_direction(columns, grids):
    buckets = joint_buckets(columns, [2] * len(columns), Randomness(seed=1), grids)
    for bucket in np.unique(buckets[buckets >= 0]):
        assert worst_share(columns, np.flatnonzero(buckets == bucket)) <= 0.5


@given(tables())
@settings(max_examples=25, deadline=None)
def test_nothing_publishable_is_left_in_the_residue(columns):
    left = joint_buckets(columns, [2] * len(columns), Randomness(seed=1)) < 0
    if left.any():
        classes = equivalence_classes_of([codes[left] for codes in columns])
        distinct = [codes[left][classes.first] for codes in columns]
        assert Lattice.of(distinct, [2] * len(columns), classes.counts).largest(60).sum() == 0


def test_a_product_table_is_cut_into_the_smallest_buckets():
    grid = np.unravel_index(np.arange(16), (4, 4))
    columns = [np.tile(codes, 10) for codes in grid]
    buckets = joint_buckets(columns, [2, 2], Randomness(seed=3), grids=200)
    assert set(np.bincount(buckets)) == {4}


def test_withheld_values_are_estimated_as_anything():
    """Rows outside every bucket keep their visible columns; their hidden values count evenly over the domain."""
    from sfumato.kinds.subtables.joint_estimate import JointEstimate, SubTableSheet

    visible = {"a": np.array([0, 0, 1])}
    sheet = SubTableSheet.of_rows(visible, np.array([0, 0, -1]), {"s": np.array([0, 1, 1])}, name="t")
    answer = JointEstimate([sheet])
    assert answer.count({"s": np.array([True, False])}) == 1.5
    assert answer.count({"a": np.array([False, True]), "s": np.array([True, False])}) == 0.5
