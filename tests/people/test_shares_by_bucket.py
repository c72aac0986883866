"""Shares of people in several rows of sub-tables: what is promised for each bucket is true in all worlds, and the
finding says so.

A bucket's values are dealt over its rows in all orders equally likely; a person has some of the rows. Every way to deal
is listed."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations

import pytest

import sfumato as sf
from tests.slow import SLOW

ROWS = "i0,a1,c2; i2,a1,c1; i1,a0,c1; i4,a0,c1; i4,a0,c2; i3,a1,c0; i5,a0,c2; i4,a0,c1"
CASES = 400 if SLOW else 40


def publish(rows, l, method):
    data = {name: [row[at] for row in rows] for at, name in enumerate(("id", "a", "c"))}
    claim = {"given": ["a"], "hide": "c", "by": {"l-diversity": {"l": l, "kind": "frequency"}}}
    columns = {"id": "identifier", "a": "other", "c": {"role": "other", "persistent": False}}
    return sf.publish(
        sf.Policy.parse({"version": 1, "columns": columns, "protect": [claim], "person": "id", "method": method}),
        data=data,
    )


def believed(values, mine: int) -> Fraction:
    """The largest chance that somebody with `mine` of these rows has a value in one of them, over all ways to deal the
    values."""
    dealt = list(permutations(values))
    return max(Fraction(sum(value in world[:mine] for world in dealt), len(dealt)) for value in set(values))


def people_of(release, rows, part):
    """Whose rows stand in a part, from the provenance of the release."""
    return [rows[record][0] for record in release.trace.rows[part].tolist()]


def test_a_column_apart_is_one_bucket_of_all_rows():
    """Four of eight rows are c1, and somebody has three rows: one of them is c1 with 52/56, and 2/3 was asked for."""
    rows = [row.split(",") for row in ROWS.split("; ")]
    assert believed([row[2] for row in rows], 3) == Fraction(52, 56)
    with pytest.raises(sf.Infeasible, match="not found: somebody has too large a part"):
        publish(rows, 1.5, "single-attribute")


@pytest.mark.parametrize("method", ["single-attribute", "guardian", "utility-aware"])
def test_shares_are_kept_in_each_bucket_and_the_finding_says_so(method):
    chance, seen = random.Random(3), 0
    for _ in range(CASES):
        people = [f"i{number}" for number in range(4)]
        rows = [
            (name, chance.choice("xy"), chance.choice("123"))
            for name in (*people, *chance.choices(people, k=chance.randint(1, 3)))
        ]
        l = chance.choice([1.2, 1.5, 2])
        try:
            made = publish(rows, l, method)
        except (sf.Infeasible, sf.DataError):
            continue
        (finding,) = [one for one in made.findings if one.model == "people"]
        assert "in each class or bucket by itself" in finding.reason
        assert any(
            "shares are bounded in each class or bucket by itself" in said for said in made.certificate.assumptions
        )
        for name, part in made.release.parts.items():
            table = part.table
            if name.endswith("-sensitive"):
                continue
            whose = people_of(made.release, rows, name)
            buckets = table.column("bucket").to_pylist() if "bucket" in table.column_names else [""] * len(rows)
            if "bucket" not in table.column_names and "c" not in table.column_names:
                continue
            values = [rows[record][2] for record in made.release.trace.rows[name].tolist()]
            for bucket in set(buckets):
                inside = [place for place, each in enumerate(buckets) if each == bucket]
                most = max(sum(whose[place] == person for place in inside) for person in people)
                assert believed([values[place] for place in inside], most) <= 1 / Fraction(str(l)), (rows, l, method)
        seen += 1
    assert seen >= 3
