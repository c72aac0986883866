"""Local suppression against all ways to suppress cells, with rows that fit counted from the definition; and what the
audit finds."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.kinds.tables.methods.local_suppression import choices, fewest_cells, given_back, in_rounds
from tests.secret import SEED

Rows = list[tuple[str, ...]]


def safe(rows: Rows, k: int, m: int) -> bool:
    """For every choice of known columns every row is among k that look alike in them."""
    width = len(rows[0])
    for known in combinations(range(width), min(m, width)):
        tally = Counter(tuple(row[c] for c in known) for row in rows)
        if min(tally.values()) < k:
            return False
    return True


def least_cells(rows: Rows, k: int, m: int, weights: list[float]) -> float:
    width, best = len(rows[0]), float("inf")
    for mask in product([False, True], repeat=len(rows) * width):
        cost = sum(weights[place % width] for place, hidden in enumerate(mask) if hidden)
        if cost < best:
            shown = [
                tuple("*" if mask[r * width + c] else cell for c, cell in enumerate(row)) for r, row in enumerate(rows)
            ]
            best = cost if safe(shown, k, m) else best
    return best


def small(seed: int, rows: int, width: int) -> Rows:
    rng = random.Random(seed)
    return [tuple(rng.choice("abc"[: rng.randint(1, 3)]) for _ in range(width)) for _ in range(rows)]


def coded(rows: Rows) -> np.ndarray:
    return np.array([[ord(cell) - 96 if cell != "*" else 0 for cell in row] for row in rows], dtype=np.int64)


def test_whoever_knows_everybodys_columns_finds_nobody() -> None:
    """Worlds, counted: rows handed out to people whose known values they show; nobody has a row with more than 1/k."""
    for seed in range(12):
        rows = small(SEED + seed, 6, 2)
        data = {f"q{i}": [row[i] for row in rows] for i in range(2)} | {"ill": ["1"] * 6}
        made = sf.publish(policy(2, 1, 2), data=data)
        shown = made.release.parts["data"].table.to_pylist()
        for name, place in (("q0", 0), ("q1", 1)):
            worlds = [
                order
                for order in permutations(range(6))
                if all(row[name] in ("*", rows[who][place]) for row, who in zip(shown, order, strict=True))
            ]
            for row, who in product(range(6), range(6)):
                assert 2 * sum(order[row] == who for order in worlds) <= len(worlds)


@pytest.mark.parametrize("seed", range(12))
def test_the_program_finds_the_fewest_cells(seed: int) -> None:
    rng = random.Random(SEED + seed)
    width, k, m = rng.choice([(2, 2, 1), (2, 2, 2), (3, 2, 2), (2, 3, 2)])
    rows = small(SEED + seed, 6 if width == 2 else 4, width)
    weights = [rng.choice([1.0, 1.0, 2.0, 3.0]) for _ in range(width)]
    asked = [(known, k) for known in choices(range(width), m)]
    found = fewest_cells(coded(rows), asked, np.array(weights), 20.0)
    assert found is not None
    least = least_cells(rows, k, m, weights)
    assert found.proven
    assert found.bound == pytest.approx(least)
    assert float(found.hidden.sum(axis=0) @ np.array(weights)) == pytest.approx(least)
    quick = given_back(coded(rows), asked, np.array(weights), in_rounds(coded(rows), asked, np.array(weights)))
    shown = [tuple("*" if quick[r, c] else cell for c, cell in enumerate(row)) for r, row in enumerate(rows)]
    assert safe(shown, k, m)
    assert float(quick.sum(axis=0) @ np.array(weights)) >= least - 1e-9


def policy(k: int, m: int, width: int, **method: Any) -> sf.Policy:
    columns = {f"q{i}": "quasi-identifier" for i in range(width)} | {"ill": "sensitive"}
    claim = {"subset-anonymity": {"k": k, "m": m}}
    return sf.Policy.parse(
        {"version": 1, "columns": columns, "protect": [claim], "method": {"local-suppression": method}}
    )


@pytest.mark.parametrize("seed", range(10))
def test_published_rows_are_safe_and_true(seed: int) -> None:
    rng = random.Random(SEED + seed)
    k, m, width, size = rng.randint(2, 4), rng.randint(1, 3), rng.randint(2, 4), rng.choice([12, 60, 200])
    rows = small(SEED + seed, size, width)
    data = {f"q{i}": [row[i] for row in rows] for i in range(width)} | {"ill": [str(i) for i in range(size)]}
    made = sf.publish(policy(k, m, width, seconds=1), data=data)
    assert made.certificate.holds
    shown = made.release.parts["data"].table.to_pylist()
    assert safe([tuple(row[f"q{i}"] for i in range(width)) for row in shown], k, m)
    for row, record in zip(shown, made.release.trace.rows["data"].tolist(), strict=True):
        assert row["ill"] == str(record)
        assert all(row[f"q{i}"] in ("*", rows[record][i]) for i in range(width))


def test_a_cell_shown_again_is_found(tmp_path: Path) -> None:
    rows = [("a", "a")] * 6 + [("b", "a"), ("a", "b")]
    data = {f"q{i}": [row[i] for row in rows] for i in range(2)} | {"ill": list("12345678")}
    made = sf.publish(policy(2, 2, 2), data=data)
    made.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    file = tmp_path / "out" / "data.csv"
    text = file.read_text()
    assert "*" in text
    file.write_text(text.replace("*", "b", 1))
    assert not sf.verify(tmp_path / "out").holds


def test_one_suppressed_cell_does_not_hide_its_person() -> None:
    """The only b becomes the only suppressed cell: whoever knows the b finds the row, so another cell must follow."""
    data = {"q0": list("aaaaab"), "q1": list("xxxxxx"), "ill": list("123456")}
    made = sf.publish(policy(2, 1, 2), data=data)
    assert made.release.parts["data"].table.column("q0").to_pylist().count("*") == 2


def test_worth_more_is_kept() -> None:
    rng = random.Random(SEED)
    data = {f"q{i}": [rng.choice("abcdefgh") for _ in range(80)] for i in range(3)} | {"ill": ["1"] * 80}
    lost = []
    for weight in (10.0, 0.1):
        made = sf.publish(policy(3, 2, 3, weights={"q0": weight}, seconds=0.1), data=data)
        lost.append(made.release.parts["data"].table.column("q0").to_pylist().count("*"))
    assert lost[0] < lost[1]
