"""What a number is, in one place; and what happens to everything that only looks like one."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.generalization import Ranges
from sfumato.data.table import Table, as_number
from sfumato.data.text_values import DIGITS, parse_integer, parse_interval, parse_number
from sfumato.io.hierarchy_files import build_generalization, by_intervals
from sfumato.policy import value_domains

NUMBERS = ["3", "+3", "-3", ".5", "5.", "0.50", "1e3", "1E-3", "007", "-0", "1" * DIGITS, "0." + "1" * DIGITS]
NO_NUMBERS = [
    " 7", "7 ", "1_0", "nan", "NaN", "inf", "-inf", "Infinity", "1e400", "1e1000000", "-1e999999999",
    "1" * (DIGITS + 1),
    "NA", "n/a", "1,5", "1.234,5", "", ".", "-", "e5", "0x10", "٣", "1/3", "--1", "1e", "1.2.3", "9" * 5000, "1\n",
    "\u00a07",
]  # fmt: skip


@pytest.mark.parametrize("text", [*NUMBERS, *NO_NUMBERS])
def test_a_column_of_numbers_reads_what_a_number_is(text: str) -> None:
    if text in NO_NUMBERS:
        with pytest.raises(DataError):
            as_number(text, "age")
    else:
        assert as_number(text, "age") == float(Decimal(text))


def policy(hierarchy: Any, **data: Any) -> sf.Policy:
    return sf.Policy.parse(
        {
            "version": 1,
            "data": {"kind": "table", **data},
            "columns": {"age": {"role": "quasi-identifier", "hierarchy": hierarchy}, "illness": "sensitive"},
            "protect": [{"k-anonymity": {"k": 2}}],
            "method": {"mondrian": {}},
        }
    )


def test_what_is_a_number_and_what_is_not() -> None:
    assert [text for text in NUMBERS if parse_number(text) is None] == []
    assert [text for text in NO_NUMBERS if parse_number(text) is not None] == []
    assert (parse_integer("+3"), parse_integer("3.0"), parse_integer("1e3"), parse_integer("9" * 5000)) == (
        3,
        None,
        None,
        None,
    )


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("0123456789+-.eE_ ,naif\n"), max_size=14))
def test_a_number_is_what_python_agrees_is_finite(text: str) -> None:
    value = parse_number(text)
    if value is not None:
        assert Decimal(text) == value
        assert abs(value) < 10**DIGITS
        assert float(text) == float(value)


@pytest.mark.parametrize("rule", ["ranges", {"intervals": ["0.5", 10]}, {"intervals": [10, 100]}])
@pytest.mark.parametrize("odd", NUMBERS)
def test_every_spelling_of_a_number_is_published_and_verified(tmp_path: Path, rule: Any, odd: str) -> None:
    data = {"age": [odd, "4", "8", "4", "8", odd], "illness": list("ababab")}
    sf.publish(policy(rule), data=data).write(tmp_path / "out", report=False)
    assert sf.verify(tmp_path / "out", original=data).holds


@pytest.mark.parametrize("rule", ["ranges", {"intervals": [10, 100]}])
@pytest.mark.parametrize("odd", [text for text in NO_NUMBERS if text and "\n" not in text])
def test_what_is_no_number_is_a_data_error_with_its_row(rule: Any, odd: str) -> None:
    started = time.process_time()
    with pytest.raises(DataError, match="row 3 of column 'age' is no number") as caught:
        sf.publish(policy(rule), data={"age": ["4", "4", odd, "8", odd, "8"], "illness": list("ababab")})
    assert time.process_time() - started < 5
    assert caught.value.hint
    assert len(odd.strip()) < 3 or odd.strip() not in str(caught.value).replace("[NA]", "")


@pytest.mark.parametrize("odd", [*NUMBERS, *(text for text in NO_NUMBERS if text.strip() and "\n" not in text)])
def test_codes_are_text_whatever_they_look_like(tmp_path: Path, odd: str) -> None:
    data = {"age": [odd, "412", "418", "412", "418", odd], "illness": list("ababab")}
    sf.publish(policy({"prefix": 3}), data=data).write(tmp_path / "out", report=False)
    assert sf.verify(tmp_path / "out", original=data).holds


def test_the_setting_for_missing_values(tmp_path: Path) -> None:
    data = {"age": ["4", "NA", "8", "n/a", "4", "8"], "illness": list("ababab")}
    rule = {"intervals": [10]}
    with pytest.raises(DataError, match=r"row 2 .* 'missing: \[NA\]' under data"):
        sf.publish(policy(rule), data=data)
    publication = sf.publish(policy(rule, missing=["NA", "n/a"]), data=data)
    publication.write(tmp_path / "out", report=False)
    assert set(publication.release.parts["data"]["age"].to_pylist()) <= {"0-9", "4", "8", "", "*", None}
    assert sf.verify(tmp_path / "out", original=data).holds


def test_the_setting_for_decimal_commas(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age;illness\n1,5;a\n1,5;b\n20;a\n20;b\n")
    with pytest.raises(DataError, match=r"row 1 .* 'decimal_comma: \[age\]' under data"):
        sf.publish(policy("ranges"), data=tmp_path / "people.csv")
    settled = policy("ranges", decimal_comma=["age"])
    publication = sf.publish(settled, data=tmp_path / "people.csv")
    assert set(publication.release.parts["data"]["age"].to_pylist()) == {"1.5", "20"}
    publication.write(tmp_path / "out", report=False)
    assert sf.verify(tmp_path / "out", original=tmp_path / "people.csv").holds
    with pytest.raises(DataError, match="no column 'agee'"):
        sf.publish(policy("ranges", decimal_comma=["agee"]), data=tmp_path / "people.csv")


def test_missing_values_have_no_place_in_a_range() -> None:
    with pytest.raises(DataError, match="row 2 of column 'age' is missing"):
        sf.publish(policy("ranges"), data={"age": ["4", None, "4", "8"], "illness": list("abab")})


# ---- labels ----------------------------------------------------------------------------------------------------------

spelt = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.integers(-(10**35), 10**35).map(str),
    st.decimals(-1000, 1000, places=3, allow_nan=False).map(str),
    st.sampled_from([text for text in NUMBERS if len(text) < 10]),
    st.builds("{}e{}".format, st.integers(-99, 99), st.integers(-8, 8)),
)
leaves = st.lists(spelt, min_size=1, max_size=12, unique=True)


@settings(max_examples=300, deadline=None)
@given(leaves)
def test_every_label_of_a_range_is_read_back_as_its_leaves(values: list[str]) -> None:
    domain = Ranges.of(values, column="x")
    for lo in range(domain.size):
        for hi in range(lo + 1, domain.size + 1):
            assert domain.interval(domain.label(lo, hi)) == (lo, hi)


@settings(max_examples=300, deadline=None)
@given(
    leaves, st.sampled_from([["10"], ["5", "10"], ["0.5", "2"], ["1e1", "1e2"], ["0.001", "1"], ["7", "21", "10500"]])
)
def test_every_label_of_an_interval_is_read_back_around_its_leaves(values: list[str], widths: list[str]) -> None:
    tree = by_intervals(values, [Decimal(width) for width in widths], column="x")
    assert sorted(tree.leaves) == sorted(values)
    for leaf, *bins, root in tree.paths():
        assert root == "*"
        value = Fraction(parse_number(leaf))
        for label in bins:
            found = parse_interval(label)
            assert found is not None, label
            low, high, closed = Fraction(found[0]), Fraction(found[1]), found[2]
            assert low <= value <= high if closed else low <= value < high
            assert "e" not in label.lower()
            assert (high - low + closed) in [Fraction(width) for width in widths]


@pytest.mark.parametrize(
    "label", ["1-", "-", "a-b", "[1, 2]", "1–2", "1-2-3", "[1,2)", "1" * 5000, "-".join("1" * 5000)]
)
def test_other_labels_are_no_intervals(label: str) -> None:
    assert parse_interval(label) is None
    assert Ranges(("1", "2")).interval(label) is None


def test_mixed_spellings_of_one_number(tmp_path: Path) -> None:
    data = {"age": ["1", "1.0", "01", "1", "2", "2.0", "1.0", "2"], "illness": list("abababab")}
    for rule in ("ranges", {"intervals": [10]}, "flat", {"prefix": 3}, None):
        sf.publish(policy(rule), data=data).write(tmp_path / str(rule), report=False)
        assert sf.verify(tmp_path / str(rule), original=data).holds


@pytest.mark.parametrize("rule", ["ranges", {"intervals": [10]}, {"prefix": 3}, "flat", {"dates": ["year"]}])
@pytest.mark.parametrize("column", [["2020-01-01"] * 4, ["7"] * 4, [None] * 4, [None, None, "7", "7"]])
def test_columns_with_one_value_or_none(tmp_path: Path, rule: Any, column: list) -> None:
    data = {"age": column, "illness": list("abab")}
    possible = (
        (rule != "ranges" or column == ["7"] * 4)
        and (rule != {"intervals": [10]} or "2020-01-01" not in column)
        and (rule != {"dates": ["year"]} or "7" not in column)
    )
    if not possible:
        with pytest.raises(DataError, match=r"row [13] of column 'age'"):
            sf.publish(policy(rule), data=data)
        return
    sf.publish(policy(rule), data=data).write(tmp_path / "out", report=False)
    assert sf.verify(tmp_path / "out", original=data).holds


def test_a_star_in_the_data_is_not_a_suppressed_value() -> None:
    for rule in (None, "flat", {"prefix": 3}):
        with pytest.raises(DataError, match=r"row 2 of column 'age' holds '\*'"):
            sf.publish(policy(rule), data={"age": ["a", "*", "a", "b"], "illness": list("abab")})


# ---- domains ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [{"integers": [0, 10]}, {"decimals": [0, 10], "places": 2}])
def test_domains_hold_numbers_only(declared: dict) -> None:
    domain = value_domains.read(declared)
    assert not domain.contains(NO_NUMBERS).any()
    assert domain.contains(["3", "+3", "007"]).all()


@pytest.mark.parametrize(
    "declared",
    [
        {"integers": ["0", "1e1000000"]},
        {"integers": ["0", "9" * 5000]},
        {"decimals": ["nan", "1"]},
        {"decimals": [0, 1], "places": "x"},
        {"decimals": [0, 1], "places": "99999999"},
        {"pattern": "a*", "longest": "1e9"},
        {"pattern": "a*", "longest": "ten"},
    ],
)
def test_a_domain_with_other_bounds_is_a_policy_error(declared: dict) -> None:
    with pytest.raises(PolicyError):
        value_domains.read(declared)


def test_metrics_and_rules_read_the_same_numbers() -> None:
    import pyarrow as pa

    table = Table(pa.table({"x": ["1", ".5", "2020-01-02"], "y": ["1", "nan", "2"]}))
    assert table.numbers("x").tolist()[:2] == [1.0, 0.5]
    with pytest.raises(DataError, match="row 2 of column 'y' is no number"):
        table.numbers("y")


# ---- what a policy says about a hierarchy ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hierarchy", "boundary", "expected"),
    [
        ("{intervals: [0]}", "", "widths above zero"),
        ("{intervals: [-5]}", "", "widths above zero"),
        ("{intervals: [5, 0]}", "", "widths above zero"),
        ("{intervals: [nan]}", "", "widths above zero"),
        ("{intervals: [1e1000000]}", "", "widths above zero"),
        ("{intervals: []}", "", "takes a list"),
        ("{intervals: 10}", "", "takes a list"),
        ("{intervals: }", "", "takes a list"),
        ("{intervals: [5, 12]}", "", "12 is no multiple of 5"),
        ("{interval: [5, 10]}", "", "did you mean 'intervals'?"),
        ("{Intervals: [5, 10]}", "", "did you mean 'intervals'?"),
        ("{prefixes: 3}", "", "did you mean 'prefix'?"),
        ("{date: [month]}", "", "did you mean 'dates'?"),
        ("{file: age.csv}", "", "unknown rule 'file'"),
        ("{levels: 3}", "", "unknown rule 'levels'"),
        ("{intervals: [5], prefix: 2}", "", "names 2 rules"),
        ("{interval: [5], root: x}", "", "did you mean 'intervals'?"),
        ("{}", "", "names 0 rules"),
        ("[a, b]", "", "is not understood"),
        ("{prefix: 0}", "", "whole number of characters"),
        ("{prefix: 2.5}", "", "whole number of characters"),
        ("{prefix: five}", "", "whole number of characters"),
        ("{prefix: 1e1000000}", "", "whole number of characters"),
        ("{prefix: 1000000}", "", "from 1 to 100"),
        ("{dates: month}", "", "takes a list"),
        ("{dates: [months]}", "", "did you mean 'month'?"),
        ("{World: {Europe: [a], Asia: [a]}}", "", "two parents"),
        ("{World: [a, ]}", "", ""),
        ("{World: [a, null]}", "", "without a name"),
        ("{intervals: [5, 10]}", "{levl: 2}", "did you mean 'level'?"),
        ("{intervals: [5, 10]}", "{level: -1}", "at least 0"),
        ("{intervals: [5, 10]}", "{}", "at least 0"),
        ("{intervals: [5, 10]}", "{level: two}", "level 'two'"),
        ("ranges", "{level: 1}", "no hierarchy"),
    ],
)
def test_a_misspelt_hierarchy_is_found_before_any_row_is_read(
    tmp_path: Path, hierarchy: str, boundary: str, expected: str
) -> None:
    entry = f"{{role: quasi-identifier, hierarchy: {hierarchy}" + (f", boundary: {boundary}}}" if boundary else "}")
    (tmp_path / "policy.yaml").write_text(
        f"version: 1\ncolumns:\n  age: {entry}\n  illness: sensitive\nprotect: [{{k-anonymity: {{k: 2}}}}]\n"
    )
    if not expected:
        assert sf.Policy.read(tmp_path / "policy.yaml").columns["age"].hierarchy
        return
    with pytest.raises(PolicyError) as caught:
        sf.Policy.read(tmp_path / "policy.yaml")
    assert expected in str(caught.value)
    assert "policy.yaml:3" in caught.value.where
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("level", [4, 9, 10**9])
def test_a_level_above_the_root_is_a_policy_error(level: int) -> None:
    rule = {"intervals": [5, 10]}
    bounded = sf.Policy.parse(
        {
            "version": 1,
            "columns": {
                "age": {"role": "quasi-identifier", "hierarchy": rule, "boundary": {"level": level}},
                "illness": "sensitive",
            },
            "protect": [{"k-anonymity": {"k": 2}}],
        }
    )
    with pytest.raises(PolicyError, match=rf"no level {level} .*0 \(values\) to 3 \(root\)"):
        sf.publish(bounded, data={"age": ["1", "2", "3", "4"], "illness": list("abab")})


trees = st.recursive(
    st.one_of(st.none(), st.text("ab*0", max_size=3), st.integers(-2, 9), st.floats(), st.booleans()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abxilevprdsn", max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        trees, st.dictionaries(st.sampled_from(["intervals", "prefix", "dates", "file"]), trees, min_size=1, max_size=2)
    )
)
def test_any_hierarchy_is_understood_or_a_policy_error(spec: Any) -> None:
    """The class: whatever stands there, it is a domain, a policy error, or (for files) not found; never anything
    else."""
    try:
        read = policy(spec)
        build_generalization(read.columns["age"].hierarchy, ["1", "2", ""], column="age", base=Path("/nonexistent"))
    except (PolicyError, DataError) as error:
        assert "\n" not in str(error)
