"""Guarded labels: by listing every way the labels could be, knowing the rule does not help to guess one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from random_baskets import random_sets

import sfumato as sf
from sfumato.core.errors import Infeasible
from sfumato.data.baskets import Baskets
from sfumato.kinds.baskets.methods.kernels.rings import guard, plain_guard
from sfumato.kinds.baskets.methods.nonreciprocal import labels_to_suppress, labels_to_suppress_guarded
from tests.secret import secret


def guess(rule: object, share: list[float], count: int, degree: int) -> tuple[float, float]:
    """The best chance to guess anybody's label in any release, and the share of labels withheld.

    Labels are drawn independently; the outsider sees what is shown and knows the rule, so the chance of a label behind
    a place is its chance among all drawings that look the same, and a person's label is behind each of `degree` places
    equally often."""
    labels = np.array(list(product(range(len(share)), repeat=count)))
    weight = np.array(share)[labels].prod(axis=1)
    hidden = np.array([rule(drawn) for drawn in labels])  # type: ignore[operator]
    looks = np.unique(np.where(hidden, -1, labels), axis=0, return_inverse=True)[1].ravel()
    chance = np.zeros((looks.max() + 1, count, len(share)))
    for place in range(count):
        np.add.at(chance, (looks, place, labels[:, place]), weight)
    chance /= np.bincount(looks, weight)[:, None, None]
    behind = [(person + np.arange(degree)) % count for person in range(count)]
    return max(float(chance[:, places].mean(axis=1).max()) for places in behind), float(weight @ hidden.mean(axis=1))


CASES = [
    (2, 4, 6, [0.25, 0.25, 0.25, 0.25]),
    (2, 4, 6, [0.4, 0.3, 0.2, 0.1]),
    (2, 3, 7, [0.4, 0.3, 0.3]),
    (2, 6, 7, [0.4, 0.4, 0.2]),
    (3, 6, 6, [0.3, 0.3, 0.2, 0.2]),
    (1.5, 3, 7, [0.6, 0.2, 0.2]),
]


@pytest.mark.parametrize(("level", "degree", "count", "share"), CASES)
def test_nobody_guesses_better_than_one_in_l(level: float, degree: int, count: int, share: list[float]) -> None:
    best, withheld = guess(lambda labels: guard(labels, np.array(share), degree, degree / level), share, count, degree)
    assert best <= 1 / level + 1e-9
    assert (withheld < 1 - 1e-9) == ((level, degree) != (2, 3))  # there one label and the shares of two are above 3 / 2


def test_plain_withholding_is_guessed_better_than_that() -> None:
    """What the guard mends: at l = 2 a withheld label is the one shown before it, and some people's label is
    certain."""
    share = [0.25, 0.25, 0.25, 0.25]
    assert guess(lambda labels: labels_to_suppress(labels, 2, 1, 0), share, 5, 2)[0] == pytest.approx(1.0)
    assert guess(lambda labels: labels_to_suppress(labels, 4, 2, 0), share, 6, 4)[0] > 0.5 + 0.05


@pytest.mark.twin(of=[guard])
@pytest.mark.parametrize("seed", range(8))
def test_the_kernel_equals_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds, degree, level = 12, int(rng.integers(4, 9)), float(rng.uniform(1.5, 2.5))
    labels = rng.integers(0, kinds, int(rng.integers(degree, 60)))
    share = rng.dirichlet(np.full(kinds, 8.0))
    assert share.max() < 1 / level
    got = guard(labels, share, degree, degree / level)
    assert got.tolist() == plain_guard(labels.tolist(), share.tolist(), degree, degree / level)


def test_the_scan_may_begin_anywhere() -> None:
    labels = np.random.default_rng(1).integers(0, 9, 50)
    for start in (0, 7, 49):
        assert (
            labels_to_suppress_guarded(labels, 6, 2.0, start)
            == np.roll(labels_to_suppress_guarded(np.roll(labels, -start), 6, 2.0, 0), start)
        ).all()


def policy(level: int) -> sf.Policy:
    return sf.Policy.parse(
        {
            "version": 1,
            "data": {"kind": "baskets"},
            "columns": {"label": "sensitive"},
            "protect": [{"l-diversity": {"l": level, "kind": "frequency"}}],
            "method": {"nonreciprocal": {"labels": "guarded"}},
        }
    )


def test_a_guarded_release() -> None:
    rng = np.random.default_rng(4)
    labels = np.array([f"l{i:02}" for i in rng.integers(0, 40, 300)], dtype=object)
    people = Baskets(random_sets(rng, 300, 10), tuple("abcdefghij"), {"label": labels})
    publication = sf.publish(policy(4), data=people, seed=secret(3))
    assert publication.release.form.to_public()["degree"] == 8
    shown = publication.release.parts["data"].table.column("label").to_pylist()
    assert 0 < shown.count("") < 150
    assert any("no label is guessed" in note for note in publication.certificate.assumptions)
    same = Baskets(people.sets, people.names, {"label": np.array(["x"] * 90 + labels[90:].tolist(), dtype=object)})
    with pytest.raises(Infeasible, match="more frequent than"):
        sf.publish(policy(4), data=same, seed=secret(3))
