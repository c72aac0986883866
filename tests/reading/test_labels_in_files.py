"""Whatever stands in a label, a hierarchy is written and read as the same tree, and a record stays one record."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.hierarchy import Hierarchy
from sfumato.io.basket_source import read_fimi
from sfumato.io.hierarchy_files import load_hierarchy, save_hierarchy
from tests.slow import SLOW

SEPARATORS = ["\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
"""What Python's `splitlines` takes for the end of a line, and nobody else does."""


@pytest.mark.parametrize("sign", SEPARATORS)
def test_only_line_ends_end_lines(tmp_path: Path, sign: str) -> None:
    (tmp_path / "h.csv").write_text(f'a{sign}b;"x{sign}y";*\nc;"x{sign}y";*\n', encoding="utf-8", newline="")
    tree = load_hierarchy(tmp_path / "h.csv")
    assert tree.leaves == (f"a{sign}b", "c")
    assert tree.interval(f"x{sign}y") == (0, 2)
    (tmp_path / "baskets.dat").write_text(f"milk br{sign}ead\neggs\n", encoding="utf-8", newline="")
    assert len(read_fimi(tmp_path / "baskets.dat")) == 2


@pytest.mark.parametrize("sign", [*SEPARATORS, '"', ";", ",", "é", "/", " "])
def test_strange_signs_in_values_groups_and_names_are_published_and_verified(tmp_path: Path, sign: str) -> None:
    column, group = f"the{sign}column", f"gr{sign}oup"
    values = [f"{letter}{sign}{letter}" for letter in "abcd"]
    paths = [[value, group if place < 2 else "rest", "*"] for place, value in enumerate(values)]
    save_hierarchy(Hierarchy.from_paths(paths), tmp_path / "h.csv")
    policy = sf.Policy.parse(
        {
            "version": 1,
            "columns": {
                column: {"role": "quasi-identifier", "hierarchy": "h.csv"},
                "illness": "sensitive",
                "x": "other",
            },
            "protect": [{"k-anonymity": {"k": 2}}],
            "method": {"mondrian": {}},
        },
        base=tmp_path,
    )
    data = {column: values, "illness": [f"p{sign}q"] * 4, "x": list("1234")}
    sf.publish(policy, data=data).write(tmp_path / "out", report=False)
    assert sf.verify(tmp_path / "out", original=data).holds
    assert sf.verify(tmp_path / "out").holds


def test_a_file_of_its_own_needs_a_name_that_files_can_have() -> None:
    columns = {"age": "quasi-identifier", "a/b": "sensitive", "c": "sensitive"}
    policy = {"version": 1, "columns": columns, "protect": [{"l-diversity": {"l": 2}}], "method": {"anatomy": {}}}
    data = {"age": list("1212"), "a/b": list("xyxy"), "c": list("yxyx")}
    with pytest.raises(PolicyError, match="'a/b' get a file of that name"):
        sf.publish(sf.Policy.parse(policy), data=data)


def test_blanks_around_cells_are_dropped_and_quoted_blanks_are_not(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text('1 ; x ;*\n" 1";x;*\n"";x;*\n\n2;x\t;*;;\n')
    assert load_hierarchy(tmp_path / "h.csv").leaves == ("1", " 1", "", "2")


@pytest.mark.parametrize("content", ['a;"b;*\nc;d;*\n', 'a;b"c;*\n', 'a;"b"c;*\n', '"a;b;*\n'])
def test_stray_quotes_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "h.csv").write_text(content)
    with pytest.raises(DataError, match="quote"):
        load_hierarchy(tmp_path / "h.csv")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"a;*\0\n", "NUL"),
        (b"a;b;*\nc;b;+\n", "two parents"),
        (b"a;b;*\nb;c;*\n", "is both|two parents"),
    ],
)
def test_a_file_that_is_no_hierarchy(tmp_path: Path, content: bytes, what: str) -> None:
    (tmp_path / "h.csv").write_bytes(content)
    with pytest.raises(DataError, match=what):
        load_hierarchy(tmp_path / "h.csv")


labels = st.text(st.sampled_from('ab1*";,\n\r\t \ufeff\x85\u2028\x0b\x1cé/'), max_size=5)


@settings(max_examples=400 if SLOW else 150, deadline=None)
@given(st.lists(labels, min_size=1, max_size=8, unique=True), st.lists(labels, max_size=3, unique=True), labels)
def test_what_is_saved_is_loaded(one_folder: Path, leaves: list, groups: list, root: str) -> None:
    """The class: any tree, whatever its labels, comes back as itself."""
    inner = [group for group in groups if group not in leaves and group != root] or ["group"]
    if root in leaves or root == "":
        root = "all of them"
    tree = Hierarchy.from_paths([[leaf, inner[place % len(inner)], root] for place, leaf in enumerate(leaves)])
    file = one_folder / "h.csv"
    save_hierarchy(tree, file)
    assert load_hierarchy(file).paths() == tree.paths()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=30) | st.text(st.sampled_from('ab;,"\n\r*'), max_size=30).map(str.encode))
def test_any_bytes_are_a_hierarchy_or_a_data_error(one_folder: Path, content: bytes) -> None:
    file = one_folder / "h.csv"
    file.write_bytes(content)
    try:
        tree = load_hierarchy(file)
    except DataError as error:
        assert "\n" not in error.what.split("'")[0]
    else:
        assert tree.size >= 1
