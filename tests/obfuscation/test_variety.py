"""How evenly the solver's blocks spread over all solutions: hash cells uniformly, a search in random order nearly,
hints not."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from worlds import all_tables, broken, p_value, problem, texts

import sfumato as sf
from sfumato.core.constraint_solver import SolverModel
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import fallback
from tests.secret import secret
from tests.slow import SLOW

SUMMED = ({"a": {"integers": [0, 3]}}, ["sum(a) = 7"], 5) if SLOW else ({"a": {"integers": [0, 3]}}, ["sum(a) = 6"], 4)
"""155 tables, or 44."""
KEYED = {"a": {"integers": [0, 6]}}, ["unique(a)", "sum(a) = 10"], 4


def drawn(case, variety, draws, heuristic="IG", size=None):
    domains, rules, count = case
    asked = problem(domains, rules, count)
    found = [Route(part, fallback(heuristic, size or count, variety)(asked, part)) for part in asked.parts]
    names = list(domains)
    counted = Counter()
    for seed in range(draws):
        made = texts(run(asked, found, Randomness(seed=seed)))
        counted[tuple(tuple(made[name]) for name in names)] += 1
    return counted, all_tables(asked), found[0].engine.made


def ratio(counted, tables):
    """chi² over degrees of freedom against equal chances."""
    assert set(counted) <= set(tables)
    expected = sum(counted.values()) / len(tables)
    return sum((counted[table] - expected) ** 2 / expected for table in tables) / (len(tables) - 1)


@pytest.mark.parametrize(("case", "draws"), [(SUMMED, 310 if SLOW else 88), (KEYED, 160 if SLOW else 96)])
def test_hash_cells_are_uniform(case, draws):
    counted, tables, made = drawn(case, "cells", draws)
    assert made == {"cells": draws}
    assert p_value(counted, dict.fromkeys(tables, draws / len(tables))) > 1e-3


def test_a_search_in_random_order_is_nearer_to_uniform_than_hints():
    draws = 620 if SLOW else 176
    ordered, tables, made = drawn(SUMMED, "order", draws)
    hinted, _, _ = drawn(SUMMED, "hint", draws)
    assert made == {"order": draws}
    assert len(ordered) > 0.93 * len(tables)
    assert ratio(ordered, tables) < 1.8
    assert ratio(hinted, tables) > 1.5 * ratio(ordered, tables)


def test_cells_of_a_model_hold_every_solution_once():
    model = SolverModel()
    variables = [model.integer(0, 3) for _ in range(4)]
    model.within(dict.fromkeys(variables, 1), 6, 6)
    random = Randomness(seed=4)
    cell = None
    while not cell:  # one cell of about nine of the 44 solutions
        cell = model.cell(variables, [4] * 4, 5, random, 10.0)
    assert len({tuple(row) for row in cell}) == len(cell) < 44
    assert all(sum(row) == 6 for row in cell)
    assert len(model.cell(variables, [4] * 4, 1, random, 10.0)) == 44


def test_a_cell_that_is_too_large_is_not_listed():
    model = SolverModel()
    variables = [model.integer(0, 9) for _ in range(3)]
    assert model.cell(variables, [10] * 3, 1, Randomness(seed=1), 10.0) is None


def test_larger_blocks_are_drawn_again_in_small_groups_and_stay_legal():
    original = {"a": [str(v) for v in (0, 1, 2, 3, 4, 5) * 4], "b": ["3"] * 24}
    domains = {"a": {"integers": [0, 5]}, "b": {"integers": [0, 5]}}
    rules = ["sum(a) = 60", "at_least(2, a)", "a determines b"]
    asked = problem(domains, rules, 24, original)
    found = [Route(part, fallback("LM*", 12, "cells")(asked, part)) for part in asked.parts]
    made = texts(run(asked, found, Randomness(seed=2)))
    assert broken(asked, {**original, **made}) == [0, 0, 0]
    assert found[0].engine.made == {"cells": 2}


def test_the_certificate_says_how_blocks_varied():
    policy = {
        "version": 1,
        "data": {"kind": "table"},
        "columns": {"g": "other", "a": {"role": "replaced", "domain": {"integers": [0, 9]}}},
        "keep": ["unique(a)", "sum(a) = 21"],
        "method": {"obfuscation": {"block": 6, "variety": "cells"}},
    }
    data = {"g": ["x"] * 6, "a": [str(v) for v in (1, 2, 3, 4, 5, 6)]}
    publication = sf.publish(sf.Policy.parse(policy), data=pa.table(data), seed=secret(1))
    (part,) = publication.release.form.to_public()["parts"]
    assert part["variety"] == {"cells": 1}
    assert any("hash cells" in note for note in publication.release.notes)
    assert np.array(publication.release.parts["data"]["a"].to_pylist(), dtype=int).sum() == 21
