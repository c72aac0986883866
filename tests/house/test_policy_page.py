"""The page of the policy: its examples are published, its schema knows them, and all errors come at once."""

from __future__ import annotations

import json
import shutil
import sqlite3
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml
from blueprint import ROOT
from click.testing import CliRunner

import sfumato as sf
from reference_pages.policy_page import EXAMPLES, KEYS, policy_page
from sfumato.core.errors import PolicyError
from sfumato.policy.policy import _KEYS
from sfumato.ui.cli import root
from sfumato.workflow.policy_schema import policy_schema
from tests.command_line import run

FILES = sorted(path.name for path in EXAMPLES.glob("*.yaml"))


@cache
def schema() -> jsonschema.Draft202012Validator:
    """Made once: to look whether the schema itself is one takes longer than any example."""
    return jsonschema.Draft202012Validator(policy_schema())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("examples") / "examples"
    shutil.copytree(EXAMPLES, copy)
    with sqlite3.connect(copy / "shop.db") as shop:
        shop.executescript((copy / "shop.sql").read_text(encoding="utf-8"))
    return copy


@pytest.mark.parametrize("name", FILES)
def test_every_example_is_published_and_verified(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    policy = sf.Policy.read(name)
    publication = sf.publish(policy)
    assert publication.certificate.holds
    publication.write(tmp_path / "out", report=False)
    original = None if policy.data.name == "database" else policy.data.path()
    assert sf.verify(tmp_path / "out", original=original).holds


@pytest.mark.parametrize("name", FILES)
def test_the_schema_knows_every_example(name: str) -> None:
    schema().validate(yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8").replace("-01-01", "-01-01 ")))


def test_the_page_shows_every_example_and_every_key() -> None:
    page = policy_page()
    shown = [text for text in page.split("```")[1::2] if text.startswith("yaml\nversion: 1")]
    assert sorted(text.removeprefix("yaml\n") for text in shown) == sorted(
        (EXAMPLES / name).read_text() for name in FILES
    )
    assert set(KEYS) == set(_KEYS) == set(schema().schema["properties"])


def test_the_command_prints_the_schema() -> None:
    printed = CliRunner().invoke(root, ["schema"])
    assert json.loads(printed.output) == json.loads(json.dumps(schema().schema))
    jsonschema.Draft202012Validator.check_schema(schema().schema)


@pytest.mark.parametrize(
    "change",
    [
        {"metod": "mondrian"},
        {"version": 2},
        {"method": {"mondrain": {}}},
        {"method": {"refined": {"secs": 3}}},
        {"protect": [{"k-anonymity": {"k": "many"}}]},
        {"protect": [{"k-anonimity": {"k": 3}}]},
        {"protect": {"k-anonymity": {"k": 3}}},
        {"columns": {"age": "quasi"}},
        {"columns": {"age": {"role": "quasi-identifier", "hierarchy": {"dates": ["fortnight"]}}}},
        {"utility": {"minimise": "loss"}},
        {"data": {"kind": "tabel", "source": "people.csv"}},
        {"ledger": {"path": "x"}},
    ],
    ids=str,
)
def test_what_the_schema_refuses_the_policy_refuses_too(change: dict[str, object]) -> None:
    tree = {
        "version": 1,
        "data": "people.csv",
        "columns": {"age": "quasi-identifier"},
        "protect": [{"k-anonymity": {"k": 3}}],
        **change,
    }
    with pytest.raises(jsonschema.ValidationError):
        schema().validate(tree)
    with pytest.raises(sf.SfumatoError):
        sf.publish(sf.Policy.parse(tree, base=EXAMPLES))


SEVERAL = """version: 2
dta: people.csv
columns:
  age: quasi-identifer
  sex: {role: sensitive, hierachy: flat, publish: perhaps}
  city: {role: quasi-identifier, hierarchy: {intervalls: [5]}}
protect:
  - k-anonimity: {k: 3}
  - k-anonymity: {k: 0}
utility: {minimise: loss}
"""


def test_all_errors_of_a_policy_are_shown_at_once(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(SEVERAL, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        sf.Policy.read(tmp_path / "p.yaml")
    lines = [error.where for error in (caught.value, *caught.value.others)]
    assert [int(line.rpartition(":")[2]) for line in lines] == [2, 1, 4, 5, 5, 6, 10, 8, 9]
    done = run("check", str(tmp_path / "p.yaml"))
    assert done.returncode == 2
    assert [line[:7] for line in done.stderr.splitlines()] == ["error: "] * 9


def test_the_examples_of_the_page_are_our_own() -> None:
    assert {path.suffix for path in EXAMPLES.iterdir()} == {".yaml", ".csv", ".sql"}
    assert sum(path.stat().st_size for path in EXAMPLES.iterdir()) < 60_000
    assert (ROOT / "docs" / "reference" / "policy.md").exists()
