"""The order of distances: drawn evenly, kept in the release, judged by the audit, and broken on purpose."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.errors import DataError, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.linear_properties import count_possible_quads, sample_quads
from sfumato.kinds.testdata.pattern_checks import KeptLocalities, broken_pairs
from sfumato.kinds.testdata.property_space import PropertySpace
from sfumato.policy.policy import Policy
from sfumato.release.release import Part
from tests.secret import secret


def publication(keep: str = "localities(v) sample 0 partition 12 distances 40", count: int = 48, **method: object):
    rng = np.random.default_rng(2)
    tree = {"version": 1, "keep": [keep], "method": {"pattern-walk": method}}
    tree["columns"] = {"v": {"role": "replaced", "domain": {"integers": [0, 500]}}, "s": "sensitive"}
    frame = pl.DataFrame({"v": rng.integers(0, 501, count), "s": rng.choice(["a", "b"], count)})
    return sf.publish(Policy.parse(tree), data=frame, seed=secret(5))


@pytest.fixture(scope="module")
def made():
    return publication()


def test_every_kept_comparison_is_true_before_and_after(made):
    """From the definition, on the values of the files: four different ones of a run of twelve records."""
    before = made.original.numbers("v")
    after = np.empty(48)
    after[np.asarray(made.release.trace.rows["data"])] = np.array(
        made.release.parts["data"]["v"].to_pylist(), dtype=float
    )
    pairs = made.release.trace.distances["v"]
    assert pairs.shape == (40, 4) and len({tuple(row) for row in pairs.tolist()}) == 40
    for a, b, c, d in pairs.tolist():
        assert len({before[a], before[b], before[c], before[d]}) == 4 and len({who // 12 for who in (a, b, c, d)}) == 1
        assert abs(before[a] - before[b]) <= abs(before[c] - before[d])
        assert abs(after[a] - after[b]) <= abs(after[c] - after[d])
    assert (before != after).mean() > 0.9
    assert made.certificate.holds
    assert next(finding for finding in made.findings if finding.model == "localities").achieved["judged"] == 40


def test_a_comparison_that_is_broken_is_found(made):
    values = np.array(made.release.parts["data"]["v"].to_pylist(), dtype=np.int64)
    a, b, c, d = made.release.trace.distances["v"][0].tolist()
    row = {int(who): place for place, who in enumerate(made.release.trace.rows["data"])}
    values[row[a]], values[row[b]], values[row[c]], values[row[d]] = 0, 500, 250, 251
    table = made.release.parts["data"].table
    spoiled = Part(table.set_column(0, "v", [[str(value) for value in values.tolist()]]))
    finding = KeptLocalities().examine(replace(made.exhibit, parts={"data": spoiled}))
    assert not finding.holds and finding.achieved["broken"] >= 1


def test_fewer_than_promised_are_found_missing(made):
    less = replace(made.exhibit.trace, distances={"v": made.release.trace.distances["v"][:-1]})
    assert not KeptLocalities().examine(replace(made.exhibit, trace=less)).holds


def test_the_space_of_the_audit_has_the_rows_and_the_release_lies_in_it(made):
    space = PropertySpace(made.exhibit)
    bare = PropertySpace(replace(made.exhibit, trace=replace(made.exhibit.trace, distances={})))
    assert len(list(space._rows())) == len(list(bare._rows())) + 2


def test_pairs_of_several_partitions_or_with_a_common_value_are_broken():
    values, home = np.array([0, 1, 5, 20, 7]), np.array([0, 0, 0, 0, 1])
    good = np.array([[0, 1, 2, 3]])
    assert broken_pairs(values, values, good, home) == 0
    assert broken_pairs(values, values, good[:, [2, 3, 0, 1]], home) == 1
    assert broken_pairs(values, values, np.array([[0, 1, 1, 3]]), home) == 1
    assert broken_pairs(values, values, np.array([[0, 1, 4, 3]]), home) == 1


def test_choices_are_drawn_evenly_and_none_twice():
    values, edges = np.array([0, 1, 5, 20, 70, 71, 90, 300]), np.array([0, 5, 8])
    assert count_possible_quads(edges) == 3 * len(list(combinations(range(5), 4)))
    often: Counter[tuple[int, ...]] = Counter()
    for seed in range(300):
        drawn = sample_quads(values, edges, 3, Randomness(secret(seed)))
        assert len({tuple(row) for row in drawn.tolist()}) == 3
        often.update(tuple(row) for row in drawn.tolist())
    assert len(often) == 15
    assert sum((count - 60) ** 2 / 60 for count in often.values()) < 45
    for a, b, c, d in often:
        assert values[a] < values[b] and values[c] < values[d] and values[b] - values[a] <= values[d] - values[c]


def test_what_cannot_be_kept_or_told_is_refused():
    with pytest.raises(DataError, match="too few distances"):
        publication("localities(v) sample 0 partition 4 distances 4000")
    with pytest.raises(PolicyError, match="no words"):
        publication(tell="kept")
