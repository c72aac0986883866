"""Sets of things in a file or table: recognized by their shape, and proposed as ``kind: baskets``.

=========  ===========================================================================================================
fimi       a file of records, one a line (.dat, .fimi)
wide       at least eight columns of 0 and 1; what is left over are labels
long       two columns without a common value; rows of the first stand together, and no pair repeats: one row an item
items      a column whose cells hold several words of a small vocabulary, in different numbers, none twice in a cell
=========  ===========================================================================================================

A table that has more columns beside its sets than one label stays a table, and a remark says which column holds sets. Shapes are
signs, not proofs: what is proposed stands in the policy for a person to read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.table import Table, TextColumn

_FLAGS = {"0", "1", "", "true", "false"}
_LEAST_FLAGS, _LOOKED_AT, _USED, _TWICE = 8, 2_000, 3.0, 0.02
_SEPARATORS = ("|", ";", ",", " ")


@dataclass(frozen=True, slots=True)
class BasketShape:
    """Settings under ``data:`` that read the sets, the columns that are labels, and the reason."""

    settings: dict[str, Any]
    labels: tuple[str, ...]
    reason: str

    def tree(self) -> dict[str, Any]:
        """Keys of a policy: groups of five, and labels hidden."""
        columns = {"columns": dict.fromkeys(self.labels, "sensitive")} if self.labels else {}
        protect: list[Any] = [{"k-anonymity": {"k": 5}}]
        protect += [{"hide": name, "by": {"l-diversity": {"l": 2}}} for name in self.labels]
        return columns | {"protect": protect}


def of_file(source: Any) -> BasketShape | None:
    """The shape that the name of a file tells."""
    if not isinstance(source, str | Path):
        return None
    ending = str(source).lower().removesuffix(".gz").rpartition(".")[2]
    return BasketShape({"format": "fimi"}, (), "one record a line: sets of items") if ending in ("dat", "fimi") else None


def of_table(table: Table) -> BasketShape | None:
    """The shape of a table that is nothing but sets and at most one label."""
    found = _wide(table) or _long(table)
    if found is not None:
        return found
    holding = item_columns(table)
    others = [name for name in table.names if name not in holding]
    if len(holding) != 1 or len(others) > 1:
        return None
    (name, separator), *_ = holding.items()
    return BasketShape({"items": name, "separator": separator}, tuple(others), f"cells of '{name}' are sets of items")


def item_columns(table: Table) -> dict[str, str]:
    """Columns whose cells are sets, with what stands between the items."""
    found = {name: _separator(table.text(name)) for name in table.names}
    return {name: separator for name, separator in found.items() if separator}


def _wide(table: Table) -> BasketShape | None:
    flags = [name for name in table.names if {label.lower() for label in table.text(name).labels} <= _FLAGS]
    labels = tuple(name for name in table.names if name not in flags)
    if len(flags) < _LEAST_FLAGS or len(labels) > 1:
        return None
    return BasketShape({"format": "wide", "labels": list(labels)}, labels, f"{len(flags)} columns of 0 and 1: sets of items")


def _long(table: Table) -> BasketShape | None:
    if len(table.names) != 2 or table.rows < 2:
        return None
    record, item = (table.text(name) for name in table.names)
    pairs = len(set(zip(record.codes.tolist(), item.codes.tolist(), strict=True)))
    repeats = table.rows >= 1.5 * len(record.labels) and table.rows >= _USED * len(item.labels)
    tied = set(record.labels) & set(item.labels)  # then both columns name the same things: ties of a graph
    together = int((np.diff(record.codes) != 0).sum()) + 1 == len(record.labels)  # the rows of a record stand below each other
    if not repeats or pairs < table.rows or tied or len(record.labels) <= len(item.labels) or not together:
        return None
    names = {"record": table.names[0], "items": table.names[1]}
    return BasketShape({"format": "long"} | names, (), f"'{table.names[0]}' repeats and no pair does: one row for every item")


def _separator(text: TextColumn) -> str:
    """What stands between the items of the cells, or nothing when they are no sets."""
    return next((mark for mark in _SEPARATORS if _are_sets(text, mark)), "")


def _are_sets(text: TextColumn, separator: str) -> bool:
    cells = [[word.strip() for word in label.split(separator) if word.strip()] for label in text.labels[:_LOOKED_AT] if label]
    sizes = [len(cell) for cell in cells]
    several = sum(size > 1 for size in sizes)
    if len(cells) < 5 or 2 * several < len(cells) or len(set(sizes)) < 2 or max(sizes) < 3:
        return False
    words = Counter(word for cell in cells for word in cell)
    twice = sum(len(set(cell)) < len(cell) for cell in cells)
    ordered = Counter(frozenset(cell) for cell in cells if len(cell) > 1)
    return words.total() >= _USED * len(words) and twice <= _TWICE * len(cells) and len(ordered) > 1
