from datetime import date
from fractions import Fraction

import pytest

from sfumato.core.errors import PolicyError
from sfumato.kinds.testdata.methods.sampling.text_patterns import automaton, literal, words
from sfumato.policy.constraint_language import (
    RuleError,
    bind,
    classify,
    columns_of,
    conjuncts,
    linear_comparison,
    parse,
)
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    All,
    Arithmetic,
    AtLeast,
    Cell,
    ColumnValue,
    Compare,
    Date,
    Determines,
    Implies,
    Localities,
    Match,
    Membership,
    Not,
    Number,
    References,
    SameMultiset,
    TextConstant,
    Unique,
)

a, b, c = ColumnValue("a"), ColumnValue("b"), ColumnValue("c")


def number(value):
    return Number(Fraction(value))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a < b", Compare("<", a, b)),
        ("a ≤ 2", Compare("<=", a, number(2))),
        ("a = (b + c) / 2", Compare("=", a, Arithmetic("/", Arithmetic("+", b, c), number(2)))),
        ("a + b * 2 = 3", Compare("=", Arithmetic("+", a, Arithmetic("*", b, number(2))), number(3))),
        ("a - b - c > 0", Compare(">", Arithmetic("-", Arithmetic("-", a, b), c), number(0))),
        ("not a = 1 and b = 2", All((Not(Compare("=", a, number(1))), Compare("=", b, number(2))))),
        ("if a = 1 then b in {1, 2}", Implies(Compare("=", a, number(1)), Membership(b, (number(1), number(2))))),
        ('a not in {"x", "y"}', Not(Membership(a, (TextConstant("x"), TextConstant("y"))))),
        ('match(a, "05[0-9]{2}")', Match(a, "05[0-9]{2}")),
        ("a >= 2001-02-03", Compare(">=", a, Date(date(2001, 2, 3)))),
        ("unique(a, b)", Unique((a, b))),
        ("a, b determines c", Determines((a, b), (c,))),
        ("same_multiset(a)", SameMultiset((a,))),
        ("at_least(5, a, b)", AtLeast(5, (a, b))),
        ("mean(a) = 90 within 0.5", Compare("=", Aggregate("mean", a), number(90), Fraction(1, 2))),
        ("mean(a) within 0.5 of 90", Compare("=", Aggregate("mean", a), number(90), Fraction(1, 2))),
        ("count(a > 3) <= 7", Compare("<=", Aggregate("count", None, Compare(">", a, number(3))), number(7))),
        ("sum(a where b = 1) = 4", Compare("=", Aggregate("sum", a, Compare("=", b, number(1))), number(4))),
        ("a <= original.a", Compare("<=", a, ColumnValue("a", None, True))),
        ("o.k references p.id", References((ColumnValue("k", "o"),), (ColumnValue("id", "p"),))),
        (
            "2 * a[3] - a[1] <= 4",
            Compare("<=", Arithmetic("-", Arithmetic("*", number(2), Cell(a, 3)), Cell(a, 1)), number(4)),
        ),
        ("`a b` = 1", Compare("=", ColumnValue("a b"), number(1))),
        (
            "sum(items.price by items.order) = orders.total",
            Compare(
                "=",
                Aggregate("sum", ColumnValue("price", "items"), None, (ColumnValue("order", "items"),)),
                ColumnValue("total", "orders"),
            ),
        ),
        (
            "localities(age, fnlwgt, education-num) sample 0.08 partition 20",
            Localities((ColumnValue("age"), ColumnValue("fnlwgt"), ColumnValue("education-num")), Fraction(2, 25), 20),
        ),
        (
            "localities(a) sample 0.08 partition 20 across 50",
            Localities((a,), Fraction(2, 25), 20, 50),
        ),
        ("localities(a) partition 5 across 1", Localities((a,), Fraction(1), 5, 1)),
    ],
)
def test_text_becomes_tree(text, tree):
    assert parse(text).body == tree


def test_chain_is_the_conjunction_of_its_links():
    assert [type(part) for part in conjuncts(parse("800 <= a + b <= 900").body)] == [Compare, Compare]


