"""New columns as codes: the codes that occur, whichever way they are found."""

import numpy as np

from sfumato.kinds.testdata.methods.sampling.record_samplers import _used


def test_codes_that_occur_with_and_without_a_sort():
    rng = np.random.default_rng(2)
    for size, count in ((5, 40), (40, 40), (41, 40), (10**9, 40), (3, 1), (1, 0)):
        codes = rng.integers(0, size, count)
        used, place = _used(codes, size)
        assert used.tolist() == sorted(set(codes.tolist()))
        assert used[place].tolist() == codes.tolist()
