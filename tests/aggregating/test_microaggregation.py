"""Microaggregation: the best groups by trying all, groups judged from plain rows, and what the audit finds when cells
are changed."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.kinds.tables.methods.kernels.microaggregation import (
    best_runs,
    exchange,
    gather,
    nearest_groups,
    plain_best_runs,
    plain_exchange,
    plain_gather,
    within,
)
from sfumato.kinds.tables.methods.microaggregation import best_groups, near_groups
from tests.secret import SEED
from tests.slow import SLOW


def partitions(items: list[int], fewest: int) -> Iterator[list[list[int]]]:
    """All partitions into groups of at least so many."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for mask in range(1 << len(rest)):
        own = [first, *(item for place, item in enumerate(rest) if mask >> place & 1)]
        if len(own) >= fewest:
            left = [item for item in rest if item not in own]
            if not left or len(left) >= fewest:
                yield from ([own, *others] for others in partitions(left, fewest))


def squares(values: np.ndarray, groups: list[list[int]]) -> float:
    return sum(float(((values[some] - values[some].mean(axis=0)) ** 2).sum()) for some in groups)


def groups_of(of: np.ndarray) -> list[list[int]]:
    found = defaultdict(list)
    for place, group in enumerate(of.tolist()):
        found[group].append(place)
    return list(found.values())


@pytest.mark.parametrize("seed", range(25))
def test_groups_of_one_column_are_the_best_of_all_partitions(seed: int) -> None:
    rng = np.random.default_rng(SEED + seed)
    values = np.round(rng.normal(size=rng.integers(4, 9)), 1)
    fewest = int(rng.integers(2, 4))
    if len(values) < fewest:
        return
    least = min(squares(values, some) for some in partitions(list(range(len(values))), fewest))
    assert squares(values, groups_of(best_groups(values, fewest))) == pytest.approx(least, abs=1e-9)


@pytest.mark.twin(of=[best_runs])
def test_runs_by_sums_are_those_by_definition() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(30):
        values, fewest = np.sort(rng.normal(size=rng.integers(6, 25))), int(rng.integers(2, 4))
        made, plain = best_runs(values, fewest), plain_best_runs(values, fewest)
        assert squares(values, groups_of(made)) == pytest.approx(squares(values, groups_of(plain)))


@pytest.mark.twin(of=[gather])
def test_gathering_takes_what_whole_arrays_take() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        points = rng.normal(size=(int(rng.integers(6, 60)), int(rng.integers(1, 4))))
        fewest = int(rng.integers(2, 4))
        assert gather(points, fewest).tolist() == plain_gather(points, fewest).tolist()


@pytest.mark.twin(of=[exchange, nearest_groups])
def test_exchanges_are_those_that_the_definition_finds() -> None:
    rng = np.random.default_rng(SEED)
    helped = 0
    for _ in range(12):
        points = rng.normal(size=(int(rng.integers(20, 40)), 2))
        start = gather(points, 3)
        made, plain = start.copy(), start.copy()
        exchange(points, made, 3, 4, 5)
        plain_exchange(points, plain, 3, 4, 5)
        assert within(points, made) == pytest.approx(within(points, plain))
        assert within(points, made) <= within(points, start) + 1e-9
        helped += within(points, made) < within(points, start) - 1e-6
        sizes = np.bincount(made)
        assert sizes.min() >= 3 and sizes.max() < 6
    assert helped > 6


def test_mdav_is_beaten_also_in_districts() -> None:
    points = np.random.default_rng(SEED).normal(size=(3000, 3))
    mdav = within(points, gather(points, 5))
    assert within(points, near_groups(points, 5)) < 0.95 * mdav
    cut = near_groups(points, 5, district=500)
    assert np.bincount(cut).min() >= 5
    assert within(points, cut) < 1.05 * mdav


def people(seed: int, rows: int = 40) -> dict[str, list[str]]:
    rng = random.Random(seed)
    return {
        "name": [f"n{i}" for i in range(rows)],
        "age": [str(rng.randint(18, 80)) for _ in range(rows)],
        "pay": [f"{rng.gauss(3000, 700):.1f}" if rng.random() < 0.95 else "" for _ in range(rows)],
        "sex": [rng.choice("mf") for _ in range(rows)],
        "ill": [rng.choice(["flu", "gout", "cold"]) for _ in range(rows)],
    }


