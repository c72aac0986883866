"""Bins between chosen points, and hierarchies of Amnesia: compared with the definition; what is wrong has a place."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.text_values import parse_interval, parse_number
from sfumato.io.hierarchy_files import (
    by_cuts,
    cut_levels,
    cuts_of_amnesia,
    is_amnesia,
    load_hierarchy,
    rows_of_amnesia,
    save_hierarchy,
)


@pytest.mark.parametrize(
    ("points", "values"),
    [
        ([["0", "18", "30", "65", "120"], ["0", "30", "120"]], [str(age) for age in range(120)]),
        ([["-10", "-0.5", "0.25", "9.75"]], ["-10", "-0.5", "-0.49", "0", "0.25", "9.749"]),
    ],
)
def test_every_bin_is_what_it_says(points: list[list[str]], values: list[str]) -> None:
    """A leaf stands in the one bin whose ends are around it, on every level, and the label reads back as these ends."""
    tree = by_cuts(values, cut_levels(points, "x"), column="x")
    for leaf, *above in (path[:-1] for path in tree.paths()):
        seen = parse_number(leaf)
        wanted = [
            next((a, b) for a, b in pairwise(level) if parse_number(a) <= seen < parse_number(b)) for level in points
        ]
        ends = [(low, high + closed) for low, high, closed in map(parse_interval, above)]
        assert ends == [(parse_number(a), parse_number(b)) for a, b in wanted]


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["5"],
        "5",
        ["5", "x"],
        ["5", "5"],
        ["9", "5"],
        [["0", "5", "9"], ["0", "4", "9"]],
        [["0", "9"], ["0", "5"]],
        [["0"]],
    ],
)
def test_points_that_make_no_bins(wrong: object) -> None:
    with pytest.raises(PolicyError, match="cuts of column 'age'"):
        cut_levels(wrong, "age")


def test_a_value_outside_is_named_by_its_row() -> None:
    policy = {
        "version": 1,
        "columns": {"age": {"role": "quasi-identifier", "hierarchy": sf.cuts(0, 18, 65)}},
        "protect": [{"k-anonymity": {"k": 2}}],
        "method": {"mondrian": {}},
    }
    with pytest.raises(DataError, match="row 3 of column 'age' lies outside its cuts") as raised:
        sf.publish(policy, {"age": ["3", "17", "80", "20"]})
    assert "80" not in str(raised.value)


def test_a_release_with_cuts_is_verified_and_measured_by_everybody(tmp_path: Path) -> None:
    policy = {
        "version": 1,
        "columns": {"age": {"role": "quasi-identifier", "hierarchy": sf.cuts([0, 18, 40, 65, 100], [0, 40, 100])}},
        "protect": [{"k-anonymity": {"k": 3}}],
        "method": {"mondrian": {}},
    }
    made = sf.publish(policy, {"age": ["3", "17", "9", "20", "30", "66", "70", "90", "31", ""]})
    made.write(tmp_path / "out")
    published = [row["age"] for row in made.release.parts["data"].table.to_pylist()]
    assert set(published) <= {"0-17", "18-39", "65-99", "0-39", "40-99", "*"} and "0-17" in published
    assert sf.verify(tmp_path / "out").holds
    assert 0 < made.certificate.utility["loss"] < 1


def test_amnesia_reads_as_the_same_tree(tmp_path: Path) -> None:
    text = "distinct\nname towns\ntype string\nheight 4\n\nSwabia has Ulm Aalen\n\n"
    text += "South has Swabia Passau\nNorth has Kiel\n\nWorld has South North\n"
    (tmp_path / "towns.txt").write_text(text)
    found = load_hierarchy(tmp_path / "towns.txt")
    assert sorted(map(tuple, found.paths())) == sorted(
        [
            ("Ulm", "Swabia", "South", "World"),
            ("Aalen", "Swabia", "South", "World"),
            ("Passau", "South", "World"),
            ("Kiel", "North", "World"),
        ]
    )
    save_hierarchy(found, tmp_path / "towns.csv")
    assert load_hierarchy(tmp_path / "towns.csv").paths() == found.paths()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("distinct\n\nA has x y\nB has x\n\nR has A B\n", "two parents"),
        ("distinct\n\nA has B\nB has A\nA has x\n", "two parents|above itself"),
        ("distinct\n\nA x y\n", "line 3 is not"),
        ("distinct\n\nA has\n", "line 3 is not"),
    ],
)
def test_broken_files_of_amnesia(text: str, match: str) -> None:
    with pytest.raises(DataError, match=match):
        rows_of_amnesia(text, "t.txt")


def test_circles_in_ranges_end() -> None:
    with pytest.raises(DataError, match="above itself"):
        cuts_of_amnesia("range\n\n0,9 has 1,2\n1,2 has 0,9\n", "t.txt")
    with pytest.raises(DataError, match="is no range"):
        cuts_of_amnesia("range\n\n0,9 has 9,1\n", "t.txt")


def test_ranges_with_places_keep_their_last_value() -> None:
    assert cuts_of_amnesia("range\ntype decimal\n\n0.0,2.5 has 0.0,1.25 1.25,2.5\n", "t") == [["0", "1.25", "2.6"]]


def test_a_file_of_ranges_says_which_rule_it_is(tmp_path: Path) -> None:
    (tmp_path / "ages.txt").write_text("range\nname a\n\n0,99 has 0,17 18,99\n")
    with pytest.raises(PolicyError, match="ranges of numbers") as raised:
        load_hierarchy(tmp_path / "ages.txt")
    assert "{cuts: [[0, 18, 100]]}" in raised.value.hint


def test_ordinary_files_are_not_taken_for_it() -> None:
    assert not any(map(is_amnesia, ("name;*\nage;*\n", "distinctly;*\n", "", "range one two;*\n", "name towns;*\n")))
    assert is_amnesia("range\r\ntype string\n") and is_amnesia("\ufeffdistinct\n")
