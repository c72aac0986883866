"""COUNT queries: what is understood, and that errors say where."""

import pytest

from sfumato.core.errors import PolicyError
from sfumato.workflow.estimate import parse


@pytest.mark.parametrize(
    ("text", "columns", "accepted", "refused"),
    [
        ("count where age in (37, 55)", ["age"], "37", "38"),
        ("COUNT WHERE age BETWEEN 30 AND 39", ["age"], "39.0", "40"),
        ("where age >= 40 and race = white", ["age", "race"], "40.5", "39"),
        ("'and' = 'x y'", ["and"], "x y", "x"),
        ('"a b"<>30-39', ["a b"], "30", "30-39"),
        ("age != 5", ["age"], "6", "5"),
    ],
)
def test_queries_are_understood(text, columns, accepted, refused):
    found = parse(text)
    assert [condition.column for condition in found] == columns
    assert found[0].accepts(accepted)
    assert not found[0].accepts(refused)


def test_values_asked_for_by_name_are_told_apart():
    assert [condition.named for condition in parse("a = 30-39 and b in (x, 'y z') and c != d")] == [
        {"30-39"},
        {"x", "y z"},
        set(),
    ]


@pytest.mark.parametrize("text", ["", "count", "count where", "COUNT"])
def test_without_conditions_everybody_is_counted_or_the_query_is_unfinished(text):
    if "where" in text:
        with pytest.raises(PolicyError, match="too early"):
            parse(text)
    else:
        assert parse(text) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("age !", "at character 5"),
        ("age = 'open", "at character 7"),
        ("age in 37", "at word 3"),
        ("age in (37", "at word 5"),
        ("age = )", "at word 3"),
        ("age = 1 or b = 2", "at word 4"),
        ("age between 1, 2", "at word 4"),
        ("age " * 2, "expected ="),
        ("age >= old", "needs a number"),
        ("age >= nan", "needs a number"),
        ("age >= 1" + "0" * 400, "needs a number"),
        ("(" * 3_000 + "age = 1" + ")" * 3_000, "at word 1"),
    ],
)
def test_errors_say_where(text, where):
    with pytest.raises(PolicyError, match=where):
        parse(text)
