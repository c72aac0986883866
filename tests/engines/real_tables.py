"""The tables that both engines publish by every method: rows of Adult and of the census, or our own people where these
are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

import sfumato as sf
from sfumato.policy.policy import Choice
from tests.conftest import SHARED
from tests.engines.people import people, policy
from tests.slow import SLOW

ROWS = 2_000
GROUPS, HIDING = (
    ("mondrian", "clustering", "refined", "global"),
    ("anatomy", "guardian", "utility-aware", "single-attribute"),
)
"""Methods that generalize, and methods that hide values in buckets or other tables and get claims on values alone."""
_PARAMETERS: dict[str, dict[str, Any]] = {"refined": {"seconds": 0.3}}
_CENSUS = ("age", "gender", "education", "marital", "race", "work_class", "country")
_ADULT = ("age", "sex", "race", "marital-status", "workclass")


def adult(method: str) -> tuple[sf.Policy, pa.Table]:
    """Adult under boundaries, or with one hidden column."""
    plain = method == "global"  # under boundaries it would suppress too many of so few records
    table = _read(SHARED / f"data/adult/adult_{30162 if plain else 45222}.csv.gz", ["age", "education-num"])
    if method in HIDING:
        return _hiding(method, _ADULT, "occupation"), table
    asked = sf.Policy.read(SHARED / "policies" / ("adult-arx.yaml" if plain else "adult-boundaries.yaml"))
    return replace(asked, method=Choice(method, _PARAMETERS.get(method, {}))), table


def census(method: str) -> tuple[sf.Policy, pa.Table]:
    table = _read(SHARED / "data/census_income_kdd/occ_like_148318.csv.gz", ["age", "occupation"])
    if method in HIDING:
        return _hiding(method, _CENSUS, "occupation_group"), table
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
    columns = dict.fromkeys(_CENSUS, "quasi-identifier") | {"age": age, "occupation_group": "sensitive"}
    several = {"p-sensitivity": {"p": 2}} if method in ("clustering", "refined") else {"t-closeness": {"t": 0.4}}
    asked = [{"k-anonymity": {"k": 10}}, several]  # ties are broken by the order of rows, and then figures differ
    chosen = {method: _PARAMETERS.get(method, {})}
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": asked, "method": chosen}), table


def ours(method: str) -> tuple[sf.Policy, pa.Table]:
    asked = (
        [{"given": ["age", "town"], "hide": "illness", "by": {"l-diversity": {"l": 2}}}] if method in HIDING else None
    )
    return policy(method, protect=asked, **_PARAMETERS.get(method, {})), people(seed=2)


TABLES: tuple[Callable[[str], tuple[sf.Policy, pa.Table]], ...] = (adult, census) if SHARED.is_dir() else (ours,)
METHODS = (*GROUPS, *HIDING)
ELSEWHERE = () if SLOW else ("anatomy", "utility-aware")
"""Methods whose releases are compared where they are made for something else, too."""
CASES = [
    (made, method)
    for place, method in enumerate(METHODS)
    for made in (TABLES if SLOW else [TABLES[place % len(TABLES)]])
    if method not in ELSEWHERE
]
"""Every method on one of the tables, in turn; on all of them where time does not matter."""


def _hiding(method: str, known: tuple[str, ...], hidden: str) -> sf.Policy:
    """One column hidden from whoever knows the others: all of them, or the first few, of which there are fewer
    sub-tables."""
    known = known if SLOW else known[: 3 if method in ("anatomy", "utility-aware") else 2]
    columns = dict.fromkeys(known, "quasi-identifier") | {hidden: "sensitive"}
    asked = [{"given": list(known), "hide": hidden, "by": {"l-diversity": {"l": 2}}}]
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": asked, "method": {method: {}}})


def _read(file: Path, texts: list[str]) -> pa.Table:
    options = pa.csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string()))
    return pa.csv.read_csv(file, convert_options=options).slice(0, ROWS)
