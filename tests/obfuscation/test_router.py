"""Which engine serves which part, what is refused before the run, and that jobs do not matter."""

import numpy as np
import pytest
from worlds import broken, draw, problem, texts

from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.column_values import levels
from sfumato.kinds.testdata.methods.sampling.problem import SampledTable, SamplingProblem
from sfumato.kinds.testdata.methods.sampling.sampler_selection import routes, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Blocks, fallback
from sfumato.policy import value_domains
from sfumato.policy.constraint_language import bind, parse
from sfumato.policy.constraint_language.syntax_tree import ColumnValue

NINE = {"integers": [0, 9]}
SOLVER = fallback("LM*", 20)


@pytest.mark.parametrize(
    ("domains", "rules", "count", "named"),
    [
        ({"a": {"integers": [0, 3]}}, ["unique(a)"], 5, ["unique(a)", "4 different values"]),
        ({"a": {"pattern": "x[0-9]"}}, ["unique(a)"], 11, ["unique(a)", "10 different values"]),
        ({"a": NINE, "b": NINE}, ["unique(a, b)", "a = b"], 11, ["unique(a, b)"]),
        ({"a": NINE}, ["sum(a) = 91"], 10, ["sum(a) = 91", "0 … 90"]),
        ({"a": {"values": ["0", "2", "4"]}}, ["sum(a) = 7"], 10, ["sum(a) = 7", "multiple of 2"]),
        ({"a": NINE}, ["mean(a) = 9.05"], 10, ["mean(a) = 9.05"]),
        ({"a": NINE, "b": NINE}, ["a < b", "b < a", "a != 3"], 5, ['"a < b" and "b < a"']),
        ({"a": NINE}, ["a > 5", "a < 3"], 5, ["a > 5", "a < 3"]),
        ({"a": NINE}, ["max(a) = 12"], 5, ["max(a) = 12"]),
        ({"a": {"pattern": "[ab]{2}"}}, ['match(a, "c.")'], 2, ["match(a"]),
        ({"a": NINE}, ["at_least(6, a)"], 5, ["at_least(6, a)"]),
    ],
)
def test_the_impossible_is_refused_before_the_run_and_names_the_rule(domains, rules, count, named):
    with pytest.raises(Infeasible) as caught:
        routes(problem(domains, rules, count), SOLVER)
    for part in named:
        assert part in str(caught.value)
    assert caught.value.hint
    assert caught.value.exit_code == 4


def test_two_totals_that_exclude_each_other():
    asked = problem({"a": NINE, "b": NINE}, ["a = b", "sum(a) = 20", "sum(b) = 21"], 5)
    with pytest.raises(Infeasible) as caught:
        run(asked, routes(asked, SOLVER), Randomness(seed=1))
    assert "sum(a) = 20" in str(caught.value)


def test_the_number_of_jobs_does_not_change_the_answer():
    asked = problem({"a": NINE, "b": NINE, "c": {"pattern": "[a-z]{3}"}}, ["sum(a) = 30", "b < 5", "unique(c)"], 10)
    one = texts(run(asked, routes(asked, None), Randomness(seed=8), jobs=1))
    four = texts(run(asked, routes(asked, None), Randomness(seed=8), jobs=4))
    assert one == four
    assert one != texts(run(asked, routes(asked, None), Randomness(seed=9), jobs=4))


@pytest.mark.parametrize(
    ("domains", "rules"),
    [
        ({"a": NINE, "b": NINE}, ["unique(a)", "a determines b", "sum(a) = 45"]),
        ({"a": NINE, "b": NINE}, ["a * b = 12 or a + b = 9", "unique(a, b)", "mean(a) = 4"]),
        ({"a": {"integers": [0, 60]}}, ["unique(a)", "sum(a) = 200"]),
        ({"a": {"integers": [0, 4]}, "b": NINE}, ["at_least(2, a)", "a <= b", "sum(b) = 50"]),
        ({"a": NINE}, ["a[1] < a[2]", "a[2] < a[3]", "unique(a)"]),
        ({"a": NINE, "b": NINE}, ["a determines b", "b <= a", "mean(b) >= 2"]),
        ({"a": NINE}, ["sum(a by g) = 20", "unique(a, g)", "a != 3"]),
    ],
)
def test_what_no_direct_engine_covers_goes_to_blocks(domains, rules):
    start = {"a": [str(v) for v in range(10)], "b": ["0"] * 10, "g": ["x"] * 5 + ["y"] * 5}
    asked = problem(domains, rules, 10, {name: start[name] for name in ("a", "b", "g")})
    found = routes(asked, fallback("IG", 10))
    assert any(isinstance(route.engine, Blocks) for route in found)
    assert broken(asked, texts(run(asked, found, Randomness(seed=4)))) == [0] * len(rules)


def test_an_unsatisfiable_rest_names_a_small_conflicting_subset():
    asked = problem({"a": NINE, "b": NINE}, ["unique(a)", "sum(a) = 3", "a determines b", "b <= 8"], 10)
    with pytest.raises(Infeasible) as caught:
        run(asked, routes(asked, fallback("IG", 10)), Randomness(seed=1))
    assert '"unique(a)" and "sum(a) = 3"' in str(caught.value)
    assert "b <= 8" not in str(caught.value)


def test_conditions_on_given_columns_split_records_into_contexts():
    original = {"age": [str(20 + i % 40) for i in range(200)]}
    rules = ["if age < 30 then a <= 3", "if age >= 30 then a >= 5", "sum(a) = 1000"]
    asked = problem({"a": NINE}, rules, 200, original)
    assert broken(asked, draw(asked, seed=3)) == [0, 0, 0]


