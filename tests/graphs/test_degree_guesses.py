"""Guesses by numbers of ties: as often right as degree-attack says, hubs found without noise and lost in it."""

import numpy as np
import pytest

from sfumato.core.errors import PolicyError
from sfumato.core.randomness import Randomness
from sfumato.kinds.graphs.noise_attacks import DegreeGuesses, pairs_apart
from tests.secret import secret


@pytest.fixture
def graph(tmp_path):
    rng = np.random.default_rng(3)
    ties = {(a, b) for a in range(200) for b in rng.integers(0, 200, 3 + 60 * (a < 4)).tolist() if a != b}
    (tmp_path / "ties.csv").write_text("\n".join(f"{a},{b}" for a, b in sorted(ties)) + "\n")
    return str(tmp_path / "ties.csv")


def test_pairs_are_told_apart_as_often_as_promised(graph):
    for mu in (0.02, 0.2):
        got = DegreeGuesses(target=graph, mu=mu, trials=60, apart=3, seed=secret(1)).run()
        assert abs(got["beyond"]) < 5
        assert got["pairs_told_apart"] == pytest.approx(got["promised"], abs=0.1)


def test_hubs_are_found_with_little_noise_and_lost_in_much(graph):
    little, much = (DegreeGuesses(target=graph, mu=mu, trials=20, hubs=4, seed=secret(1)).run() for mu in (0.001, 0.45))
    assert little["hubs_found"] > 0.5 > 0.2 > much["hubs_found"]


def test_pairs_differ_by_what_was_asked_for():
    degrees = np.array([1, 5, 3, 1, 8, 3])
    more, fewer = pairs_apart(degrees, 2, Randomness(1))
    assert len(fewer) == 4 and (degrees[more] - degrees[fewer] == 2).all()
    assert len(pairs_apart(degrees, 4, Randomness(1))[0]) == 2
    with pytest.raises(PolicyError):
        pairs_apart(degrees, 6, Randomness(1))
