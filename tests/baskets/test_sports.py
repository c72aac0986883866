"""The worked example of chapter 3: Tables 3.1 to 3.4, from the policy to the published file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_baskets import table_3_1

import sfumato as sf
from sfumato.core.errors import NotFound
from sfumato.core.randomness import Randomness
from sfumato.data.baskets import Baskets
from sfumato.data.table import Table
from sfumato.kinds.baskets.evidence import Compatibility
from sfumato.kinds.baskets.methods.nonreciprocal import ring_members
from sfumato.kinds.baskets.methods.record_order import gray_order, gray_tsp_order
from sfumato.kinds.baskets.methods.voting import vote
from sfumato.kinds.baskets.published_baskets import PublishedBaskets, from_table
from sfumato.release.method import Task
from sfumato.workflow.plan import plan
from tests.secret import secret

TABLE_3_3 = [
    ("1101", "1011", 2), ("1110", "1101", 2), ("0111", "1011", 2), ("0111", "1101", 2), ("1100", "0011", 1), ("1110",
    "0111", 2),
]  # fmt: skip
TABLE_3_4 = {1: {1, 3, 4}, 2: {2, 5, 6}, 3: {2, 3, 4}, 4: {2, 4, 6}, 5: {1, 3, 5}, 6: {1, 5, 6}}


@pytest.fixture
def sports() -> Baskets:
    return table_3_1()


def bits(row: np.ndarray) -> str:
    return "".join("1" if item in row else "0" for item in range(4))


def test_gray_and_gray_tsp_orders(sports: Baskets) -> None:
    assert (gray_order(sports.sets) + 1).tolist() == [2, 4, 1, 3, 5, 6]
    assert (gray_tsp_order(sports.sets) + 1).tolist() == [2, 4, 3, 1, 5, 6]


def test_tour_lengths(sports: Baskets) -> None:
    def length(order: list[int]) -> int:
        ring = sports.sets.take(np.array(order) - 1)
        return int(ring.hamming(ring.take(np.roll(np.arange(6), -1))).sum())

    assert length([1, 2, 3, 4, 5, 6]) == 14
    assert length([2, 4, 1, 3, 5, 6]) == 12
    assert length([2, 4, 3, 1, 5, 6]) == 10


def test_the_ring_is_table_3_4_and_the_vote_is_table_3_3(sports: Baskets) -> None:
    order = gray_tsp_order(sports.sets)
    back = order[ring_members(6, 3)]
    votes = vote(sports.sets, back.astype(np.int32))
    for place, record in enumerate(order):
        assert set((back[place] + 1).tolist()) == TABLE_3_4[int(record) + 1]
        shown = bits(votes.base.row(place)), bits(votes.doubt.row(place)), int(votes.threshold[place])
        assert shown == TABLE_3_3[int(record)]


def test_what_table_3_3_publishes_fits_23_pairs(sports: Baskets) -> None:
    names = sports.names
    read = lambda text: [name for name, bit in zip(names, text, strict=True) if bit == "1"]  # noqa: E731
    base, doubt = [read(row[0]) for row in TABLE_3_3], [read(row[1]) for row in TABLE_3_3]
    worlds = PublishedBaskets.of(base, doubt, [row[2] for row in TABLE_3_3], names=names)
    known = Compatibility.of(sports, worlds)
    assert int(known.candidates()[known.person].sum()) == 23
    brute = [sum(sports.set_of(i) in set(worlds.possible(j)) for j in range(6)) for i in range(6)]
    assert known.candidates()[known.person].tolist() == brute
    assert min(brute) >= 3
    always = {"jogging", "swimming"}
    assert set(worlds.possible(4)) == {
        frozenset(always),
        frozenset(always | {"tennis"}),
        frozenset(always | {"soccer"}),
    }


def test_the_policy_works_as_it_stands(shared: Path, tmp_path: Path) -> None:
    publication = sf.publish(shared / "policies" / "sports.yaml", seed=secret(11))
    assert publication.certificate.holds
    worlds = from_table(Table(publication.release.parts["data"].table))
    names = ("jogging", "swimming", "tennis", "soccer")
    place = [worlds.names.index(name) for name in names]
    row = lambda items: "".join("1" if index in items else "0" for index in place)  # noqa: E731
    shown = sorted((row(worlds.base.row(i)), row(worlds.doubt.row(i)), int(worlds.threshold[i])) for i in range(6))
    assert shown == sorted(TABLE_3_3)
    folder = publication.write(tmp_path / "out")
    verdict = sf.verify(folder, original=shared / "policies" / "sports.csv")
    assert verdict.holds
    assert {finding.model for finding in verdict.findings} >= {"k-anonymity", "one-to-one", "worlds", "files"}


def test_labels_travel_with_the_drawn_assignment(shared: Path) -> None:
    """Labels are those of the drawn records, and each of the three assignments is drawn about equally often."""
    policy = sf.Policy.read(shared / "policies" / "sports.yaml")
    original, method = policy.data.read(), plan(policy).method
    drawn = np.zeros(3)
    for seed in range(60):
        release = method.run(Task(policy, original, Randomness(secret(seed))))
        graph = release.trace.assignments
        behind = release.trace.rows["data"]
        labels = release.parts["data"]["religion"].to_pylist()
        assert labels == original.labels["religion"][behind].tolist()
        drawn += (graph == behind).all(axis=1)
    assert drawn.sum() == 60
    assert drawn.min() >= 8  # fewer has a chance below one in a thousand


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_repeats_a_release_and_no_seed_does_not(shared: Path, seed: int) -> None:
    once, again = (
        sf.publish(shared / "policies" / "sports.yaml", seed=secret(seed)).release.parts["data"] for _ in range(2)
    )
    assert once == again


def test_m5_three_labels_are_shown_by_rings_arranged_by_label(sports: Baskets, tmp_path: Path) -> None:
    """M5: Table 3.1 with k = 3 and l = 3: nothing can be withheld, so labels are arranged, and the release says so.

    Where the policy asks for guarded labels, the message says that no ring was found, not that none exists.
    """
    asked = {
        "version": 1, "data": {"kind": "baskets", "source": "x"}, "columns": {"religion": "sensitive"},
        "protect": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 3}}], "method": "nonreciprocal",
    }  # fmt: skip
    made = sf.publish(sf.Policy.parse(asked), data=sports, seed=secret(4))
    assert made.certificate.holds
    assert any("rings are arranged by label" in said for said in made.certificate.assumptions)
    folder = made.write(tmp_path / "out")
    assert "labels: shift" in (folder / "policy.yaml").read_text()
    assert sf.verify(folder, original=sports).holds
    fixed = sf.Policy.parse(asked | {"method": {"nonreciprocal": {"labels": "guarded"}}})
    with pytest.raises(NotFound, match=r"^not found: no ring shows 3 different labels"):
        sf.publish(fixed, data=sports, seed=secret(4))
