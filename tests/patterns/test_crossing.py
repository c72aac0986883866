"""Localities across partitions: all of them by brute force, a uniform sample, through the walk, and what the audit
sees."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.core.errors import DataError
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.kernels.pattern_walk import NARROW, WIDE
from sfumato.kinds.testdata.methods.linear_properties import (
    ReplacedColumn,
    RuleSheet,
    crossing_localities,
    localities,
    runs,
)
from sfumato.kinds.testdata.methods.polytope_walk import WalkEffort, walk
from sfumato.kinds.testdata.pattern_checks import KeptLocalities
from sfumato.policy.constraint_language import parse
from sfumato.policy.policy import Policy
from sfumato.release.folder import provenance_path
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from tests.secret import secret

RULE = "localities(v) sample 0.2 partition 8 across 25"


def every_crossing(values, size):
    """All triples of (partition, value) pairs in three partitions with three values, and their side."""
    points = sorted({(record // size, value) for record, value in enumerate(values)})
    found = set()
    for chosen in combinations(range(len(points)), 3):
        i, j, k = sorted(chosen, key=lambda point: points[point][1])
        (p, a), (q, b), (r, c) = points[i], points[j], points[k]
        if len({p, q, r}) == 3 and a < b < c:
            found.add((i, j, k, NARROW if b - a <= c - b else WIDE))
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 7), max_size=18), st.integers(1, 5), st.integers(1, 12), st.integers(0, 99))
def test_sample_against_all_triples(values, size, count, seed):
    data = np.array(values, dtype=np.int64)
    inside, possible = localities(data, runs(data.size, size), 0.5, Randomness(1)), every_crossing(values, size)
    assert {tuple(row) for row in crossing_localities(inside, data, 10_000, Randomness(seed)).tolist()} == possible
    some = [tuple(row) for row in crossing_localities(inside, data, count, Randomness(seed)).tolist()]
    assert len(set(some)) == len(some) == min(count, len(possible))
    assert set(some) <= possible


def test_sample_is_uniform():
    data = np.array([0, 4, 4, 9, 2, 6, 1])
    inside, possible = (
        localities(data, runs(data.size, 2), 0.5, Randomness(1)),
        sorted(every_crossing(data.tolist(), 2)),
    )
    hits = dict.fromkeys(possible, 0)
    for seed in range(2000):
        for row in crossing_localities(inside, data, 3, Randomness(seed)).tolist():
            hits[tuple(row)] += 1
    wanted = 2000 * 3 / len(possible)
    assert len(possible) > 6
    assert max(abs(count - wanted) for count in hits.values()) < 5 * wanted**0.5


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 999), st.sampled_from([0.1, 1.0]), st.booleans())
def test_every_locality_across_survives_inside_its_box(seed, share, narrow):
    values = np.random.default_rng(seed).permutation(60)[:30]
    table = RuleSheet({"v": ReplacedColumn(values, 0, 60)}, 30, narrow=narrow)
    polytope, variable, patterns = table.polytope(
        [parse(f"localities(v) sample {share} partition 6 across 6")], Randomness(seed)
    )
    place = walk(polytope, Randomness(seed), WalkEffort(steps=1500)).place[polytope.variable_of]
    assert polytope.part_count < 30
    for i, j, k, wide in patterns["v"].triples:
        near, far = abs(place[j] - place[i]), abs(place[k] - place[j])
        assert near >= far if wide else near <= far
    own, new = values.reshape(5, 6), place[variable["v"]].reshape(5, 6)
    assert (new >= (own.min(axis=1, keepdims=True) if narrow else 0)).all()
    assert (new <= (own.max(axis=1, keepdims=True) if narrow else 60)).all()


def test_partitions_that_share_a_locality_are_one_part():
    values = np.random.default_rng(1).permutation(60)[:30]
    table = RuleSheet({"v": ReplacedColumn(values, 0, 60)}, 30)
    apart = table.polytope([parse("localities(v) partition 6")], Randomness(1))[0]
    joined = table.polytope([parse("localities(v) partition 6 across 1")], Randomness(1))[0]
    assert (apart.part_count, joined.part_count) == (5, 3)


def test_localities_inside_partitions_do_not_depend_on_those_across():
    values = np.random.default_rng(1).permutation(60)[:30]
    table = RuleSheet({"v": ReplacedColumn(values, 0, 60)}, 30)
    rule = "localities(v) sample 0.2 partition 6"
    alone, both = (table.polytope([parse(text)], Randomness(1))[2]["v"].triples for text in (rule, rule + " across 4"))
    assert (both[:-4] == alone).all()
    assert len(both) == len(alone) + 4


# ---- through a release -----------------------------------------------------------------------------------------------


def frame(count=40):
    rng = np.random.default_rng(7)
    return pl.DataFrame({"v": rng.integers(0, 61, count), "s": rng.choice(["a", "b", "c"], count)})


def policy_of(rule, **method):
    columns = {"v": {"role": "replaced", "domain": {"integers": [0, 60]}}, "s": "sensitive"}
    return Policy.parse({"version": 1, "data": {"kind": "table"}, "method": {"pattern-walk": method}, "keep": [rule],
                         "columns": columns})  # fmt: skip


@pytest.fixture(scope="module")
def publication():
    return sf.publish(policy_of(RULE, steps=4000), data=frame(), seed=secret(3))


def judged(publication, *, values=None, triples=None, among=certify):
    """What the audit says about the release, with other values (by original record) or other sampled triples."""
    release = publication.release
    parts, trace, behind = release.parts, release.trace, release.trace.rows
    if values is not None:
        table = parts["data"].to_polars().with_columns(pl.Series("v", [str(v) for v in values[behind["data"]]]))
        parts = {"data": Part(table.to_arrow())}
    if triples is not None:
        trace = replace(trace, localities={"v": triples})
    exhibit = ReleaseView(release.form, parts, publication.policy, original=publication.original, trace=trace)
    return next(found for found in among(exhibit) if found.model == "localities")


def alone(exhibit):
    """What one check says; others solve a linear program for every cell that did not change."""
    return [KeptLocalities().examine(exhibit)]


def apart(publication):
    triples = publication.release.trace.localities["v"]
    partition = triples[:, :3] // 8
    return triples, np.flatnonzero([len(set(row)) == 3 for row in partition.tolist()])


def test_release_keeps_and_records_the_localities_across(publication, tmp_path):
    triples, across = apart(publication)
    assert across.size == 25
    assert len(triples) > 25
    found = judged(publication)
    assert found.holds
    assert (found.achieved["judged"], found.achieved["across"]) == (len(triples), 25)
    out = publication.write(tmp_path / "out")
    assert provenance_path(out).exists()
    verdict = sf.verify(out, original=frame())
    assert verdict.holds
    assert next(entry for entry in verdict.findings if entry.model == "localities").achieved["across"] == 25


def test_audit_sees_one_broken_locality_across(publication):
    """The original with only the middle of one crossing moved, so far that its comparison turns; ties move along."""
    before = frame()["v"].to_numpy()
    triples, across = apart(publication)
    assert judged(publication, values=before).holds
    assert judged(publication, values=before) == judged(publication, values=before, among=alone)
    for row in across:
        a, b, c, _ = triples[row]
        narrow = before[b] - before[a] <= before[c] - before[b]
        values = before.copy()
        values[(before == before[b]) & (np.arange(40) // 8 == b // 8)] = before[c] if narrow else before[a]
        only = judged(publication, values=values, triples=triples[row : row + 1], among=alone)
        assert only.achieved["broken"] == 1
        assert not judged(publication, values=values, among=alone).holds


def test_audit_sees_missing_repeated_and_foreign_localities_across(publication):
    triples, across = apart(publication)
    assert judged(publication, triples=np.delete(triples, across[0], axis=0)).achieved["missing"] == 1
    repeated = triples.copy()
    repeated[across[0]] = repeated[across[1]]
    assert judged(publication, triples=repeated).achieved["missing"] == 1
    foreign = triples.copy()
    foreign[across[0], 2] = foreign[across[0], 1] // 8 * 8 + (foreign[across[0], 1] + 1) % 8
    found = judged(publication, triples=foreign)
    assert not found.holds
    assert found.achieved["broken"] >= 1
    inside = replace(publication, policy=policy_of(RULE.removesuffix(" across 25")))
    assert judged(inside).achieved["missing"] == 25


def test_data_without_enough_crossings_is_refused():
    with pytest.raises(DataError, match="no 9 localities across partitions of 'v'"):
        sf.publish(policy_of("localities(v) partition 20 across 9"), data=frame(40), seed=secret(1))
