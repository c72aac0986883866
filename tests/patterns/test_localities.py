"""Localities: the worked example, completeness by brute force, pruning, sampling."""

from itertools import combinations, pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.kernels.pattern_walk import NARROW, WIDE, extract, plain_extract
from sfumato.kinds.testdata.methods.linear_properties import localities, points_of, runs, sampled
from tests.secret import secret
from tests.trust.every_form import read, redo, write


def follows(i, j, k, side, kept):
    """Whether the locality (i, j, k, side) follows from a kept one by Rule 1 or 2 and the sorted order."""
    if side == NARROW:
        return any(s == NARROW and b == j and a <= i and c <= k for a, b, c, s in kept)
    return any(s == WIDE and b == j and a >= i and c >= k for a, b, c, s in kept)


def side_of(values, i, j, k):
    return NARROW if values[j] - values[i] <= values[k] - values[j] else WIDE


def test_example_of_the_figure():
    """With i = 2 and j = 3 (counted from 1) the breakpoint lies between d4 and d5; with i = 2, j = 5 beyond d6."""
    values = np.array([0.0, 2.0, 5.0, 7.0, 9.0, 12.0])
    found = {tuple(row) for row in extract(values, False).tolist()}
    assert {(1, 2, 3, WIDE), (1, 2, 4, NARROW)} <= found
    assert (1, 4, 5, WIDE) in found
    assert not any((i, j) == (1, 4) and side == NARROW for i, j, _, side in found)


@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("size", [3, 4, 5, 6])
def test_complete_on_all_small_data(size, pruned):
    for values in combinations(range(9), size):
        kept = extract(np.array(values, dtype=float), pruned).tolist()
        for i, j, k in combinations(range(size), 3):
            assert follows(i, j, k, side_of(values, i, j, k), kept), (values, i, j, k)


def test_pruned_set_is_minimal():
    for values in combinations(range(8), 5):
        kept = extract(np.array(values, dtype=float), True).tolist()
        for row in kept:
            assert not follows(*row, [other for other in kept if other != row]), (values, row)


def test_every_table_that_keeps_the_pruned_set_keeps_all_localities_in_absolute_value():
    for values in ((0, 1, 3, 4), (0, 2, 3, 7), (1, 2, 4, 7)):
        kept = extract(np.array(values, dtype=float), True)
        for table in product(range(6), repeat=4):
            ordered = all(a <= b for a, b in pairwise(table))
            sides = [(table[j] - table[i] <= table[k] - table[j]) if s == NARROW
                     else (table[j] - table[i] >= table[k] - table[j])
                     for i, j, k, s in kept]  # fmt: skip
            if ordered and all(sides):
                for i, j, k in combinations(range(4), 3):
                    near, far = abs(table[j] - table[i]), abs(table[k] - table[j])
                    assert near <= far if side_of(values, i, j, k) == NARROW else near >= far


@pytest.mark.twin(of=[extract])
@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, 200), min_size=1, max_size=25), st.booleans())
def test_kernel_equals_its_twin(values, pruned):
    numbers = np.array(sorted(values), dtype=float)
    ours, twin = extract(numbers, pruned), plain_extract(numbers, pruned)
    assert sorted(ours.tolist()) == sorted(twin.tolist())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=30), st.integers(3, 9), st.floats(0.05, 1.0))
def test_sampled_localities_hold_and_stay_inside_partitions(values, size, share):
    data = np.array(values)
    pattern = localities(data, runs(data.size, size), share, Randomness(1))
    by_point, partition = np.empty(pattern.points.max() + 1), np.empty(pattern.points.max() + 1)
    by_point[pattern.points], partition[pattern.points] = data, np.arange(data.size) // size
    for i, j, k, side in pattern.triples:
        assert partition[i] == partition[j] == partition[k]
        assert by_point[i] < by_point[j] < by_point[k]
        assert side == side_of(by_point, i, j, k)
    for lower, upper in pattern.order:
        assert by_point[lower] < by_point[upper]
        assert partition[lower] == partition[upper]


def test_equal_values_of_a_partition_are_one_point():
    assert points_of(np.array([5, 3, 5, 3, 3, 9]), runs(6, 3)).tolist() == [1, 0, 1, 2, 2, 3]


