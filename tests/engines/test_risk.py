"""How identifying a table is, counted where it lies: the same figures as here."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato as sf
from sfumato.core.errors import DataError
from tests.engines.people import people

APART = {"columns", "combinations"}
"""What is said of columns that were not counted on the cluster."""


def test_the_same_figures(spark: Any) -> None:
    table, known = people(500, seed=11).select(["age", "town", "illness"]), ["age", "town"]
    here = sf.risk(table, known, sensitive=["illness"], fraction=0.1)
    there = sf.risk(spark.createDataFrame(table), known, sensitive=["illness"], fraction=0.1, engine=spark)
    told = [report.to_json() for report in (here, there)]
    assert _figures(told[1]) == _figures(told[0])
    assert sorted(map(str, told[1]["combinations"]["found"])) == sorted(map(str, told[0]["combinations"]["found"]))
    with pytest.raises(DataError, match="every record"):
        there.records()


def _figures(value: Any) -> Any:
    """All that is compared, to twelve digits: classes come in any order, and so do the sums over them."""
    if isinstance(value, dict):
        return {key: _figures(inner) for key, inner in value.items() if key not in APART}
    if isinstance(value, list):
        return [_figures(inner) for inner in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def test_columns_are_named_on_a_cluster(spark: Any) -> None:
    with pytest.raises(DataError, match="are named"):
        sf.risk(spark.createDataFrame(people(10)), engine=spark)
