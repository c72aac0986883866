"""`attack linkage` with some rows of a person known: promises about people bound what it gets."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.kinds.tables.linkage_attacks import LinkageAttack
from sfumato.release.folder import open_release

K = 4


def visits() -> dict[str, list[str]]:
    draw, found = random.Random(6), {name: list[str]() for name in ("id", "age", "ill")}
    for person in range(70):
        for _ in range(draw.choice([1, 1, 2, 3])):
            for name, value in (("id", str(person)), ("age", str(draw.randint(20, 59))), ("ill", draw.choice("abcd"))):
                found[name].append(value)
    return found


def played(person: Any, method: Any, known: int, folder: Path) -> dict[str, Any]:
    columns = {
        "id": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "ill": "sensitive",
    }
    tree = {
        "version": 1,
        "columns": columns,
        "protect": [{"k-anonymity": {"k": K}}],
        "person": person,
        "method": method,
    }
    sf.publish(sf.Policy.parse(tree), data=visits()).write(folder, report=False)
    return LinkageAttack(target="", original="", known=known).play(open_release(folder, original=visits()))


@pytest.mark.parametrize("known", [0, 1, 2])
def test_rows_that_nothing_ties(known: int, tmp_path: Path) -> None:
    found = played("id", "mondrian", known, tmp_path / "out")
    assert 0 < found["highest_chance_that_a_row_is_theirs"] <= 1 / K


@pytest.mark.parametrize("known", [0, 1, 2])
def test_linked_rows(known: int, tmp_path: Path) -> None:
    found = played({"columns": "id", "rows": "linked"}, {"linked": {"groups": "mondrian"}}, known, tmp_path / "out")
    assert found["fewest_people_left"] >= K and found["one_person_left"] == 0
