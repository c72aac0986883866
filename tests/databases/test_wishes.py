"""What people ask of masking tools: consistent columns, a secret, subsets, dealing anew, previews, warnings with
names."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from shops import asked
from small_shop import ACCEPTED, POLICY, make_shop, sfumato, write_policy

import sfumato as sf
from sfumato.core.errors import Infeasible
from sfumato.policy.declared_constraints import rule_text
from sfumato.workflow.database_load import load_release
from sfumato.workflow.forecast import preview
from tests.secret import secret

SECRET = "a secret of more than sixteen signs"


def published(tmp_path: Path, text: str, seed: int | None = 1, name: str = "release") -> sf.Publication:
    source = f"sqlite:///{tmp_path / 'shop.db'}" if (tmp_path / "shop.db").exists() else make_shop(tmp_path / "shop.db")
    policy = write_policy(tmp_path, source, f"sqlite:///{tmp_path / name}.db", text)
    publication = sf.publish(policy, seed=secret(seed))
    publication.write(tmp_path / name, report=False)
    load_release(policy, tmp_path / name)
    return publication


def pairs(publication: sf.Publication, table: str, column: str) -> set[tuple[str | None, str | None]]:
    old = publication.original.tables[table].frame.column(column).to_pylist()
    new = publication.release.parts[table].table.column(column).to_pylist()
    return {(old[row], value) for row, value in zip(publication.release.trace.rows[table].tolist(), new, strict=True)}


def test_a_column_stays_consistent_in_every_table(tmp_path: Path) -> None:
    text = POLICY.replace("columns:", "  consistent: [[customer.email, newsletter.email]]\ncolumns:")
    publication = published(tmp_path, text)
    both = pairs(publication, "customer", "email") | pairs(publication, "newsletter", "email")
    assert len({old for old, _ in both}) == len(both) == len({new for _, new in both})
    source, target = f"sqlite:///{tmp_path / 'shop.db'}", f"sqlite:///{tmp_path / 'release'}.db"
    query = "SELECT count(*) FROM customer c JOIN newsletter n ON n.email = c.email"
    assert asked(source, query)[1] == asked(target, query)[1] != [(0,)]
    assert not {old for old, _ in both} & {new for _, new in both} - {None}


def test_without_consistency_the_join_is_gone(tmp_path: Path) -> None:
    published(tmp_path, POLICY)
    query = "SELECT count(*) FROM customer c JOIN newsletter n ON n.email = c.email"
    assert asked(f"sqlite:///{tmp_path / 'release'}.db", query)[1] == [(0,)]


def test_a_secret_makes_new_values_repeatable_and_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    text = POLICY.replace(
        "columns:", "  deterministic: [customer.email, customer.id]\n  secret: ${{SHOP_SECRET}}\ncolumns:"
    )
    one, two = published(tmp_path, text, None, "one"), published(tmp_path, text, None, "two")
    for table, column in (("customer", "email"), ("customer", "id"), ("orders", "customer_id")):
        assert pairs(one, table, column) == pairs(two, table, column)
    assert pairs(one, "customer", "name") != pairs(two, "customer", "name")
    monkeypatch.setenv("SHOP_SECRET", "another secret of many signs")
    three = published(tmp_path, text, None, "three")
    assert not pairs(one, "customer", "id") & pairs(three, "customer", "id")
    notes = " ".join(one.certificate.assumptions)
    assert "same secret can be linked" in notes
    for file in (tmp_path / "one").iterdir():
        assert SECRET not in file.read_text(encoding="utf-8")


def test_a_value_inside_its_domain_cannot_collide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty keys in a domain of sixty: a permutation, where hashing would collide."""
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    text = POLICY.replace("columns:", "  deterministic: [customer.id]\n  secret: ${{SHOP_SECRET}}\ncolumns:").replace(
        "[1, 99999]", "[1, 60]"
    )
    assert {new for _, new in pairs(published(tmp_path, text), "customer", "id")} == {str(n) for n in range(1, 61)}


def test_a_collision_of_a_key_is_refused_before_the_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    text = POLICY.replace("columns:", "  deterministic: [customer.email]\n  secret: ${{SHOP_SECRET}}\ncolumns:")
    text = text.replace("{{fakes: email}}", '{{pattern: "[a-z][a-c]"}}')
    with pytest.raises(Infeasible, match="same new value"):
        published(tmp_path, text)
    assert not (tmp_path / "release.db").exists()


