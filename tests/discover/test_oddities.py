"""What is odd about a table is counted, and what would mend it is a setting that mends it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato.data.table import Table
from sfumato.io.table_source import TableSource
from sfumato.workflow.discover.data_quality import find_oddities


def said(**columns: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for oddity in find_oddities(Table(pa.table(columns))):
        found.setdefault(oddity.column, []).append(oddity.what)
    return found


def test_an_ordinary_table_is_not_odd() -> None:
    assert said(age=["30", "41", "52"], town=["Ulm", "Bonn", "Kiel"]) == {}


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["a", "a", "a"], "says the same in every record"),
        (["", "", ""], "is empty"),
        (["", "", "b", "c", ""], "is empty in 3 records"),
        ([" a", "b ", "c"], "2 records have blanks around their values"),
        (["Ulm", "ulm", "x"], "2 values differ only in capitals or blanks"),
        ([str(number) for number in range(40)] + ["ten"], "1 record has a text among numbers"),
        (["=1+1", "x", "y"], "1 record has a text that a spreadsheet would run"),
        (["a\ufffd", "x", "y"], "1 record has signs that could not be read: set the encoding"),
        (["z" * 1001, "x", "y"], "1 record has a text of more than 1,000 signs"),
    ],
)
def test_columns(values: list[str], what: str) -> None:
    assert what in said(it=values, other=[f"v{number}" for number in range(len(values))])["it"]


def test_rows_and_columns_that_stand_twice() -> None:
    found = said(a=["1", "2", "2"], b=["1", "2", "2"], c=["x", "y", "y"])
    assert found["b"] == ["says the same as 'a' in every record"]
    assert found[""] == ["1 record stands in the file already: every column is the same"]


def test_a_wrong_separator() -> None:
    assert said(**{"a;b": ["1;2", "3;4"]})[""] == [
        "there is one column, and its name holds separators: set the right one"
    ]


def test_every_setting_mends_what_it_was_offered_for() -> None:
    columns = {
        "pay": ["1,5", "2,5", "NA"],
        "rent": ["1,500.5", "2,000.1", "7.5"],
        "born": ["31.12.1999", "01.02.2000", "05.06.2001"],
    }
    found = [oddity for oddity in find_oddities(Table(pa.table(columns))) if oddity.setting]
    settings: dict[str, object] = {}
    for oddity in found:
        settings |= oddity.setting
    again = find_oddities(TableSource(**settings).read(pa.table(columns)))
    assert {key for oddity in found for key in oddity.setting} == {
        "missing",
        "decimal_comma",
        "thousands",
        "date_format",
    }
    assert [oddity for oddity in again if oddity.setting] == []
