"""Rules that calculate, beside domains of texts and of numbers: a release that keeps them, or a refusal in our own
words."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import sfumato as sf

DATA = {
    "x": [str(i * 7 % 50) for i in range(24)],
    "y": [str(i * 7 % 50 + 3) for i in range(24)],
    "group": [str(i % 4) for i in range(24)],
    "number": [str(i) for i in range(24)],
    "five": ["5"] * 24,
}
TEXTS: list[dict[str, Any]] = [{"pattern": "[1-9][0-9]{1}"}, {"fakes": "first_name"}, {"values": ["10", "20", "abc"]}]
NUMBERS: dict[str, Any] = {"values": ["10", "20", "30"]}
CALCULATING = (
    "sum(x by group) = sum(original.x by group)",
    "sum(x) = 480",
    "mean(x) = 20",
    "five = sum(x by group)",
    "y = running(x by group along number)",
    "x - y = 3",
    "x[1] < x[2]",
)
OTHERS = (
    "histogram(x, 10)",
    "increasing(x along number)",
    "max(x) = 30",
    "x = max(y by group)",
    "count(x > 20) = 12",
    "unique(x)",
)


def published(domain: dict[str, Any], rule: str) -> sf.Publication:
    own = {"role": "replaced", "domain": domain}
    columns = {"x": own, "y": own, "group": "other", "number": "other", "five": "other"}
    tree = {"version": 1, "columns": columns, "keep": [rule], "method": {"obfuscation": {}}}
    return sf.publish(sf.Policy.parse(tree), data=DATA)


@pytest.mark.parametrize("rule", CALCULATING)
@pytest.mark.parametrize("domain", TEXTS, ids=str)
def test_nobody_calculates_with_texts(domain: dict[str, Any], rule: str) -> None:
    with pytest.raises((sf.PolicyError, sf.DataError, sf.Infeasible)):
        published(domain, rule)


@pytest.mark.parametrize("rule", ["sum(x) = 480", "mean(x) = 20", "x[1] < x[2]", "x - y <= 3"])
def test_numbers_are_calculated_with(rule: str) -> None:
    assert published(NUMBERS, rule).certificate.holds


@pytest.mark.parametrize("rule", OTHERS)
@pytest.mark.parametrize("domain", [*TEXTS, NUMBERS], ids=str)
def test_every_refusal_is_in_our_own_words(domain: dict[str, Any], rule: str) -> None:
    with contextlib.suppress(sf.PolicyError, sf.DataError, sf.Infeasible):
        assert published(domain, rule).certificate.holds


@pytest.mark.parametrize("domain", [TEXTS[0], {"values": list("abcdef")}], ids=str)
def test_new_values_determine_a_kept_column(domain: dict[str, Any]) -> None:
    rows = published(domain, "x determines group").release.parts["data"].table.to_pylist()
    groups: dict[str, set[str]] = {}
    for row in rows:
        groups.setdefault(row["x"], set()).add(row["group"])
    assert all(len(each) == 1 for each in groups.values())
    assert len(groups) >= 4
