"""Newcomers where cohorts are unknown: who mends a lineage, who parts from it, and what that costs."""

from collections import Counter

import numpy as np
import pytest

from sfumato.core.errors import Infeasible
from sfumato.data.hierarchy import Hierarchy
from sfumato.history.constrain.insertions import (
    ClassBelowLevel,
    ClassRequirements,
    NewRecordKinds,
    form_new_classes,
    repair_classes,
)
from sfumato.models.base import Demand
from sfumato.policy.policy import Policy
from sfumato.workflow.publish import publish
from tests.secret import SEED

TENS = Hierarchy.from_tree({"*": {f"{d}0-{d}9": [f"{d}{n}" for n in range(10)] for d in range(4)}})
THREE = ClassRequirements.of([(Demand(distinct=3), ("s",))], ["s"])


def kinds(ages, values, price, left=None):
    codes = np.array(ages, dtype=np.int64)[:, None]
    many = np.ones(len(ages), dtype=np.int64) if left is None else np.array(left, dtype=np.int64)
    return NewRecordKinds(codes, [np.array(values, dtype=np.int64)], many, np.array(price, dtype=np.float64))


def thin(values, lo, hi):
    return ClassBelowLevel(7, np.array([lo]), np.array([hi]), len(values), [Counter(values)])


def test_a_thin_lineage_gets_as_many_as_mend_it_and_those_with_the_worst_place_first():
    crowd = kinds([1, 2, 3, 25, 4], [0, 5, 6, 7, 8], [0.0, 0.1, 0.4, 0.9, np.inf])
    assert repair_classes(crowd, THREE, [thin([0], 0, 10)], whole=True) == [(7, 4), (7, 2)]
    assert crowd.left.tolist() == [1, 1, 0, 1, 0]


def test_nobody_joins_a_lineage_that_would_be_withheld_all_the_same():
    crowd = kinds([1, 2], [0, 5], [0.0, 0.0])
    assert repair_classes(crowd, THREE, [thin([0], 0, 10)], whole=True) == []
    assert repair_classes(crowd, THREE, [thin([0], 0, 10)], whole=False) == [(7, 1)]


def test_whom_nothing_covers_stands_with_those_who_lose_least():
    """35 is alone; 30 and 38 have a place at no cost and are near, 1 and 2 are far away; two of one value do not
    help."""
    crowd = kinds([35, 30, 38, 39, 1, 2], [0, 1, 2, 0, 1, 2], [np.inf, 0, 0, 0, 0, 0])
    assert form_new_classes(crowd, THREE, [TENS]).tolist() == [1, 1, 1, 0, 0, 0]


def test_who_has_a_coarse_place_parts_only_to_lose_less():
    near = kinds([11, 12, 13], [0, 1, 2], [1.0, 1.0, 1.0])
    assert form_new_classes(near, THREE, [TENS]).tolist() == [1, 1, 1]
    far = kinds([1, 12, 33], [0, 1, 2], [0.9, 0.9, 0.9])
    assert form_new_classes(far, THREE, [TENS]).tolist() == [0, 0, 0]


def test_records_of_one_kind_are_one_candidate_value():
    """Ten alike with one value, and nobody else of another: no company can be had."""
    crowd = kinds([35, 36], [0, 0], [np.inf, 0.0], [1, 10])
    assert form_new_classes(crowd, THREE, [TENS]).tolist() == [0, 0]


def test_shares_are_looked_at_too():
    """At most half of a group may share a value: the second of a value is passed over until others have come."""
    half = ClassRequirements.of([(Demand(largest_share=0.5), ("s",))], ["s"])
    crowd = kinds([35, 36, 20], [0, 0, 1], [np.inf, 0.0, 0.0])
    assert form_new_classes(crowd, half, [TENS]).tolist() == [1, 0, 1]


def _office(people, values="AB"):
    return {
        "id": [f"p{i}" for i in people],
        "a": [str(i // 2 % 3) for i in people],
        "s": [values[i % 2] for i in people],
    }


def _declared(method, **series):
    columns = {"id": "identifier", "a": "quasi-identifier", "s": "sensitive"}
    claims = [{"l-diversity": {"l": 2}}]
    tree = {"version": 1, "columns": columns, "protect": claims, "key": "id", "method": {method: {}}, "series": series}
    return Policy.parse(tree)


def test_nobody_joins_people_in_buckets_whose_numbers_cover_nobody_else(tmp_path):
    """After an anatomy newcomers stand with newcomers, in tables of any form."""
    book = tmp_path / "book"
    first = publish(_declared("anatomy", cohorts="unknown"), _office(range(8)), seed=SEED, ledger=book, new_ledger=True)
    first.write(tmp_path / "r1", report=False)
    made = publish(_declared("sequential", cohorts="unknown"), _office(range(12)), seed=SEED, ledger=book)
    assert made.certificate.holds
    assert made.certificate.records.published >= 4


@pytest.mark.parametrize("method", ["anatomy", "mondrian"])
def test_when_everybody_would_be_withheld_nothing_is_published(tmp_path, method):
    book = tmp_path / "book"
    publish(_declared(method), _office(range(6)), seed=SEED, ledger=book, new_ledger=True).write(
        tmp_path / "r1", report=False
    )
    with pytest.raises(Infeasible, match="with people who left"):
        publish(_declared(method), _office([0]), seed=SEED, ledger=book)
