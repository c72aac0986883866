import pytest

from sfumato.core.errors import DataError
from sfumato.policy.constraint_language import bind, parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import References

TABLE = {
    "a": ["1", "2", "3", "4"],
    "b": ["2", "2", "1.5", ""],
    "name": ["ann", "bob", "bob", "eve"],
    "day": ["2001-01-01", "2001-02-01", "2001-03-01", "2001-04-01"],
}
ORIGINAL = {"a": ["2", "1", "4", "3"], "b": ["1", "1", "1", "1"], "name": ["x", "x", "x", "x"]}


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("a < b", 2),  # 2 < 2 and 3 < 1.5; the record with a missing b is neither kept nor broken
        ("a <= b", 1),
        ("a != 3", 1),
        ("a + b = 3 or a > 1", 0),
        ("not a = 1", 1),
        ("if a >= 3 then b > 2", 1),
        ("a in {1, 2}", 2),
        ('name in {"ann", "bob"}', 1),
        ('match(name, "[a-b].*")', 1),
        ("unique(name)", 1),
        ("unique(name, a)", 0),
        ("name determines a", 1),
        ("a determines name", 0),
        ("at_least(2, name)", 2),
        ("same_multiset(a)", 0),
        ("same_multiset(name)", 8),
        ("a >= original.a", 2),
        ("mean(a) = 2.5", 0),
        ("mean(b) = 2", 1),
        ("sum(b) = 5.5", 0),
        ("sum(a) = sum(original.a)", 0),
        ("count(a > 2) = 2", 0),
        ("count() = 4", 0),
        ("max(a) = 4 and min(a) = 0", 1),
        ("sum(a by name) = 5", 2),
        ("sum(a where name = 'bob') = 5", 0),
        ("day >= 2001-02-01", 1),
        ("day - 2001-01-01 <= 31", 2),
        ("a[1] < a[2]", 0),
        ("a[2] - a[1] >= 2", 1),
        ("800 <= a * 800 <= 1600", 2),
        ("a / 3 * 3 = a", 0),
    ],
)
def test_counts_of_violations(text, broken):
    assert ConstraintEvaluator({None: TABLE}, {None: ORIGINAL}).broken(parse(text)) == broken


def test_thirds_are_exact():
    assert ConstraintEvaluator({None: {"x": ["1", "1", "2"]}}).broken(parse("mean(x) * 3 = 4")) == 0


def test_numbers_beyond_sixty_four_bits():
    table = {"x": ["9223372036854775807", "1"], "y": ["9223372036854775808", "2"]}
    assert ConstraintEvaluator({None: table}).broken(parse("x < y")) == 0
    assert ConstraintEvaluator({None: table}).broken(parse("x + x <= y")) == 1


def test_rules_across_tables_follow_the_reference():
    tables = {
        "orders": {"id": ["1", "2"], "total": ["5", "9"]},
        "items": {"order": ["1", "1", "2"], "price": ["2", "3", "8"]},
    }
    link = parse("items.order references orders.id")
    assert isinstance(link.body, References)
    judge = ConstraintEvaluator(tables, references=[link.body])
    assert judge.broken(link) == 0
    assert judge.broken(parse("sum(items.price by items.order) = orders.total")) == 1
    assert judge.broken(parse("items.price <= orders.total")) == 0
    assert ConstraintEvaluator({**tables, "orders": {"id": ["1"], "total": ["5"]}}).broken(link) == 1


def test_a_text_is_not_compared_with_a_number():
    with pytest.raises(DataError):
        ConstraintEvaluator({None: TABLE}).broken(parse("name < 3"))


def test_records_in_other_bins_break_a_histogram() -> None:
    old = {"a": ["0", "9.5", "10", "-1", ""], "g": ["x", "x", "x", "y", "y"]}
    for new, broken in (
        (["3", "4.25", "19.99", "-9", ""], 0),
        (["3", "4.25", "19.99", "0", ""], 2),  # one more in [0, 10), one less below 0; with groups: of y
        (["3", "20", "19.99", "-9", ""], 2),
        (["19.99", "4.25", "3", "-9", ""], 0),
        (["3", "4.25", "-9", "19.99", ""], 0),
    ):
        now = {"a": new, "g": old["g"]}
        assert ConstraintEvaluator({None: now}, {None: old}).broken(parse("histogram(a, 10)")) == broken
    swapped = {"a": ["3", "4.25", "-9", "19.99", ""], "g": old["g"]}
    assert ConstraintEvaluator({None: swapped}, {None: old}).broken(parse("histogram(a, 10 by g)")) == 4


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("city.people = sum(street.people by street.city)", 0),
        ("street.city_people = sum(street.people by street.city)", 0),
        ("street.people = sum(city.people by city.main)", 1),  # 2 in the main street of A, where 5 live
        ("city.main = street.name", 1),  # a2 is not the main street of its city
    ],
)
def test_tables_that_refer_to_each_other(text, broken):
    """The rows that a rule is about are those that it groups; else those of the table whose reference comes first."""
    city = {"name": ["A", "B"], "main": ["a1", "b1"], "people": ["5", "4"]}
    street = {
        "name": ["a1", "a2", "b1"],
        "city": ["A", "A", "B"],
        "people": ["2", "3", "4"],
        "city_people": ["5", "5", "4"],
    }
    links = [parse("street.city references city.name").body, parse("city.main references street.name").body]
    assert ConstraintEvaluator({"city": city, "street": street}, references=links).broken(parse(text)) == broken


def test_digits_are_a_text_beside_a_text():
    """Texts that look like numbers are compared as they are written with what a function of texts gives."""
    table = {"card": ["0041", "77"], "copy": ["0041", "77"], "name": ["A", "B"], "mixed": ["0041A", "77B"]}
    judge = ConstraintEvaluator({None: table})
    for text, broken in (("copy = lower(card)", 0), ("card = left(mixed, 4)", 1), ("mixed = card + name", 0)):
        assert judge.broken(bind(parse(text), dict.fromkeys(table, "text"))) == broken
