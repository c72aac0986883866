"""Small tables of people with one to six rows, every method that recodes, every claim: enumeration of worlds finds no
violation."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, Literal, get_args, get_origin

import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.kinds.person_evidence import PersonCount
from sfumato.kinds.tables.form import Recoded
from sfumato.kinds.tables.methods import person_requirements
from sfumato.release.method import Method
from tests.people.worlds_of_people import people_violations, random_people
from tests.slow import SLOW

CASES = 600 if SLOW else 12
"""Of every method, each its own: what methods share is tried on all of them."""
PLANTED, FOUND = (150, 20) if SLOW else (60, 8)
"""Cases with a mutation, and how many of them it must spoil at least."""


def variants() -> list[tuple[str, dict[str, Any]]]:
    """Methods that publish rows that nothing ties, each with its defaults and with every other word or switch."""
    found = []
    for name, cls in catalogue("methods", Method).items():
        if cls.form is Recoded and cls.counts_people:
            usual = {"seconds": 0.02} if "seconds" in cls.model_fields else {}
            found.append((name, usual))
            for key, field in cls.model_fields.items():
                if get_origin(field.annotation) is Literal:
                    found += [
                        (name, {**usual, key: word}) for word in get_args(field.annotation) if word != field.default
                    ]
                elif field.annotation is bool:
                    found.append((name, {**usual, key: not field.default}))
    return found


METHODS = variants()


def made(
    policy: dict[str, Any], records: list[dict[str, str]], method: tuple[str, dict[str, Any]]
) -> sf.Publication | None:
    data = {name: [record[name] for record in records] for name in records[0]}
    try:
        return sf.publish(sf.Policy.parse({**policy, "method": dict([method])}), data=data)
    except sf.Infeasible:
        return None


def found_by_enumeration(
    publication: sf.Publication, records: list[dict[str, str]], policy: dict[str, Any]
) -> list[str]:
    rows = publication.release.parts["data"].table.to_pylist()
    behind = publication.release.trace.rows["data"].tolist()
    return people_violations(rows, behind, records, policy)


def test_methods_are_found() -> None:
    assert {"mondrian", "clustering", "refined", "optimal"} <= {name for name, _ in METHODS}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: "-".join(map(str, (method[0], *method[1].values()))))
def test_nothing_too_sure_about_anybody(method: tuple[str, dict[str, Any]]) -> None:
    published = 0
    first = METHODS.index(method) * CASES
    for seed in range(first, first + CASES, 6 if method[0] == "optimal" else 1):
        policy, records = random_people(seed)
        publication = made(policy, records, method)
        if publication is not None:
            assert found_by_enumeration(publication, records, policy) == [], f"seed {seed}"
            published += 1
    assert published >= CASES // (40 if method[0] == "optimal" else 8)


def test_rows_counted_as_people_say_too_much() -> None:
    """The enumeration finds what a release of rows gives away: it can fail."""
    failed = 0
    for seed in range(PLANTED // 2):
        policy, records = random_people(seed)
        plain = {key: value for key, value in policy.items() if key != "person"}
        plain["columns"] = {**policy["columns"], "s0": "sensitive"}
        publication = made(plain, records, ("mondrian", {}))
        failed += publication is not None and bool(found_by_enumeration(publication, records, policy))
    assert failed > FOUND // 2


# -- planted mutations: each is refused by the audit, or found by the enumeration --------------------------------------


def broken_without(monkeypatch: pytest.MonkeyPatch, cases: int = PLANTED) -> tuple[int, int]:
    """With a method that looks away: releases that the audit refused, and releases that only the enumeration finds."""
    monkeypatch.setattr(person_requirements, "enforce_person_requirements", lambda problem, grouping: grouping)
    monkeypatch.setattr(
        "sfumato.kinds.tables.methods.recoding.enforce_person_requirements", lambda problem, grouping: grouping
    )
    monkeypatch.setattr(
        "sfumato.kinds.tables.methods.multidimensional_partitioning.counts_persons", lambda problem: False
    )
    refused = missed = 0
    for seed in range(cases):
        policy, records = random_people(seed)
        try:
            publication = made(policy, records, ("mondrian", {}))
        except sf.AuditRefused:
            refused += 1
            continue
        missed += publication is not None and bool(found_by_enumeration(publication, records, policy))
    return refused, missed


def test_a_method_that_counts_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.kinds.tables.methods.recoding.person_requirements", lambda *_: ((), ()))
    refused, missed = broken_without(monkeypatch)
    assert refused > FOUND and missed == 0


@pytest.mark.parametrize("forgotten", ["RowsOfDifferentPersons", "NoCertainValue", "ValueShareOfPersons"])
def test_a_method_that_forgets_one_condition_is_refused(monkeypatch: pytest.MonkeyPatch, forgotten: str) -> None:
    """Rows of one person; certain values; people's shares beside row shares."""
    import numpy as np

    monkeypatch.setattr(
        getattr(person_requirements, forgotten),
        "satisfied",
        lambda self, seen: np.ones(len(seen.candidates), dtype=bool),
    )
    refused, missed = broken_without(monkeypatch, 120 if SLOW else 25)
    assert refused > 0 and missed == 0


def test_an_audit_that_counts_rows_is_caught_by_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Method and audit both take every row for a person; the floor, and the enumeration, do not."""

    monkeypatch.setattr("sfumato.kinds.tables.methods.recoding.person_requirements", lambda *_: ((), ()))
    monkeypatch.setattr(PersonCount, "__init__", _rows_are_people)
    refused, missed = broken_without(monkeypatch)
    assert refused > FOUND
    assert missed <= refused // 10  # of boxes that overlap the floor, which counts where rows are, need not know


def _rows_are_people(self: PersonCount, exhibit: Any) -> None:
    import numpy as np

    self.exhibit, self.table, self.original = exhibit, exhibit.data, exhibit.original
    self.person = np.arange(self.original.rows)


def test_who_knows_some_others_needs_rows_that_fit() -> None:
    """Two classes of four rows; one row of Max fits both. Three others are known who fit the second only, nobody else
    is."""
    first, second = range(4), range(4, 8)
    known = [
        second,
        second,
        second,
        range(8),
        first,
    ]  # three others, then the two rows of Max, who stands once in each class
    worlds = [places for places in product(*known) if len(set(places)) == len(places)]
    mine = Fraction(sum(0 in places[3:] for places in worlds), len(worlds))
    assert Fraction(1, 4) < mine <= Fraction(2, 4)  # more than m/n, where k = 4 rows would do; at most M/n


def test_counting_where_rows_are_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes that overlap: with m instead of M some releases say too much, which the enumeration finds and the audit
    refuses."""
    refused, missed = broken_without(monkeypatch, 120)
    assert refused > 0 and missed == 0
