"""The joins at class level against the definitions on records."""

import numpy as np
import pytest

from sfumato.history.judge.full_match_join import kernel_join, match_join
from sfumato.history.judge.sequence import diversity, linkability, linkage_of
from tests.slow import SLOW

from .brute import Records, known_tuples
from .instances import random_instance, record_cliques, sequence_of


@pytest.mark.parametrize("seed", range(12))
def test_match_and_kernel_join_equal_enumeration_on_records(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40 if SLOW else 4):
        columns, published, leaves = random_instance(rng)
        sequence, records = sequence_of(columns, published, leaves), Records(published)
        quasi = [m for m, a in enumerate(columns) if a.role == "quasi-identifier"]
        for ours, theirs in ((match_join, records.match_join()), (kernel_join, records.kernel_join())):
            cliques = ours(sequence)
            assert record_cliques(sequence, cliques, published) == theirs
            link = linkage_of(sequence, cliques, tuple("abcd"))
            gamma, delta = records.levels(theirs, known_tuples(leaves), quasi, len(columns) - 1)
            assert linkability(link) == gamma
            assert diversity(link) == pytest.approx(float(delta))


@pytest.mark.parametrize("seed", range(4))
def test_for_two_releases_the_kernel_is_the_full_join(seed):
    rng = np.random.default_rng(100 + seed)
    for _ in range(60):
        columns, published, leaves = random_instance(rng, R=2)
        sequence = sequence_of(columns, published, leaves)
        assert record_cliques(sequence, kernel_join(sequence), published) == Records(published).full_join()
