"""``kind: graph``: who knows whom, from an edge list, a GraphML file, a table of a database, or a networkx or igraph
object.

An edge list has two names a line, separated by tab, comma, semicolon or blank; a header and lines that begin with ``#``
or ``%`` are passed over. Loops and repeated edges are dropped and counted. Names stay in the data holder's memory and
are never published.

Only the edges are published; nothing else is dropped silently. A graph that says its ties have a direction (networkx,
igraph, GraphML) is refused unless `direction: dropped` accepts that; of an edge list nobody can tell, and pairs in both
directions are one tie. Ties that carry something that is not the same for all (weights, dates: edge attributes, further
columns) are refused unless `values: dropped` accepts that. A graph of two kinds of nodes (people and what they have) is
refused: ties inside a kind cannot be, so flips there give themselves away. Two kinds are marked nodes (`bipartite` in
networkx and GraphML, `type` in igraph), two columns without a common name, or two halves without a tie inside
(`two_kinds.py`); `kinds: one` says that any two may be tied nevertheless. Sets of things are `kind: baskets`. A `Graph`
object holds edges only: its creator has dropped the rest.

>>> parse_edges(b"# who votes for whom\\na\\tb\\nb\\ta\\nb\\tc\\n", "votes.tsv").size
2


Two kinds
---------
Whether the nodes of a graph are of two kinds: people and what they have, with ties from one kind to the other only.

Ties inside a kind cannot be, so an adversary sees through flips there, and what is promised for one kind of nodes does
not hold.

A graph of people has two halves without an edge inside only by accident. Every edge beyond those of a spanning forest
closes an odd cycle with a probability of about one half, and one odd cycle is enough. From `CYCLES` = 20 on that is no
chance any more (2⁻²⁰). Fewer cycles, a tree above all, tell nothing.

    two halves ⇔ the double cover (v, 0) - (w, 1) for every tie v - w has twice as many components as the graph

>>> ring = Graph.from_pairs(np.arange(100), (np.arange(100) + 1) % 100)
>>> shelf = Graph.from_pairs(np.repeat(np.arange(10), 5), 10 + np.arange(50) % 15)
>>> bipartite_halves(ring), bipartite_halves(shelf)
(False, True)
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from pydantic import Field

from sfumato.core.errors import DataError
from sfumato.data.graph import Graph, differing_edge_attributes
from sfumato.io.csv_format import require_quotes, require_records
from sfumato.io.file_contents import is_there, read_bytes, reader_of
from sfumato.io.frames import from_frame
from sfumato.io.source import Source
from sfumato.io.sql import is_url, read_sql
from sfumato.io.table_files import read_file

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


_SEPARATORS = "\t,; "
_COMMENT = (b"#", b"%")
_LOOKED_AT = 1_000
_TWO_KINDS = 50
"""With at least so many edges, two columns without a common name are two kinds of nodes; with fewer it may be a
coincidence.
"""
_AS_BASKETS = "publish them as 'kind: baskets', one record with its items for every node of one kind"
_HEADERS = {"source", "target", "from", "to", "src", "dst", "node1", "node2", "u", "v"}


class GraphSource(Source):
    """A social graph: an edge list (.tsv, .csv, .txt, .gz, .parquet), GraphML, a database, or a networkx or igraph
    object."""

    name: ClassVar[str] = "graph"
    reads: ClassVar[frozenset[str]] = Source.reads | {"ledger"}
    private: ClassVar[tuple[str, ...]] = ("source", "base", "isolated", "table", "ends")

    isolated: int = Field(
        default=0, ge=0, description="number of nodes without an edge, which an edge list cannot name"
    )
    table: str = Field(default="", description="the table, if the source is a database")
    ends: tuple[str, str] | None = Field(
        default=None, description="the two columns of the table that name the ends of an edge"
    )
    direction: Literal["refused", "dropped"] = Field(
        default="refused", description="dropped: publish a directed graph without directions"
    )
    values: Literal["refused", "dropped"] = Field(
        default="refused", description="dropped: publish edges without their weights or dates"
    )
    header: bool | None = Field(
        default=None, description="whether the first line of an edge list is a header; asked about in doubt"
    )
    kinds: Literal["looked at", "one"] = Field(default="looked at", description="one: any two nodes may have an edge")

    def read(self, data: Any = None) -> Graph:
        if data is None and not self.source:
            raise DataError("the policy names no source", hint="add 'source:' under data, or give the data with --data")
        given = data if data is not None else (self.source if is_url(self.source) else self.path())
        if self.direction == "refused" and is_directed(given):
            what = "the edges of this graph have a direction, and only undirected edges can be published"
            raise DataError(what, hint="add 'direction: dropped' under data to publish them without it")
        graph = (
            self._from_database(given) if isinstance(given, str) and is_url(given) else read_graph(given, self.header)
        )
        if not isinstance(given, Graph):
            self._require_bare(graph)
        if self.kinds != "one" and (graph.dropped.kinds or bipartite_halves(graph)):
            what = (
                "the nodes of this graph are of two kinds, and ties inside a kind cannot be: flips there give"
                " themselves away"
            )
            raise DataError(what, hint=f"{_AS_BASKETS}; or say 'kinds: one' under data if any two may be tied")
        return graph.joined(self.isolated, [], []) if self.isolated else graph

    def _require_bare(self, graph: Graph) -> None:
        if self.values == "refused" and graph.dropped.values:
            names = ", ".join(f"'{name}'" for name in graph.dropped.values[:3])
            what = f"the edges of this graph carry {names}, and only the edges themselves can be published"
            raise DataError(what, hint="add 'values: dropped' under data to publish them without it")

    def _from_database(self, url: str) -> Graph:
        table = read_sql(url, self.table)
        missing = [name for name in self.ends or () if name not in table.column_names]
        if missing:
            raise DataError(
                f"table '{self.table}' has no column '{missing[0]}'", hint="name two columns under data.ends"
            )
        return from_columns(table.select(list(self.ends)) if self.ends else table, self.table)


def read_graph(data: Any, header: bool | None = None) -> Graph:
    """A graph from a path, a `Graph`, a networkx or igraph object, or a frame whose first two columns are edges."""
    if isinstance(data, Graph):
        return data
    if isinstance(data, str | Path):
        return _read_path(Path(data), header)
    if hasattr(data, "vcount"):
        return Graph.from_igraph(data)
    if hasattr(data, "is_multigraph"):
        return Graph.from_networkx(data)
    return from_columns(from_frame(data), "the frame")


def is_directed(data: Any) -> bool:
    """Whether a graph says of itself that its ties have a direction."""
    if hasattr(data, "is_directed"):
        return bool(data.is_directed())
    if (
        isinstance(data, str | Path)
        and str(data).lower().removesuffix(".gz").endswith((".graphml", ".xml"))
        and is_there(Path(data))
    ):
        return re.search(rb"<(\w+:)?graph\b[^>]*edgedefault\s*=\s*[\"']directed", read_bytes(Path(data))) is not None
    return False


def _read_path(path: Path, header: bool | None) -> Graph:
    if not is_there(path):
        raise DataError(
            f"no such file: {path.name}", where=str(path), hint="paths in a policy are relative to the policy file"
        )
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if ending in {"parquet", "pq"}:
        return from_columns(read_file(path), path.name)
    content = read_bytes(path)
    return (
        parse_graphml(content, path.name) if ending in {"graphml", "xml"} else parse_edges(content, path.name, header)
    )


def parse_edges(content: bytes, name: str, header: bool | None = None) -> Graph:
    """Return the graph of an edge list; without a word about it, the first line is a header only where that is
    certain."""
    if b"\0" in content[:4096]:
        raise DataError(f"{name} is not UTF-8 text", where=name, hint="save it as UTF-8")
    content = content.removeprefix(b"\xef\xbb\xbf")
    first = next((line for line in content.split(b"\n", 1000) if line.strip() and not line.startswith(_COMMENT)), b"")
    if any(mark in content for mark in (b"\n#", b"\n%")) or content.startswith(_COMMENT):
        content = b"\n".join(line for line in content.split(b"\n") if not line.startswith(_COMMENT))
    text = first.decode("utf-8", errors="replace").strip()
    separator = next((mark for mark in _SEPARATORS if mark in text), None)
    if separator is None:
        raise DataError(
            f"{name} is no edge list", where=name, hint="two names a line, separated by tab, comma or blank"
        )
    cells = [cell.strip('" ').lower() for cell in text.split(separator)]
    named = set(cells[:2]) <= _HEADERS or _is_header(cells, content, separator) if header is None else header
    table = _parsed(content, name, separator, len(cells), skip=named)
    if header is None and not named:
        _require_tie(table, name)
    return from_columns(table.rename_columns(_column_names(cells, named=named)), name)


def _require_tie(table: pa.Table, name: str) -> None:
    """Refuse a list whose first line may be a header or a tie: two words that no other line has."""
    ends = pa.chunked_array([*table.column(0).chunks, *table.column(1).chunks])
    first = [table.column(place)[0].as_py() for place in (0, 1)]
    if table.num_rows < 2 or first[0] == first[1] or any(_is_number(text) for text in first):
        return
    if pc.sum(pc.is_in(ends, pa.array(first, pa.string()))).as_py() == len(first):
        hint = "write 'header: true' or 'header: false' under data, or --read header=true"
        raise DataError(
            "the first line may name the columns or be a tie: no other line has its words", where=f"{name}:1", hint=hint
        )


def _column_names(cells: list[str], *, named: bool) -> list[str]:
    """What the columns are called; the third one of a list without a header is 'column 3'."""
    return [cell if named and cell else f"column {place}" for place, cell in enumerate(cells, 1)]


def _is_header(cells: list[str], content: bytes, separator: str) -> bool:
    """Whether the first line names its columns: two different words, while every other line begins with two numbers."""
    if len(cells) < 2 or cells[0] == cells[1] or any(_is_number(cell) for cell in cells[:2]):
        return False
    lines = content.decode("utf-8", errors="replace").split("\n", _LOOKED_AT)[1:_LOOKED_AT]
    below = [line.strip().split(separator) for line in lines if line.strip()]
    return bool(below) and all(
        len(row) > 1 and _is_number(row[0].strip('" ')) and _is_number(row[1].strip('" ')) for row in below
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _parsed(content: bytes, name: str, separator: str, width: int, *, skip: bool) -> pa.Table:
    names = [f"c{number}" for number in range(width)]
    require_quotes(content, separator, name)
    try:
        table = pa_csv.read_csv(
            reader_of(content),
            read_options=pa_csv.ReadOptions(column_names=names, skip_rows=int(skip), block_size=1 << 24),
            parse_options=pa_csv.ParseOptions(delimiter=separator),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        raise DataError(
            f"{name} is no edge list", where=name, hint="every line needs the same number of columns"
        ) from None
    require_records(
        content, table.num_rows + skip, name, line_breaks=False, blanks=True, hint="close the quotes around names"
    )
    return table


def from_columns(table: pa.Table, name: str) -> Graph:
    """The graph whose edges are the first two columns; every distinct name is a node."""
    if table.num_columns < 2 or table.num_rows == 0:
        raise DataError(f"{name} has no edges", where=name, hint="give at least one line with two names")
    source, target = (table.column(place).combine_chunks() for place in (0, 1))
    both = pa.concat_arrays([source.cast(pa.string()), target.cast(pa.string())]).dictionary_encode()
    if both.null_count or "" in (labels := both.dictionary.to_pylist()):
        raise DataError(f"{name} has edges with an empty end", where=name, hint="every line needs two names")
    codes = np.asarray(both.indices, dtype=np.int64)
    kinds = len(source) >= _TWO_KINDS and not np.intersect1d(codes[: len(source)], codes[len(source) :]).size
    values = tuple(
        title for place, title in enumerate(table.column_names) if place > 1 and len(pc.unique(table.column(place))) > 1
    )
    graph = Graph.from_pairs(codes[: len(source)], codes[len(source) :], len(labels), labels)
    return graph.saying(values, kinds=kinds)


def parse_graphml(content: bytes, name: str) -> Graph:
    """Nodes and edges of a GraphML file, and whether its edges carry values or its nodes are marked as two kinds."""
    from xml.etree import ElementTree

    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise DataError(f"{name} declares entities", where=name, hint="remove the document type from the file")
    number: dict[str, int] = {}
    edges: list[tuple[int, int]] = []
    keys, marks, carried = dict[str, str](), set[str](), list[dict[str, str]]()
    try:
        for _, element in ElementTree.iterparse(io.BytesIO(content)):  # noqa: S314 - no entities, checked above
            kind = _tag(element)
            if kind == "key":
                keys[element.attrib["id"]] = element.attrib.get("attr.name", element.attrib["id"])
            elif kind == "node":
                marks.update(_marks(_data(element, keys)))
                number.setdefault(element.attrib["id"], len(number))
            elif kind == "edge":
                ends = (element.attrib["source"], element.attrib["target"])
                edges.append((number.setdefault(ends[0], len(number)), number.setdefault(ends[1], len(number))))
                carried.append(_data(element, keys))
            if kind != "data":
                element.clear()
    except (ElementTree.ParseError, KeyError):
        raise DataError(
            f"{name} is no readable GraphML", where=name, hint="write it again, for example with networkx"
        ) from None
    if not number:
        raise DataError(f"{name} has no nodes", where=name, hint="give a graph with at least one node")
    graph = Graph.from_pairs([a for a, _ in edges], [b for _, b in edges], len(number), list(number))
    return graph.saying(differing_edge_attributes(carried), kinds=len(marks) > 1)


def _marks(carried: dict[str, str]) -> list[str]:
    """Which of two kinds a node says it is: `bipartite`, as networkx calls it, or `type`, true or false, as igraph
    does."""
    kind = carried.get("type", "").lower()
    return [carried["bipartite"]] if "bipartite" in carried else [kind] if kind in {"true", "false"} else []


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _data(element: Element, keys: dict[str, str]) -> dict[str, str]:
    """What a node or an edge carries."""
    data = (child for child in element if _tag(child) == "data")
    return {keys.get(key := child.attrib.get("key", ""), key): child.text or "" for child in data}


# Two kinds
# ---------


CYCLES = 20
_TIES_LOOKED_AT = 300


def bipartite_halves(graph: Graph) -> bool:
    """Whether the graph falls into two halves without a tie inside, which is no chance."""
    if graph.size < CYCLES or _has_triangle(graph):
        return False
    low, high = graph.edges()
    components = _components(low, high, graph.nodes)
    if graph.size - graph.nodes + components < CYCLES:
        return False
    cover = _components(np.concatenate([low, high]), graph.nodes + np.concatenate([high, low]), 2 * graph.nodes)
    return cover == 2 * components


def _has_triangle(graph: Graph) -> bool:
    """Whether one of the first ties closes a triangle, as it does in nearly every graph of people."""
    low, high = graph.edges()
    ends = zip(low[:_TIES_LOOKED_AT].tolist(), high[:_TIES_LOOKED_AT].tolist(), strict=True)
    return any(np.intersect1d(graph.neighbours_of(a), graph.neighbours_of(b), assume_unique=True).size for a, b in ends)


def _components(low: np.ndarray, high: np.ndarray, nodes: int) -> int:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ties = coo_array((np.ones(len(low), dtype=np.int8), (low, high)), shape=(nodes, nodes))
    return int(connected_components(ties, directed=False, return_labels=False))
