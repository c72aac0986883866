"""Top and bottom coding, rounding and recoding by a table: values that are never published as they are."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sfumato as sf
from sfumato.data.hierarchy import Hierarchy
from sfumato.policy.generalizations import generalization_of
from sfumato.ui.studio.work.planning import _nodes
from tests.secret import secret

STATES = {"NY": "East", "NJ": "East", "CA": "West", "WA": "West"}
AGE = {"top": 80, "bottom": 20, "round": 5, "intervals": [10, 20]}


def people(rows: int = 120) -> pd.DataFrame:
    rng = random.Random(20)
    return pd.DataFrame(
        {
            "id": [str(i // 2) for i in range(rows)],
            "age": [rng.choice([str(rng.randint(10, 99)), "79", "80", "20"]) for _ in range(rows)],
            "state": [rng.choice([*STATES, "TX"]) for _ in range(rows)],
            "pay": [str(rng.randint(100, 999)) for _ in range(rows)],
            "ill": [rng.choice("xyz") for _ in range(rows)],
        }
    )


def policy(method: str, **more: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "id": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": AGE},
        "state": {"role": "quasi-identifier", "hierarchy": {"recode": STATES}},
        "pay": {"role": "quasi-identifier", "hierarchy": {"round": 100}},
        "ill": "sensitive",
    }
    claim = {"given": ["age", "state"], "by": {"k-anonymity": {"k": 3}}}
    return {"version": 1, "columns": columns, "protect": [claim], "method": method} | more


def by_hand(age: str) -> set[str]:
    """What an age may be published as."""
    if int(age) >= 80 or int(age) <= 20:
        return {"≥80" if int(age) >= 80 else "≤20", "*"}
    near = (int(age) * 2 + 5) // 10 * 5
    return {str(near), "*"} | {f"{near // width * width}-{near // width * width + width - 1}" for width in (10, 20)}


@pytest.mark.parametrize("method", ["mondrian", "refined", "global", "clustering"])
def test_every_row_is_coded(method: str, tmp_path: Path) -> None:
    table = people()
    publication = sf.publish(sf.Policy.parse(policy(method)), data=table, seed=secret(20))
    shown = publication.release.parts["data"].table.to_pandas()
    behind = table.iloc[publication.release.trace.rows["data"]].reset_index(drop=True)
    assert len(shown) > 100
    assert all(cell in by_hand(age) for cell, age in zip(shown["age"], behind["age"], strict=True))
    assert all(
        cell in (STATES.get(state, state), "*") for cell, state in zip(shown["state"], behind["state"], strict=True)
    )
    assert all(
        int(cell) == (int(pay) + 50) // 100 * 100 for cell, pay in zip(shown["pay"], behind["pay"], strict=True)
    )  # no claim
    publication.write(tmp_path / "release", report=False)
    assert sf.verify(tmp_path / "release", original=table).holds


def test_a_value_that_is_shown_as_it_is_is_found(tmp_path: Path) -> None:
    table = people()
    sf.publish(sf.Policy.parse(policy("mondrian")), data=table, seed=secret(20)).write(
        tmp_path / "release", report=False
    )
    file = next((tmp_path / "release").glob("data*.csv"))
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    rows.loc[rows["age"] == "≥80", "age"] = "93"
    rows.to_csv(file, index=False, lineterminator="\n")
    audit = sf.verify(tmp_path / "release", original=table)
    assert {"truthfulness"} <= {finding.model for finding in audit.findings if not finding.holds}


def test_linked_rows_are_coded() -> None:
    tree = policy("linked", person={"columns": "id", "rows": "linked"})
    tree["protect"] = [{"k-anonymity": {"k": 3}}]
    shown = sf.publish(sf.Policy.parse(tree), data=people(), seed=secret(20)).release.parts["data"].table.to_pandas()
    assert set(shown["age"]) <= set().union(*(by_hand(str(age)) for age in range(10, 100)))
    assert set(shown["state"]) <= {"East", "West", "TX", "*"}


def test_a_table_in_a_file_goes_into_the_folder(tmp_path: Path) -> None:
    (tmp_path / "states.csv").write_text("".join(f"{old};{new}\n" for old, new in STATES.items()), encoding="utf-8")
    tree = policy("mondrian")
    tree["columns"]["state"]["hierarchy"] = {"recode": "states.csv"}
    sf.publish(sf.Policy.parse(tree, base=tmp_path), data=people(), seed=secret(20)).write(
        tmp_path / "release", report=False
    )
    assert "states.csv" not in (tmp_path / "release" / "policy.yaml").read_text(encoding="utf-8")
    assert sf.verify(tmp_path / "release", original=people()).holds


@pytest.mark.parametrize("method", ["anatomy", "microaggregation", "local-suppression", "noise"])
def test_methods_that_show_values_as_they_are_refuse(method: str) -> None:
    with pytest.raises(sf.PolicyError, match="is coded"):
        sf.publish(sf.Policy.parse(policy(method)), data=people())


def test_a_ledger_refuses(tmp_path: Path) -> None:
    tree = policy("mondrian", ledger={"file": "book.ledger", "new": True}, key="id")
    with pytest.raises(sf.PolicyError, match="ledger"):
        sf.publish(sf.Policy.parse(tree, base=tmp_path), data=people().drop_duplicates("id"))


@pytest.mark.parametrize(
    ("hierarchy", "said"),
    [
        ({"top": "high"}, "takes a number"),
        ({"bottom": 50, "top": 40}, "not below its top"),
        ({"round": 0}, "above zero"),
        ({"recode": [1, 2]}, "maps old values"),
        ({"top": 90, "intervals": [5], "prefix": 2}, "names 2 rules"),
        ({"top": 90, "interval": [5]}, "did you mean"),
    ],
)
def test_what_no_data_could_make_sense_of(hierarchy: Any, said: str) -> None:
    tree = policy("mondrian")
    tree["columns"]["age"]["hierarchy"] = hierarchy
    with pytest.raises(sf.PolicyError) as error:
        sf.Policy.parse(tree)
    assert said in f"{error.value}"


def test_a_hidden_column_is_not_coded() -> None:
    tree = policy("mondrian")
    tree["columns"]["ill"] = {"role": "sensitive", "hierarchy": {"recode": {"x": "y"}}}
    with pytest.raises(sf.PolicyError, match="cannot be coded"):
        sf.Policy.parse(tree)


def test_the_studio_counts_coded_records_where_they_are_published() -> None:
    tree = policy("mondrian")
    domain = generalization_of(sf.Policy.parse(tree), "age", ["10", "18", "42", "43", "91"])
    assert isinstance(domain, Hierarchy)
    shown = _nodes(domain, {"10": 3, "18": 1, "42": 5, "43": 2, "91": 4})["nodes"]
    assert {node["label"]: node["records"] for node in shown if node["leaf"]} == {"40": 5, "45": 2, "≤20": 4, "≥80": 4}


def test_everybody_may_lie_at_an_end() -> None:
    for method in ("mondrian", "global"):
        tree = policy(method)
        tree["columns"]["age"]["hierarchy"] = {"top": 40, "intervals": [10]}
        data = {name: values[:12] for name, values in people().items()} | {"age": ["41", "52", "63", "90"] * 3}
        rows = sf.publish(sf.Policy.parse(tree), data=data).release.parts["data"].table.to_pylist()
        assert {row["age"] for row in rows} == {"≥40"}
    tree["columns"]["state"]["hierarchy"] = {"recode": {"NY": ""}, "all": ["CA"]}
    assert generalization_of(sf.Policy.parse(tree), "state", ["NY"]).code_of["NY"] == 1


def test_a_root_may_be_called_top() -> None:
    tree = policy("mondrian")
    tree["columns"]["state"]["hierarchy"] = {"top": {"East": ["NY", "NJ"], "West": ["CA", "WA"], "South": ["TX"]}}
    read = generalization_of(sf.Policy.parse(tree), "state", ["NY", "TX"])
    assert read.label(0, read.size) == "top" and read.interval("South") == (4, 5)
