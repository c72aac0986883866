"""What an outsider concludes from a class that was not cut, against an enumeration of all arrangements."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.generalization import Ranges
from sfumato.kinds.tables.minimality_attacks import Minimality, _groups, compatible_pairs

from .small_exhibits import TREE, policy_of, published

CLAIMS = [{"k-anonymity": {"k": 2}}, {"l-diversity": {"l": 2, "kind": "frequency"}}]


def diverse(values: list[str]) -> bool:
    return len(values) >= 2 and max(Counter(values).values()) * 2 <= len(values)


def could_be_cut(people: str, values: tuple[str, ...]) -> bool:
    """One flat column: the parts are its values; those that are not safe may stay together."""
    parts = [[value for who, value in zip(people, values, strict=True) if who == leaf] for leaf in sorted(set(people))]
    safe = [part for part in parts if diverse(part)]
    rest = [value for part in parts if not diverse(part) for value in part]
    return len(parts) > 1 and bool(safe) and (not rest or diverse(rest))


def beliefs_by_hand(people: str, values: str) -> list[dict[str, float]]:
    worlds = [world for world in permutations(values) if not could_be_cut(people, world)]
    return [{v: n / len(worlds) for v, n in Counter(world[i] for world in worlds).items()} for i in range(len(people))]


def exhibit_of(people: str, values: str) -> sf.release.exhibit.Exhibit:
    policy = policy_of({"q": "quasi-identifier", "s": "sensitive"}, CLAIMS)
    return published(policy, {"q": list(people), "s": list(values)})


@pytest.mark.parametrize(
    ("people", "values"), [("aabbbb", "hhwxyz"), ("aaabbb", "hhhxyz"), ("aabbcc", "hhxhyz"), ("aaabbb", "hhwhxy")]
)
def test_beliefs_are_those_of_an_enumeration(people: str, values: str) -> None:
    exhibit = exhibit_of(people, values)
    assert set(exhibit.data.text("q").labels) == {"*"}, "the class was not cut"
    attack = Minimality(target="", original="", worlds=4000)
    (group,) = _groups(exhibit, compatible_pairs(exhibit), 100, np.random.default_rng(1))
    played = attack.believed(group, list(exhibit.policy.claims), np.random.default_rng(2))
    assert played is not None
    assert played.agrees
    order = np.argsort(np.argsort(np.array(list(people)), kind="stable"))
    by_hand = [max(belief.values()) for belief in beliefs_by_hand(people, values)]
    found = played.beliefs["s"].belief[order]
    assert found == pytest.approx(by_hand, abs=0.05)


def test_two_people_are_certain_where_two_diversity_was_promised() -> None:
    """Both h must be the two people at a: otherwise their part would have been safe [Wong et al.]."""
    exhibit = exhibit_of("aabbbb", "hhwxyz")
    assert exhibit.certificate.holds
    played = Minimality(target="", original="", worlds=4000).play(exhibit)
    assert played["promised"] == 0.5
    assert played["believed_above_promise"] == pytest.approx(2 / 6)
    assert played["guesses_right"] >= 2 / 6, "those two at least"
    assert beliefs_by_hand("aabbbb", "hhwxyz")[0] == {"h": 1.0}


@pytest.mark.parametrize(
    "claim",
    [
        {"p-sensitivity": {"p": 2}},
        {"t-closeness": {"t": 0.3}},
        {"t-closeness": {"t": 0.2, "distance": "ordered"}},
        {"l-diversity": {"l": 2, "kind": "entropy"}},
    ],
)
def test_no_class_of_mondrian_has_a_cut_that_would_be_safe(claim: dict) -> None:
    """The assumption is exact for it, ranges, trees and models that compare with the whole release included."""
    rng = np.random.default_rng(5)
    columns = {
        "tree": {"role": "quasi-identifier", "hierarchy": TREE},
        "range": {"role": "quasi-identifier", "hierarchy": "ranges"},
        "s": "sensitive",
    }
    data = {
        "tree": rng.choice(list("abcd"), 300).tolist(),
        "range": rng.integers(20, 60, 300).astype(str).tolist(),
        "s": rng.choice(["5", "1", "30", "4", "2"], 300, p=[0.5, 0.2, 0.1, 0.1, 0.1]).tolist(),
    }
    exhibit = published(policy_of(columns, [{"k-anonymity": {"k": 3}}, claim]), data)
    played = Minimality(target="", original="", worlds=200).play(exhibit)
    assert played["true_values_agree"] == 1.0
    assert played["classes"] > 5


def test_ranges_are_cut_beside_their_median() -> None:
    from sfumato.kinds.tables.minimality_attacks import KnownClass

    leaf = np.array([0, 1, 1, 2, 3])
    group = KnownClass((Ranges(("1", "2", "3", "4")),), (leaf,), {}, np.arange(5), {}, {})
    assert [part.tolist() for part in group.cuts()] == [[0, 1, 1, 1, 1], [0, 0, 0, 1, 1]]


def test_without_claims_on_values_nothing_can_be_concluded() -> None:
    exhibit = published(
        policy_of({"q": "quasi-identifier", "s": "sensitive"}, CLAIMS[:1]), {"q": list("aabb"), "s": list("hhxy")}
    )
    with pytest.raises(sf.PolicyError, match="no claim speaks of sensitive values"):
        Minimality(target="", original="").play(exhibit)


def test_a_claim_may_hide_a_column_of_any_role() -> None:
    """The example above with the column in the role `other`: what is concluded about it is the same."""
    claims = [CLAIMS[0], {"given": ["q"], "hide": "s", "by": CLAIMS[1]}]
    exhibit = published(
        policy_of({"q": "quasi-identifier", "s": "other"}, claims), {"q": list("aabbbb"), "s": list("hhwxyz")}
    )
    played = Minimality(target="", original="", worlds=4000).play(exhibit)
    assert played["believed_above_promise"] == pytest.approx(2 / 6)
