"""A folder like ``../shared``, made by ourselves: a made-up census, graphs and baskets under the names that tests and
policies use.

Nothing in it is anybody's data: values are drawn from tables of chances below, hierarchies are our own, policies
(`policies/`) are written for it. Tests that only need *some* table, graph or list of baskets of that shape run on it
everywhere; figures of the public data are asserted where that lies beside the repository."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tests.stand_in.graphs import clustered_graph
from tests.stand_in.people import COLUMNS, DECADES, HIERARCHIES, REGIONS, census

GRAPHS = ("wiki_vote", "email_enron", "ca_grqc", "ca_hepth", "ca_hepph", "ca_condmat", "ca_astroph_lcc", "brightkite")
PEOPLE = {"adult_45222": 5_000, "adult_30162": 3_500}


def make(folder: Path) -> Path:
    """Everything, in about a second."""
    shutil.copytree(Path(__file__).parent / "policies", folder / "policies")
    adult, graphs, baskets = (folder / "data" / name for name in ("adult", "graphs", "set_valued"))
    for place in (adult, graphs, baskets):
        place.mkdir(parents=True)
    for seed, (name, rows) in enumerate(PEOPLE.items()):
        _packed(adult / f"{name}.csv.gz", (",".join(row) for row in [COLUMNS, *census(rows, seed)]))
    for family, files in HIERARCHIES.items():
        (adult / family).mkdir()
        for name, paths in files.items():
            _rows(adult / family / name, paths, "," if family == "hierarchies_anjana" else ";")
    maps = {"age": {"magval_ranges": DECADES}, "native_country": {"magval": REGIONS}}
    (adult / "boundaries.json").write_text(json.dumps(maps))
    for seed, name in enumerate(GRAPHS):
        edges = clustered_graph(500 + 40 * seed, 4, np.random.default_rng(seed))
        _packed(graphs / f"{name}.tsv.gz", (f"{one}\t{two}" for one, two in edges))
    _packed(baskets / "chess.dat.gz", (" ".join(map(str, row)) for row in _games(600)))
    return folder


def _packed(path: Path, lines: Iterable[str]) -> None:
    with gzip.open(path, "wt", newline="", compresslevel=1) as file:
        file.writelines(f"{line}\n" for line in lines)


def _rows(path: Path, rows: Iterable[Sequence[str]], separator: str) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)


def _games(count: int) -> list[list[int]]:
    """Positions as they are written for games: of each of 25 properties exactly one of its values; some openings are
    common."""
    rng = np.random.default_rng(4)
    openings = rng.integers(0, 3, (12, 25))
    rows = []
    for opening in rng.integers(0, 12, count):
        values = np.where(rng.random(25) < 0.12, rng.integers(0, 3, 25), openings[opening])
        rows.append((1 + 3 * np.arange(25) + values).tolist())
    return rows
