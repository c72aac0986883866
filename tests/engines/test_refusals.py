"""What cannot run on a cluster is refused before data moves, with the reason."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from sfumato.core.errors import PolicyError
from sfumato.engines.spark.workflow.publish import MOST_ROWS, collect_rows
from sfumato.policy.policy import Policy
from sfumato.workflow.forecast import forecast_publish
from tests.command_line import run
from tests.engines.people import COLUMNS

ASKED = {"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 5}}]}
NEW = dict.fromkeys(COLUMNS, "other") | {"ward": {"role": "replaced", "domain": {"integers": [0, 99]}}}
LEARNED = {"role": "replaced", "domain": {"values": ["flu", "gout"], "weights": "original"}}
LEDGER = {"ledger": {"file": "a.ledger", "new": True}, "key": "name", "method": {"mondrian": {}}}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "a method that needs rows": ({"method": {"optimal": {}}}, "optimal needs rows"),
    "several hidden columns together": (
        {"method": {"multi-sensitive": {}}, "protect": ["age -> illness : 2-diversity"]},
        "rows are assigned to buckets by several sensitive columns at once",
    ),
    "recoding inside sub-tables": (
        {"method": {"utility-aware": {"inner": "mondrian"}}, "protect": ["age -> illness : 2-diversity"]},
        "mondrian inside sub-tables needs rows",
    ),
    "records that a rule ties": (
        {"method": {"obfuscation": {}}, "columns": NEW, "protect": [], "keep": ["sum(ward by town) = 9000"]},
        "ties records to each other",
    ),
    "totals of the original": (
        {"method": {"obfuscation": {}}, "columns": NEW, "protect": [], "keep": ["sum(ward) = sum(original.ward)"]},
        "looks at values of the original that are replaced",
    ),
    "values that are learned": (
        {"method": {"obfuscation": {}}, "columns": NEW | {"illness": LEARNED}, "protect": []},
        "'illness' are computed or learned from rows",
    ),
    "rules": ({"keep": ["ward <= illness"], "method": {"mondrian": {}}}, "'keep' are judged on rows"),
    "people": ({"person": "name", "method": {"mondrian": {}}}, "'person:'"),
    "a ledger of buckets": (
        LEDGER | {"method": {"anatomy": {}}, "protect": [{"l-diversity": {"l": 2}}]},
        "what is no recoded table",
    ),
    "a ledger and columns of no role": (LEDGER, "a ledger remembers 'ward'"),
    "unknown cohorts": (LEDGER | {"series": {"cohorts": "unknown"}}, "'cohorts: unknown'"),
    "counterfeits": (LEDGER | {"series": {"leaving": "counterfeits"}}, "'leaving: counterfeits'"),
    "people who wait": (LEDGER | {"series": {"waiting": "1%"}}, "'waiting:'"),
}


@pytest.mark.parametrize("case", CASES)
def test_check_says_what_needs_rows_and_why(case: str) -> None:
    more, reason = CASES[case]
    told = " ".join(forecast_publish(Policy.parse(ASKED | more), elsewhere=True).sentences())
    assert reason in told
    assert f"brought to the driver, at most {MOST_ROWS:,}" in told


def test_what_is_no_table_is_refused() -> None:
    baskets = {"version": 1, "data": {"kind": "baskets"}, "protect": [{"k-anonymity": {"k": 5}}]}
    with pytest.raises(PolicyError, match="cannot run with --engine spark: only tables"):
        forecast_publish(Policy.parse(baskets), elsewhere=True)


def test_more_rows_than_the_driver_takes_are_refused() -> None:
    engine = SimpleNamespace(size=lambda rows: MOST_ROWS + 1)
    with pytest.raises(PolicyError, match="more than the 5,000,000"):
        collect_rows(engine, None, Policy.parse(ASKED), "optimal needs rows")


def test_check_says_that_rows_stay(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    for method in ("anatomy", "guardian", "utility-aware", "single-attribute"):
        hidden = {"method": {method: {}}, "protect": ["age -> illness : 2-diversity"]}
        assert "rows stayed on the cluster" in " ".join(
            forecast_publish(Policy.parse(ASKED | hidden), elsewhere=True).sentences()
        )
    for rule in (
        "ward >= age",
        "unique(ward)",
        "ward >= age and ward <= 90",
        "sum(ward) = 9000",
        "mean(ward where age > 30) <= 50",
    ):
        drawn = {"method": {"obfuscation": {}}, "columns": NEW, "protect": [], "keep": [rule]}
        assert "rows stayed on the cluster" in " ".join(
            forecast_publish(Policy.parse(ASKED | drawn), elsewhere=True).sentences()
        )
    file.write_text(yaml.safe_dump(ASKED | {"method": {"mondrian": {}}}))
    told = run("check", str(file), "--engine", "spark")
    assert told.returncode == 0
    assert "rows stayed on the cluster" in told.stdout


def test_a_master_without_the_engine_is_a_mistake(tmp_path: Path) -> None:
    told = run("verify", str(tmp_path), "--master", "local[2]")
    assert told.returncode == 2
    assert "--master belongs to --engine spark" in told.stderr
