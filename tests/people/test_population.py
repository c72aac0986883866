"""Samples of a population: k-map, δ-presence and the attackers of a population, held against plain counts and
enumerated worlds."""

from __future__ import annotations

import csv
import random
from fractions import Fraction
from itertools import permutations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.recount.population import people_behind
from sfumato.core.errors import NotFound, PolicyError
from sfumato.kinds.tables.methods import population_requirements as in_methods
from sfumato.kinds.tables.sample_weights import population_lower_bound, rows_needed
from tests.slow import SLOW

TREE = {"*": {"low": ["a", "b"], "high": ["c", "d"]}}
ABOVE = {"a": {"a", "low", "*"}, "b": {"b", "low", "*"}, "c": {"c", "high", "*"}, "d": {"d", "high", "*"}}
COLUMNS: dict[str, Any] = {
    "q": {"role": "quasi-identifier", "hierarchy": TREE},
    "sex": "quasi-identifier",
    "ill": "sensitive",
}
METHODS = ("mondrian", "clustering", "refined", "optimal", "global")


def fits(row: dict[str, str], person: dict[str, str]) -> bool:
    return row["q"] in ABOVE[person["q"]] and row["sex"] in (person["sex"], "*")


def drawn(
    seed: int, folder: Path, people: int = 30, records: int = 8
) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
    """A table, and the population that it was drawn from, which is written into a folder."""
    rng = random.Random(seed)
    everybody = [{"q": rng.choice("aabcd"), "sex": rng.choice("mmf")} for _ in range(people)]
    chosen = [
        {**person, "ill": rng.choice("xyz"), "w": str(rng.choice([1, 2, 4.5]))}
        for person in rng.sample(everybody, records)
    ]
    with (folder / "everybody.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["q", "sex"])
        writer.writeheader()
        writer.writerows(everybody)
    return {name: [record[name] for record in chosen] for name in ("q", "sex", "ill", "w")}, everybody


def policy(
    folder: Path, claims: list[dict[str, Any]], population: dict[str, Any] | None, method: str = "mondrian"
) -> sf.Policy:
    chosen = {method: {"seconds": 0.02} if method in ("refined", "optimal") else {}}
    tree: dict[str, Any] = {"version": 1, "columns": COLUMNS, "protect": claims, "method": chosen}
    return sf.Policy.parse(tree | ({} if population is None else {"population": population}), base=folder)


def shown(publication: sf.Publication) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = publication.release.parts["data"].table.to_pylist()
    return rows


@pytest.mark.parametrize("method", METHODS)
def test_every_row_fits_k_people_of_the_population(method: str, tmp_path: Path) -> None:
    finer = 0
    for seed in range(5 if SLOW else 3):
        data, everybody = drawn(seed, tmp_path)
        made = sf.publish(
            policy(tmp_path, [{"k-map": {"k": 3}}, {"l-diversity": {"l": 2}}], {"file": "everybody.csv"}, method),
            data=data,
        )
        fewest = min(sum(fits(row, person) for person in everybody) for row in shown(made))
        said = made.exhibit.population is not None and next(f for f in _found(made) if f.model == "k-map")
        assert said and said.grade == "exact" and said.achieved["k"] == fewest >= 3
        alone = sf.publish(
            policy(tmp_path, [{"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 2}}], None, method), data=data
        )
        finer += made.utility["loss"] <= alone.utility["loss"]
    assert finer > 1  # company outside the table is worth something


def _found(publication: sf.Publication) -> Any:
    from sfumato.audit.certify import certify

    return certify(publication.exhibit)


def test_a_method_that_counts_wrongly_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody counted twice: the audit counts for itself."""
    monkeypatch.setattr(in_methods, "_beside", lambda problem, codes: np.tile(np.arange(len(codes[0])), 3))
    data, _ = drawn(3, tmp_path)
    with pytest.raises(sf.AuditRefused, match="k-map"):
        sf.publish(policy(tmp_path, [{"k-map": {"k": 6}}], {"file": "everybody.csv"}), data=data)


def test_presence_is_what_worlds_say(tmp_path: Path) -> None:
    """All ways to hand the rows out to people who fit: how often each person of the population gets one."""
    judged = 0
    for seed in range(20):
        data, everybody = drawn(seed, tmp_path, people=7, records=4)
        levels = {"at_most": 0.75, **({"at_least": 0.2} if seed % 2 else {})}
        try:
            made = sf.publish(
                policy(tmp_path, [{"delta-presence": levels}], {"file": "everybody.csv"}, "global"), data=data
            )
        except sf.Infeasible:
            continue
        rows = shown(made)
        worlds = [
            world for world in permutations(range(7), len(rows)) if all(map(fits, rows, (everybody[i] for i in world)))
        ]
        chances = [Fraction(sum(i in world for world in worlds), len(worlds)) for i in range(7)]
        said = next(finding for finding in _found(made) if finding.model == "delta-presence")
        assert said.grade == "exact"
        assert said.achieved == pytest.approx(
            {"at_least": float(min(chances)), "at_most": float(max(chances))}, rel=1e-5
        )
        assert max(chances) <= Fraction(3, 4) and (seed % 2 == 0 or min(chances) >= Fraction(1, 5))
        judged += 1
    assert judged > 5


def test_bounds_of_presence_where_classes_overlap_contain_what_worlds_say(tmp_path: Path) -> None:
    """A release whose classes overlap, judged and enumerated: the bounds are true."""
    from dataclasses import replace

    from sfumato.release.release import Part

    data, everybody = drawn(1, tmp_path, people=7, records=4)
    made = sf.publish(
        policy(tmp_path, [{"delta-presence": {"at_most": 1}}], {"file": "everybody.csv"}, "global"), data=data
    )
    rows = [{"q": cell, "sex": "*", "ill": "x"} for cell in ("*", "low", "*", "low")]
    exhibit = replace(
        made.exhibit, parts={"data": Part({name: [row[name] for row in rows] for name in rows[0]})}, folder=None
    )
    from sfumato.kinds.tables.evidence import judge_population_requirement

    said = judge_population_requirement(exhibit, exhibit.policy.claims[0])
    worlds = [world for world in permutations(range(7), 4) if all(map(fits, rows, (everybody[i] for i in world)))]
    chances = [Fraction(sum(i in world for world in worlds), len(worlds)) for i in range(7)]
    assert said.grade.startswith("bound")
    assert said.achieved["at_least"] <= min(chances) + 1e-9 and said.achieved["at_most"] >= max(chances) - 1e-9


def test_people_behind_a_class_follow_from_the_binomial_law() -> None:
    """Counted from the definition with whole numbers, by the methods' and by the floor's own way."""
    for share, sure in (
        (Fraction(1, 10), Fraction(9, 10)),
        (Fraction(1, 2), Fraction(95, 100)),
        (Fraction(1, 3), Fraction(1, 2)),
    ):
        for rows in range(1, 9):
            people = rows
            while _at_least(rows, people, share) <= 1 - sure:
                people += 1
            assert (
                people
                == people_behind(rows, share, sure)
                == population_lower_bound(np.array([rows]), float(share), float(sure))[0]
            )
    assert [rows_needed(k, 0.1, 0.9) for k in (1, 2, 4, 11)] == [1, 2, 3, 4]


def _at_least(rows: int, people: int, share: Fraction) -> Fraction:
    drawn = [comb(people, i) * share**i * (1 - share) ** (people - i) for i in range(people + 1)]
    return sum(drawn[rows:], Fraction(0)) / (1 - drawn[0])


@pytest.mark.parametrize("method", METHODS[:3])
def test_fractions_and_weights_are_estimates(method: str, tmp_path: Path) -> None:
    data, _ = drawn(5, tmp_path, records=20)
    for population in ({"fraction": 0.2}, {"weight": "w"}):
        made = sf.publish(policy(tmp_path, [{"k-map": {"k": 6}}], population, method), data=data)
        said = _found(made)[0]
        classes: dict[tuple[str, str], list[int]] = {}
        for row, behind in zip(shown(made), made.release.trace.rows["data"].tolist(), strict=True):
            classes.setdefault((row["q"], row["sex"]), []).append(behind)
        if "weight" in population:
            people = [sum(float(data["w"][i]) for i in members) for members in classes.values()]
        else:
            people = [people_behind(len(members), Fraction(1, 5), Fraction(9, 10)) for members in classes.values()]
        assert said.grade == "estimate" and said.achieved["k"] == int(min(people)) >= 6


def test_attackers_of_a_population(tmp_path: Path) -> None:
    data, everybody = drawn(7, tmp_path, records=12)
    claims = [
        {"average-risk": {"risk": 0.25, "attacker": "journalist"}},
        {"average-risk": {"risk": 0.25, "attacker": "marketer"}},
        {"profitability": {"benefit": 1, "loss": 4, "gain": 9, "cost": 1, "game": "journalist"}},
    ]
    made = sf.publish(policy(tmp_path, claims, {"file": "everybody.csv"}), data=data)
    rows = shown(made)
    people = {(row["q"], row["sex"]): sum(fits(row, person) for person in everybody) for row in rows}
    marketer = sum(1 / people[row["q"], row["sex"]] for row in rows) / len(rows)
    journalist, linked, game = _found(made)[:3]
    assert linked.achieved["risk"] == pytest.approx(marketer, rel=1e-5)
    assert journalist.achieved["risk"] == pytest.approx(max(marketer, len(people) / sum(people.values())), rel=1e-5)
    assert game.achieved["benefit"] == pytest.approx(4 / min(people.values()) if min(people.values()) < 9 else 0)


def test_the_population_stays_at_home(tmp_path: Path) -> None:
    data, _ = drawn(2, tmp_path)
    made = sf.publish(policy(tmp_path, [{"k-map": {"k": 3}}], {"file": "everybody.csv"}), data=data)
    made.write(tmp_path / "out", report=False)
    assert not any(b"everybody.csv" in file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file())
    unasked = sf.verify(tmp_path / "out", original=data)
    assert [finding.model for finding in unasked.open] == ["k-map"]
    assert all(finding.holds for finding in unasked.findings)
    assert not unasked.violated
    assert sf.verify(tmp_path / "out", population=tmp_path / "everybody.csv").holds
    smaller = tmp_path / "few.csv"
    smaller.write_text("".join((tmp_path / "everybody.csv").read_text().splitlines(keepends=True)[:4]))
    assert sf.verify(tmp_path / "out", population=smaller).violated


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    data, _ = drawn(2, tmp_path)
    with pytest.raises(PolicyError, match="does not"):
        policy(tmp_path, [{"k-map": {"k": 3}}], None)
    with pytest.raises(PolicyError, match="needs a table"):
        policy(tmp_path, [{"delta-presence": {"at_most": 0.5}}], {"fraction": 0.5})
    with pytest.raises(PolicyError, match="one of file, fraction and weight"):
        policy(tmp_path, [{"k-map": {"k": 3}}], {"fraction": 0.5, "weight": "w"})
    with pytest.raises(PolicyError, match="global"):
        sf.publish(policy(tmp_path, [{"delta-presence": {"at_most": 0.5}}], {"file": "everybody.csv"}), data=data)
    with pytest.raises(sf.DataError, match="look like nobody"):
        strange = {name: [*values, values[0]] * 9 for name, values in data.items()}
        sf.publish(policy(tmp_path, [{"k-map": {"k": 3}}], {"file": "everybody.csv"}), data=strange)


@pytest.mark.parametrize(
    ("town", "table", "level"),
    [
        # whoever is c or d fits no published class: nobody of them is in the table, and "at least" asks for some
        (["b", "b", "b", "c"], ["b"], {"at_least": 0.3, "at_most": 0.4}),
        # the label * covers a and b, which the boundary [a, b] keeps apart from it, so that people fit two classes
        (["a", "a", "b", "c", "d", "d"], ["a", "c", "d"], {"at_least": 0.3, "at_most": 0.6}),
    ],
)
def test_a_presence_that_cannot_be_kept_is_not_found(
    town: list[str], table: list[str], level: dict[str, float], tmp_path: Path
) -> None:
    """The method says that it found nothing; its audit has nothing to refuse."""
    (tmp_path / "town.csv").write_text("\n".join(["q", *town]) + "\n")
    tree: dict[str, Any] = {
        "version": 1,
        "columns": {"q": {"role": "quasi-identifier", "hierarchy": TREE, "boundary": ["a", "b"]}, "ill": "sensitive"},
        "protect": [{"delta-presence": level}],
        "population": {"file": "town.csv"},
        "method": "global",
    }
    with pytest.raises(NotFound):
        sf.publish(sf.Policy.parse(tree, base=tmp_path), data={"q": table, "ill": ["x"] * len(table)})
