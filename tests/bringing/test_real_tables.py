"""Tables as people have them: settings of reading, other programs' files, types that come back, headers, baskets as
lists."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.io.basket_source import BasketSource
from sfumato.io.graph_source import parse_edges
from sfumato.io.table_source import TableSource, suggested
from sfumato.workflow.discover.discover import discover
from tests.command_line import run

GERMAN = (
    "name;pay;debt;born;note\nAnn;1,5;1.234,5;31.12.1999;'a;b'\nBéa;2,25;2.000;01.02.2000;NA\nCem;NA;12;03.04.2001;x\n"
)
READ = {
    "separator": ";",
    "encoding": "windows-1252",
    "missing": ["NA"],
    "decimal_comma": ["pay", "debt"],
    "thousands": ["debt"],
    "date_format": {"born": "%d.%m.%Y"},
    "quote": "'",
}


def test_a_file_is_read_as_the_policy_says(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(GERMAN.encode("windows-1252"))
    policy = sf.Policy.parse({"version": 1, "data": {"kind": "table", "source": "d.csv", **READ}}, base=tmp_path)
    assert policy.data.read().frame.to_pydict() == {
        "name": ["Ann", "Béa", "Cem"],
        "pay": ["1.5", "2.25", None],
        "debt": ["1234.5", "2000", "12"],
        "born": ["1999-12-31", "2000-02-01", "2001-04-03"],
        "note": ["a;b", None, "x"],
    }


def test_the_command_line_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(GERMAN.replace("'a;b'", "a").encode("windows-1252"))
    given = ["--read", "encoding=windows-1252", "--read", "missing=NA", "--read", "date_format=born:%d.%m.%Y"]
    done = run("risk", str(tmp_path / "d.csv"), "--qi", "born", *given, "--json")
    assert done.returncode == 0, done.stderr
    assert '"shape": "dates"' in done.stdout
    assert (
        '"shape": "dates"' in run("risk", str(tmp_path / "d.csv"), "--qi", "born", "--json").stdout
    )  # found without a word
    assert "KEY=VALUE" in run("risk", str(tmp_path / "d.csv"), "--read", "missing").stderr


def test_commands_with_a_policy_are_told_how_to_read_too(tmp_path: Path) -> None:
    rows = "".join(f"{age};{'fm'[age % 2]};{'n/a' if age % 5 else 'flu'}\n" for age in range(20, 50))
    (tmp_path / "d.csv").write_text("age;sex;illness\n" + rows)
    columns = "columns: {age: quasi-identifier, sex: quasi-identifier, illness: sensitive}"
    policy = tmp_path / "p.yaml"
    policy.write_text(
        f"version: 1\ndata: d.csv\n{columns}\nprotect: [{{k-anonymity: {{k: 3}}}}]\nmethod: {{mondrian: {{}}}}\n"
    )
    given = ["--read", "separator=;", "--read", "missing=n/a"]
    assert run("publish", str(policy), "--out", str(tmp_path / "no"), "--read", "separator=|").returncode == 3
    done = run("publish", str(policy), "--out", str(tmp_path / "out"), "--no-report", *given)
    assert done.returncode == 0, done.stderr
    assert "n/a" not in (tmp_path / "out" / "data.csv").read_text()
    assert run("verify", str(tmp_path / "out"), "--original", str(tmp_path / "d.csv")).returncode == 0
    for command in (["check", str(policy)], ["explore", str(policy), "--level", "k=2,3", "--method", "mondrian"]):
        done = run(*command, *given)
        assert done.returncode == 0, done.stderr
    assert "unknown key 'seperator'" in run("check", str(policy), "--read", "seperator=;").stderr


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"encoding": "no-such"}, "no encoding 'no-such'"),
        ({"encoding": "utf-8"}, "not written in utf-8"),
        ({"encoding": "rot13"}, "d.csv"),
        ({}, "a row has 6 values where the header names 5"),
        ({"encoding": "windows-1252", "quote": "'", "date_format": {"born": "%Y"}}, "row 1 of column 'born' is no day"),
        ({"encoding": "windows-1252", "quote": "'", "thousands": ["dept"]}, "did you mean 'debt'?"),
    ],
)
def test_settings_that_do_not_fit(tmp_path: Path, setting: dict[str, object], says: str) -> None:
    (tmp_path / "d.csv").write_bytes(GERMAN.encode("windows-1252"))
    with pytest.raises(DataError) as refused:
        TableSource(source="d.csv", base=tmp_path, **setting).read()  # type: ignore[arg-type]
    assert says in str(refused.value)
    assert "Béa" not in str(refused.value)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["1", "2", "NA"], {"missing": ["NA"]}),
        (["a", "b", "NA"], {}),
        (["a", "b", "?"], {"missing": ["?"]}),
        (["1,5", "2"], {"decimal_comma": ["x"]}),
        (["1,234,567", "1"], {"thousands": ["x"]}),
        (["1,234.5", "2"], {"thousands": ["x"]}),
        (["1,234", "5"], {}),
        (["31/12/2024", "01/02/2024"], {"date_format": {"x": "%d/%m/%Y"}}),
        (["12/31/2024", "01/02/2024"], {"date_format": {"x": "%m/%d/%Y"}}),
        (["01/02/2024"], {}),
        (["01.02.2024"], {"date_format": {"x": "%d.%m.%Y"}}),
        (["2024-02-01"], {}),
        (["Rome, Italy"], {}),
    ],
)
def test_what_can_be_read_in_one_way_only_is_found(values: list[str], found: dict[str, object]) -> None:
    assert suggested(pa.table({"x": values})).keys() == found


def test_what_can_be_read_in_two_ways_is_asked() -> None:
    told = suggested(pa.table({"x": ["1,234"], "d": ["01/02/2024"]})).doubts
    assert len(told) == 2
    assert any("thousands" in each for each in told)


def test_discovery_finds_says_and_uses_the_settings(tmp_path: Path) -> None:
    rows = "".join(f"{20 + n % 50};{n % 7},5;{n % 27 + 1:02}.03.20{n % 20:02};{'abc'[n % 3]}\n" for n in range(300))
    (tmp_path / "d.csv").write_text("age;pay;admission;illness\nNA;1,5;31.01.2020;a\n" + rows)
    found = discover(str(tmp_path / "d.csv"))
    assert found.policy["data"]["missing"] == ["NA"]
    assert found.policy["data"]["decimal_comma"] == ["pay"]
    assert found.policy["columns"]["admission"]["hierarchy"]["dates"]
    assert any("decimal comma" in reason for reason in found.reasons)
    drafted = run("discover", "d.csv", cwd=tmp_path)
    (tmp_path / "p.yaml").write_text(drafted.stdout)
    done = run("publish", "p.yaml", "--out", "out", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run("verify", "out", "--original", "d.csv", cwd=tmp_path).returncode == 0


def test_an_unnamed_first_column_numbers_the_rows(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(",age\n0,30\n1,31\n")
    table = TableSource().read(tmp_path / "d.csv")
    assert table.names == ["row", "age"]
    (tmp_path / "e.csv").write_text("age,\n30,0\n")
    with pytest.raises(DataError, match="no name"):
        TableSource().read(tmp_path / "e.csv")


def test_a_workbook(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["age", "born", "pay", "ok"])
    book.active.append([30, dt.datetime(1990, 1, 2), 2.5, True])
    book.active.append([31, None, 3, False])
    book.create_sheet("second").append(["a"])
    book.save(tmp_path / "d.xlsx")
    table = TableSource(source="d.xlsx", base=tmp_path).read()
    assert table.frame.to_pydict() == {
        "age": ["30", "31"],
        "born": ["1990-01-02", None],
        "pay": ["2.5", "3"],
        "ok": ["true", "false"],
    }
    with pytest.raises(DataError, match="no rows"):
        TableSource(source="d.xlsx", base=tmp_path, sheet="second").read()
    with pytest.raises(DataError, match="its sheets are 'Sheet', 'second'"):
        TableSource(source="d.xlsx", base=tmp_path, sheet="third").read()
    (tmp_path / "e.xlsx").write_bytes(b"no workbook")
    with pytest.raises(DataError, match="no readable workbook"):
        TableSource(source="e.xlsx", base=tmp_path).read()


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_statistics_programs_with_labelled_values(tmp_path: Path, ending: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"sex": [1, 2, 1], "age": [30.0, 41.5, None]})
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[ending]
    write(frame, str(tmp_path / f"d.{ending}"), variable_value_labels={"sex": {1: "female", 2: "male"}})
    table = TableSource(source=f"d.{ending}", base=tmp_path).read()
    assert table.frame.to_pydict() == {"sex": ["female", "male", "female"], "age": ["30", "41.5", None]}
    (tmp_path / f"e.{ending}").write_bytes(b"nothing of that kind")
    with pytest.raises(DataError, match="cannot be read"):
        TableSource(source=f"e.{ending}", base=tmp_path).read()


def test_transport_files_of_sas(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"sex": ["f", "m", "f"], "age": [30.0, 41.5, None], "born": [dt.date(1990, 1, 31)] * 3})
    pyreadstat.write_xport(frame, str(tmp_path / "d.xpt"), file_format_version=8)
    table = TableSource(source="d.xpt", base=tmp_path).read()
    assert table.frame.to_pydict() == {"sex": ["f", "m", "f"], "age": ["30", "41.5", None], "born": ["1990-01-31"] * 3}
    for ending in ("xpt", "sas7bdat"):
        (tmp_path / f"e.{ending}").write_bytes(b"nothing of that kind")
        with pytest.raises(DataError, match="cannot be read"):
            TableSource(source=f"e.{ending}", base=tmp_path).read()


def test_types_come_back_as_they_went_in() -> None:
    frame = pd.DataFrame(
        {
            "age": range(20, 80),
            "group": pd.Categorical(["low", "high", "mid"] * 20, categories=["low", "mid", "high"], ordered=True),
            "visits": pd.array([1, None, 3] * 20, dtype="Int64"),
            "ok": pd.array([True, None, False] * 20, dtype="boolean"),
            "day": pd.to_datetime(["2024-01-31"] * 60),
        }
    )
    safe = sf.k_anonymize(frame, k=4, qi=["age"], method="mondrian")
    assert {name: safe[name].dtype for name in frame.columns[1:]} == {
        name: frame[name].dtype for name in frame.columns[1:]
    }
    assert sorted(safe["visits"].dropna()) == sorted(frame["visits"].dropna())
    assert list(safe["group"].cat.categories) == ["low", "mid", "high"]
    policy = sf.Policy.table(frame).quasi("age").other(*frame.columns[1:]).protect(sf.k_anonymity(4)).method("mondrian")
    again = sf.publish(policy).release.parts["data"].to_pandas()
    assert dict(again.dtypes[1:]) == dict(frame.dtypes[1:])
    indexed = frame[["age"]].set_axis([f"r{n}" for n in range(60)])
    assert list(sf.Anonymizer(k=4, qi=["age"]).fit_transform(indexed).index) == list(indexed.index)


def test_edge_lists_with_any_two_names() -> None:
    assert len(parse_edges(b"follower,followed\n1,2\n2,3\n", "g.csv").labels) == 3
    assert len(parse_edges(b"ann,bob\nbob,cem\n", "g.csv").labels) == 3
    assert len(parse_edges(b"ann,bob\n1,2\n", "g.csv").labels) == 2


def test_baskets_as_lists_and_as_words() -> None:
    for data in ([["bread", "milk"], ["beer"], {"milk"}], ["bread milk", "beer", "milk"]):
        found = BasketSource().read(data)
        assert sorted(found.names) == ["beer", "bread", "milk"]
        assert len(found) == 3
    with pytest.raises(DataError, match="list of items"):
        BasketSource().read([1, 2])
    assert BasketSource().read([["two words"]]).names == ("two words",)


def test_baskets_as_long_tables_and_words_without_a_word_about_it(tmp_path: Path) -> None:
    rows = "".join(f"{person},{item}\n" for person in range(12) for item in ("bread", "milk", "beer")[person % 3 :])
    (tmp_path / "long.csv").write_text("id,item\n" + rows)
    (tmp_path / "words.csv").write_text("bought\n" + "bread milk\nbeer\nmilk beer\n")
    long = BasketSource(source="long.csv", base=tmp_path).read()
    assert (len(long), sorted(long.names)) == (12, ["beer", "bread", "milk"])
    assert len(BasketSource(source="words.csv", base=tmp_path).read()) == 3
    tree = {"version": 1, "data": {"kind": "baskets", "source": "long.csv"}, "protect": [{"k-anonymity": {"k": 2}}]}
    made = sf.publish(sf.Policy.parse(tree, base=tmp_path))
    assert "id" not in made.release.parts["data"].table.column_names
    (tmp_path / "odd.csv").write_text("name,what\na,bread\nb,milk\n")
    with pytest.raises(DataError, match="'record:'"):
        BasketSource(source="odd.csv", base=tmp_path).read()