@pytest.mark.parametrize(
    ("wanted", "customers"),
    [("{{customer: \"country = 'DE'\"}}", 20), ("{{customer: 10%}}", 6), ("{{orders: 5%}}", None)],
)
def test_a_subset_keeps_references(tmp_path: Path, wanted: str, customers: int | None) -> None:
    publication = published(tmp_path, POLICY.replace("columns:", f"  subset: {wanted}\ncolumns:"))
    target = f"sqlite:///{tmp_path / 'release'}.db"
    count = asked(target, "SELECT count(*) FROM customer")[1][0][0]
    orders = asked(target, "SELECT count(*) FROM orders")[1][0][0]
    if customers is None:
        assert orders == 12 and count == asked(target, "SELECT count(DISTINCT customer_id) FROM orders")[1][0][0]
    else:
        assert count == customers and 0 < orders < 239
        chosen = {
            publication.original.tables["customer"].frame.column("id").to_pylist()[row]
            for row in publication.release.trace.rows["customer"]
        }
        refers = publication.original.tables["orders"].frame.column("customer_id").to_pylist()
        assert orders == sum(entry in chosen for entry in refers)
    assert asked(target, "SELECT count(*) FROM newsletter")[1] == [(9,)]
    assert asked(
        target, "SELECT count(*) FROM orders o LEFT JOIN customer c ON c.id = o.customer_id WHERE c.id IS NULL"
    )[1] == [(0,)]
    assert (
        sf.verify(tmp_path / "release", original=f"sqlite:///{tmp_path / 'shop.db'}", target=target).violated is False
    )


def test_children_are_dealt_to_parents_anew(tmp_path: Path) -> None:
    text = POLICY.replace(
        "columns:", "columns:\n  orders.customer_id: {{role: replaced, domain: {{like: customer.id}}}}"
    )
    publication = published(tmp_path, text)
    images = dict(pairs(publication, "customer", "id"))
    moved = pairs(publication, "orders", "customer_id")
    assert {new for _, new in moved} <= set(images.values())
    assert sum(images[old] == new for old, new in moved) < len(moved) / 4


def test_rows_are_loaded_in_another_order(tmp_path: Path) -> None:
    publication = published(tmp_path, POLICY)
    assert publication.release.trace.rows["orders"].tolist() != list(range(239))
    assert publication.release.trace.rows["orders"].tolist() != sorted(
        publication.release.trace.rows["orders"].tolist()
    )


