"""Roles in a policy: the words people write for them, columns left out, questions, and what cannot be."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError
from tests.command_line import run
from tests.secret import SEED

DATA = {
    "age": [str(20 + n % 30) for n in range(200)],
    "familienname": [("Müller", "Schröder", "Fischer", "Weber")[n % 4] for n in range(200)],
    "town": [("Ulm", "Bonn")[n % 2] for n in range(200)],
    "arrest": [str(n % 2) for n in range(200)],
}


def policy(**columns: Any) -> dict[str, Any]:
    roles: dict[str, Any] = {"age": "quasi-identifier", "town": "quasi-identifier", "arrest": "sensitive"}
    return {
        "version": 1,
        "columns": roles | columns,
        "protect": [{"k-anonymity": {"k": 3}}],
        "method": {"mondrian": {}},
    }


def errors(tree: dict[str, Any]) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        sf.Policy.parse(tree)
    return [str(caught.value), *map(str, caught.value.others)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("QI", "quasi-identifier"),
        ("quasi_identifier", "quasi-identifier"),
        ("Quasi Identifier", "quasi-identifier"),
        ("remove", "drop"),
        ("leave out", "drop"),
        ("secret", "sensitive"),
        ("sensitiv", "sensitive"),
        ("direct_identifier", "identifier"),
        ("keep", "other"),
        ("fake", "replaced"),
    ],
)
def test_a_word_that_is_no_role_is_answered_with_the_role(written: str, meant: str) -> None:
    assert f"did you mean '{meant}'?" in errors(policy(town=written))[0]


def test_a_dropped_column_is_left_out_and_no_requirement_may_name_it() -> None:
    read = sf.Policy.parse(policy(familienname="drop"))
    assert read.dropped == ("familienname",) and "familienname" not in read.published
    made = sf.publish(read, data=DATA, seed=SEED)
    assert set(made.release.parts["data"].table.column_names) == {"age", "town", "arrest"}
    tree = policy(familienname="drop") | {
        "protect": [{"given": ["age"], "hide": "familienname", "by": {"l-diversity": {"l": 2}}}]
    }
    assert "which is left out of the release" in errors(tree)[0]


def test_a_column_under_review_is_published_by_nobody_until_somebody_decided() -> None:
    read = sf.Policy.parse(policy(familienname={"role": "review", "proposed": "identifier"}, town="review"))
    with pytest.raises(PolicyError) as caught:
        sf.publish(read, data=DATA)
    told = [str(caught.value), *map(str, caught.value.others)]
    assert len(told) == 2 and "'town'" in told[0] and "'familienname'" in told[1]
    with pytest.raises(PolicyError, match="no role is proposed for 'town'"):
        read.accept_roles()
    settled = sf.Policy.parse(policy(familienname={"role": "review", "proposed": "identifier"})).accept_roles()
    assert settled.columns["familienname"].role == "identifier" and not settled.undecided


def test_all_errors_of_a_policy_are_told_at_once() -> None:
    tree = policy(town="QI") | {
        "protect": [
            {"k-anonymity": {"k": "five"}},
            {"given": ["age"], "hide": "arrests", "by": {"l-diversity": {"l": 2}}},
        ],
        "utility": {"suppress_at_most": "many"},
        "metod": "mondrian",
    }
    told = " | ".join(errors(tree))
    for word in ("metod", "'QI'", "'k'", "arrests", "suppress_at_most"):
        assert word in told, word


def written(folder: Path, tree: dict[str, Any], data: dict[str, list[str]] = DATA) -> Path:
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(data), *zip(*data.values(), strict=True)])
    (folder / "p.yaml").write_text(json.dumps(tree | {"data": {"source": "people.csv"}}))
    return folder / "p.yaml"


def test_check_finds_what_cannot_be(tmp_path: Path) -> None:
    tree = policy() | {"protect": [{"k-anonymity": {"k": 500}}, {"l-diversity": {"l": 4}}]}
    told = run("check", str(written(tmp_path, tree)))
    assert told.returncode == 2
    assert "500 candidates, and the table has 200" in told.stderr
    assert "4 different values of 'arrest', which has 2" in told.stderr


def test_check_finds_a_suppression_limit_that_cannot_suffice(tmp_path: Path) -> None:
    data = DATA | {"rare": ["x" if n % 10 else "y" for n in range(200)]}
    claims = [{"l-diversity": {"l": 2, "kind": "frequency"}}]
    tree = policy(arrest="identifier", rare="sensitive") | {"protect": claims, "utility": {"suppress_at_most": "5%"}}
    told = run("check", str(written(tmp_path, tree, data)))
    assert told.returncode == 2
    assert "needs at least 160 of 200 records suppressed" in told.stderr  # 20 rows are y, so 20 x may stay
    allowed = tree | {"utility": {"suppress_at_most": "80%"}}
    assert run("check", str(written(tmp_path, allowed, data))).returncode == 0


def test_the_public_report_prints_no_names_and_no_values_that_no_requirement_covers(tmp_path: Path) -> None:
    wrong = policy(familienname="quasi-identifier")
    folder = sf.publish(sf.Policy.parse(wrong), data=DATA, seed=SEED).write(tmp_path / "out")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Schröder" in (folder / "data.csv").read_text(encoding="utf-8"), "else nothing is shown by this test"
    assert "Schröder" not in page and "its values look personal" in page
    assert "Bonn" in page
    tree = policy() | {"protect": [{"given": ["age"], "hide": "arrest", "by": {"l-diversity": {"l": 2}}}]}
    folder = sf.publish(sf.Policy.parse(tree), data=DATA, seed=SEED).write(tmp_path / "partly")
    assert "Bonn" not in (folder / "report.html").read_text(encoding="utf-8")
