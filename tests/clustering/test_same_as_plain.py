"""The kernel forms the groups of its plain twin where the transcription would be too slow."""

import numpy as np
import pytest
from baselines.plain_clustering import plain_gather
from random_problems import draw

from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.greedy_clustering import Layout
from sfumato.kinds.tables.methods.kernels.greedy_clustering import gather
from sfumato.kinds.tables.methods.recoding_costs import columns_of
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.p_sensitivity import PSensitivity


def agree(problem, by_growth, price="height"):
    layout, columns = Layout.of(problem, None, None), columns_of(problem, price)
    work = layout.work(problem, columns)
    plain = plain_gather(
        work.table, work.columns, layout.root_start, layout.k, layout.distinct, layout.weight, by_growth
    )
    expected = np.zeros((len(layout.cells), max(group for _, group, _ in plain) + 1), dtype=np.int64)
    for cell, group, count in plain:
        expected[cell, group] += count
    gather(0, len(layout.root_start) - 1, work, layout.k, by_growth)
    entries = work.result.entries[: work.result.used[0]]
    found = np.zeros_like(expected)
    np.add.at(found, (entries["cell"], entries["group"]), entries["count"])
    assert (found == expected).all()
    return work


def claims(k, p, *names):
    return (Requirement(KAnonymity(k=k)), Requirement(PSensitivity(p=p), names))


@pytest.mark.twin(of=[gather])
@pytest.mark.parametrize("price", ["height", "width"])
@pytest.mark.parametrize("by_growth", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_more_than_a_hundred_records(seed, by_growth, price):
    source = np.random.default_rng(seed)
    drawn = draw(
        source, rows=150, columns=4, sensitive=2, bounded=seed % 2 == 1, requirements=claims(5, 3, "s0", "s1"), values=6
    )
    agree(drawn.problem, by_growth, price)


def test_more_combos_than_bits():
    """Thousands of combinations of sensitive values share the bits of the index."""
    source = np.random.default_rng(1)
    drawn = draw(
        source, rows=1800, columns=3, sensitive=2, bounded=False, requirements=claims(4, 3, "s0", "s1"), values=60
    )
    work = agree(drawn.problem, True)
    assert len(work.table.values) > 64 * work.table.bits.shape[1] > 0


def test_a_hierarchy_of_thousands_of_leaves():
    source = np.random.default_rng(2)
    places = Hierarchy.from_paths([(f"{i:05d}", f"{i:05d}"[:3], f"{i:05d}"[:2], "*") for i in range(12_000)])
    codes = tuple(source.integers(0, size, 350).astype(np.int32) for size in (12_000, 3))
    sex = Hierarchy.flat(["a", "b", "c"])
    ill = Sensitive("ill", source.integers(0, 5, 350).astype(np.int32), tuple("vwxyz"))
    agree(RecodingProblem(("place", "sex"), (places, sex), codes, (ill,), claims(4, 2, "ill")), True)


def test_adult(shared):
    from benchmarks_adult import adult, problem

    domains, codes, sensitive = adult(folder=shared / "data" / "adult")
    few = slice(0, 800)
    hidden = tuple(Sensitive(s.name, s.codes[few], s.labels) for s in sensitive)
    agree(problem((domains, tuple(c[few] for c in codes), hidden), 8, 4), True)
