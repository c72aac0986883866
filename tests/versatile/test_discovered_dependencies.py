"""`discover` proposes a policy that reads, and warns about dependencies that a policy's rules overlook."""

import pytest

from sfumato.policy.policy import Policy
from sfumato.ui.cli import main
from sfumato.ui.demos.tables import Versatile
from sfumato.workflow.discover.discover import discover
from sfumato.workflow.plan import plan

DATA = {"id": [str(i) for i in range(60)], "zip": [f"z{i % 12}" for i in range(60)], "sex": ["f", "m", "m"] * 20}
DATA["county"] = [f"c{int(value[1:]) // 4}" for value in DATA["zip"]]


def policy(*claims, knows=()):
    columns = {"zip": "other", "county": "other", "sex": "other"}
    return Policy.parse({"version": 1, "columns": columns, "protect": list(claims), "knows": list(knows)})


def test_the_proposal_is_a_policy():
    found = discover(DATA)
    proposed = Policy.parse(found.policy)
    assert proposed.columns["id"].role == "identifier"
    assert "zip -> county" in proposed.knows


def test_what_ties_known_columns_to_others_is_said_and_not_written():
    """A recoded table beside it would be refused; whether outsiders know it the data holder says."""
    people = {"age": [str(20 + i % 30) for i in range(120)], "sex": ["f", "m"] * 60}
    people["illness"] = [f"{['flu', 'gout', 'cold'][i % 3]} of {sex}" for i, sex in enumerate(people["sex"])]
    found = discover(people)
    proposed = Policy.parse(found.policy)
    assert proposed.columns["illness"].role == "sensitive"
    assert "illness -> sex" not in proposed.knows
    assert any(reason.startswith("illness -> sex is not under 'knows:'") for reason in found.reasons)
    plan(proposed)


@pytest.mark.parametrize(
    ("claim", "warned"),
    [
        ("sex -> county : 2-diversity", "who learns zip learns the hidden county"),
        ("county -> zip : 2-diversity", "can rule out values of the hidden zip"),
        ("zip -> sex : 2-diversity", "who is given zip also knows county"),
    ],
)
def test_overlooked_dependencies_are_warned_about(claim, warned):
    assert any(warned in each for each in discover(DATA, policy(claim)).warnings)
    assert not any("zip → county" in each for each in discover(DATA, policy(claim, knows=["zip -> county"])).warnings)


def test_the_demo_policy_overlooks_nothing(tmp_path, capsys):
    made, data = Versatile().make(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["discover", str(data), "--policy", str(made)])
    told = capsys.readouterr()
    assert ended.value.code == 0
    assert told.err == ""
    assert "- zip -> county" in told.out