def test_preview_shows_replaced_columns_only_and_writes_nothing(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, make_shop(tmp_path / "shop.db"), f"sqlite:///{tmp_path}/target.db")
    before = sorted(path.name for path in tmp_path.iterdir())
    samples = {sample.table: sample for sample in preview(policy, rows=3)}
    assert set(samples) == {"customer", "orders"}
    assert samples["customer"].columns == ("id", "name", "email") and len(samples["customer"].before) == 3
    assert samples["orders"].columns == ("customer_id", "ordered", "shipped", "total")
    shown = sfumato("preview", str(policy), "--rows", "2", "--table", "customer")
    cells = [line for line in shown.stdout.splitlines() if line.startswith("  ")]
    assert shown.returncode == 0 and len(cells) == 6 and "country" not in shown.stdout and "NL" not in shown.stdout
    assert all("→" in line or line.endswith("null") for line in cells)  # what was missing stays missing
    document = json.loads(sfumato("preview", str(policy), "--json").stdout)
    assert document[0]["rows"][0]["id"].keys() == {"before", "after"}
    assert sfumato("preview", str(policy), "--table", "newsletter").returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_preview_of_a_single_table(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name,age\nAda,30\nBen,40\n", encoding="utf-8")
    policy = sf.Policy.parse(
        {"version": 1, "data": {"kind": "table", "source": "people.csv"},
         "columns": {"name": {"role": "replaced", "domain": {"fakes": "name"}}, "age": "other"}}, base=tmp_path,
    )  # fmt: skip
    (sample,) = preview(policy)
    assert sample.columns == ("name",) and {old[0] for old in sample.before} == {"Ada", "Ben"}


def test_check_shows_constraints_and_warns_with_names_that_can_be_accepted(tmp_path: Path) -> None:
    source = make_shop(tmp_path / "shop.db")
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("ALTER TABLE customer ADD COLUMN phone TEXT")
        connection.execute("CREATE VIEW everybody AS SELECT * FROM customer")
    text = POLICY.replace("keep:", 'keep:\n  - "orders.shipped - orders.ordered <= 2"').replace(ACCEPTED, "")
    policy = write_policy(tmp_path, source, f"sqlite:///{tmp_path}/target.db", text)
    shown = sfumato("check", str(policy))
    assert shown.returncode == 0, shown.stderr
    for words in (
        "table 'orders': primary key (id), foreign key (customer_id)",
        "unique (email)",
        "orders.ordered <= orders.shipped",
        "holds in the original",
    ):
        assert words in shown.stdout
    assert 'rule "orders.shipped - orders.ordered <= 2" is broken 180 time(s)' in shown.stdout
    found = re.findall(r"\[([a-z-]+:[^\]]+)\]", shown.stdout)
    assert {"broken-rule:1", "plain-column:customer.phone", "bound-column:orders.total"} <= set(found)
    assert any(identifier.startswith("left-out:") for identifier in found)
    document = json.loads(sfumato("check", str(policy), "--json").stdout)
    assert {warning["id"] for warning in document["warnings"]} == set(found)
    assert sfumato("check", str(policy), "--strict").returncode == 2
    accepted = text.replace(
        "columns:", "  accept: [" + ", ".join(f'"{identifier}"' for identifier in found) + ", gone:x]\ncolumns:"
    )
    quiet = sfumato(
        "check", str(write_policy(tmp_path, source, f"sqlite:///{tmp_path}/target.db", accepted)), "--strict"
    )
    assert quiet.returncode == 0 and "warning" not in quiet.stdout and "no longer there: gone:x" in quiet.stdout


def test_check_tells_what_changed_in_the_schema_since_a_release(tmp_path: Path) -> None:
    published(tmp_path, POLICY)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("ALTER TABLE customer ADD COLUMN shoe_size INTEGER")
        connection.execute("CREATE TABLE visits (n INTEGER)")
        connection.execute("ALTER TABLE newsletter DROP COLUMN since")
    shown = sfumato("check", str(tmp_path / "shop.yaml"), "--since", str(tmp_path / "release")).stdout
    for identifier in ("new-column:customer.shoe_size", "new-table:visits", "gone-column:newsletter.since"):
        assert identifier in shown


def test_a_column_that_is_gone_is_an_error_with_its_line(tmp_path: Path) -> None:
    source = make_shop(tmp_path / "shop.db")
    policy = write_policy(tmp_path, source, "''")
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("ALTER TABLE customer DROP COLUMN name")
    done = sfumato("check", str(policy))
    assert done.returncode == 2 and "customer.name" in done.stderr and "shop.yaml:10" in done.stderr


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("price >= 0 AND price <= 10", "t.price >= 0 and t.price <= 10"),
        (
            "((kind)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
            't.kind in {"a", "b"}',
        ),
        ("kind IN ('a', 'b') OR price > 5", 't.kind in {"a", "b"} or t.price > 5'),
        ("NOT (price BETWEEN 1 AND 2)", "not (t.price >= 1 and t.price <= 2)"),
        ("price IS NULL OR price > 0", "t.price > 0"),
        ("price IS NULL OR kind = 'a'", None),
        ("price IS NOT NULL", None),
        ("length(kind) > 2", None),
        ("price > 0; DROP TABLE t", None),
        ("(price + 2) * 3 < 40", "(t.price + 2) * 3 < 40"),
        ("price > (0)::numeric", "t.price > 0"),
    ],
)
def test_checks_become_rules_or_stay_with_the_server(sql: str, rule: str | None) -> None:
    assert rule_text(sql, "t", ["price", "kind"]) == rule


def test_the_folder_can_be_parquet(tmp_path: Path) -> None:
    source = make_shop(tmp_path / "shop.db")
    policy = write_policy(tmp_path, source, f"sqlite:///{tmp_path}/target.db")
    done = sfumato("publish", str(policy), "--out", str(tmp_path / "release"), "--format", "parquet", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["certificate"]["holds"] and document["target"]["holds"]
    assert not sf.verify(tmp_path / "release", target=f"sqlite:///{tmp_path}/target.db").violated
