"""The learner against a plain twin, and its guesses on data where the answer is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sfumato.kinds.subtables.attacks import DeFinetti, KnownBuckets, known_buckets, learned
from sfumato.release.release import Provenance

from .small_exhibits import policy_of, published


def plain_round(
    columns: list[list[int]], bucket: list[int], counts: list[list[float]], belief: list[list[float]]
) -> list[list[float]]:
    """One round, written from the definition."""
    values, weight = range(len(counts[0])), []
    for row in range(len(bucket)):
        weight.append([])
        for value in values:
            chance = 1.0 if counts[bucket[row]][value] else 0.0
            for codes in columns:
                seen = dict.fromkeys(range(max(codes) + 1), 0.5)
                for other, code in enumerate(codes):
                    seen[code] += belief[other][value]
                chance *= seen[codes[row]] / sum(seen.values())
            weight[row].append(chance)
    weight = [[share / sum(row) for share in row] for row in weight]
    for _ in range(10):
        for b in set(bucket):
            members = [row for row in range(len(bucket)) if bucket[row] == b]
            for value in values:
                total = sum(weight[row][value] for row in members)
                for row in members:
                    weight[row][value] *= counts[b][value] / total if total else 0.0
        weight = [[share / sum(row) for share in row] for row in weight]
    return weight


def test_a_round_is_that_of_the_plain_twin() -> None:
    rng = np.random.default_rng(3)
    bucket = np.repeat(np.arange(6), 3)
    counts = np.zeros((6, 5))
    for each in range(6):
        counts[each, rng.choice(5, 3, replace=False)] = 1
    columns = (rng.integers(0, 3, 18), rng.integers(0, 4, 18))
    known = KnownBuckets(columns, bucket, counts, tuple("vwxyz"))
    start = (counts / counts.sum(axis=1, keepdims=True))[bucket].tolist()
    by_hand = start
    for rounds in (1, 2):
        by_hand = plain_round([codes.tolist() for codes in columns], bucket.tolist(), counts.tolist(), by_hand)
        assert learned(known, rounds) == pytest.approx(np.array(by_hand), abs=1e-9)
    sums = np.zeros_like(counts)
    np.add.at(sums, bucket, learned(known, 5))
    assert sums == pytest.approx(counts, abs=0.05)


def anatomy(strength: float, seed: int = 1):
    """2,000 people whose value is their group with this chance, else any of four."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, 2000)
    value = np.where(rng.random(2000) < strength, group, rng.integers(0, 4, 2000))
    claims = [{"l-diversity": {"l": 2, "kind": "frequency"}}]
    policy = policy_of({"g": "quasi-identifier", "n": "quasi-identifier", "s": "sensitive"}, claims, "anatomy")
    return published(
        policy, {"g": [f"g{i}" for i in group], "n": [str(i) for i in range(2000)], "s": [f"v{i}" for i in value]}
    )


def test_opinions_are_learned_from_the_release_itself() -> None:
    played = DeFinetti(target="", original="").play(anatomy(0.8))
    assert played["promised"] == 0.5
    assert played["guesses_right_blind"] == pytest.approx(0.5, abs=0.05)
    assert played["guesses_right"] > 0.8, "far above what the claim says of outsiders without an opinion"
    assert played["guesses_right_surest"] >= played["guesses_right"]


def test_where_there_is_nothing_to_learn_nothing_is_learned() -> None:
    played = DeFinetti(target="", original="").play(anatomy(0.0))
    assert played["guesses_right"] == pytest.approx(0.5, abs=0.06)


def test_people_who_look_alike_are_scored_nearly_as_with_the_trace() -> None:
    rng = np.random.default_rng(4)
    group = rng.integers(0, 60, 1500)
    value = (group + (rng.random(1500) < 0.5) * rng.integers(0, 6, 1500)) % 6
    policy = policy_of(
        {"g": "quasi-identifier", "s": "sensitive"}, [{"l-diversity": {"l": 3, "kind": "frequency"}}], "anatomy"
    )
    exhibit = published(policy, {"g": [str(i) for i in group], "s": [str(i) for i in value]})
    assert exhibit.behind is not None
    attack = DeFinetti(target="", original="")
    with_trace, without = attack.play(exhibit), attack.play(replace(exhibit, trace=Provenance()))
    for figure in ("guesses_right", "guesses_right_blind"):
        assert math.isclose(with_trace[figure], without[figure], abs_tol=0.06), figure


def test_few_rows_are_whole_buckets() -> None:
    from sfumato.kinds.subtables.attacks import _some_buckets

    exhibit = anatomy(0.5)
    known = known_buckets(exhibit, "s")
    rows = _some_buckets(known, 300, np.random.default_rng(1))
    assert 200 < len(rows) <= 300
    size = np.bincount(known.bucket)
    assert all((known.bucket[rows] == each).sum() == size[each] for each in np.unique(known.bucket[rows]))
