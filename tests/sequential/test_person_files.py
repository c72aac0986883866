"""Files of people beside a ledger: an entry names files of its own folder only, and what no entry names is removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfumato.history.ledger.person_files import match_entry, person_files_folder, person_files_of_entry, remove_strays

GOOD, FILE = "00001-0123456789abcdef", "part-00000.parquet"


def test_an_entry_names_the_files_of_its_folder(tmp_path: Path) -> None:
    book = tmp_path / "book"
    found = person_files_of_entry(book, {"folder": GOOD, "files": {FILE: "0" * 64}})
    assert found == [person_files_folder(book) / GOOD / FILE]


@pytest.mark.parametrize(
    "said",
    [
        {"folder": "../elsewhere", "files": {FILE: ""}},
        {"folder": "/etc", "files": {FILE: ""}},
        {"folder": GOOD, "files": {"../../secret": ""}},
        {"folder": GOOD, "files": {FILE: "", "passwd": ""}},
        {"folder": 7, "files": {FILE: ""}},
        {"folder": GOOD, "files": {}},
        {"files": {FILE: ""}},
        [GOOD],
    ],
)
def test_an_entry_that_names_anything_else_is_not_followed(tmp_path: Path, said: Any) -> None:
    assert person_files_of_entry(tmp_path / "book", said) is None
    assert not match_entry(tmp_path / "book", said)


def test_an_entry_outside_keeps_no_stray_folder(tmp_path: Path) -> None:
    """What an entry names elsewhere does not count as needed."""
    book = tmp_path / "book"
    stray = person_files_folder(book) / GOOD
    stray.mkdir(parents=True)
    (stray / FILE).write_bytes(b"x")
    remove_strays(book, [{"folder": f"../{person_files_folder(book).name}/{GOOD}", "files": {FILE: ""}}], 1)
    assert not stray.exists()
