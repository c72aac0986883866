"""A file is read as it is written: encodings, separators, decimal signs, title rows, cover sheets; nothing has to be
said."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.io.file_contents import encoding_of
from sfumato.io.table_source import TableSource, read_as_suggested
from tests.command_line import run

TEXTS = {
    "windows-1252": [
        "Nachname;Straße\nMüller;Königstraße 5\nJörg Schäfer;Höhe",
        "nom;prénom\nLefèvre;Élodie\nBénoît;Noël\nFrançois;Hervé",
        "nombre;año\nMuñoz;José\nPeña;Íñigo\nIbáñez;Ángela",
        "città;cognome\nForlì;Niccolò\nCefalù;D'Agorà",
        "nome;endereço\nJoão;São Paulo\nConceição;Póvoa",
    ],
    "windows-1250": ["nazwisko;imię\nWiśniewski;Paweł\nWójcik;Łukasz\nKamiński;Michał\nŻółć;Stanisław"],
    "windows-1251": ["имя;фамилия\nИван;Петров\nМария;Сидорова"],
    "shift_jis": ["名前;住所\n山田太郎;東京都\n鈴木花子;大阪府"],
    "gb18030": ["姓名;地址\n王小明;北京市朝阳区\n李华;上海"],
    "utf-16": ["Nachname;Straße\nMüller;Königstraße 5"],
    "utf-8": ["Nachname;Straße\nMüller;Königstraße 5"],
}


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_the_encoding_of_a_file_is_found(encoding: str, text: str, tmp_path: Path) -> None:
    content = text.encode(encoding)
    assert encoding_of(content) == ("" if encoding == "utf-8" else encoding)
    (tmp_path / "a.csv").write_bytes(content)
    rows = TableSource(separator=";").read(tmp_path / "a.csv").frame.to_pylist()
    head, *lines = [line.split(";") for line in text.split("\n")]
    assert rows == [dict(zip(head, line, strict=True)) for line in lines]


def test_a_damaged_utf8_file_is_refused_and_not_read_as_something_else(tmp_path: Path) -> None:
    good = "name;straße\n" + "Müller;Königstraße\n" * 20
    (tmp_path / "a.csv").write_bytes(good.encode() + b"J\xf6rg;x\n")
    with pytest.raises(DataError, match="not UTF-8"):
        TableSource(separator=";").read(tmp_path / "a.csv")


CELLS = st.text(st.sampled_from("abcXYZ äöüßéèñçàó019.-'"), min_size=1, max_size=9).filter(
    lambda text: text.strip() == text
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8), st.sampled_from(",;\t|"), st.integers(0, 3))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1252"])
def test_what_is_written_is_read(
    tmp_path: Path, encoding: str, rows: list[tuple[str, ...]], separator: str, titles: int
) -> None:
    lines = [*["a title"] * titles, separator.join("abc"), *(separator.join(row) for row in rows)]
    (tmp_path / "a.csv").write_bytes("\n".join([*lines, ""]).encode(encoding))
    said: dict[str, Any] = {"separator": separator, "header_row": titles + 1}
    if encoding == "windows-1252":  # of a few letters nobody can tell what they are written in
        said["encoding"] = encoding
    read = TableSource(**said).read(tmp_path / "a.csv").frame.to_pylist()
    assert read == [dict(zip("abc", row, strict=True)) for row in rows]


@given(st.lists(st.decimals(-99_999_999, 99_999_999, places=2), min_size=1, max_size=20))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_with_points_and_a_decimal_comma_are_read_as_numbers(tmp_path: Path, numbers: list[Any]) -> None:
    german = [f"{number:,.2f}".translate(str.maketrans(",.", ".,")) for number in [*numbers, 12_345.5]]
    (tmp_path / "a.csv").write_text("\n".join(["pay;who", *(f"{text};x" for text in german), ""]))
    rows, source, _ = read_as_suggested(tmp_path / "a.csv", {})
    assert [f"{float(value):.2f}" for value in rows.frame.column("pay").to_pylist()] == [
        f"{n:.2f}" for n in [*numbers, 12_345.5]
    ]
    assert source.decimal_comma == source.thousands == ("pay",)


def test_times_and_words_for_missing_values_are_found(tmp_path: Path) -> None:
    lines = ["seen;ward", "01.02.2024 10:30;A", "13.02.2024 09:00;k.A.", "n/a;B", ""]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    rows, source, _ = read_as_suggested(tmp_path / "a.csv", {})
    assert rows.frame.column("seen").to_pylist() == ["2024-02-01 10:30:00", "2024-02-13 09:00:00", None]
    assert rows.frame.column("ward").to_pylist() == ["A", None, "B"]
    assert set(source.missing) == {"n/a", "k.A."}


def workbook(path: Path) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "About"
    book.active.append(["Staff survey 2024"])
    book.active.append(["Author", "HR"])
    sheet = book.create_sheet("Answers")
    sheet.append(["Answers of all departments"])
    sheet.append([])
    sheet.append(["age", "sex", "date", "pay"])
    for place in range(40):
        sheet.append([20 + place % 30, "fm"[place % 2], dt.datetime(2024, 1, 1 + place % 20), 1000.5 + place])
    book.save(path)
    return path


def test_a_workbook_with_a_cover_and_titles_is_read(tmp_path: Path) -> None:
    path = workbook(tmp_path / "s.xlsx")
    rows = TableSource().read(path)
    assert list(rows.names) == ["age", "sex", "date", "pay"]
    assert rows.rows == 40
    assert rows.frame.slice(0, 1).to_pylist() == [{"age": "20", "sex": "f", "date": "2024-01-01", "pay": "1000.5"}]
    assert TableSource().unusual_layout(path) == {"sheet": "Answers", "header_row": 3}
    assert TableSource(sheet="Answers", header_row=3).read(path).rows == 40


def test_errors_about_a_workbook_name_its_sheets(tmp_path: Path) -> None:
    path = workbook(tmp_path / "s.xlsx")
    for said in ({"sheet": "2024"}, {"sheet": "Answers", "header_row": 500}):
        with pytest.raises(DataError) as caught:
            TableSource(**said).read(path)
        assert "'About', 'Answers'" in caught.value.hint
        assert "header_row" in caught.value.hint


def test_errors_name_the_line_of_the_file_below_titles(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("title\n\na,b\n1,2\n1,2,3\n")
    with pytest.raises(DataError) as caught:
        TableSource(header_row=3).read(tmp_path / "a.csv")
    assert caught.value.where.endswith("a.csv:5")


def test_a_release_is_verified_with_an_original_of_another_encoding(tmp_path: Path) -> None:
    lines = [
        "name;age;straße",
        *(f"Müller{n};{20 + n % 7};{'Königstraße' if n % 2 else 'Höhe'}" for n in range(60)),
        "",
    ]
    (tmp_path / "a.csv").write_bytes("\n".join(lines).encode("cp1252"))
    (tmp_path / "p.yaml").write_text(
        "version: 1\ndata: a.csv\ncolumns: {name: identifier, age: quasi-identifier, straße: quasi-identifier}\n"
        "protect: [k-anonymity: {k: 3}]\nmethod: mondrian\n",
        encoding="utf-8",
    )
    sf.publish(sf.Policy.read(tmp_path / "p.yaml")).write(tmp_path / "out")
    assert sf.verify(tmp_path / "out", original=tmp_path / "a.csv").complete
    done = run(
        "verify", str(tmp_path / "out"), "--original", str(tmp_path / "a.csv"), "--read", "encoding=windows-1252"
    )
    assert done.returncode == 0, done.stderr
    done = run(
        "measure", str(tmp_path / "out"), "--original", str(tmp_path / "a.csv"), "--read", "encoding=windows-1252"
    )
    assert done.returncode == 0, done.stderr
