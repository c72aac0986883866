"""Profiles: what a source looks like before anything is decided about it, column by column, for the data holder's
eyes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.errors import DataError
from sfumato.data.baskets import Baskets
from sfumato.data.database import Database
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.graph import Graph
from sfumato.data.personal_columns.looks import value_shape
from sfumato.data.personal_columns.roles import InferredColumn, infer_column_roles
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import parse_number
from sfumato.io.table_files import is_text
from sfumato.io.table_source import TableSource, read_as_suggested
from sfumato.kinds.testdata.report_sections import table_map
from sfumato.policy.policy import Policy
from sfumato.policy.yaml_document import read_yaml
from sfumato.release.method import Progress
from sfumato.ui.studio.work.estimating import proposals_taken
from sfumato.workflow.discover.data_quality import find_oddities
from sfumato.workflow.risk.figures import combinations, prosecutor

_TOP, _BINS, _ROWS = 6, 12, 5
_LONGEST = 80


def profile(progress: Progress, policy: str) -> dict[str, Any]:
    """What the source of a policy holds; nothing but its entry ``data:`` is looked at."""
    progress(0.1, "reading")
    data = policy_of(policy).data.read(None)
    progress(0.4, "looking at columns")
    told = described(data)
    if isinstance(data, Table):
        progress(0.8, "looking for what is odd")
        told["odd"] = [oddity.to_json() for oddity in find_oddities(data)]
    return told


def reading(progress: Progress, policy: str, settings: dict[str, Any]) -> dict[str, Any]:
    """How the file would be read with other settings: its first rows, what its columns look like, what is odd; nothing
    is kept."""
    progress(0.1, "reading")
    read = read_yaml(Path(policy))
    given = read.tree.get("data")
    kept = {
        key: value
        for key, value in (given if isinstance(given, dict) else {"source": given}).items()
        if key not in settings
    }
    data = kept | {key: value for key, value in settings.items() if value}
    table = Policy.parse({"version": "1", "data": data, **_whose(read.tree)}, base=read.base).data.read(None)
    if not isinstance(table, Table):
        raise DataError(
            "only tables have settings of reading", where="data", hint="the other kinds are read as they are"
        )
    progress(0.6, "looking at columns")
    shapes = [value_shape(table.text(name).labels) for name in table.names]
    odd = [oddity.to_json() for oddity in find_oddities(table)]
    return {
        "rows": table.rows,
        "names": table.names,
        "shapes": shapes,
        "first": _first(table),
        "odd": odd,
        "settings": settings,
    }


def reading_of_file(progress: Progress, file: str, settings: dict[str, Any]) -> dict[str, Any]:
    """How a file would be read: what was found about its writing, its first rows, and what its columns look like."""
    progress(0.1, "reading")
    table, source, _ = read_as_suggested(file, settings)
    progress(0.6, "looking at columns")
    shapes = [value_shape(table.text(name).labels) for name in table.names]
    used = source.model_dump(exclude_unset=True, exclude_defaults=True)
    return {
        "rows": table.rows,
        "names": table.names,
        "shapes": shapes,
        "first": _first(table),
        "odd": [],
        "found": {key: value for key, value in used.items() if key not in ("source", "base")},
        "separator": separator_of(Path(file), source),
    }


def separator_of(file: Path, source: TableSource) -> str:
    """The sign between the fields of a text file, in a word."""
    if not is_text(file) or file.suffix == ".gz":
        return ""
    with file.open("rb") as head:
        line = head.readline(1 << 20).decode(source.encoding or "utf-8", "replace")
    sign = source.separator or max(",;\t|", key=line.count)
    return {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}.get(sign, sign)


def exposure(progress: Progress, policy: str) -> dict[str, Any]:
    """How identifying the table of a policy is as it stands: unique people, the most identifying columns and pairs, and
    columns that nobody should publish."""
    progress(0.1, "reading")
    document = proposals_taken(read_yaml(Path(policy)))
    read = Policy.from_document(replace(document, tree={**document.tree, "protect": []}))
    table = read.data.read(None)
    if not isinstance(table, Table):
        raise DataError("exposure is about tables", where="data", hint="go on with the next step")
    progress(0.4, "counting combinations")
    names = [name for name in read.quasi_identifiers if name in table.names]
    if not names:
        raise DataError(
            "no column is known to others yet", where="columns", hint="say on the next page what others may know"
        )
    classes = equivalence_classes_of([table.text(name).codes for name in names], rows=table.rows)
    attacker = prosecutor(classes.counts, ())
    combined = combinations({name: table.text(name).codes for name in names}, 2).found
    looks = {look.name: look for look in infer_column_roles(table)}
    never = [
        {"name": name, "reason": looks[name].reason, "kind": looks[name].kind}
        for name in table.names
        if looks[name].role in ("identifier", "drop")
    ]
    alone = [
        {"name": name, "uniques": int((table.text(name).counts() == 1).sum()), "values": len(table.text(name).labels)}
        for name in names
    ]
    alone.sort(key=lambda each: (-int(str(each["uniques"])), -int(str(each["values"]))))
    pairs = [
        {"columns": list(each.columns), "uniques": each.uniques}
        for each in sorted(combined, key=lambda each: -each.uniques)
        if len(each.columns) == 2
    ]
    return {
        "rows": table.rows,
        "uniques": int((classes.counts == 1).sum()),
        "k": int(classes.counts.min()),
        "quasi_identifiers": names,
        "highest": attacker.highest,
        "average": attacker.average,
        "columns": alone[:8],
        "pairs": pairs[:5],
        "never": never,
    }


def policy_of(file: str, *columns: str) -> Policy:
    """What a policy says about its source and these columns; whatever else it says may be wrong."""
    read = read_yaml(Path(file))
    listed = read.tree.get("columns")
    known = {name: listed[name] for name in columns if isinstance(listed, dict) and name in listed}
    tree = {"version": "1", "data": read.tree.get("data"), "columns": known, **_whose(read.tree)}
    return Policy.from_document(replace(read, tree=tree))


def _whose(tree: Mapping[str, Any]) -> dict[str, Any]:
    """What names a person, where a table of people is read beside that of their rows."""
    data = tree.get("data")
    return {"person": tree.get("person")} if isinstance(data, Mapping) and data.get("people") else {}


@singledispatch
def described(data: Any) -> dict[str, Any]:
    """What data holds; one way for every kind of data."""
    raise DataError("nothing is known about this kind of data", hint="give a table, baskets, a graph or a database")


@described.register
def table_profile(table: Table) -> dict[str, Any]:
    """Every column with its commonest values, a little histogram, and what it seems to be."""
    columns = [_column(look, table.text(look.name)) for look in infer_column_roles(table)]
    return {"kind": "table", "rows": table.rows, "columns": columns, "names": list(table.names), "first": _first(table)}


def _first(table: Table) -> list[list[str]]:
    """The first rows, to see whether the file is read as it is meant."""
    return [
        [_short("" if cell is None else str(cell)) for cell in row.values()]
        for row in table.frame.slice(0, _ROWS).to_pylist()
    ]


def _column(look: InferredColumn, text: TextColumn) -> dict[str, Any]:
    counts = np.asarray(text.counts())
    order = np.argsort(-counts, kind="stable")[: _TOP + 1]
    top = [[_short(text.labels[at]), int(counts[at])] for at in order if text.labels[at]][:_TOP]
    told = {"name": look.name, "shape": look.shape, "distinct": look.distinct, "missing": look.missing}
    seems = {"role": look.role, "reason": look.reason, "kind": look.kind, "hipaa": look.hipaa}
    return told | seems | {"top": top, "histogram": histogram(text.labels, counts) if look.shape in COUNTED else []}


COUNTED = ("whole numbers", "decimals")


def histogram(labels: Sequence[str], counts: np.ndarray[Any, Any], bins: int = _BINS) -> list[list[Any]]:
    """Equal bins over a column of numbers: lower end, upper end, records."""
    read = [(parse_number(label), int(count)) for label, count in zip(labels, counts, strict=True) if label]
    values = np.array([float(value) for value, _ in read if value is not None])
    weights = np.array([count for value, count in read if value is not None])
    if not values.size or values.min() == values.max():
        return []
    heights, edges = np.histogram(values, bins=bins, weights=weights)
    return [[float(f"{a:.6g}"), float(f"{b:.6g}"), int(h)] for a, b, h in zip(edges, edges[1:], heights, strict=False)]


@described.register
def basket_profile(baskets: Baskets) -> dict[str, Any]:
    """How many records and items, how large, how often."""
    sizes, often = baskets.sets.sizes, baskets.sets.support()
    top = [[_short(baskets.names[at]), int(often[at])] for at in np.argsort(-often, kind="stable")[:_TOP]]
    spread = {"least": int(sizes.min()), "median": float(np.median(sizes)), "most": int(sizes.max())}
    return {"kind": "baskets", "rows": int(sizes.size), "items": len(baskets.names), "sizes": spread, "top": top}


@described.register
def graph_profile(graph: Graph) -> dict[str, Any]:
    """People, ties, and how many ties people have."""
    degrees = np.asarray(graph.degrees)
    bins = [
        [low, high, int(((degrees >= low) & (degrees < high)).sum())]
        for low, high in _doubling(int(degrees.max(initial=0)))
    ]
    return {
        "kind": "graph",
        "rows": graph.nodes,
        "edges": graph.size,
        "degrees": bins,
        "most": int(degrees.max(initial=0)),
    }


def _doubling(most: int) -> list[tuple[int, int]]:
    """0, 1, 2-3, 4-7, … as half-open ranges."""
    ends = [0, 1]
    while ends[-1] <= most:
        ends.append(ends[-1] * 2)
    return list(itertools.pairwise(ends))


@described.register
def database_profile(database: Database) -> dict[str, Any]:
    """Tables with their rows and columns, and which refers to which."""
    tables: list[dict[str, Any]] = [
        {
            "name": table.name,
            "rows": database.tables[table.name].rows if table.name in database.tables else 0,
            "columns": [{"name": column.name, "type": column.native} for column in table.columns],
            "refers": sorted({key.parent for key in table.foreign_keys}),
        }
        for table in database.schema.tables
    ]
    counted = {str(table["name"]): int(table["rows"]) for table in tables}
    return {
        "kind": "database",
        "rows": sum(counted.values()),
        "tables": tables,
        "map": str(table_map(database.schema, counted, {})),
    }


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
