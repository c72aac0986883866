"""The worked examples of the paper: 3.1 to 4.2, Table 1, the toy example's rule graph and sub-problems, LM with blocks
of one."""

from collections import Counter

import numpy as np
import pytest
from worlds import all_tables, broken, draw, p_value, problem, texts

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.evidence import (
    confidence,
    diversity,
    link_frequencies,
    link_frequencies_random_blocks,
    posterior,
    worlds_needed,
)
from sfumato.kinds.testdata.methods.sampling.block_division import blocks
from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route, routes, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Blocks, fallback
from sfumato.policy.constraint_language import classify, parse
from sfumato.policy.constraint_language.syntax_tree import ColumnValue

TOY = {
    "phone_number": {"pattern": "05[0247][0-9]{7}"},
    "registration_date": {"dates": ["1990-01-01", "2012-12-31"]},
    "graduation_date": {"dates": ["1990-01-01", "2012-12-31"]},
    "courses_grade": {"integers": [80, 100]},
    "thesis_grade": {"integers": [80, 100]},
    "final_grade": {"integers": [80, 100]},
}
RULES = [
    "unique(phone_number)",
    'match(phone_number, "05[0247][0-9]{7}")',
    "registration_date < graduation_date",
    "final_grade = (courses_grade + thesis_grade) / 2",
    "mean(final_grade) = 90",
]
SALARY = {"salary": ["36712", "12517", "8000"]}


def test_example_3_1_rules_and_their_kinds():
    asked = problem(
        {"rowid": {"integers": [1, 9]}, "salary_class": {"values": ["< 30000", ">= 30000"]}},
        [
            "unique(rowid)",
            'if salary < 30000 then salary_class = "< 30000"',
            'if salary >= 30000 then salary_class = ">= 30000"',
        ],
        3,
        SALARY,
    )
    table = draw(asked, seed=4)
    assert table["salary_class"] == [">= 30000", "< 30000", "< 30000"]
    assert len(set(table["rowid"])) == 3
    assert broken(asked, table) == [0, 0, 0]
    assert not classify(parse("unique(rowid)")).against_original


def test_example_3_2_each_of_the_legal_obfuscations_is_equally_likely():
    """As sets of (rowid, class) there are three; every one is hit by two of the six row orders."""
    asked = problem(
        {"rowid": {"integers": [1, 3]}, "salary_class": {"values": ["low", "high"]}},
        [
            "unique(rowid)",
            "if salary < 30000 then salary_class = 'low'",
            "if salary >= 30000 then salary_class = 'high'",
        ],
        3,
        SALARY,
    )
    found = routes(asked, None)
    counted = Counter()
    for turn in range(900):
        table = texts(run(asked, found, Randomness(seed=turn)))
        counted[frozenset(zip(table["rowid"], table["salary_class"], strict=True))] += 1
    assert len(counted) == 3
    assert p_value(counted, dict.fromkeys(counted, 300)) > 1e-4


def test_examples_3_3_and_4_1_posterior_of_worlds():
    arrows = {"T1": 0.5, "T2": 0.0, "T3": 0.01}  # how likely each original turns into T3*
    found = posterior(arrows)
    assert found == {"T1": pytest.approx(0.5 / 0.51), "T3": pytest.approx(0.01 / 0.51)}


def test_example_4_2_confidence_of_links():
    contents = {
        "T1": {("Joe", "a"), ("Bob", "b"), ("Dave", "c")},
        "T2": {("Harry", "a"), ("Dan", "b"), ("Greg", "c")},
        "T3": {("Joe", "a"), ("Bob", "c"), ("Dave", "b")},
    }
    links = confidence({"T1": 0.5, "T2": 0.0, "T3": 0.01}, contents)
    rounded = {link: round(value, 2) for link, value in links.items()}
    assert rounded == {
        ("Joe", "a"): 1.0,
        ("Bob", "b"): 0.98,
        ("Bob", "c"): 0.02,
        ("Dave", "b"): 0.02,
        ("Dave", "c"): 0.98,
    }
    assert diversity(links) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("d", "row"),
    [(0.05, [403, 510, 624, 664, 788]), (0.02, [2516, 3184, 3900, 4147, 4925])],
    ids=["d = 0.05", "d = 0.02"],
)
def test_table_1(d, row):
    assert [worlds_needed(d, alpha) for alpha in (0.1, 0.05, 0.025, 0.02, 0.01)] == row


def toy(count, original=None):
    return problem(TOY, RULES, count, original)


def test_toy_rule_graph_has_three_parts():
    asked = toy(4)
    assert [[column.name for column in part.columns] for part in asked.parts] == [
        ["phone_number"],
        ["registration_date", "graduation_date"],
        ["courses_grade", "thesis_grade", "final_grade"],
    ]
    assert [[str(rule) for rule in part.rules] for part in asked.parts] == [RULES[:2], RULES[2:3], RULES[3:]]
    assert set(asked.edges()) == {
        (ColumnValue("registration_date"), ColumnValue("graduation_date")),
        (ColumnValue("final_grade"), ColumnValue("courses_grade")),
        (ColumnValue("final_grade"), ColumnValue("thesis_grade")),
        (ColumnValue("courses_grade"), ColumnValue("thesis_grade")),
    }
    assert [bool(part.whole) for part in asked.parts] == [
        True,
        False,
        True,
    ]  # which parts become dependent sub-problems


