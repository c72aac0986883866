"""Planted rules are found, random data gets nothing that does not hold, and nobody's own value stands in a proposal."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_rules import holds

from sfumato.core.registry import catalogue
from sfumato.data.database import ColumnFacts, Database, Schema, TableFacts
from sfumato.data.table import Table
from sfumato.policy.policy import Policy
from sfumato.policy.yaml_document import parse_yaml
from sfumato.workflow.discover.column_profiles import DataView
from sfumato.workflow.discover.constraints import proposals, rules_of_database, rules_that_hold
from sfumato.workflow.discover.discover import discover, policy_text
from sfumato.workflow.discover.numeric_templates import written
from sfumato.workflow.discover.proposal import OFTEN, SURE
from sfumato.workflow.discover.templates import Template


def table(columns: dict[str, list]) -> Table:
    texts = {name: [None if v is None else str(v) for v in values] for name, values in columns.items()}
    return Table(pa.table({name: pa.array(values, pa.string()) for name, values in texts.items()}))


def planted(rows: int, seed: int) -> dict[str, list]:
    """One column or more for every template, between columns of noise; missing values in some."""
    rng = np.random.default_rng(seed)
    begin = [date(2001, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 4000, rows)]
    end = [day + timedelta(days=int(s)) for day, s in zip(begin, rng.integers(0, 900, rows), strict=True)]
    net, tax = rng.integers(-500, 500, rows), rng.integers(0, 300, rows)
    area = rng.integers(0, 40, rows)
    spots = rng.choice(rows * 2, rows, replace=False)
    return {
        "noise": rng.integers(0, 1000, rows).tolist(),
        "begin": [day.isoformat() for day in begin],
        "end": [None if rng.random() < 0.1 else day.isoformat() for day in end],
        "net": (net * 2).tolist(),
        "tax": tax.tolist(),
        "gross": [
            f"{(2 * a - 3 * b) / 4:.2f}" for a, b in zip(net * 2, tax, strict=True)
        ],  # so 2 net = 3 tax + 4 gross
        "area": [f"area {a}" for a in area],
        "region": [f"r{a % 7}" for a in area],
        "plate": [f"{'KMX'[i % 3]}-{rng.integers(1, 10 ** (1 + i % 4))}" for i in range(rows)],
        "state": rng.choice(["open", "paid", 'said "no"'], rows).tolist(),
        "block": (spots // 60).tolist(),
        "spot": (spots % 60).tolist(),
        "more noise": [f"{x:.3f}" for x in rng.normal(50, 20, rows)],
    }


WANTED = {
    "begin <= end",
    "net = (3 * tax + 4 * gross) / 2",
    "area determines region",
    'match(plate, "[KMX]-[0-9]{1,4}")',
    'state in {"open", "paid", "said \\"no\\""}',
    "unique(block, spot)",
}


@pytest.mark.parametrize("seed", range(5))
def test_planted_rules_are_found_and_all_that_is_proposed_holds(seed):
    columns = planted(1500, seed)
    found = list(proposals(DataView.of({None: table(columns)})))
    plain = {None: {name: ["" if v is None else str(v) for v in values] for name, values in columns.items()}}
    assert [each.rule for each in found if not holds(each.rule, plain)] == []
    on = {each.rule for each in found if each.active}
    assert on >= WANTED
    listed = {rule for rule in on if rule.startswith("region in ")}
    assert on == WANTED | listed, "an accident is switched on"


@pytest.mark.parametrize("seed", range(3))
def test_planted_rules_break_with_one_record(seed):
    """One record changed in every planted column: none of the planted rules is proposed any more."""
    columns = planted(1500, seed)
    last = len(columns["net"]) - 1
    first = next(row for row, end in enumerate(columns["end"]) if end)
    columns["end"][first] = "1999-01-01"
    columns["tax"][last] += 1
    columns["region"][last] = "elsewhere"
    columns["plate"][last] = "K-12-3"
    columns["state"][last] = "odd"
    columns["block"][last], columns["spot"][last] = columns["block"][0], columns["spot"][0]
    view = DataView.of({None: table(columns)})
    templates = catalogue("templates", Template).values()
    found = {
        each.rule for template in templates for each in template().propose(view)
    }  # before the audit's evaluator has its say
    assert not found & WANTED
    assert not any("gross" in rule and "net" in rule for rule in found)
    assert not any("odd" in rule for rule in found)


def test_the_audit_has_the_last_word():
    view = DataView.of({None: table({"a": [1, 2, 3], "b": [2, 2, 4], "c": ["x", "y", "z"]})})
    assert [rule for rule in ("a <= b", "a < b", "unique(a)", "unique(b)", "a < c") if view.holds(rule)] == [
        "a <= b",
        "unique(a)",
    ]


cells = st.one_of(
    st.sampled_from(["", "0", "1", "2", "3", "10", "2.5", "-1", "007"]),
    st.sampled_from(["", "a", "b", 'c"d', "A-1", "B-2", "2020-01-01", "2021-05-05 10:00:00", "é"]),
)
columns_of_cells = st.integers(1, 40).flatmap(
    lambda rows: st.dictionaries(
        st.sampled_from(["id", "a", "b", "c d", "by", "e_id", "first_name", "total"]),
        st.one_of(
            st.lists(cells, min_size=rows, max_size=rows),
            st.lists(st.integers(0, 5).map(str), min_size=rows, max_size=rows),
            st.just([str(i) for i in range(rows)]),
            st.lists(st.dates(date(2020, 1, 1), date(2020, 2, 1)).map(date.isoformat), min_size=rows, max_size=rows),
        ),
        min_size=1,
        max_size=5,
    )
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(columns_of_cells, min_size=1, max_size=3))
def test_nothing_is_proposed_that_does_not_hold(tables):
    named = {f"t{i}": columns for i, columns in enumerate(tables)}
    facts = tuple(
        TableFacts(name, tuple(ColumnFacts(c, "text", "TEXT") for c in columns)) for name, columns in named.items()
    )
    database = Database(Schema(facts), {name: table(columns) for name, columns in named.items()})
    found = rules_of_database(database, declared=False)
    assert [each.rule for each in found if not holds(each.rule, named)] == []
    suggestion = discover(database)
    kept = parse_yaml(policy_text(suggestion), name="p").tree.get("keep") or []
    assert kept == [each.rule for each in suggestion.proposals if each.active]


@pytest.mark.parametrize(("kind", "computed"), [("text", True), ("integer", False)])
def test_a_text_is_computed_from_a_text_and_a_number_is_not(kind, computed):
    """What `lower` gives is a text: digits may be copied into a column of texts, not into one of numbers."""
    digits = [str(i % 6) for i in range(37)]
    facts = TableFacts("t0", (ColumnFacts("first_name", "text", "TEXT"), ColumnFacts("id", kind, kind.upper())))
    database = Database(Schema((facts,)), {"t0": table({"first_name": digits, "id": digits})})
    assert any("lower" in each.rule for each in discover(database).proposals) == computed


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(50, 400), st.integers(2, 6))
def test_noise_is_left_alone(seed, rows, width):
    """Independent columns: beyond value lists and patterns, which describe single columns, nothing is switched on."""
    rng = np.random.default_rng(seed)
    columns = {f"c{i}": rng.integers(0, int(rng.integers(3, 2000)), rows).tolist() for i in range(width)}
    on = [each for each in rules_that_hold(table(columns)) if each.template not in ("value lists", "patterns")]
    assert on == []


def test_foreign_keys_of_other_schools_of_naming():
    rng = np.random.default_rng(3)
    bosses = [None, *rng.integers(1, 10, 39).tolist()]
    people = {"id": list(range(1, 41)), "full_name": [f"n{i}" for i in range(40)], "boss_id": bosses}
    books = {
        "id": list(range(1, 301)),
        "author": rng.integers(1, 41, 300).tolist(),
        "created_by": rng.integers(1, 41, 300).tolist(),
        "shelfid": rng.integers(1, 13, 300).tolist(),
        "pages": rng.integers(1, 41, 300).tolist(),
        "isbn": [f"978-{i:06}" for i in rng.choice(10**6, 300, replace=False)],
    }
    shelf = {"shelf_no": list(range(1, 13)), "floor": rng.integers(1, 4, 12).tolist()}
    loans = {
        "BookISBN": rng.choice(books["isbn"], 900).tolist(),
        "PersonId": rng.integers(1, 41, 900).tolist(),
        "days": [3] * 900,
    }
    tables = {"people": people, "books": books, "shelves": shelf, "loans": loans}
    found = rules_of_database(Database(Schema(()), {name: table(columns) for name, columns in tables.items()}))
    links = {each.rule for each in found if each.active and each.template == "foreign keys"}
    assert links == {
        "people.boss_id references people.id",
        "books.author references people.id",
        "books.created_by references people.id",
        "books.shelfid references shelves.shelf_no",
        "loans.BookISBN references books.isbn",
        "loans.PersonId references people.id",
    }


@pytest.mark.parametrize(
    "spelt", [lambda n: str(9 * 10**17 + n * n), lambda n: f"{n * 7919:032x}", lambda n: f"{10**24 + n}"]
)
def test_wide_keys_need_no_telling_name(spelt):
    """Numbers of 18 and 25 digits and hexadecimal codes: containment alone proves the reference."""
    rng = np.random.default_rng(8)
    keys = [spelt(n) for n in range(1, 201)]
    tables = {
        "thing": {"mark": keys, "size": rng.integers(0, 9, 200).tolist()},
        "event": {"about": rng.choice(keys, 800).tolist()},
    }
    found = rules_of_database(Database(Schema(()), {name: table(columns) for name, columns in tables.items()}))
    links = [each for each in found if each.template == "foreign keys"]
    assert [(each.rule, each.active) for each in links] == [("event.about references thing.mark", True)]
    assert links[0].chance < -1000


def test_odd_names_are_quoted_and_hopeless_ones_left_out():
    odd = {"a.b c": ["x", "y"] * 100, "by": ["u", "v"] * 100, "no`way": ["p", "q"] * 100, "original": ["r", "s"] * 100}
    on = {
        each.rule
        for each in proposals(DataView.of({"or der": table(odd)}))
        if each.active and each.template == "value lists"
    }
    assert on == {'`or der`.`a.b c` in {"x", "y"}', '`or der`.`by` in {"u", "v"}'}


def test_totals_of_children_are_found():
    rng = np.random.default_rng(5)
    lines = {
        "line_id": list(range(1, 601)),
        "bill_id": rng.integers(1, 121, 600).tolist(),
        "price": [f"{p / 100:.2f}" for p in rng.integers(50, 9000, 600)],
        "pieces": rng.integers(1, 9, 600).tolist(),
    }
    worth = [0] * 120
    number = [0] * 120
    for bill, price, pieces in zip(lines["bill_id"], lines["price"], lines["pieces"], strict=True):
        worth[bill - 1] += round(float(price) * 100) * pieces
        number[bill - 1] += 1
    bills = {"bill_id": list(range(1, 121)), "total": [f"{w / 100:.2f}" for w in worth], "positions": number}
    tables = {"bill": bills, "line": lines}
    found = rules_of_database(Database(Schema(()), {name: table(columns) for name, columns in tables.items()}))
    plain = {
        name: {column: list(map(str, values)) for column, values in columns.items()} for name, columns in tables.items()
    }
    on = {each.rule for each in found if each.active}
    assert {
        "bill.total = sum(line.price * line.pieces by line.bill_id)",
        "bill.positions = count(by line.bill_id)",
    } <= on
    assert all(holds(rule, plain) for rule in on)


def test_constants_of_aggregates_are_never_on():
    rng = np.random.default_rng(0)
    scores = rng.permutation(np.repeat(np.arange(80, 101), 20))
    columns = {
        "team": list("abcd") * 105,
        "score": scores.tolist(),
        "fixed": [str(10 + i // 4 % 35) for i in range(420)],
    }
    found = [each for each in proposals(DataView.of({None: table(columns)})) if each.template == "aggregates"]
    assert {"mean(score) = 90", "count(by team) = 105", "sum(fixed by team) = 2835"} <= {each.rule for each in found}
    assert not any(each.active for each in found)
    assert all("statistic" in each.doubt for each in found)


def test_a_value_of_few_people_is_not_spelled_out():
    """Six rows of one patient are one person's value, not a frequent one."""
    wards = ["north"] * 60 + ["south"] * 60 + ["isolation"] * 6
    patients = [str(i) for i in range(120)] + ["120"] * 6
    assert not any(
        "isolation" in each.rule
        for each in proposals(DataView.of({None: table({"patient_id": patients, "ward": wards})}))
    )
    assert any(
        "isolation" in each.rule for each in proposals(DataView.of({None: table({"bed": patients, "ward": wards})}))
    )


