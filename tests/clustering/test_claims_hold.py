"""Random tables, hierarchies, boundaries and claims, judged by a checker written from the definitions."""

import math
from collections import Counter, defaultdict

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_problems import draw

from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.recoding_problem import Requirement
from sfumato.models.alpha_k_anonymity import AlphaK
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.models.t_closeness import TCloseness
from tests.slow import SLOW

KINDS = ["distinct", "frequency", "entropy", "recursive"]
MODELS = st.one_of(
    st.builds(PSensitivity, p=st.integers(1, 4)),
    st.builds(LDiversity, l=st.sampled_from([1, 1.5, 2, 3]), kind=st.sampled_from(KINDS)),
    st.builds(TCloseness, t=st.sampled_from([0.1, 0.3, 0.6]), distance=st.sampled_from(["equal", "ordered"])),
    st.builds(AlphaK, alpha=st.sampled_from([0.4, 0.5, 0.8]), k=st.integers(1, 5)),
)


def holds(model, values, everything):
    """Does the model hold for the people of a group with these sensitive values?"""
    counts, size = Counter(values), len(values)
    if isinstance(model, KAnonymity):
        return size >= model.k
    if isinstance(model, PSensitivity):
        return len(counts) >= model.p
    if isinstance(model, AlphaK):
        return size >= model.k and max(counts.values()) <= model.alpha * size + 1e-9
    if isinstance(model, TCloseness):
        return distance(counts, size, everything, model.distance) <= model.t + 1e-9
    frequent = sorted(counts.values(), reverse=True)
    return {
        "distinct": len(counts) >= model.l,
        "frequency": frequent[0] * model.l <= size + 1e-9,
        "entropy": -sum(c / size * math.log(c / size) for c in frequent) >= math.log(model.l) - 1e-9,
        "recursive": len(frequent) >= model.l and frequent[0] < model.c * sum(frequent[math.ceil(model.l) - 1 :]),
    }[model.kind]


def distance(counts, size, everything, kind):
    overall, total = Counter(everything), len(everything)
    gaps = [
        counts[value] / size - overall[value] / total for value in sorted(overall)
    ]  # a value that nobody has has no place
    if kind == "equal":
        return sum(map(abs, gaps)) / 2
    return sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps))) / max(len(gaps) - 1, 1)


def values_of(problem, name):
    return next(
        (column.codes for column in problem.sensitive if column.name == name), np.zeros(problem.records, dtype=int)
    )


def judge(drawn, of):
    problem = drawn.problem
    people = np.flatnonzero(of >= 0)
    groups = defaultdict(list)
    for person in people:
        groups[int(of[person])].append(person)
    for requirement in problem.requirements:
        names = requirement.hide or (None,)
        for name in names:
            codes = values_of(problem, name)
            for members in groups.values():
                assert holds(requirement.model, codes[members].tolist(), codes[people].tolist()), (requirement, name)
    for j, column in enumerate(drawn.columns):
        for members in groups.values():
            leaves = [drawn.leaf(j, problem.codes[j][person]) for person in members]
            assert len({column.ceiling(leaf) for leaf in leaves}) == 1  # Property 1
    return set(map(int, people))


@settings(max_examples=400 if SLOW else 150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.lists(MODELS, max_size=3),
    st.sampled_from(["growth", "total"]),
    st.booleans(),
)
def test_every_group_satisfies_every_claim_within_the_boundaries(seed, k, models, disperse, bounded):
    source = np.random.default_rng(seed)
    hidden = [("s0",), ("s1",), ("s0", "s1")]
    claims = [Requirement(KAnonymity(k=k)), *(Requirement(model, hidden[int(source.integers(3))]) for model in models)]
    rows, columns = int(source.integers(1, 80)), int(source.integers(1, 5))
    drawn = draw(source, rows=rows, columns=columns, sensitive=2, bounded=bounded, requirements=claims)
    problem = drawn.problem
    price = str(source.choice(["height", "width"]))
    published = judge(drawn, problem.group_of_record(cluster(problem, disperse=disperse, price=price)))
    assert len(published) == problem.records - problem.suppressed
    # nobody is suppressed whose region satisfies all claims as one group
    regions = defaultdict(list)
    for person in range(problem.records):
        regions[tuple(c.ceiling(drawn.leaf(j, problem.codes[j][person])) for j, c in enumerate(drawn.columns))].append(
            person
        )
    if not any(isinstance(model, TCloseness) for model in models):
        for members in regions.values():
            told = [
                (claim.model, values_of(problem, name)[members]) for claim in claims for name in claim.hide or (None,)
            ]
            fits = all(holds(model, values.tolist(), ()) for model, values in told)
            assert fits == (set(members) <= published)
