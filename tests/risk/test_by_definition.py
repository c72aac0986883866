"""`sf.risk` on a census, recomputed from the definitions that ARX and sdcMicro publish, by counters and loops alone."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.workflow.risk.report import RiskReport
from tests.house.brute import distance
from tests.risk import plain_population as population
from tests.risk import plain_risk as plain

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "income"]
KNOWN = ["sex", "race", "income"]
THRESHOLDS = (0.05, 0.09, 0.2, 0.33, 0.5)


@dataclass
class Census:
    """A file, its rows, their keys, and how often each key occurs."""

    path: Path
    rows: list[dict[str, str]]
    keys: list[tuple[str, ...]]
    alike: Counter[tuple[str, ...]]


@pytest.fixture(scope="module")
def census(shared: Path) -> Census:
    path = shared / "data" / "adult" / "adult_30162.csv.gz"
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    keys = [tuple(row[name] for name in QUASI) for row in rows]
    return Census(path, rows, keys, Counter(keys))


@pytest.fixture(scope="module")
def found(census: Census) -> RiskReport:
    return sf.risk(census.path, QUASI, sensitive=["occupation"], fraction=0.01)


def test_classes_and_the_prosecutor(census: Census, found: RiskReport) -> None:
    alike, keys = census.alike, census.keys
    assert (found.k, found.classes, found.uniques) == (
        min(alike.values()),
        len(alike),
        sum(n == 1 for n in alike.values()),
    )
    assert found.prosecutor.highest == 1 / min(alike.values())
    assert found.prosecutor.average == pytest.approx(sum(1 / alike[key] for key in keys) / len(keys))
    assert [each.records for each in found.prosecutor.at_risk] == [
        sum(1 / alike[k] > t for k in keys) for t in THRESHOLDS
    ]


def test_journalist_and_marketer_with_the_population_at_hand(census: Census, tmp_path: Path) -> None:
    """Every ninth record is the sample; everybody is the population."""
    sample = census.rows[::9]
    data = {name: [row[name] for row in sample] for name in QUASI}
    found = sf.risk(data, QUASI, sensitive=[], population=census.path, largest=1)
    keys = census.keys[::9]
    for place, threshold in enumerate(THRESHOLDS):
        highest, average, above = plain.journalist(keys, census.keys, threshold)
        assert found.journalist.at_risk[place].records == above
    assert found.journalist.highest == pytest.approx(float(highest))
    assert found.journalist.average == pytest.approx(float(average))
    assert found.marketer.average == pytest.approx(float(plain.marketer(keys, census.keys)))
    assert found.marketer.average < found.prosecutor.average


def test_diversity_and_closeness(census: Census) -> None:
    found = sf.risk(census.path, KNOWN, sensitive=["occupation", "hours-per-week"], largest=1)
    for each, kind in zip(found.diversity, ("equal", "ordered"), strict=True):
        values = [row[each.column] for row in census.rows]
        groups: dict[tuple[str, ...], Counter[str]] = {}
        for row, value in zip(census.rows, values, strict=True):
            groups.setdefault(tuple(row[name] for name in KNOWN), Counter())[value] += 1
        assert each.distance == kind
        assert each.l_distinct == min(map(len, groups.values()))
        assert each.t == pytest.approx(
            max(distance(group, Counter(values), kind) for group in groups.values()), abs=1e-5
        )


@pytest.mark.parametrize("fraction", [0.01, 0.3])
def test_uniques_of_the_population(census: Census, fraction: float) -> None:
    found = sf.risk(census.path, QUASI, sensitive=[], fraction=fraction, largest=1).population
    assert found is not None
    sizes, size = list(census.alike.values()), round(len(census.rows) / fraction)
    expected = {
        "pitman": population.pitman(sizes, size),
        "zayatz": population.zayatz(sizes, size),
        "snb": population.snb(sizes, fraction),
    }
    assert found.population == size
    assert {each.model: each.uniques for each in found.models} == pytest.approx(expected, rel=1e-4)
    assert found.uniques == pytest.approx(population.dankar(fraction, expected), rel=1e-4)


def test_individual_risks(census: Census, found: RiskReport) -> None:
    by_size = {size: population.individual(size, 0.01) for size in set(census.alike.values())}
    expected = [by_size[census.alike[key]] for key in census.keys]
    assert found.records()["individual_risk"].to_pylist() == pytest.approx(expected, rel=1e-5)
    assert found.individual.expected == pytest.approx(sum(expected), rel=1e-5)


def test_special_uniques(census: Census, found: RiskReport) -> None:
    """Minimal sample uniques of up to three of the eight columns, their scores, and the scores as probabilities."""
    largest, columns = 3, len(QUASI)
    codes = [np.unique([key[place] for key in census.keys], return_inverse=True)[1] for place in range(columns)]
    minimal: list[list[frozenset[int]]] = [[] for _ in census.keys]
    for size in range(1, largest + 1):
        for chosen in itertools.combinations(range(columns), size):
            whole, part = frozenset(chosen), np.zeros(len(census.keys), dtype=np.int64)
            for place in chosen:
                part = part * (int(codes[place].max()) + 1) + codes[place]
            _, first, often = np.unique(part, return_index=True, return_counts=True)
            for record in first[often == 1].tolist():
                if not any(smaller < whole for smaller in minimal[record]):
                    minimal[record].append(whole)
    scores = [plain.suda_score(sets, columns, largest) for sets in minimal]
    assert found.special is not None
    assert found.special.by_size == dict(sorted(Counter(len(s) for sets in minimal for s in sets).items()))
    assert found.special.score.tolist() == scores
    sizes = Counter(census.alike.values())
    match = sizes[1] * 0.01 / (sizes[1] * 0.01 + 2 * sizes[2] * 0.99)
    power = 1 + (8 - columns) / 20
    spread = sum(score**-power for score in scores if score)
    expected = [1 / (1 + sizes[1] * (1 / match - 1) / (score**power * spread)) if score else 0.0 for score in scores]
    assert found.special.match == pytest.approx(match)
    assert found.special.dis.tolist() == pytest.approx(expected)


def test_combinations(census: Census, found: RiskReport) -> None:
    pair = next(each for each in found.combinations.found if each.columns == ("age", "education"))
    counts, n = Counter((row["age"], row["education"]) for row in census.rows), len(census.rows)
    assert pair.separation == pytest.approx(1 - sum(c * (c - 1) for c in counts.values()) / (n * (n - 1)))
    assert pair.distinction == pytest.approx(len(counts) / n)
