"""Random small recoding problems, and the definitions of the models written out for a handful of records."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
from hypothesis import strategies as st

from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem, Requirement, Sensitive
from sfumato.models.alpha_k_anonymity import AlphaK
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.models.t_closeness import TCloseness

MODELS = {
    "k": lambda n, x: (KAnonymity(k=n), lambda tally, whole: sum(tally.values()) >= n),
    "p": lambda n, x: (PSensitivity(p=n), lambda tally, whole: len(tally) >= n),
    "distinct": lambda n, x: (LDiversity(l=n), lambda tally, whole: len(tally) >= n),
    "frequency": lambda n, x: (
        LDiversity(l=n, kind="frequency"),
        lambda tally, whole: max(tally.values()) * n <= sum(tally.values()) + 1e-6,
    ),
    "entropy": lambda n, x: (LDiversity(l=n, kind="entropy"), lambda tally, whole: entropy(tally) >= log(n) - 1e-6),
    "recursive": lambda n, x: (LDiversity(l=n, kind="recursive", c=2.0), lambda tally, whole: recursive(tally, n, 2.0)),
    "alpha": lambda n, x: (
        AlphaK(alpha=x, k=n),
        lambda tally, whole: sum(tally.values()) >= n and max(tally.values()) <= x * sum(tally.values()) + 1e-6,
    ),
    "t equal": lambda n, x: (TCloseness(t=x), lambda tally, whole: distance(tally, whole, ordered=False) <= x + 1e-6),
    "t ordered": lambda n, x: (
        TCloseness(t=x, distance="ordered"),
        lambda tally, whole: distance(tally, whole, ordered=True) <= x + 1e-6,
    ),
}


def entropy(tally):
    total = sum(tally.values())
    return -sum(n / total * log(n / total) for n in tally.values())


def recursive(tally, wanted, c):
    ranked = sorted(tally.values(), reverse=True)
    return ranked[0] < c * sum(ranked[wanted - 1 :])


def distance(tally, whole, *, ordered):
    here, there = sum(tally.values()), sum(whole.values())
    gaps = [tally[value] / here - whole[value] / there for value in range(LABELS) if whole[value]]
    if not ordered:
        return sum(map(abs, gaps)) / 2
    return sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps) - 1)) / max(len(gaps) - 1, 1)


LABELS = 4


@st.composite
def trees(draw, leaves):
    """A tree over the leaves, with nodes of any number of children, one included."""
    nodes = [f"v{leaf}" for leaf in range(leaves)]
    path = {name: [name] for name in nodes}
    under = {name: [name] for name in nodes}
    number = 0
    while len(nodes) > 1 or number == 0:
        start = draw(st.integers(0, len(nodes) - 1))
        width = draw(st.integers(1, 3))
        taken, number = nodes[start : start + width], number + 1
        name = f"n{number}"
        under[name] = [leaf for node in taken for leaf in under[node]]
        for leaf in under[name]:
            path[leaf].append(name)
        nodes[start : start + width] = [name]
        if number > 3 * leaves:
            return Hierarchy.flat([f"v{leaf}" for leaf in range(leaves)])
    tree = Hierarchy.from_paths(path.values())
    ceilings = draw(st.sets(st.sampled_from(tree.names), max_size=2)) if draw(st.booleans()) else set()
    return tree.bounded(ceilings)


@st.composite
def domains(draw):
    leaves = draw(st.integers(1, 7))
    if draw(st.integers(0, 3)) == 0:
        return Ranges(tuple(str(leaf * leaf) for leaf in range(leaves)))
    return draw(trees(leaves))


@st.composite
def problems(draw, models=tuple(MODELS)):
    """A problem, and for each requirement the test of its definition."""
    rows = draw(st.integers(1, 60))
    columns = draw(st.lists(domains(), min_size=1, max_size=3))
    seed = draw(st.integers(0, 2**32 - 1))
    dice = np.random.default_rng(seed)
    codes = tuple(
        (domain.size * dice.random(rows) ** draw(st.sampled_from([1, 2]))).astype(np.int32) for domain in columns
    )
    sensitive = tuple(Sensitive(name, dice.integers(0, LABELS, rows).astype(np.int32), tuple("0123")) for name in "st")
    chosen = draw(st.lists(st.sampled_from(models), min_size=1, max_size=2, unique=True))
    pairs = [MODELS[name](draw(st.integers(1, 4)), draw(st.sampled_from([0.3, 0.5, 0.8]))) for name in chosen]
    hides = [draw(st.sampled_from([("s",), ("t",), ("s", "t")])) if model.needs_sensitive else () for model, _ in pairs]
    requirements = tuple(Requirement(model, hide) for (model, _), hide in zip(pairs, hides, strict=True))
    names = tuple(f"q{column}" for column in range(len(columns)))
    problem = RecodingProblem(names, tuple(columns), codes, sensitive, requirements)
    return problem, [(test, hide) for (_, test), hide in zip(pairs, hides, strict=True)]


def flaws(problem: RecodingProblem, tests, grouping: Grouping) -> list[str]:
    """Everything that is wrong with a grouping, by the definitions, record by record."""
    of = problem.group_of_record(grouping)
    out = problem.out[problem.row_point.of]
    found = ["a record that can be published is not, or the reverse"] if ((of < 0) != out).any() else []
    placed = np.bincount(grouping.cell, weights=grouping.count, minlength=len(problem.cell_point))
    if (placed != np.where(problem.out[problem.cell_point], 0, problem.row_cell.counts)).any():
        found.append("a cell is not placed exactly once")
    if (grouping.count <= 0).any() or len(set(zip(grouping.cell, grouping.group, strict=True))) != len(grouping.cell):
        found.append("entries are not tidy")
    kept = [row for row in range(problem.records) if of[row] >= 0]
    boxes = (
        list(zip(*[list(zip(*side, strict=True)) for side in problem.intervals(grouping)], strict=True)) if kept else []
    )
    for row in kept:
        for column, domain in enumerate(problem.domains):
            code, (lo, hi) = problem.codes[column][row], boxes[of[row]][column]
            floor, roof = domain.ceiling()
            if not floor[code] <= lo <= code < hi <= roof[code]:
                found.append("a cell is published beyond its boundary, or untruthfully")
    return found + _broken(problem, tests, of, kept, boxes)


def _broken(problem, tests, of, kept, boxes):
    codes = {column.name: column.codes for column in problem.sensitive}
    found = []
    for read in (lambda row: of[row], lambda row: boxes[of[row]]):
        classes: dict = {}
        for row in kept:
            classes.setdefault(read(row), []).append(row)
        for test, hide in tests:
            for name in hide or ("s",):
                whole = Counter(int(codes[name][row]) for row in kept)
                found += [
                    "a claim does not hold" for rows in classes.values()
                    if not test(Counter(int(codes[name][row]) for row in rows), whole)
                ]  # fmt: skip
    return found


def without_claims(problem: RecodingProblem) -> RecodingProblem:
    return replace(problem, requirements=())
