"""Aggregates put together from files say what they say of all records in one piece, missing values and empty files
included."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest

from sfumato.policy.constraint_language import parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator, Partial
from sfumato.policy.constraint_language.syntax_tree import Aggregate

RULES = [
    "sum(a) = 11",
    "sum(a) <= 12",
    "mean(a) = 2",
    "mean(a where b > 1) < 2",
    "count(a >= 2) = count(b >= 2)",
    "min(a) = 0",
    "max(a) - min(b) >= 3",
    "sum(a * b) = 2 * sum(b) + 1",
    "max(a where b > 9) = 1",
]


@pytest.mark.parametrize("text", RULES)
def test_files_together_say_what_the_whole_says(text: str) -> None:
    rule, seen = parse(text), set()
    atoms = list(dict.fromkeys(node for node in rule.body.walk() if isinstance(node, Aggregate)))
    for seed in range(60):
        draw = np.random.default_rng(seed)
        columns = {
            name: draw.choice(["0", "1", "2", "3.5", ""], 6, p=[0.2, 0.3, 0.2, 0.2, 0.1]).tolist() for name in "ab"
        }
        whole = ConstraintEvaluator({None: columns}).broken(rule)
        cuts = [0, *sorted(draw.integers(0, 7, 2).tolist()), 6]
        files = [{name: cells[begin:end] for name, cells in columns.items()} for begin, end in pairwise(cuts)]
        parts = [[ConstraintEvaluator({None: file}).adds(atom) for atom in atoms] for file in files]
        known = {
            atom: reduce(Partial.plus, own).value(atom.function)
            for atom, own in zip(atoms, zip(*parts, strict=True), strict=True)
        }
        assert ConstraintEvaluator({None: {}}, known=known).broken(rule) == whole
        seen.add(whole)
    assert seen == {0, 1} or text.startswith("max(a where b > 9)")  # of nothing: never kept