def test_toy_sub_problems_of_lm_with_two_records_per_block():
    """CSP 5 to 8 of the paper: two blocks, each with the other two records as constants; IG sees earlier blocks
    only."""
    found = [(b.records.tolist(), sorted(b.constants.tolist())) for b in blocks(4, 2, "LM", Randomness(seed=1))]
    assert found == [([0, 1], [2, 3]), ([2, 3], [0, 1])]
    found = [(b.records.tolist(), b.constants.tolist()) for b in blocks(4, 2, "IG", Randomness(seed=1))]
    assert found == [([0, 1], []), ([2, 3], [0, 1])]
    at_random = list(blocks(100, 7, "LM*", Randomness(seed=1)))
    assert sorted(np.concatenate([b.records for b in at_random]).tolist()) == list(range(100))
    assert at_random[0].records.tolist() != list(range(7))


def test_a_rest_is_spread_over_the_blocks():
    assert [len(b.records) for b in blocks(5, 2, "LM", Randomness(seed=1))] == [3, 2]
    assert [len(b.records) for b in blocks(1000, 333, "LM*", Randomness(seed=1))] == [334, 333, 333]
    assert [len(b.records) for b in blocks(3, 200, "IG", Randomness(seed=1))] == [3]


@pytest.mark.parametrize("heuristic", ["LM", "LM*", "IG"])
def test_toy_by_every_heuristic(heuristic):
    original = draw(toy(60), seed=9)
    asked = toy(60, original)
    made = run(asked, [Route(part, fallback(heuristic, 20)(asked, part)) for part in asked.parts], Randomness(seed=2))
    table = texts(made)
    assert broken(asked, table) == [0] * 5
    changed = sum(now != before for now, before in zip(table["phone_number"], original["phone_number"], strict=True))
    assert changed == 60


def test_toy_exactly():
    asked = toy(500)
    assert [route.engine.name for route in routes(asked, None)] == ["permuted ranks", "legal records", "fixed totals"]
    assert broken(asked, draw(asked, seed=1)) == [0] * 5


def test_ig_fails_on_a_fixed_sum_of_positive_numbers_and_falls_back():
    """[§5.4]: the first block already uses up the sum."""
    original = {"a": ["5"] * 12}
    asked = problem({"a": {"integers": [1, 20]}}, ["sum(a) = 60"], 12, original)
    engine = Blocks(asked, asked.parts[0], "IG", 4)
    table = texts(engine.run(Randomness(seed=3)))
    assert broken(asked, table) == [0]
    assert engine.heuristic == "LM*"
    assert engine.reads_original


def test_lm_with_blocks_of_one_publishes_the_original():
    """[§5.5.1]: all hundred values are taken, so a block of one has a single solution."""
    original = {"a": [str(v) for v in np.random.default_rng(1).permutation(np.arange(1, 101))]}
    asked = problem({"a": {"integers": [1, 100]}}, ["unique(a)"], 100, original)
    engine = Blocks(asked, asked.parts[0], "LM", 1)
    assert texts(engine.run(Randomness(seed=1)))["a"] == original["a"]
    blind = draw(asked, seed=1)["a"]
    assert sum(now == before for now, before in zip(blind, original["a"], strict=True)) < 10


def test_reverse_engineering_against_all_worlds():
    """Four records, blocks of two: confidence by drawing worlds agrees with listing them."""
    values, weights = np.arange(3), np.array([1.0, 2.0, 1.0])
    published = np.array([0, 2, 1, 1])
    exact = np.array([[1, 4, 1], [1, 4, 1], [1, 4, 1], [1, 4, 1]]) / 6  # each block has sum 2: (0,2), (2,0), (1,1)
    often = link_frequencies(
        published, values, weights, [np.array([0, 1]), np.array([2, 3])], 20_000, np.random.default_rng(1)
    )
    assert np.allclose(often / 20_000, exact, atol=0.02)
    often = link_frequencies_random_blocks(published, values, weights, 4, 20_000, np.random.default_rng(1))
    asked = problem({"a": {"integers": [0, 2]}}, ["sum(a) = 4"], 4)
    share = np.zeros(3)
    for (table,) in all_tables(asked):
        share[int(table[0])] += np.prod([weights[int(v)] for v in table])
    assert np.allclose(often[0] / 20_000, share / share.sum(), atol=0.02)


def test_lm_with_blocks_of_one_links_everybody_for_certain():
    published = np.array([0, 1, 2, 2])
    often = link_frequencies_random_blocks(published, np.arange(3), np.ones(3), 1, 510, np.random.default_rng(1))
    assert (often.max(axis=1) == 510).all()