def test_sample_takes_the_rounded_share_of_every_group():
    counts = np.array([10, 0, 25, 3])
    chosen = sampled(counts, 0.2, Randomness(3))
    group = np.repeat(np.arange(4), counts)[chosen]
    assert np.bincount(group, minlength=4).tolist() == [2, 0, 5, 1]
    assert np.unique(chosen).size == chosen.size


def test_sample_is_uniform():
    hits = sum(np.bincount(sampled(np.array([6]), 0.5, Randomness(seed)), minlength=6) for seed in range(2000))
    assert abs(hits - 1000).max() < 120  # 5 standard deviations


def test_nothing_to_keep_below_three_values():
    pattern = localities(np.array([4, 4, 7]), runs(3, None), 1.0, Randomness(1))
    assert pattern.triples.shape == (0, 4)
    assert pattern.order.tolist() == [[0, 1]]
    assert localities(np.array([], dtype=np.int64), runs(0, 20), 0.5, Randomness(1)).triples.size == 0


class TestOrderOfLocalities:
    """Localities keep the order of their three values, and the audit finds one that does not."""

    ORIGINAL = ("26", "1", "3", "20", "12")

    def made(self, tmp_path: Path, **settings: str) -> Path:
        columns = {"v": {"role": "replaced", "domain": {"integers": [0, 40]}}}
        tree = {"version": 1, "columns": columns, "keep": ["localities(v)"], "method": {"pattern-walk": settings}}
        made = sf.publish(sf.Policy.parse(tree), data={"v": list(self.ORIGINAL)}, seed=secret(4))
        return made.write(tmp_path / "out", report=False)

    def test_a_value_above_the_next_one_is_found(self, tmp_path: Path) -> None:
        """Every published value set to every number: found unless order and wider gap of all triples are as before."""
        folder = self.made(tmp_path, rows="ordered")
        original = {"v": list(self.ORIGINAL)}
        published = [int(row["v"]) for row in read(folder / "data.csv")]
        before = [int(value) for value in self.ORIGINAL]
        triples = [t for t in permutations(range(5), 3) if before[t[0]] < before[t[1]] < before[t[2]]]
        found = {True: 0, False: 0}
        for place, value in product(range(5), range(41)):
            after = [*published[:place], value, *published[place + 1 :]]
            write(folder / "data.csv", [{"v": str(each)} for each in after])
            redo(folder)
            kept = all(_kept([before[i] for i in triple], [after[i] for i in triple]) for triple in triples)
            localities = next(one for one in sf.verify(folder, original=original).findings if one.model == "localities")
            assert localities.holds == kept, (place, value)
            found[kept] += 1
        assert min(found.values()) > 5, found

    def test_rows_in_the_order_of_the_source_need_provenance(self, tmp_path: Path) -> None:
        folder = self.made(tmp_path, rows="ordered")
        alone = next(one for one in sf.verify(folder).findings if one.model == "named records")
        assert alone.open and "moved" not in alone.achieved
        known = next(
            one
            for one in sf.verify(folder, original={"v": list(self.ORIGINAL)}).findings
            if one.model == "named records"
        )
        assert known.verdict is True and known.achieved["moved"] == 0

    def test_what_is_told_is_judged_on_the_rows_and_the_rest_is_left_out(self, tmp_path: Path) -> None:
        folder = self.made(tmp_path, tell="kept")
        alone = next(one for one in sf.verify(folder).findings if one.model == "named records")
        assert alone.verdict is True and set(alone.achieved) == {"properties", "broken"}
        assert "provenance" in alone.reason

    def test_nothing_to_tell(self, tmp_path: Path) -> None:
        columns = {"v": {"role": "replaced", "domain": {"integers": [0, 40]}}}
        tree = {
            "version": 1,
            "columns": columns,
            "keep": ["localities(v) partition 3"],
            "method": {"pattern-walk": {"tell": "kept"}},
        }
        data = {"v": ["10", "15", "15", "9", "26"]}
        for format in ("csv", "parquet"):
            folder = sf.publish(sf.Policy.parse(tree), data=data, format=format).write(tmp_path / format, report=False)
            assert not sf.verify(folder).violated
            assert sf.verify(folder, original=data).holds


def _kept(old: list[int], new: list[int]) -> bool:
    """The order of three values and which of their gaps is wider, neither reversed."""
    wide = (old[1] - old[0]) - (old[2] - old[1])
    now = (new[1] - new[0]) - (new[2] - new[1])
    return new[0] <= new[1] <= new[2] and (now >= 0 if wide > 0 else now <= 0)