def policy(*claims: Any, columns: tuple[str, ...] = ("age", "pay", "sex"), **method: Any) -> sf.Policy:
    told = {"name": "identifier", "ill": "sensitive"} | dict.fromkeys(columns, "quasi-identifier")
    return sf.Policy.parse(
        {"version": 1, "columns": told, "protect": list(claims), "method": {"microaggregation": method}}
    )


CLAIMS: dict[str, tuple[Any, Callable[[Counter[str]], bool]]] = {
    "k": ({"k-anonymity": {"k": 4}}, lambda tally: sum(tally.values()) >= 4),
    "distinct": ({"l-diversity": {"l": 3}}, lambda tally: len(tally) >= 3),
    "frequency": (
        {"l-diversity": {"l": 2, "kind": "frequency"}},
        lambda tally: 2 * max(tally.values()) <= sum(tally.values()),
    ),
}


@pytest.mark.parametrize("centre", ["mean", "median", "mode"])
@pytest.mark.parametrize("kind", CLAIMS)
@pytest.mark.parametrize("columns", [("age",), ("age", "pay", "sex")])
def test_groups_keep_every_claim_and_show_their_averages(centre: str, kind: str, columns: tuple[str, ...]) -> None:
    claim, holds = CLAIMS[kind]
    for seed in range(4 if SLOW else 2):
        data = {key: value for key, value in people(SEED + seed).items() if key in (*columns, "name", "ill")}
        made = sf.publish(policy(claim, columns=columns, centre=centre), data=data)
        assert made.certificate.holds
        rows = made.release.parts["data"].table.to_pylist()
        behind = made.release.trace.rows["data"].tolist()
        assert sorted(behind) == list(range(40))
        classes = defaultdict(list)
        for row, record in zip(rows, behind, strict=True):
            assert row["ill"] == data["ill"][record]
            classes[tuple(row[name] for name in columns)].append(record)
        for cells, members in classes.items():
            assert holds(Counter(data["ill"][record] for record in members))
            for name, cell in zip(columns, cells, strict=True):
                assert is_centre(cell, [data[name][record] for record in members], "mode" if name == "sex" else centre)


def is_centre(cell: str, values: list[str], centre: str) -> bool:
    known = sorted(float(value) for value in values if value) if centre != "mode" else []
    if centre == "mode":
        tally = Counter(values)
        return tally[cell] == max(tally.values())
    if not known:
        return cell == ""
    wanted = sum(known) / len(known) if centre == "mean" else known[(len(known) - 1) // 2]
    return abs(float(cell) - wanted) <= 0.005 + 1e-9


def test_changed_cells_are_found(tmp_path: Path) -> None:
    data = people(SEED)
    made = sf.publish(policy({"k-anonymity": {"k": 4}}), data=data)
    made.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out", original=data).holds
    from sfumato.kinds.tables.checks import Averages

    table = made.release.parts["data"].table
    for column, shown in (("age", "99.00"), ("sex", "x"), ("ill", "plague")):
        cells = table.column(column).to_pylist()
        first = cells[0]
        changed = [shown if cell == first else cell for cell in cells] if column != "ill" else [shown, *cells[1:]]
        spoilt = table.set_column(table.column_names.index(column), column, [changed])
        from dataclasses import replace

        from sfumato.release.release import Part

        exhibit = replace(made.exhibit, parts={"data": Part(spoilt)}, original=made.exhibit.original)
        assert not Averages().examine(exhibit).holds, column


def test_what_cannot_be_averaged_is_refused() -> None:
    with pytest.raises(sf.PolicyError, match="category"):
        sf.publish(policy({"k-anonymity": {"k": 2}}, categories=["ill"]), data=people(SEED))
    with pytest.raises(sf.Infeasible):
        sf.publish(policy({"k-anonymity": {"k": 50}}), data=people(SEED))
    with pytest.raises(sf.Infeasible, match="one group"):
        sf.publish(policy({"l-diversity": {"l": 4}}), data=people(SEED))
