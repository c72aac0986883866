"""Three hundred small sequences, two thousand in `make slow`: joins and their exact decision at class level against all
perfect matchings of the records."""

import numpy as np
import pytest

from sfumato.history.judge.full_match_join import decide_cliques, kernel_of, match_join, reducible, true_cliques
from sfumato.kinds.tables.methods.sequential_search import collapses
from tests.slow import SLOW

from .brute import Records
from .instances import random_instance, record_cliques, sequence_of


def compare(rng, R, N):
    """Match, kernel and full join of one random sequence; whether followers could be dropped until two releases are
    left."""
    columns, published, leaves = random_instance(rng, R=R, N=N)
    sequence, records = sequence_of(columns, published, leaves), Records(published)
    match = match_join(sequence)
    cliques = kernel_of(match, true_cliques(sequence)[0])
    assert record_cliques(sequence, match, published) == records.match_join()
    kernel, full = record_cliques(sequence, cliques, published), records.full_join()
    assert kernel == records.kernel_join()
    assert full <= kernel
    if R == 2:
        assert full == kernel
    verdict = decide_cliques(sequence, cliques)
    assert verdict.undecided == 0
    assert record_cliques(sequence, cliques[verdict.admitted], published) == full
    simple = reducible(cliques)
    assert simple == collapses(cliques)
    assert full == kernel or not simple
    return simple


@pytest.mark.parametrize(
    ("R", "N", "count"), [(2, 4, 900), (2, 5, 150), (3, 4, 500), (3, 5, 100), (4, 3, 350), (4, 4, 60)]
)
def test_all_joins_equal_enumeration(R, N, count):
    count = count if SLOW else max(count // 14, 14)
    rng = np.random.default_rng(1000 * R + N)
    simple = sum(compare(rng, R, N) for _ in range(count))
    assert simple == count if R == 2 else 0 < simple < count
