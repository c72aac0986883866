"""Figures that ARX and sdcMicro state in their tests, found again: at ARX's optima of Adult, and on eight records of
sdcMicro."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks import arx_figures as arx
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.models.base import example_classes
from sfumato.models.entropy_diversity import EntropyDiversity, corrected_logarithms, margin
from sfumato.workflow.risk.figures import individual_risk


@pytest.fixture(scope="module")
def table(public: Path) -> arx.Table:
    return arx.adult(arx.HIDDEN)


def test_optima_of_claims_about_a_hidden_column(table: arx.Table) -> None:
    cases = [*((table, one) for one in arx.OF_HIDDEN), *((arx.drawn(table, draws), one) for draws, one in arx.OF_DRAWN)]
    for people, one in cases:
        found = arx.judged(arx.Seen.at(people, one.node, hidden=True), one, arx.judge_of(one))
        assert found == pytest.approx(one.loss, rel=1e-9), str(one)


def test_optima_of_claims_about_sizes(public: Path) -> None:
    everything = arx.adult()
    for one in arx.OF_RISK:
        found = arx.judged(arx.Seen.at(everything, one.node, hidden=False), one, arx.judge_of(one))
        assert found == pytest.approx(one.loss, rel=1e-9), str(one)
    assert all(one["same"] for one in (*arx.uniqueness(), *arx.of_sampling(everything)))


def test_a_stricter_level_refuses_the_optimum(table: arx.Table) -> None:
    """The judge can say no: half of β, and twice the l, at the same nodes."""
    for one, level in (
        (arx.OF_HIDDEN[8], {"beta": 1, "kind": "enhanced"}),
        (arx.OF_HIDDEN[13], {"l": 10, "kind": "entropy"}),
    ):
        stricter = arx.case(one.models[0][0], level, one.suppressed, one.measure, one.loss, one.node)
        assert arx.judged(arx.Seen.at(table, one.node, hidden=True), stricter, arx.by_class) is None


def test_where_arx_stops_adding_early_its_figure_lies_between(table: arx.Table) -> None:
    assert all(one["same"] for one in arx.between(table))


def test_individual_risk_of_eight_records_as_sdcmicro_has_it() -> None:
    keys = np.array([[2, 3, 2, 2, 3, 3, 1, 2], [3, 3, 3, 3, 3, 3, 4, 3], [1, 3, 1, 2, 1, 1, 1, 1]])
    weights = np.array([18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51])
    classes = equivalence_classes_of(list(keys))
    people = np.bincount(classes.of, weights=weights)
    assert classes.counts[classes.of].tolist() == [3, 1, 3, 1, 2, 2, 1, 3]
    assert people[classes.of].tolist() == [108.0, 45.5, 108.0, 17.0, 100.0, 100.0, 123.5, 108.0]
    exact = [0.01355297, 0.08579129, 0.01355297, 0.17707583, 0.01877883, 0.01877883, 0.03931625, 0.01355297]
    assert individual_risk(classes.counts, people)[classes.of] == pytest.approx(exact, abs=5e-9)


def test_one_value_is_never_diverse_and_methods_keep_enough() -> None:
    """Grassberger's estimate against shannon's entropy with its margin, for all ways in which up to 15 people have
    values."""
    level = EntropyDiversity(l=1.01, estimator="grassberger")
    assert not level.satisfied(example_classes("a", "aa", "aaaaaaa")).any()
    for sizes in (parts for people in range(1, 16) for parts in partitions(people, people)):
        n = np.array(sizes)
        shannon = math.log(n.sum()) - float(n @ np.log(n)) / n.sum()
        estimate = float(corrected_logarithms(n.sum(keepdims=True))[0] - n @ corrected_logarithms(n) / n.sum())
        for l in (1.2, 2.0, 3.5, 5.0):
            assert shannon < math.log(l) + margin(l) or min(estimate, math.log(len(n))) >= math.log(l) - 1e-12


def partitions(people: int, largest: int) -> Iterator[tuple[int, ...]]:
    if not people:
        yield ()
    for first in range(min(people, largest), 0, -1):
        for rest in partitions(people - first, first):
            yield (first, *rest)