def test_hyphen_belongs_to_a_known_column_only():
    known = {"education-num", "age"}
    assert parse("education-num-age > 0", known).body == Compare(
        ">", Arithmetic("-", ColumnValue("education-num"), ColumnValue("age")), number(0)
    )


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("a <", 3),
        ("a < b c", 6),
        ("unique()", 7),
        ("unique(a", 8),
        ("a = $", 4),
        ("a / b = 1", 4),
        ("a / 0 = 1", 4),
        ("a + 1", 2),
        ("(a < b) + 1 = 2", 3),
        ("at_least(0, a)", 9),
        ('match(a, "[0-9")', 10),
        ("localities(a) sample 1.5", 21),
        ("localities(a) across 5", 14),
        ("localities(a) partition 5 across", 32),
        ("localities(a) partition 5 across 0", 33),
        ("localities(a) across 5 partition 5", 14),
        ("a[0] = 1", 2),
        ("foo(a) = 1", 0),
        ("a in {b}", 6),
        ("a = 2001-02-30", 4),
        ("a, b references c", 5),
        ('a = "x', 4),
        ("if a = 1 b = 2", 9),
        ("w.x.y.z = 1", 0),
        ("in = 3", 0),
        ("a < 3 within 1", 6),
        ("__import__('os')", 0),
    ],
)
def test_errors_point_at_the_character(text, position):
    with pytest.raises(RuleError) as caught:
        parse(text)
    assert caught.value.position == position
    assert f"character {position + 1} of the rule" in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "is_global", "against_original"),
    [
        ("a < b", False, False),
        ("a <= original.a", False, True),
        ("unique(a)", True, False),
        ("mean(a) = 90", True, False),
        ("sum(a) = sum(original.a)", True, True),
        ("same_multiset(a)", True, True),
        ("a determines b", True, False),
        ("a[1] < a[2]", True, False),
        ("localities(a)", True, True),
    ],
)
def test_classification(text, is_global, against_original):
    kind = classify(parse(text))
    assert (kind.is_global, kind.against_original) == (is_global, against_original)


def test_linear_comparison_moves_everything_to_the_left():
    form = linear_comparison(parse("a = (b + c) / 2 + a / 2 - 3").body)
    assert form.terms == {a: Fraction(1, 2), b: Fraction(-1, 2), c: Fraction(-1, 2)}
    assert (form.operator, form.bound) == ("=", -3)
    assert linear_comparison(parse("a * b = 3").body) is None


def test_columns_in_reading_order_without_repetition():
    assert columns_of(parse("if b = 1 then a < b and c in {2}")) == (b, a, c)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("(" * 3_000 + "a" + ")" * 3_000 + " > 1", 50),
        ("not " * 3_000 + "a > 1", 200),
        ("- " * 3_000 + "a > 1", 100),
        ("if a = 1 then " * 3_000 + "a > 1", 700),
        ("sum(" * 3_000 + "a", 200),
        ("a" + " + a" * 3_000 + " > 1", 1202),
        ("((" + "a * 2 + " * 3_000 + "a)) > 1", 1196),
        ("a > " + "9" * 400, 4),
        ("a > 1e999999999", 4),
        ("at_least(" + "9" * 400 + ", a)", 9),
        ('match(a, "' + "(" * 3_000 + ")" * 3_000 + '")', 9),
        ('match(a, "a{99999999999}")', 9),
    ],
)
def test_what_is_too_deep_or_too_long_is_an_error_with_its_place(text, position):
    with pytest.raises(RuleError, match=r"more than|too long|too deep|too often|longer than") as caught:
        parse(text)
    assert caught.value.position == position


def test_rules_at_the_limits_are_read_walked_and_judged():
    deep = "(" * 50 + "a" + ")" * 50 + " > 1"
    long = "a" + " + a" * 300 + " > 1"
    negated = "not " * 50 + "a" + " + a" * 250 + " > 1"
    for text in (deep, long, negated):
        rule = bind(parse(text), {"a": "number"})
        classify(rule)
        assert columns_of(rule) == (a,)
        assert ConstraintEvaluator({None: {"a": ["1"]}}).broken(rule) == (text == deep)
    assert linear_comparison(parse(long).body).terms == {a: 301}


@pytest.mark.parametrize(
    "pattern", ["(" * 3_000 + "a" + ")" * 3_000, "a" * 3_000, "a{9999999}", "a{²}", "a{,5}", "(" * 51 + ")" * 51]
)
def test_a_pattern_that_is_too_deep_or_too_long_is_an_error(pattern):
    with pytest.raises(PolicyError, match="of the pattern"):
        automaton([pattern])


def test_a_pattern_at_the_limits_is_read():
    assert list(words(automaton(["(" * 50 + "a" + ")" * 50]), 1)) == ["a"]
    assert list(words(automaton(["a" * 400]), 400)) == ["a" * 400]
    with pytest.raises(PolicyError):
        literal("a" * 3_000)


def test_a_drawn_number_beside_a_text_is_compared_as_it_is_written() -> None:
    import numpy as np

    from sfumato.kinds.testdata.methods.sampling.constraint_vectors import Vector, _compared

    texts = Vector(np.array(["3", "2.5", "4"]), 0)
    assert _compared("=", Vector(np.array([3, 3, 4]), 1), texts, 0).tolist() == [True, False, True]
    assert _compared("=", Vector(np.array([30, 25, 41]), 10), texts, 0).tolist() == [True, True, False]
