"""The threat model names tests that exist and that try what the row says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "security.md"
TRIED = {
    "a reader of the release": ("test_soundness.py", "brute"),
    "a reader of several releases": ("test_histories.py", "worlds"),
    "somebody who repeats the run": ("test_seeds.py", "seed"),
    "somebody who compares folders": ("test_equal_folders.py", "original"),
    "a forger without the key": ("test_signatures.py", "forge"),
    "a forger of the ledger": ("test_ledgers.py", "head"),
    "the sender of a file": ("test_bombs.py", "unpack"),
    "the sender of a policy": ("test_own_code.py", "SFUMATO_PLUGINS"),
    "a web page in your browser": ("test_guard.py", "origin"),
    "a neighbour on the machine": ("test_leftovers.py", "neighbour"),
    "somebody who ends the program": ("test_leftovers.py", "killed"),
    "the cluster's operator": ("test_real_processes.py", "log"),
}
"""For every row a test file that it names, and a word of what is tried there."""


def rows() -> dict[str, list[str]]:
    """Who, and the other four cells."""
    table = PAGE.read_text(encoding="utf-8").partition("## Threat model")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    assert cells[0] == ["who", "what they can do", "what is promised", "what is not", "shown by"]
    return {first: others for first, *others in cells[2:]}


def test_every_row_is_complete_and_tried() -> None:
    found = rows()
    assert set(found) == set(TRIED)
    for who, cells in found.items():
        assert len(cells) == 4 and all(cells), who


@pytest.mark.parametrize("who", TRIED)
def test_the_tests_of_a_row_exist_and_try_it(who: str) -> None:
    named = [ROOT / name for name in re.findall(r"`(tests/[^`]+)`", rows()[who][-1])]
    assert named
    for file in named:
        assert file.is_file() and re.search(r"^def test_", file.read_text(encoding="utf-8"), re.MULTILINE), file
    wanted, word = TRIED[who]
    (file,) = [file for file in named if file.name == wanted]
    assert word.lower() in file.read_text(encoding="utf-8").lower()


def test_every_test_that_a_page_of_explanations_names_exists() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for name in re.findall(r"`(tests/[\w/.-]+)`", page.read_text(encoding="utf-8")):
            assert (ROOT / name.partition("::")[0]).exists(), (page.name, name)