@pytest.mark.parametrize("rows", [30, 300])
def test_patterns_spell_out_no_rare_sign_and_no_rare_length(rows):
    codes = [f"A{i:04}" for i in range(rows)] + ["Z9999"]
    names = [f"x{i % 9}-{'ab' * (1 + i % 3)}{i}" for i in range(rows)] + ["x1-" + "abcdefghij" * 3 + "1"]
    text = " ".join(each.rule for each in proposals(DataView.of({None: table({"code": codes, "name": names})})))
    assert "Z" not in text.replace("[A-Z]", "")
    assert "30" not in text


def test_single_tables_carry_their_rules_as_lines_to_switch_on(tmp_path):
    found = discover(table(planted(400, 1)))
    text = policy_text(found)
    tree = parse_yaml(text, name="p").tree
    assert Policy.parse(tree).keep == ()
    switched = parse_yaml(text.replace("\n#  - ", "\n  - "), name="p").tree
    assert "begin <= end" in Policy.parse(switched).keep
    assert text.startswith("# Contains values of your data")


def test_scores_say_what_is_on():
    for each in proposals(DataView.of({None: table(planted(400, 2))})):
        assert each.active == (each.score <= SURE and not each.off)
        assert each.chance <= 0
    assert OFTEN >= 5


@pytest.mark.parametrize(
    ("coefficients", "side", "scale", "expected"),
    [
        ([1, -1], 0, 1, "a = b"),
        ([1, -3], 0, 1, "a = 3 * b"),
        ([3, -1], 0, 1, "b = 3 * a"),
        ([2, -3], 0, 1, "2 * a = 3 * b"),
        ([2, -3], 7, 1, "a = (3 * b + 7) / 2"),
        ([1, -1], 150, 100, "a = b + 1.5"),
        ([1, 1], 100, 1, "a + b = 100"),
        ([1, -1, -1], 0, 1, "a = b + c"),
        ([2, 5, 1], -4, 1, "2 * a + 5 * b + c = -4"),
    ],
)
def test_relations_are_written_as_they_are(coefficients, side, scale, expected):
    assert written(coefficients, ["a", "b", "c"][: len(coefficients)], side, scale) == expected
