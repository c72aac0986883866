"""A computed column that must be unique: `check` says when different values may come to the same, and the refusal is no
defect."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.core.errors import Infeasible
from sfumato.workflow.forecast import forecast_publish
from tests.secret import SEED


def policy_of(equation: str, people: str) -> dict[str, object]:
    return {
        "version": 1,
        "data": {"kind": "table", "source": people},
        "columns": {
            "number": {"role": "replaced", "domain": {"integers": [1, 9000]}},
            "login": {"role": "replaced", "domain": {"computed": True}},
        },
        "keep": [equation, "unique(login)", "unique(number)"],
        "method": {"obfuscation": {}},
    }


@pytest.mark.parametrize(
    ("equation", "doubted"),
    [
        ("login = floor(number / 1000)", True),
        ('login = "u" + number', False),
        ("login = -(number + 7)", False),
        ("login = number % 3", True),
    ],
)
def test_check_says_what_may_come_out_twice(tmp_path, equation: str, doubted: bool) -> None:
    (tmp_path / "people.csv").write_text("number,login\n" + "".join(f"{n},u{n}\n" for n in range(1, 31)))
    policy = sf.Policy.parse(policy_of(equation, str(tmp_path / "people.csv")))
    said = [
        sentence
        for sentence in forecast_publish(policy).sentences()
        if "different values may come to the same" in sentence
    ]
    assert bool(said) == doubted
    if doubted:  # thirty records have at most ten different ones
        with pytest.raises(Infeasible, match="put a key into the equation") as refused:
            sf.publish(policy, seed=SEED)
        assert "defect" not in str(refused.value)
    else:
        login = sf.publish(policy, seed=SEED).release.parts["data"].table.column("login").to_pylist()
        assert len(set(login)) == 30
