"""Hierarchies, domains, files and frames."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import IN_ORDER, Table, as_number
from sfumato.data.text_values import labels_as_texts
from sfumato.io.hierarchy_files import build_generalization, load_hierarchy
from sfumato.release.folder import read_folder


@pytest.mark.parametrize(
    "family", ["hierarchies_arx", "hierarchies_anjana", "hierarchies_boundaries", "hierarchies_gong"]
)
def test_the_fields_files_load_unchanged(shared: Path, family: str) -> None:
    files = sorted((shared / "data/adult" / family).iterdir())
    assert files
    for file in files:
        hierarchy = load_hierarchy(file)
        leaves = {line.replace('"', "").split(";")[0].split(",")[0] for line in file.read_text().splitlines() if line}
        assert set(hierarchy.leaves) == leaves
        assert hierarchy.interval(hierarchy.names[hierarchy.root]) == (0, hierarchy.size)


def test_a_value_with_two_parents_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("Bonn;Germany;*\nBonn;France;*\n")
    with pytest.raises(sf.DataError, match="'Bonn' has two parents"):
        load_hierarchy(tmp_path / "h.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;x\nb;y\n", "2 roots"),
        ("", "empty"),
        ("a;g;*\ng;*\n", "both a value and a group"),
        ("a;b;*\nb;c;*\n", "two parents"),
    ],
)
def test_what_is_not_a_tree_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "h.csv").write_text(text)
    with pytest.raises(sf.DataError, match=message):
        load_hierarchy(tmp_path / "h.csv")


def random_paths(rng: random.Random) -> list[list[str]]:
    """Rows leaf … root of a random unbalanced tree."""
    nodes = {"*": 0}
    parents: dict[str, str] = {}
    for i in range(rng.randint(1, 25)):
        parent = rng.choice(list(nodes))
        if nodes[parent] < 5:
            parents[f"n{i}"] = parent
            nodes[f"n{i}"] = nodes[parent] + 1
    inner = set(parents.values())
    rows = []
    for node in parents:
        if node not in inner:
            path = [node]
            while path[-1] != "*":
                path.append(parents[path[-1]])
            rows.append(path)
    return rows or [["only", "*"]]


@pytest.mark.parametrize("seed", range(60))
def test_intervals_and_common_ancestors_agree_with_sets(seed: int) -> None:
    rows = random_paths(random.Random(seed))
    hierarchy = Hierarchy.from_paths(rows)
    below = {label: {row[0] for row in rows if label in row} for row in rows for label in row}
    for label, leaves in below.items():
        lo, hi = hierarchy.interval(label) or (0, 0)
        assert set(hierarchy.leaves[lo:hi]) == leaves
    chains = {row[0]: row for row in rows}
    n = hierarchy.size
    first, last = (grid.ravel() for grid in np.meshgrid(np.arange(n), np.arange(n)))
    lo, hi = hierarchy.close(np.minimum(first, last), np.maximum(first, last) + 1)
    for a, b, l, h in zip(first, last, lo, hi, strict=True):
        chain = chains[hierarchy.leaves[a]]
        common = next(label for label in chain if label in chains[hierarchy.leaves[b]])
        assert set(hierarchy.leaves[l:h]) == below[common]
        assert below[hierarchy.label(int(l), int(h))] == below[common]


def test_boundaries_at_mixed_depths_and_levels() -> None:
    tree = Hierarchy.from_tree(
        {"World": {"Europe": {"Italy": ["Rome", "Milan"], "France": ["Paris"]}, "Asia": ["Kyoto"]}}
    )
    lo, hi = tree.bounded(["Italy", "Europe"]).ceiling()
    spans = {leaf: set(tree.leaves[lo[i] : hi[i]]) for i, leaf in enumerate(tree.leaves)}
    assert spans["Rome"] == {"Rome", "Milan"}
    assert spans["Paris"] == {"Rome", "Milan", "Paris"}
    assert spans["Kyoto"] == set(tree.leaves)
    lo, hi = tree.bounded_at(1).ceiling()
    assert set(tree.leaves[lo[0] : hi[0]]) == {"Rome", "Milan"}
    with pytest.raises(sf.PolicyError, match="did you mean 'Italy'"):
        tree.bounded(["Itly"])


def test_rules_build_trees() -> None:
    dates = build_generalization({"dates": ["month", "year"]}, ["2024-01-05", "2024-02-01"], column="d")
    assert dates.label(0, 2) == "2024"
    income = build_generalization({"intervals": ["1000", "5000"]}, ["300", "4700.5"], column="i")
    assert income.label(0, 2) == "[0, 5000)"
    codes = build_generalization({"prefix": "3"}, ["ab", "abc", "abd"], column="c")
    assert codes.label(1, 3) == "ab*"
    missing = build_generalization(None, ["x", ""], column="m")
    assert set(missing.leaves) == {"x", ""}
    ranges = build_generalization("ranges", ["-5", "3", "10"], column="r")
    assert isinstance(ranges, Ranges)
    assert ranges.interval("-5-3") == (0, 2)
    assert ranges.label(0, 3) == "-5-10"


POLICY = {
    "version": 1,
    "columns": {"age": {"role": "quasi-identifier", "hierarchy": "ranges"}, "code": "other", "illness": "sensitive"},
    "protect": [{"k-anonymity": {"k": 2}}],
    "method": {"mondrian": {}},
}
COLUMNS = {"age": [31, 32, 47, 48], "code": ["007", "08", None, "1"], "illness": ["a", "b", "a", "b"]}


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, pd.DataFrame, lambda c: c])
def test_every_frame_gives_the_same_release(make: object) -> None:
    publication = sf.publish(sf.Policy.parse(POLICY), data=make(COLUMNS), seed=1)  # type: ignore[operator]
    part = publication.release.parts["data"]
    assert sorted(part.column("age").to_pylist()) == ["31-32", "31-32", "47-48", "47-48"]
    assert part.to_polars().height == part.to_pandas().shape[0] == part.num_rows == 4
    assert pa.table(part).num_rows == 4
    assert sorted(str(v) for v in part["code"].to_pylist()) == ["007", "08", "1", "None"]


def test_text_stays_the_same_text_through_files(tmp_path: Path) -> None:
    content = 'age;code;illness\n31;"0,07";a\n32;NO;b\n47;;a\n48;on;b\n'
    with gzip.open(tmp_path / "people.csv.gz", "wt") as file:
        file.write(content)
    publication = sf.publish(sf.Policy.parse(POLICY), data=tmp_path / "people.csv.gz")
    publication.write(tmp_path / "out")
    shown = read_folder(tmp_path / "out").parts["data"]["code"].to_pylist()
    assert sorted(shown) == ["", "0,07", "NO", "on"]
    assert sf.verify(tmp_path / "out", original=tmp_path / "people.csv.gz").holds


def test_parquet_in_and_out(tmp_path: Path) -> None:
    pq.write_table(pa.table(COLUMNS), tmp_path / "people.parquet")
    publication = sf.publish(sf.Policy.parse(POLICY), data=tmp_path / "people.parquet")
    publication.write(tmp_path / "out", format="parquet")
    assert sf.verify(tmp_path / "out", original=tmp_path / "people.parquet").holds


def test_missing_values_are_a_value_of_their_own(tmp_path: Path) -> None:
    columns = {"sex": ["F", "M", "", "", "F", "M", None], "illness": list("abababa")}
    policy = {
        "version": 1,
        "columns": {"sex": "quasi-identifier", "illness": "sensitive"},
        "protect": [{"k-anonymity": {"k": 2}}],
    }
    publication = sf.publish(sf.Policy.parse({**policy, "method": {"mondrian": {}}}), data=columns)
    assert sorted(v or "" for v in publication.release.parts["data"]["sex"].to_pylist()) == [
        "",
        "",
        "",
        "F",
        "F",
        "M",
        "M",
    ]
    publication.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out", original=columns).holds


def test_categories_and_large_text_are_text() -> None:
    frame = pd.DataFrame(COLUMNS).astype({"illness": "category"})
    publication = sf.publish(sf.Policy.parse(POLICY), data=frame)
    assert sorted(publication.release.parts["data"]["illness"].to_pylist()) == ["a", "a", "b", "b"]


@pytest.mark.parametrize("hostile", ["../../etc/passwd", "/etc/passwd", "data.csv/../../x.csv"])
def test_a_manifest_that_points_outside_is_damage(tmp_path: Path, hostile: str) -> None:
    sf.publish(sf.Policy.parse(POLICY), data=COLUMNS).write(tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"report.html"', f'"{hostile}"'))
    assert {f.model for f in sf.verify(tmp_path / "out").findings if not f.holds} >= {"files"}


def test_many_numbers_in_digits_are_read_as_each_by_itself() -> None:
    chance = random.Random(3)
    digits = [f"{chance.randrange(10 ** chance.randint(1, 18)):0{chance.randint(1, 18)}d}" for _ in range(1500)]
    table = Table(pa.table({"n": digits}))
    assert table.numbers("n").tolist() == [as_number(text, "n") for text in digits]
    assert labels_as_texts(table.text("n").labels).to_pylist() == list(table.text("n").labels)
    longer = Table(pa.table({"n": [*digits, "-3", "1.5", "9" * 30, "2012-12-31"]}))
    assert longer.numbers("n").tolist() == [as_number(text, "n") for text in longer.column("n").to_pylist()]
    for wrong in ("", "x", "\u0663", "1 "):
        with pytest.raises(DataError):
            Table(pa.table({"n": [*digits, wrong]})).numbers("n")


def test_some_rows_of_a_coded_table_have_their_own_labels() -> None:
    from sfumato.kinds.testdata.metrics import _some

    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1], pa.int32()), pa.array(["a", "", "c"]))
    table = Table(pa.table({"v": codes}).replace_schema_metadata(IN_ORDER))
    assert table.text("v").has_value().tolist() == [True, False, True]
    some = Table(_some(table, np.array([3, 2])))
    assert some.text("v").labels == ("", "c")
    assert some.text("v").counts().tolist() == [1, 1]
