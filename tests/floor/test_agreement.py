"""The floor and the audit agree on every release, and on claims that do not hold as well."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit import recount
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.models.l_diversity import LDiversity
from tests.floor.random_releases import audited, published, random_claim, random_columns, random_model, random_table
from tests.slow import SLOW

CHUNKS, EACH = 10 if SLOW else 1, 14
"""Tests per form, and tries per test; most policies are feasible, and a test fails when too few are: 90 releases at
least."""


def agreed(folder: Path) -> int:
    """Claims that were counted; the floor agrees with the certificate in the folder."""
    findings = json.loads((folder / "certificate.json").read_text())["findings"]
    assert recount.disagreements(folder, findings) == []
    counts = recount.recount(folder)
    assert all(each.reaches for each in counts if each.counted)
    return sum(each.counted for each in counts)


def agreed_with_the_audit(folder: Path, tree: dict[str, Any]) -> list[recount.Recount]:
    """Other claims on the same files, most of which do not hold."""
    findings = audited(folder, tree)
    assert recount.disagreements(folder, findings) == []
    counts = recount.recount(folder)
    for each, finding in zip(counts, findings, strict=True):
        if each.counted and each.exact:
            assert each.reaches == finding["holds"], (each, finding)
    return list(counts)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_recoded_tables(chunk: int, tmp_path: Path) -> None:
    rng = random.Random(1000 + chunk)
    releases, below = 0, 0
    for number in range(EACH):
        columns, data = random_columns(rng), random_table(rng, rng.randint(2, 40))
        numeric = columns["day"]["publish"] is False and columns["pay"] == "other"
        claims: list[Any] = [random_model(rng, numbers=False) for _ in range(rng.randint(1, 2))]
        tree = {"version": 1, "columns": columns, "protect": claims, "method": {"mondrian": {}}}
        folder = tmp_path / str(number)
        if published(tree, data, folder, number, format=rng.choice(["csv", "parquet"])) is None:
            continue
        releases += 1
        assert agreed(folder) == len(claims)
        shown = [
            name for name, column in columns.items() if not isinstance(column, dict) or column.get("publish", True)
        ]
        more = [random_claim(rng, shown[:-1], shown) for _ in range(8)] + [
            random_model(rng, numbers=numeric) for _ in range(3)
        ]
        counts = agreed_with_the_audit(folder, tree | {"protect": more})
        assert all(each.counted for each in counts)
        below += sum(each.reaches is False for each in counts)
    assert releases >= 10
    assert below > releases


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_anatomies(chunk: int, tmp_path: Path) -> None:
    rng = random.Random(2000 + chunk)
    releases = 0
    for number in range(EACH):
        columns, data = random_columns(rng) | {"age": "quasi-identifier"}, random_table(rng, rng.randint(3, 40))
        tree = {
            "version": 1,
            "columns": columns,
            "protect": [random_model(rng, numbers=False, values=True) for _ in range(rng.randint(1, 2))],
            "method": {"anatomy": {}},
        }
        folder = tmp_path / str(number)
        if published(tree, data, folder, number, format=rng.choice(["csv", "parquet"])) is None:
            continue
        releases += 1
        assert agreed(folder) == len(tree["protect"])
        sensitive = list(sf.Policy.parse(tree).sensitive)
        visible = [name for name in sf.Policy.parse(tree).published if name not in sensitive]
        hidden = [*sensitive, *[name for name in visible if columns[name] == "other"]]
        known = [name for name in visible if name not in hidden]
        more = [random_claim(rng, known, hidden) for _ in range(8)] + [
            random_model(rng, numbers=False) for _ in range(3)
        ]
        assert all(each.counted for each in agreed_with_the_audit(folder, tree | {"protect": more}))
    assert releases >= 8


METHODS = ["guardian", "utility-aware", "single-attribute", "multi-sensitive"]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_sub_tables(chunk: int, tmp_path: Path) -> None:
    rng = random.Random(3000 + chunk)
    releases, known, several = 0, 0, 0
    for number in range(EACH + 6):
        names = ["age", "zip", "sex", "word", "pay", "day"]
        data = random_table(rng, rng.randint(6, 50))
        data["region"] = [value[:1] for value in data["zip"]]
        columns: dict[str, Any] = dict.fromkeys([*names, "region"], "other")
        columns["day"] = {"role": "other", "publish": rng.random() < 0.7}
        tree: dict[str, Any] = {"version": 1, "columns": columns, "method": {rng.choice(METHODS): {}}}
        tree["protect"] = [random_claim(rng, names[:3], names[2:], values=True) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.4:
            tree["knows"] = ["zip -> region"]
        folder = tmp_path / str(number)
        if published(tree, data, folder, number) is None:
            continue
        releases, known = releases + 1, known + ("knows" in tree)
        several += (folder / "table-2.csv").exists()
        assert agreed(folder) == len(tree["protect"])
        more = [random_claim(rng, names[:4], [*names, "region"], values=True) for _ in range(8)]
        more += [
            {"given": ["age"], "hide": ["word", "pay"], "by": random_model(rng, numbers=False, values=True)}
            for _ in range(3)
        ]
        assert all(each.counted for each in agreed_with_the_audit(folder, tree | {"protect": more}))
    assert releases >= 12
    assert known
    assert several


def test_recursive_diversity_of_mixtures_is_not_won_by_the_last_bit() -> None:
    """Shares of buckets are no exact numbers in binary; what is equal in fractions is not less in the audit either."""
    rng, equal = random.Random(1), 0
    for _ in range(3000):
        parts = [Fraction(rng.randint(1, 6), rng.choice([3, 5, 6, 7, 9, 10])) for _ in range(rng.randint(2, 5))]
        c = rng.choice([0.5, 0.7, 1.0, 1.1, 1.5, 2.0, 3.0])
        ranked = sorted(parts, reverse=True)
        fits = [ranked[0] < Fraction(str(c)) * sum(ranked[place:]) for place in range(len(ranked))]
        equal += any(ranked[0] == Fraction(str(c)) * sum(ranked[place:]) for place in range(len(ranked)))
        start, place = np.array([0, len(parts)]), np.arange(len(parts))
        spread = ValueDistribution(start, place, np.array([float(part) for part in parts]), tuple(map(str, place)))
        link = Linkage(np.array([1]), np.array([1]), {"s": spread})
        assert LDiversity(l=1, kind="recursive", c=c).achieved(link)["l"] == sum(fits)
    assert equal > 50
