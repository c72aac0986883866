"""Declared keys are found from the rows alone, hardly anything accidental is switched on, and what is written reads
back."""

import json
from functools import cache
from pathlib import Path

import pytest
from known_databases import NAMES, PUBLIC, database_of, url_of
from plain_rules import holds

from sfumato.core.registry import catalogue
from sfumato.data.database import Database
from sfumato.io.source import Source
from sfumato.policy.constraint_language import bind, parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import References
from sfumato.policy.policy import Policy
from sfumato.policy.yaml_document import parse_yaml
from sfumato.ui.cli import main
from sfumato.workflow.discover.constraints import proposals_of_schema, rules_of_database
from sfumato.workflow.discover.discover import Suggestion, discover, policy_text
from sfumato.workflow.discover.proposal import OFTEN, Proposal
from tests.secret import secret

WITHOUT_EVIDENCE = {
    "bookshop": set(),
    "chinook": set(),
    "northwind": {  # both tables are empty
        "unique(CustomerCustomerDemo.CustomerID, CustomerCustomerDemo.CustomerTypeID)",
        "unique(CustomerDemographics.CustomerTypeID)",
        "CustomerCustomerDemo.CustomerID references Customers.CustomerID",
        "CustomerCustomerDemo.CustomerTypeID references CustomerDemographics.CustomerTypeID",
    },
    "sakila": {"film.original_language_id references language.language_id"},  # no film has one
}
SENSIBLE_LINKS = {"film_text.film_id references film.film_id"}
SENSIBLE_KEYS = {
    "bookshop": {"unique(patron.phone)"},
    "chinook": {"unique(Customer.Email)", "unique(Employee.Email)"},
    "northwind": {
        "unique(EmployeeTerritories.TerritoryID)",
        "unique(Employees.HomePhone)",
        "unique(Shippers.Phone)",
        "unique(Suppliers.Phone)",
    },
    "sakila": {
        "unique(customer.address_id)",
        "unique(customer.email)",
        "unique(film_category.film_id)",
        "unique(rental.inventory_id, rental.customer_id)",
        "unique(staff.address_id)",
        "unique(staff.email)",
        "unique(staff.store_id)",
        "unique(staff.username)",
        "unique(store.address_id)",
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("known")


@cache
def suggested(name: str, folder: Path) -> Suggestion:
    """What discovery says of a known database, found once."""
    place = folder / f"{name} by its address"
    place.mkdir()
    return discover(url_of(name, place))


@cache
def proposed(name: str, folder: Path, declared: bool = True) -> list[Proposal]:
    """The rules of a known database, found once."""
    return rules_of_database(database_of(name, folder), declared=declared)


def plain(database: Database) -> dict:
    return {
        name: {column: [value or "" for value in table.column(column).to_pylist()] for column in table.names}
        for name, table in database.tables.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_declared_keys_are_found_from_the_rows_alone(name, folder):
    database = database_of(name, folder)
    declared = {each.rule for each in proposals_of_schema(database.schema, {})}
    found = {each.rule for each in proposed(name, folder, declared=False) if each.active}
    assert declared - found == WITHOUT_EVIDENCE[name]
    links = {rule for rule in found if " references " in rule}
    assert links - declared <= SENSIBLE_LINKS
    keys = {rule for rule in found if rule.startswith("unique(")}
    assert keys - declared == SENSIBLE_KEYS[name]


@pytest.mark.parametrize("name", NAMES)
def test_everything_proposed_holds_by_brute_force(name, folder):
    database = database_of(name, folder)
    tables = plain(database)
    for each in proposed(name, folder):
        assert holds(each.rule, tables), each.rule


def test_columns_without_values_are_named_but_not_switched_on(folder):
    found = {each.rule: each for each in proposed("sakila", folder, declared=False)}
    lonely = found["film.original_language_id references language.language_id"]
    assert not lonely.active
    assert lonely.support == 0


@pytest.mark.parametrize("name", NAMES)
def test_declared_constraints_come_first_and_marked(name, folder):
    database = database_of(name, folder)
    found = proposed(name, folder)
    declared = [each.rule for each in proposals_of_schema(database.schema, {})]
    assert sorted(each.rule for each in found[: len(declared)]) == sorted(declared)
    assert all(each.declared and each.active for each in found[: len(declared)])
    assert not any(each.declared for each in found[len(declared) :])


@pytest.mark.parametrize("name", NAMES)
def test_the_written_policy_reads_back_and_every_rule_holds(name, folder):
    database, suggestion = database_of(name, folder), suggested(name, folder)
    tree = parse_yaml(policy_text(suggestion), name="policy.yaml").tree
    policy = Policy.parse({**tree, "data": {"kind": "table"}})
    assert list(policy.keep) == [each.rule for each in suggestion.proposals if each.active]
    links = [rule.body for rule in map(parse, policy.keep) if isinstance(rule.body, References)]
    texts = {table: {column: rows.text(column) for column in rows.names} for table, rows in database.tables.items()}
    judge = ConstraintEvaluator(texts, references=links)
    kinds = {f"{table}.{column}": None for table, columns in texts.items() for column in columns}
    broken = [rule for rule in policy.keep if judge.broken(bind(parse(rule), kinds))]
    assert [rule for rule in broken if "@example.org" not in rule] == []  # new addresses leave the domain of the source


@pytest.mark.parametrize("name", NAMES)
def test_the_written_policy_is_a_policy_for_databases(name, folder, tmp_path):
    if "database" not in catalogue("io", Source):
        pytest.skip("needs the kind 'database'")
    written = tmp_path / "policy.yaml"
    written.write_text(policy_text(suggested(name, folder)), encoding="utf-8")
    policy = Policy.read(written)
    assert policy.data.name == "database"
    assert {*policy.with_role("replaced"), *policy.with_role("other")} == set(policy.columns)
    assert not [name for name in policy.data.accept if name.startswith(("plain-column", "undecided-column"))]


def test_an_existing_policy_is_told_what_it_overlooks(folder):
    database = database_of("chinook", folder)
    written = suggested("chinook", folder)
    kept = [each.rule for each in written.proposals if each.active]
    columns = dict(written.policy["columns"])
    whole = Policy.parse({"version": 1, "columns": columns, "keep": kept})
    assert discover(database, whole).warnings == ()
    del columns["Customer.Email"]
    kept.remove("Track.UnitPrice in {0.99, 1.99}")
    told = discover(database, Policy.parse({"version": 1, "columns": columns, "keep": kept})).warnings
    assert [any(word in line for line in told) for word in ("Customer.Email", "Track.UnitPrice in")] == [True, True]


@pytest.mark.parametrize("name", (*PUBLIC[:1], "bookshop"))
def test_the_written_policy_publishes_as_it_is(name, folder, tmp_path):
    if "database" not in catalogue("io", Source):
        pytest.skip("needs the kind 'database'")
    from sfumato.workflow.publish import publish

    written = tmp_path / "policy.yaml"
    written.write_text(policy_text(suggested(name, folder)), encoding="utf-8")
    assert publish(Policy.read(written).accept_roles(), seed=secret(1)).certificate.holds


def test_every_rule_is_switched_by_one_sign(folder):
    text = policy_text(suggested(NAMES[-2:][0], folder))
    on = len(parse_yaml(text, name="p").tree["keep"])
    everything = parse_yaml(text.replace("\n#  - ", "\n  - "), name="p").tree["keep"]
    nothing = parse_yaml(text.replace("\n  - ", "\n#  - "), name="p").tree["keep"]
    assert nothing is None
    assert len(everything) > on > 0
    assert [parse(rule).text for rule in everything] == everything


@pytest.mark.parametrize("name", NAMES)
def test_people_are_replaced_and_rare_values_stay_out(name, folder):
    database, suggestion = database_of(name, folder), suggested(name, folder)
    wanted = {
        "bookshop": {"patron.last_name", "patron.email", "patron.phone", "clerk.born", "clerk.email"},
        "chinook": {
            "Customer.FirstName",
            "Customer.Email",
            "Customer.Phone",
            "Employee.BirthDate",
            "Invoice.BillingAddress",
        },
        "northwind": {"Customers.ContactName", "Employees.LastName", "Employees.BirthDate", "Orders.ShipAddress"},
        "sakila": {
            "customer.last_name",
            "customer.email",
            "address.phone",
            "address.address",
            "staff.password",
            "staff.username",
        },
    }[name]
    replaced = {column for column, entry in suggestion.policy["columns"].items() if entry["role"] == "replaced"}
    assert wanted <= replaced
    things = {"book.title", "Track.Name", "Products.ProductName", "film.title", "country.country"}
    assert not things & replaced
    text = policy_text(suggestion)
    for table, rows in database.tables.items():
        for column in rows.names:
            for value, count in zip(rows.text(column).labels, rows.text(column).counts(), strict=True):
                rare = count < OFTEN and len(value) > 6 and not value.isdigit()
                assert not (rare and value in text), (table, column)


def test_rules_about_how_replaced_values_look_give_way(folder):
    found = {each.rule: each for each in suggested("sakila", folder).proposals}
    (pattern,) = [each for rule, each in found.items() if rule.startswith("match(customer.email")]
    assert not pattern.active
    assert "computed" in pattern.doubt, "addresses are made of the new names"


def test_the_command_prints_json(folder, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["discover", url_of("bookshop", tmp_path), "--json", "--rows-only"])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["policy"]["data"]["kind"] == "database"
    assert {"rule", "template", "support", "chance", "weight", "declared", "active", "doubt"} == told["rules"][0].keys()
    assert not any(rule["declared"] for rule in told["rules"])
    assert "Review every line" in told["reasons"][0]


def test_one_table_of_a_database_keeps_the_form_of_tables(folder, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["discover", url_of("sakila", tmp_path), "--table", "film"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    tree = parse_yaml(out, name="p").tree
    assert {key: tree["data"][key] for key in ("kind", "table")} == {"kind": "table", "table": "film"}
    assert tree["keep"] is None
    assert '#  - "rating in {' in out
    assert Policy.parse(tree).columns["film_id"].role == "identifier"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["sqlite:///nowhere.db"], 3, "does not exist"),
        (["nowhere.csv"], 3, "no such file"),
        (["oracle://somebody:sesame@nowhere/db"], 3, "error: "),
    ],
)
def test_wrong_sources_are_clear_errors(arguments, code, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["discover", *arguments])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (code, "")
    assert said in told.err
    assert "sesame" not in told.err
    assert told.err.count("\n") == 1


def test_a_login_in_the_url_is_not_written(folder):
    from sfumato.workflow.discover.databases import discover_database

    where = {"source": "postgresql://somebody:sesame@host/shop"}
    text = policy_text(discover_database(database_of("bookshop", folder), where=where))
    assert "sesame" not in text
    assert "somebody" not in text
    assert "${SFUMATO_SOURCE}" in text
