"""For every form two originals that fit the same published rows, and the release of one of them certified for the
other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.data.baskets import Baskets
from sfumato.data.database import Database
from sfumato.data.graph import Graph
from sfumato.data.item_sets import Sets
from sfumato.data.table import Table
from sfumato.kinds.baskets.evidence import pairs_compatible
from sfumato.kinds.baskets.published_baskets import from_table
from sfumato.workflow.publication import Publication, certify_again
from tests.secret import SEED

Twins = tuple[Publication, Any]
"""A publication, and another original that fits its rows."""


def certified_for(publication: Publication, original: Any) -> Publication:
    """The same release, as if it had been made from another original; where that is a `Turned` one, with other rows
    behind it."""
    if isinstance(original, Turned):
        trace = replace(publication.release.trace, rows=original.behind)
        publication = replace(publication, release=replace(publication.release, trace=trace))
        original = original.table
    return certify_again(replace(publication, exhibit=replace(publication.exhibit, original=original)), "csv")


class Turned(NamedTuple):
    """Another original of the same tables, and which of its records stands behind each row of each."""

    table: Table
    behind: dict[str, np.ndarray]


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def recoded(folder: Path) -> Twins:
    """One column for each way of generalizing; the record of a 94-year-old is suppressed and may be any other."""
    tree = {
        "version": 1,
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 2}},
            "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 5}},
            "born": {"role": "quasi-identifier", "hierarchy": {"dates": ["month", "year"]}},
            "pay": {"role": "quasi-identifier", "hierarchy": "ranges"},
            "land": {
                "role": "quasi-identifier",
                "hierarchy": {"*": {"north": ["a", "b", "c"], "south": ["d", "e", "f"]}},
            },
            "sex": "quasi-identifier",
            "illness": "sensitive",
        },
        "protect": [{"k-anonymity": {"k": 4}}],
        "method": {"mondrian": {}},
    }
    rng = np.random.default_rng(5)
    ages = [*rng.integers(20, 59, 119).tolist(), 94]
    data = {
        "age": [str(age) for age in ages],
        "zip": [f"{71 + i % 3}{i * 37 % 1000:03d}" for i in range(120)],
        "born": [f"20{i % 9:02d}-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(120)],
        "pay": [str(pay) for pay in rng.integers(1000, 9000, 120)],
        "land": ["abcdef"[i] for i in rng.integers(0, 6, 120)],
        "sex": ["fm"[i] for i in rng.integers(0, 2, 120)],
        "illness": ["flu", "cold", "cough", "none"] * 30,
    }
    publication = sf.publish(sf.Policy.parse(tree), data=data, seed=SEED)
    other = {name: list(values) for name, values in data.items()}
    part = publication.release.parts["data"].to_polars()
    for row, record in enumerate(publication.release.trace.rows["data"].tolist()):
        for name, inside in INSIDE.items():
            other[name][record] = inside(part[name][row], data[name][record])
    gone = set(range(120)) - set(publication.release.trace.rows["data"].tolist())
    for record in gone:
        other |= {
            name: [*values[:record], new, *values[record + 1 :]]
            for (name, values), new in zip(other.items(), FOREIGN, strict=True)
        }
    assert gone
    assert other != data
    return publication, Table(pa.table(other))


FOREIGN = ("98", "99999", "1950-01-01", "55555", "f", "x", "gout")


def _number(label: str, old: str) -> str:
    return old if label == "*" or "-" not in label else label.split("-")[0]


INSIDE: dict[str, Callable[[str, str], str]] = {
    "age": _number,
    "zip": lambda label, old: old if label == "*" else label.replace("*", "0"),
    "born": lambda label, old: old if label == "*" else (label + "-01-01")[:10],
    "pay": _number,
    "land": lambda label, old: {"north": "a", "south": "d"}.get(label, old),
}
"""Another original value below a published label."""


def anatomy(folder: Path) -> Twins:
    tree = {
        "version": 1,
        "columns": {"age": "quasi-identifier", "illness": "sensitive"},
        "protect": [{"l-diversity": {"l": 3}}],
        "method": {"anatomy": {}},
    }
    data = {"age": [str(i % 13) for i in range(60)], "illness": [f"i{i % 6}" for i in range(60)]}
    publication = sf.publish(sf.Policy.parse(tree), data=data, seed=SEED)
    bucket = publication.release.parts["data"].to_polars()["bucket"].to_list()
    other, behind = list(data["illness"]), publication.release.trace.rows["data"].tolist()
    for number in set(bucket):
        mine = [record for record, found in zip(behind, bucket, strict=True) if found == number]
        turned = [data["illness"][record] for record in mine]
        for record, value in zip(mine, [*turned[1:], turned[0]], strict=True):
            other[record] = value
    assert other != data["illness"]
    return publication, Table(pa.table(data | {"illness": other}))


def subtables(folder: Path) -> Twins:
    """Every column apart: everybody may have any of the jobs."""
    tree = {
        "version": 1,
        "columns": {"town": "quasi-identifier", "job": "quasi-identifier", "illness": "sensitive"},
        "protect": [
            {"given": ["town", "job"], "hide": "illness", "by": {"l-diversity": {"l": 2, "kind": "frequency"}}}
        ],
        "method": {"single-attribute": {}},
    }
    data = {
        "town": [f"t{i % 5}" for i in range(60)],
        "job": [f"j{i % 4}" for i in range(60)],
        "illness": [f"i{i % 7}" for i in range(60)],
    }
    publication = sf.publish(sf.Policy.parse(tree), data=data, seed=SEED)
    order = np.random.default_rng(3).permutation(60)
    turned = Table(pa.table({**data, "job": [data["job"][place] for place in order]}))
    behind = {
        part: np.argsort(order)[rows] if "job" in publication.release.parts[part].shown else rows
        for part, rows in publication.release.trace.rows.items()
    }
    return publication, Turned(turned, behind)


def replaced(folder: Path) -> Twins:
    """No replaced value is read, so the original may be anything."""
    tree = {
        "version": 1,
        "columns": {
            "salary": {"role": "replaced", "domain": {"integers": [20_000, 200_000]}},
            "age": {"role": "replaced", "domain": {"integers": [18, 90]}},
            "illness": "sensitive",
        },
        "method": {"obfuscation": {}},
    }
    data = {
        "salary": [str(60_000 + 731 * i) for i in range(100)],
        "age": [str(20 + i % 60) for i in range(100)],
        "illness": ["flu", "cold"] * 50,
    }
    publication = sf.publish(sf.Policy.parse(tree), data=data, seed=SEED)
    return publication, Table(pa.table(data | {"salary": [str(25_000 + 17 * i) for i in range(100)]}))


def walked(folder: Path) -> Twins:
    tree = {
        "version": 1,
        "columns": {"v": {"role": "replaced", "domain": {"integers": [0, 60]}}, "s": "sensitive"},
        "keep": ["sum(v) = sum(original.v)"],
        "method": {"pattern-walk": {"steps": 500}},
    }
    values = [str(i * 7 % 50) for i in range(60)]
    publication = sf.publish(sf.Policy.parse(tree), data={"v": values, "s": ["a", "b", "c"] * 20}, seed=SEED)
    return publication, Table(pa.table({"v": values[::-1], "s": ["a", "b", "c"] * 20}))


def baskets(folder: Path) -> Twins:
    """One person has, or has not, an item that every row that may stand for the person leaves open."""
    tree = {
        "version": 1,
        "data": {"kind": "baskets"},
        "columns": {"label": "sensitive"},
        "protect": [{"l-diversity": {"l": 2, "kind": "frequency"}}],
        "method": {"nonreciprocal": {}},
    }
    rng = np.random.default_rng(4)
    rows = [sorted(set(rng.integers(0, 8, 4).tolist())) for _ in range(40)]
    people = _people(rows)
    publication = sf.publish(sf.Policy.parse(tree), data=people, seed=SEED)
    worlds = from_table(Table(publication.release.parts["data"].table), " ")
    graph = np.asarray(publication.release.trace.assignments)
    places = np.tile(np.arange(40), len(graph))
    for changed in _changes(rows):
        other = _people(changed)
        if pairs_compatible(other, worlds, graph.reshape(-1), places).all():
            return publication, other
    raise AssertionError("no other original fits")


def _people(rows: list[list[int]]) -> Baskets:
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    labels = np.array([f"l{i % 5}" for i in range(len(rows))], dtype=object)
    sets = Sets(start.astype(np.int64), np.array([item for row in rows for item in row], dtype=np.int32), 8)
    return Baskets(sets, tuple("abcdefgh"), {"label": labels})


def _changes(rows: list[list[int]]) -> Iterator[list[list[int]]]:
    for person, row in enumerate(rows):
        for item in range(8):
            yield [*rows[:person], sorted(set(row) ^ {item}), *rows[person + 1 :]]


def flipped(folder: Path) -> Twins:
    tree = {"version": 1, "data": {"kind": "graph"}, "method": {"edge-perturbation": {"mu": 0.05}}}
    club = nx.gnp_random_graph(60, 0.1, seed=2)
    publication = sf.publish(sf.Policy.parse(tree), data=club, seed=SEED)
    graph = Graph.from_networkx(club)
    return publication, Graph.from_codes(graph.codes[1:], 60)


def grown(folder: Path) -> Twins:
    """One of the added ties may have been there before."""
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": 4}}]}
    club = nx.gnp_random_graph(80, 0.05, seed=2)
    made = sf.publish(sf.Policy.parse(tree), data=club, seed=SEED)
    trace = replace(
        made.release.trace, fewest_added_edges=0, numbering=""
    )  # true of both, who number people differently
    publication = replace(made, release=replace(made.release, trace=trace))
    published = Graph.from_table(made.release.parts["edges"].table, 80).relabelled(np.argsort(trace.names))
    graph = Graph.from_networkx(club)
    new = np.setdiff1d(published.codes, graph.codes)[:1]
    return publication, Graph.from_codes(np.sort(np.append(graph.codes, new)), 80)


def database(folder: Path) -> Twins:
    import sqlite3

    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, pay INTEGER NOT NULL, country TEXT)")
        rows = [(n, 1000 + 13 * n, "NL" if n % 3 else "DE") for n in range(1, 80)]
        connection.executemany("INSERT INTO customer VALUES (?, ?, ?)", rows)
    tree = {
        "version": 1,
        "data": {"kind": "database", "source": f"sqlite:///{folder}/shop.db", "target": f"sqlite:///{folder}/test.db"},
        "columns": {"customer.pay": {"role": "replaced", "domain": {"integers": [0, 90_000]}}},
    }
    publication = sf.publish(sf.Policy.parse(tree), seed=SEED)
    before: Database = publication.original
    frame = before.tables["customer"].frame
    pay = pa.array([str(2000 + n) for n in range(frame.num_rows)], frame.schema.field("pay").type)
    changed = Table(frame.set_column(frame.column_names.index("pay"), "pay", pay))
    return publication, replace(before, tables=dict(before.tables) | {"customer": changed})


FORMS: dict[str, Callable[[Path], Twins]] = {
    made.__name__: made for made in (recoded, anatomy, subtables, replaced, walked, baskets, flipped, grown, database)
}
