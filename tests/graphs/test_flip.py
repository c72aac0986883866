"""The flip: what it does to one edge, one degree and the number of edges, against enumeration and the paper's
tables."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from sfumato.core.errors import PolicyError
from sfumato.data.edge_channel import EdgeChannel, binomial_probabilities
from sfumato.models.structural_attack import path_bound


@pytest.mark.parametrize(
    ("mu", "cells"),
    [(1e-4, (0.9991, 0.9981, 0.9971)), (1e-3, (0.9910, 0.9812, 0.9714)), (1e-2, (0.9135, 0.8262, 0.7472))],
)
def test_table_4_1_the_path_survives(mu, cells):
    assert [round(path_bound(EdgeChannel.symmetric(mu), k), 4) for k in (10, 20, 30)] == list(cells)


@pytest.mark.parametrize(
    ("mu", "width", "inside", "all_twelve"),
    [
        (1e-4, 0, 0.3670, 5.9643e-6),
        (1e-4, 2, 0.9814, 0.7983),
        (1e-4, 4, 0.9994, 0.9931),
        (1e-3, 0, 0.1246, 1.3935e-11),
        (1e-3, 4, 0.8488, 0.1399),
        (1e-3, 8, 0.9927, 0.9158),
    ],
)
def test_table_4_2_at_the_flip_it_was_made_with(mu, width, inside, all_twelve):
    first, law = EdgeChannel.symmetric(mu).degree_law(50, 10_000)
    centre = 50 - round(50 * mu) + round(9949 * mu)
    chance = law[max(centre - width - first, 0) : centre + width - first + 1].sum()
    assert chance == pytest.approx(inside, abs=1.5e-4)
    assert chance**12 == pytest.approx(all_twelve, rel=0.02)


def test_table_4_2_at_the_printed_flip_is_something_else():
    first, law = EdgeChannel.symmetric(0.01).degree_law(50, 10_000)
    assert law[149 - 4 - first : 149 + 5 - first].sum() == pytest.approx(0.3487, abs=0.01)


def test_the_degree_law_is_the_printed_sum():
    nodes, degree, mu = 12, 4, 0.2
    first, law = EdgeChannel.symmetric(mu).degree_law(degree, nodes)
    for published in range(nodes):
        total = sum(
            math.comb(degree, r)
            * math.comb(nodes - degree - 1, published - degree + r)
            * (1 - mu) ** (nodes - 1 - (published - degree + 2 * r))
            * mu ** (published - degree + 2 * r)
            for r in range(max(0, degree - published), degree + 1)
            if 0 <= published - degree + r <= nodes - degree - 1
        )
        assert law[published - first] == pytest.approx(total, abs=1e-12)


def test_the_corrected_error_and_interval_of_the_papers_example():
    error = EdgeChannel.symmetric(0.01).edges_error(499_500, 99_900)
    assert error == pytest.approx(71.76, abs=0.005)
    assert (round(99_900 - 1.96 * error), round(99_900 + 1.96 * error)) == (99_759, 100_041)


def test_flips_compose():
    one, two = EdgeChannel(0.1, 0.02), EdgeChannel(0.3, 0.05)
    both = one.then(two)
    kept = sum(
        (0.9 if a else 0.1) * ((0.7 if b else 0.3) if a else (0.05 if b else 0.95)) for a, b in product((0, 1), (1,))
    )
    assert 1 - both.delete == pytest.approx(kept)
    assert both.slope == pytest.approx(one.slope * two.slope)


def test_epsilon_is_that_of_randomized_response():
    assert EdgeChannel.symmetric(1e-3).epsilon == pytest.approx(math.log(999))
    assert EdgeChannel(0.05, 2e-5).epsilon == pytest.approx(math.log(0.95 / 2e-5))
    assert math.isinf(EdgeChannel(0.5, 0.0).epsilon)


@pytest.mark.parametrize(("delete", "add"), [(0.5, 0.5), (-0.1, 0.1), (1.0, 0.0)])
def test_a_flip_that_cannot_be_undone_is_refused(delete, add):
    with pytest.raises(PolicyError):
        EdgeChannel(delete, add)


def test_the_binomial_law_has_the_right_moments():
    first, law = binomial_probabilities(20_000, 1e-3)
    value = np.arange(first, first + len(law))
    assert (law * value).sum() == pytest.approx(20.0)
    assert (law * (value - 20) ** 2).sum() == pytest.approx(20_000 * 1e-3 * 0.999)
