"""Bucketization keeps its promise on random columns, refuses ineligible ones, and looks at nothing but the hidden
values."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.subtables.methods.buckets import (
    bucket_contents,
    bucket_counts,
    bucketize,
    largest_l,
    largest_share,
    spread_rows,
)

columns = st.lists(st.integers(0, 9), min_size=1, max_size=60).map(lambda values: np.array(values, dtype=np.int64))


@given(columns, st.integers(1, 6), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_no_bucket_holds_a_value_twice_or_fewer_than_l_rows(codes, wanted, seed):
    if wanted > largest_l(codes):
        with pytest.raises(Infeasible, match="even when published alone"):
            bucketize(codes, wanted, Randomness(seed=seed))
        return
    buckets = bucketize(codes, wanted, Randomness(seed=seed))
    _, _, counts = bucket_counts(codes, buckets)
    assert counts.max() == 1
    assert np.bincount(buckets).min() >= wanted
    assert largest_share(codes, buckets) <= 1 / wanted


@given(columns, st.data())
@settings(max_examples=100, deadline=None)
def test_what_a_deal_comes_to_is_known_before(codes, data):
    count = data.draw(st.integers(1, codes.size))
    dealt = spread_rows(codes, count, Randomness(seed=5))
    seen = Counter(tuple(np.bincount(codes[dealt == bucket], minlength=10).tolist()) for bucket in range(count))
    kinds, often = bucket_contents(np.bincount(codes, minlength=10), count)
    foretold = Counter()
    for kind, many in zip(kinds.tolist(), often.tolist(), strict=True):
        foretold[tuple(kind)] += many
    assert foretold == seen


@given(columns, st.data())
@settings(max_examples=200, deadline=None)
def test_spread_is_even_below_every_code(codes, data):
    count = data.draw(st.integers(1, codes.size))
    buckets = spread_rows(codes, count, Randomness(seed=5))
    sizes = np.bincount(buckets, minlength=count)
    assert sizes.max() - sizes.min() <= 1
    for code in range(10):
        inside = np.bincount(buckets[codes <= code], minlength=count)
        assert np.all(np.abs(inside - sizes * (codes <= code).mean()) < 2)


def test_the_hint_names_the_largest_level():
    with pytest.raises(Infeasible) as refused:
        bucketize(np.array([0, 0, 1, 2, 3, 4]), 4, Randomness(seed=1), what="race")
    assert "largest l that would work is 3" in refused.value.hint


def test_wide_codes_sort_as_narrow_ones_do():
    narrow = np.arange(1000) % 7
    wide = narrow * 300_000
    assert (bucketize(narrow, 5, Randomness(seed=2)) == bucketize(wide, 5, Randomness(seed=2))).all()


def test_every_arrangement_inside_a_bucket_is_equally_likely():
    """I2: over many runs, row 0 meets each other row equally often, although the values repeat."""
    codes = np.array([0, 0, 1, 1, 2, 2])
    meets = np.zeros(6)
    for seed in range(3000):
        buckets = bucketize(codes, 3, Randomness(seed=seed))
        meets += buckets == buckets[0]
    assert meets[1] == 0
    assert np.all(np.abs(meets[2:] / 3000 - 0.5) < 0.05)
