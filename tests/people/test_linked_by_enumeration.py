"""Linked releases of small tables: who could stand behind which pseudonym, counted world by world."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato as sf
from sfumato.kinds.tables import evidence as reading
from sfumato.kinds.tables.methods.row_multisets import EverHad, RowMultisets
from tests.people.worlds_of_people import Row, linked_violations, random_people
from tests.slow import SLOW

CASES = 2000 if SLOW else 15


def publish(policy: dict[str, Any], records: list[Row], groups: str) -> sf.Publication | None:
    data = {name: [record[name] for record in records] for name in records[0]}
    method = {"linked": {"groups": groups, "seconds": 0.05}}
    try:
        return sf.publish(
            sf.Policy.parse({**policy, "person": {"columns": "id", "rows": "linked"}, "method": method}), data=data
        )
    except sf.Infeasible:
        return None


def linked_case(seed: int) -> tuple[dict[str, Any], list[Row]]:
    policy, records = random_people(seed, most=14)
    if seed % 3 == 0:
        policy["columns"]["q0"]["constant"] = True
    return policy, records


@pytest.mark.parametrize("groups", ["mondrian", "clustering", "refined"])
def test_nothing_too_sure_behind_a_pseudonym(groups: str) -> None:
    published = 0
    first = ["mondrian", "clustering", "refined"].index(
        groups
    ) * CASES  # each on others: most of what they do they share
    for seed in range(first, first + CASES):
        policy, records = linked_case(seed)
        publication = publish(policy, records, groups)
        if publication is not None:
            rows = publication.release.parts["data"].table.to_pylist()
            assert linked_violations(rows, records, policy) == [], f"seed {seed}"
            published += 1
    assert published >= CASES // 4


def test_a_method_that_looks_at_slots_only_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that people ever have, in whichever row, are counted by the reading as well."""
    import numpy as np

    monkeypatch.setattr(EverHad, "satisfied", lambda self, seen: np.ones(len(seen.candidates), dtype=bool))
    assert refused() > 0


def test_a_method_that_forgets_how_many_rows_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowMultisets, "__init__", _nobody_is_rare(RowMultisets.__init__))
    assert refused() > 0


def test_a_reading_that_forgets_what_people_ever_have_is_caught_by_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.setattr(EverHad, "satisfied", lambda self, seen: np.ones(len(seen.candidates), dtype=bool))
    monkeypatch.setattr(reading.LinkedReading, "read", lambda self, exhibit, claim: reading._slots(exhibit, claim))
    assert refused() > 0


def _nobody_is_rare(init: Any) -> Any:
    def without(self: RowMultisets, policy: Any, table: Any, past: Any = None) -> None:
        init(self, policy, table, past)
        self.problem = lambda kind, records: _without_claims(RowMultisets.problem(self, kind, records))  # type: ignore[method-assign]

    return without


def _without_claims(problem: Any) -> Any:
    from dataclasses import replace

    return replace(problem, requirements=())


def refused() -> int:
    count = 0
    for seed in range(max(CASES // 10, 30)):
        policy, records = linked_case(seed)
        try:
            publication = publish(policy, records, "mondrian")
        except sf.AuditRefused:
            count += 1
            continue
        except IndexError:
            continue
        if publication is not None:
            assert linked_violations(publication.release.parts["data"].table.to_pylist(), records, policy) == [], (
                f"seed {seed}"
            )
    return count