def test_bounds_around_the_original():
    original = {"pay": [str(1000 + 37 * i) for i in range(300)]}
    rules = ["pay >= 0.9 * original.pay", "pay <= 1.1 * original.pay"]
    asked = problem({"pay": {"decimals": ["0", "20000"], "places": 2}}, rules, 300, original)
    (route,) = routes(asked, None)
    assert route.engine.name == "interval per record"
    assert route.engine.reads_original
    assert broken(asked, draw(asked, seed=3)) == [0, 0]


def test_chains_of_dates_need_no_table():
    dates = {"dates": ["1990-01-01", "2012-12-31"]}
    rules = ["a < b", "b + 30 <= c", "c - b <= 400", "a >= 1995-05-05"]
    asked = problem({"a": dates, "b": dates, "c": dates}, rules, 2000)
    (route,) = routes(asked, None)
    assert route.engine.name == "legal records"
    assert route.engine.uniform
    assert broken(asked, draw(asked, seed=3)) == [0] * 4


def test_a_total_over_a_chain():
    wide = {"integers": [0, 5000]}
    asked = problem({"a": wide, "b": wide}, ["a <= b", "mean(a) = 1000"], 300)
    (route,) = routes(asked, None)
    assert route.engine.name == "fixed totals"
    assert broken(asked, draw(asked, seed=3)) == [0, 0]


def test_texts_beyond_sixty_two_bits_stay_distinct():
    asked = problem({"a": {"pattern": "[a-z]{20}"}}, ["unique(a)", 'not match(a, "a.*")'], 300)
    table = draw(asked, seed=3)
    assert len(set(table["a"])) == 300
    assert broken(asked, table) == [0, 0]


def two_tables(total, orders=40):
    """Orders with a given or replaced total, items with a replaced price."""
    sizes = np.arange(orders) % 4
    items = np.repeat(np.arange(orders), sizes)
    price = np.arange(len(items)) % 7 + 1
    sums = np.bincount(items, weights=price, minlength=orders).astype(int)
    rules = ["items.order_id references orders.id", "sum(items.price by items.order_id) = orders.total"]
    kinds = {"items.price": "number", "items.order_id": None, "orders.id": None, "orders.total": "number"}
    sources = {
        "orders": SampledTable(
            orders, total, {"id": [f"o{i}" for i in range(orders)], "total": [str(s) for s in sums]}
        ),
        "items": SampledTable(
            len(items),
            {"price": levels(value_domains.read({"integers": [1, 9]}))},
            {"order_id": [f"o{i}" for i in items], "price": [str(p) for p in price]},
        ),
    }
    return SamplingProblem(sources, [bind(parse(text), kinds) for text in rules]), items, sums


def test_children_add_up_to_given_totals_of_their_parents():
    asked, items, sums = two_tables({})
    (route,) = routes(asked, None)
    assert (route.engine.name, route.engine.uniform) == ("totals per group", True)
    prices = run(asked, [route], Randomness(seed=2))[ColumnValue("price", "items")].codes + 1
    assert (np.bincount(items, weights=prices, minlength=40) == sums).all()


def test_a_replaced_total_follows_its_children():
    asked, items, _ = two_tables({"total": levels(value_domains.read({"integers": [3, 20]}))})
    (route,) = routes(asked, None)
    assert route.engine.name == "parents from children"
    made = run(asked, [route], Randomness(seed=2))
    sums = np.bincount(items, weights=made[ColumnValue("price", "items")].codes + 1, minlength=40)
    totals = made[ColumnValue("total", "orders")].codes + 3
    childless = np.bincount(items, minlength=40) == 0
    assert (totals[~childless] == sums[~childless]).all()
    assert totals.min() >= 3


def test_referring_columns_take_the_new_value_of_their_parent():
    keys = levels(value_domains.read({"integers": [1000, 9999]}))
    sources = {
        "p": SampledTable(3, {"id": keys}, {"id": ["1", "2", "3"]}),
        "c": SampledTable(4, {"pid": keys}, {"pid": ["2", "2", "3", "1"]}),
    }
    kinds = {"p.id": "number", "c.pid": "number"}
    asked = SamplingProblem(sources, [bind(parse(text), kinds) for text in ("c.pid references p.id", "unique(p.id)")])
    made = run(asked, routes(asked, None), Randomness(seed=1))
    parent, child = made[ColumnValue("id", "p")].codes, made[ColumnValue("pid", "c")].codes
    assert (child == parent[[1, 1, 2, 0]]).all()
    assert len(set(parent.tolist())) == 3


def test_fakes_can_be_unique():
    pytest.importorskip("faker")
    asked = problem({"name": {"fakes": "name"}, "mail": {"fakes": "email"}}, ["unique(name)", "unique(mail)"], 500)
    table = draw(asked, seed=1)
    assert len(set(table["name"])) == len(set(table["mail"])) == 500


@pytest.mark.parametrize("pattern", ["a(b|cd)?[x-z]{1,2}", "(ab|a)(c|bc)", "[^ -y]{0,3}", r"\d{2}-\w", "x|yy|zzz"])
def test_patterns_are_numbered_one_to_one(pattern):
    import re

    numbering = levels(value_domains.read({"pattern": pattern, "longest": 6}))
    everything = numbering.words.texts(np.arange(numbering.size)).tolist()
    assert len(set(everything)) == numbering.size
    assert all(re.fullmatch(pattern, text) for text in everything)
    assert [numbering.words.rank(text) for text in everything] == list(range(numbering.size))
    assert numbering.words.rank("?") is None
