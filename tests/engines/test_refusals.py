"""What cannot run on a cluster is refused before data moves, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sfumato.errors import PolicyError
from sfumato.policy.policy import Policy
from sfumato.spine.foresight import foresee
from tests.command_line import run
from tests.engines.people import COLUMNS

ASKED = {"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 5}}]}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "a method that needs rows": ({"method": {"optimal": {}}}, "optimal needs rows"),
    "rules": ({"keep": ["ward <= illness"], "method": {"mondrian": {}}}, "'keep' are judged on rows"),
    "people": ({"person": "name", "method": {"mondrian": {}}}, "'person:'"),
    "a ledger": ({"ledger": "a.ledger", "key": "name", "method": {"mondrian": {}}}, "a ledger remembers every record"),
}


@pytest.mark.parametrize("case", CASES)
def test_check_says_why(case: str) -> None:
    more, reason = CASES[case]
    with pytest.raises(PolicyError, match="cannot run with --engine spark") as caught:
        foresee(Policy.parse(ASKED | more), elsewhere=True)
    assert reason in str(caught.value)


def test_check_says_that_rows_stay(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump(ASKED | {"method": {"mondrian": {}}}))
    told = run("check", str(file), "--engine", "spark")
    assert told.returncode == 0
    assert "rows stayed where they lie" in told.stdout


def test_a_master_without_the_engine_is_a_mistake(tmp_path: Path) -> None:
    told = run("verify", str(tmp_path), "--master", "local[2]")
    assert told.returncode == 2
    assert "--master belongs to --engine spark" in told.stderr
