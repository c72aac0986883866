"""Eighty rules: made and true by their meaning, or refused with a reason before anything is drawn."""

import pyarrow as pa
import pytest
from eighty_rules import CASES, Case, table

from sfumato.core.errors import Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.kinds.testdata.methods.obfuscation import Obfuscation
from sfumato.policy.policy import Policy
from sfumato.release.method import Task

ROWS = 60


def policy_of(case: Case, names) -> Policy:
    columns = dict.fromkeys(names, "other") | {
        name: {"role": "replaced", "domain": domain} for name, domain in case.columns.items()
    }
    return Policy.parse({"version": 1, "columns": columns, "keep": list(case.keep), "method": {"obfuscation": {}}})


@pytest.mark.parametrize("name", CASES)
def test_a_rule(name):
    case, rows = CASES[name], table(ROWS)
    data = Table(pa.table({column: [row[column] for row in rows] for column in rows[0]}))
    if case.refused:
        with pytest.raises((PolicyError, Infeasible)) as told:
            Obfuscation().describe(policy_of(case, rows[0]), data)
        assert str(told.value)
        return
    policy = policy_of(case, rows[0])
    Obfuscation().describe(policy, data)
    release = Obfuscation().run(Task(policy, data, Randomness()))
    order = release.trace.rows["data"].tolist()
    new = release.parts["data"].table.to_pylist()
    new = [{key: "" if value is None else value for key, value in row.items()} for row in new]
    kept = [name for name in rows[0] if name not in case.columns]
    assert [{key: row[key] for key in kept} for row in new] == [
        {key: rows[place][key] for key in kept} for place in order
    ]
    assert case.judge(new, [rows[place] for place in order])
    assert (
        any(
            row[column] != rows[place][column] for row, place in zip(new, order, strict=True) for column in case.columns
        )
        or "histogram" in name
    )


def test_there_are_eighty():
    made = [name for name, case in CASES.items() if not case.refused]
    assert len(CASES) >= 80
    assert len(made) >= 65
