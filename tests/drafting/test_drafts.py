"""`discover` for a table: a policy in which nothing unknown is decided, reasons, hierarchies that fit, nobody's own
value."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.personal_columns.roles import infer_column_roles
from sfumato.data.table import Table
from sfumato.policy.yaml_document import parse_yaml
from sfumato.workflow.discover.column_roles import fit_hierarchy
from sfumato.workflow.discover.discover import discover, policy_text
from tests.command_line import run

RNG = random.Random(11)
ROWS = 400
COUNTRIES = ["Italy", "France", "Peru", "Chile", "Japan", "Kenya"]
DATA = {
    "": [str(n) for n in range(ROWS)],
    "full_name": [f"Person {n}" for n in range(ROWS)],
    "patient_id": [str(5000 + n // 2) for n in range(ROWS)],
    "birth_date": [f"{RNG.randint(1940, 2005)}-{RNG.randint(1, 12):02}-{RNG.randint(1, 28):02}" for _ in range(ROWS)],
    "age": [str(RNG.randint(18, 88)) for _ in range(ROWS)],
    "sex": [RNG.choice("fm") for _ in range(ROWS)],
    "zip": [RNG.choice(["01234", "01235", "02345", "71000", "71999"]) for _ in range(ROWS)],
    "country": [RNG.choice(COUNTRIES) for _ in range(ROWS)],
    "zeal": [RNG.choice(["none", "mild", "moderate", "severe"]) for _ in range(ROWS)],
    "illness": [RNG.choice(["flu", "gout", "cold", "asthma"]) for _ in range(ROWS)],
    "income": [str(RNG.randint(10, 90) * 1000) for _ in range(ROWS)],
    "source": ["registry"] * ROWS,
    "note": [f"the {n}th visit went well and nothing {'else ' * (n % 7)}happened then" for n in range(ROWS)],
}
ROLES = {
    "full_name": "identifier", "patient_id": "identifier", "birth_date": "quasi-identifier", "age": "quasi-identifier",
    "sex": "quasi-identifier", "zip": "quasi-identifier", "country": "quasi-identifier", "illness": "sensitive",
    "income": "sensitive",
    "source": "other", "zeal": "quasi-identifier",
}  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drafts") / "people.csv"
    names = [name for name in DATA if name]
    lines = [",".join(DATA[name][row] for name in names) for row in range(ROWS)]
    path.write_text(",".join(names) + "\n" + "\n".join(lines) + "\n")
    return path


def test_the_draft_asks_and_is_published_when_its_proposals_are_accepted(source: Path) -> None:
    drafted = run("discover", source.name, cwd=source.parent)
    assert drafted.returncode == 0
    (source.parent / "policy.yaml").write_text(drafted.stdout)
    assert "# 1 column needs a decision (role: review): zeal" in drafted.stdout
    for command in (["check", "policy.yaml"], ["publish", "policy.yaml", "--out", "none"]):
        refused = run(*command, cwd=source.parent)
        assert refused.returncode == 2
        assert "'zeal' needs a decision" in refused.stderr and "--accept-roles" in refused.stderr
    assert not (source.parent / "none").exists()
    assert run("check", "policy.yaml", "--accept-roles", cwd=source.parent).returncode == 0
    done = run("publish", "policy.yaml", "--out", "out", "--no-report", "--accept-roles", cwd=source.parent)
    assert done.returncode == 0, done.stderr
    policy = sf.Policy.read(source.parent / "policy.yaml")
    assert {name: policy.columns[name].role for name in ROLES} == ROLES
    assert policy.dropped == ("note",)
    assert dict(policy.undecided) == {"zeal": "quasi-identifier"}
    assert "note" not in (source.parent / "out" / "data.csv").read_text().splitlines()[0].split(",")
    assert "review" not in (source.parent / "out" / "policy.yaml").read_text()
    assert [claim.model.name for claim in policy.claims] == ["k-anonymity", "l-diversity"]


def test_every_column_has_its_reason_beside_it(source: Path) -> None:
    found = discover(str(source))
    text = policy_text(found)
    lines = text.partition("\ncolumns:\n")[2].splitlines()
    for name in filter(None, DATA):
        line = next(place for place, line in enumerate(lines) if line.startswith(f"  {name}:"))
        assert any("# " in near for near in lines[max(line - 1, 0) : line + 1])
    kept = {rule.rule for rule in found.proposals}
    tree = parse_yaml(text, name="draft").tree
    assert kept
    assert "keep" not in tree or not tree["keep"]
    again = sf.Policy.parse(tree, base=source.parent)
    assert {*again.columns, *again.dropped} == found.policy["columns"].keys()


def test_hierarchies_fit(source: Path) -> None:
    columns = discover(str(source)).policy["columns"]
    spec = {name: entry["hierarchy"] for name, entry in columns.items() if isinstance(entry, dict)}
    assert spec["age"] == {"intervals": [5, 10, 20]}
    assert spec["birth_date"] == {"dates": ["month", "year", "decade"]}
    assert "zip" not in spec  # five values need none
    assert spec["country"] == {"list": "countries"}
    assert spec["zeal"] == {"order": ["none", "mild", "moderate", "severe"]}


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("postal_code", [f"{n:05}" for n in range(100, 99999, 2900)], {"prefix": 5}),
        ("x", [f"A{n:02}.{n % 9}" for n in range(30)], {"list": "icd"}),
        ("diag_1", [str(n) for n in range(200, 300, 7)], {"list": "icd"}),
        ("state", ["OH", "TX", "NY"], {"list": "states"}),
        ("x", ["Ohio", "Texas", "New York"], {"list": "states"}),
        ("nationality", ["IT", "FR", "DE"], {"list": "countries"}),
        ("isco", ["2512", "7112", "9111"], {"list": "isco"}),
        ("x", ["IT", "FR", "DE"], None),
        ("x", ["red", "green", "blue"], None),
        ("income", ["1", "2", "3", "5", "7", "8", "10", "100000"], "ranges"),
        ("bmi", [f"{20 + n / 10}" for n in range(90)], {"intervals": [0.5, 1.0, 2.0]}),
        ("visit", [f"2024-0{n}-11" for n in range(1, 10)], {"dates": ["month", "quarter", "year"]}),
        (
            "agegroup",
            ["[0-10)", "[10-20)", "[20-30)", "[30-40)"],
            {"order": ["[0-10)", "[10-20)", "[20-30)", "[30-40)"]},
        ),
        ("class", ["1", "2", "3"], None),
    ],
)
def test_what_fits_which_values(name: str, values: list[str], expected: object) -> None:
    found = fit_hierarchy(name, values, [9] * len(values))
    assert (None if found is None else found.hierarchy) == expected


def test_ranges_that_few_people_share_are_not_written_into_a_policy() -> None:
    bins = ["0-9", "10-19", "20-29", "90-99"]
    assert fit_hierarchy("age", bins, [50, 50, 50, 1]) is None
    assert fit_hierarchy("age", bins, [50, 50, 50, 5]) is not None


def test_no_rare_value_stands_in_the_draft(source: Path) -> None:
    """Except as the name of a column; the policy of a release is public."""
    text = policy_text(discover(str(source)))
    tree = "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))
    for name, values in DATA.items():
        rare = (
            {value for value in values if values.count(value) < 5 and len(value) > 3}
            if name not in ("income",)
            else set()
        )
        assert not [value for value in rare if f"{value}" in tree][:3], name


def test_a_login_is_not_written_down() -> None:
    from sfumato.workflow.discover.discover import WITHHELD, _named

    assert _named("postgresql://me:secret@host/db", "people") == {"source": WITHHELD, "table": "people"}
    assert _named("sqlite:///people.db", "people") == {"source": "sqlite:///people.db", "table": "people"}
    assert _named({"a": []}, "") == {}


@pytest.mark.parametrize(("rows", "k"), [(150, 3), (250, 5)])
def test_levels_follow_the_size(rows: int, k: int) -> None:
    data = {"age": [str(20 + n % 40) for n in range(rows)], "illness": [f"i{n % 9}" for n in range(rows)]}
    assert discover(data).policy["protect"] == [{"k-anonymity": {"k": k}}, {"l-diversity": {"l": 3}}]
    few = data | {"illness": [["a", "b"][n % 2] for n in range(rows)]}
    assert discover(few).policy["protect"][1] == {"l-diversity": {"l": 2}}


def test_warnings() -> None:
    many = {f"city{n}": [f"v{row % 3}" for row in range(30)] for n in range(14)}
    assert any("14 quasi-identifiers are many" in each for each in discover(many).warnings)
    repeated = {"record_id": [str(row // 3) for row in range(90)], "age": [str(row % 7) for row in range(90)]}
    assert any("'record_id' has duplicates" in each for each in discover(repeated).warnings)
    towns = {"town": [f"town {row % 60}" for row in range(180)]}
    assert any("60 values and no hierarchy" in each for each in discover(towns).warnings)


def test_a_number_of_its_own_in_every_row_is_no_measurement() -> None:
    """Row numbers of a table that lost some rows are no run; published as sensitive they would say who is who."""
    gaps = [str(1000 + 7 * n + n % 3) for n in range(300)]
    data = {
        "rownames": gaps,
        "x": list(reversed(gaps)),
        "salary": gaps,
        "amount": [str(n // 2 * 13) for n in range(300)],
    }
    assert [look.role for look in infer_column_roles(Table(pa.table(data)))] == [
        "identifier",
        "identifier",
        "sensitive",
        "sensitive",
    ]


def test_two_columns_that_say_the_same_have_one_role() -> None:
    data = {
        "survived": [str(n % 2) for n in range(40)],
        "flag": ["yn"[n % 2] for n in range(40)],
        "sex": ["fm"[n % 3 % 2] for n in range(40)],
    }
    assert [look.role for look in infer_column_roles(Table(pa.table(data)))] == [
        "sensitive",
        "sensitive",
        "quasi-identifier",
    ]
