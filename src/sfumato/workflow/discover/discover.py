"""A finder: looks at a table and says what its policy might state. A new one is one file in this folder with one class.


Basket shapes
-------------
Sets of things in a file or table: recognized by their shape, and proposed as ``kind: baskets``.

=========  ===========================================================================================================
fimi       a file of records, one a line (.dat, .fimi)
wide       at least eight columns of 0 and 1; what is left over are labels
long       two columns without a common value; rows of the first stand together, and no pair repeats: one row an item
items      a column whose cells hold several words of a small vocabulary, in different numbers, none twice in a cell
=========  ===========================================================================================================

A table that has more columns beside its sets than one label stays a table, and a remark says which column holds sets.
Shapes are signs, not proofs: the proposal is a policy for a person to read.


Writing
-------
A suggestion as the text of a policy: remarks first, then its keys, then every rule on a line of its own that one `#`
switches.

>>> from sfumato.workflow.discover.proposal import Proposal
>>> rule = Proposal("a < b", "orders", support=400, chance=-80.0)
>>> print(policy_text(Suggestion({"version": 1, "data": {"kind": "database"}}, proposals=(rule,))))
# Contains values of your data. Review every line before you share it.
version: 1
data:
  kind: database
keep:  # rules that hold in the data; write '#' before one to switch it off
  - "a < b"  # found, 400 rows, p = 10^-80
<BLANKLINE>
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.core.errors import DataError
from sfumato.core.html.pages import card_html, table_html
from sfumato.core.registry import catalogue
from sfumato.data.database import Database
from sfumato.data.personal_columns import detect
from sfumato.data.table import Table, TextColumn
from sfumato.io.sql import is_url
from sfumato.io.table_source import Suggested, TableSource, suggested
from sfumato.policy.policy import Policy
from sfumato.policy.privacy_rules import parse_dependency, partly_known_dependency
from sfumato.policy.yaml_document import write_flow, write_switches, write_yaml
from sfumato.release.method import Progress, no_progress
from sfumato.workflow.discover.proposal import Proposal

WITHHELD = "${SFUMATO_SOURCE}"
"""Stands for the URL of a source that holds a login."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Keys for a policy, sentences that explain them, what an existing policy overlooks, and rules that hold.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.discover({"email": ["ada@example.org", "ben@example.org"], "sex": ["f", "m"]}).roles["email"]
    'identifier'
    """

    policy: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    accepted: Mapping[str, str] = field(default_factory=dict)
    """Warnings of `check` that a policy for this data will meet, and what they mean."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Columns that look personal and that nothing could be proposed for, and why."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Why a column has its role, by its name."""

    @property
    def text(self) -> str:
        """The draft as the text of a policy file, with the reason beside every role."""
        return policy_text(self)

    @property
    def roles(self) -> dict[str, str]:
        """The role of every column; *review* where a person has to decide."""
        return {
            name: entry if isinstance(entry, str) else str(entry["role"])
            for name, entry in self.policy.get("columns", {}).items()
        }

    def _repr_html_(self) -> str:
        asked = sum(role == "review" for role in self.roles.values())
        rows = [(name, role, self.remarks.get(name, "")) for name, role in self.roles.items()]
        told = "Check every role before you publish. Sfumato cannot know what an adversary knows."
        figures = ((str(len(rows)), "columns"), (str(asked), "to decide"))
        return card_html("Draft of a policy", told, figures, table_html(("column", "role", "reason"), rows))


class Finder(ABC):
    """One thing that can be seen in data."""

    name: ClassVar[str]
    order: ClassVar[int] = 50
    """Finders run, and their keys appear in the proposal, in this order."""

    @abstractmethod
    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        """What the table suggests; `policy`, when given, is compared with it."""


def discover(
    source: Any,
    policy: Policy | None = None,
    *,
    table: str = "",
    schema: str = "",
    target: str = "",
    mode: str | None = None,
    declared: bool = True,
    read: Mapping[str, Any] | None = None,
    most: int | None = None,
    progress: Progress = no_progress,
) -> Suggestion:
    """Return a draft of a policy for some data: roles with reasons, hierarchies, requirements and rules.

    Examples
    --------
    >>> import sfumato as sf
    >>> found = sf.discover({"sex": ["f", "m"] * 9, "diagnosis": ["flu", "gout", "cold"] * 6})
    >>> found.roles
    {'sex': 'quasi-identifier', 'diagnosis': 'sensitive'}

    Notes
    -----
    The URL of a database without a `table` means all tables (of the PostgreSQL schema `schema`); without `declared`
    nothing but their rows is looked at. `read` holds settings of reading, as under ``data:``. `target` is written into
    the policy as the test database to load, by `mode`, or as a clone where both databases are of one kind and
    everything can be copied. Of a database's tables with more rows than `most` about as many are looked at; the server
    confirms what they suggest."""
    from sfumato.workflow.discover.databases import discover_database, read_sampled

    if isinstance(source, Database):
        return discover_database(source, policy, declared=declared, progress=progress)
    if isinstance(source, str) and is_url(source) and not table and (policy is None or policy.data.name == "database"):
        database, sampled = read_sampled(source, lambda done, what: progress(done / 2, what), schema, most)
        later = partial(_second_half, progress)
        where = {"source": source, "target": target, "schema": schema, "mode": mode or ""}
        return discover_database(database, policy, where=where, declared=declared, progress=later, sampled=sampled)
    shape = of_file(source) if policy is None else None
    return _of_baskets(shape, source, table) if shape else _of_table(source, policy, table, progress, read or {})


def _of_baskets(shape: BasketShape, source: Any, table: str) -> Suggestion:
    """A policy for sets of things."""
    settings = {name: value for name, value in shape.settings.items() if value not in ("", [])}
    tree = {"version": 1, "data": {"kind": "baskets"} | _named(source, table) | settings} | shape.tree()
    return Suggestion(tree, (shape.reason,))


def _second_half(progress: Progress, done: float, what: str) -> None:
    progress(0.5 + done / 2, what)


def _of_table(
    source: Any, policy: Policy | None, table: str, progress: Progress, read: Mapping[str, Any]
) -> Suggestion:
    plain = {"kind": "table", **({"table": table} if table else {}), **read}
    reader = policy or Policy.parse({"version": 1, "data": plain})
    if policy is None and isinstance(reader.data, TableSource):
        layout = reader.data.unusual_layout(source)
        read, plain = {**read, **layout}, plain | layout
    rows = reader.data.read(source)
    settings = Suggested()
    if policy is None and isinstance(rows, Table):
        settings = suggested(rows.frame)
        reader = Policy.parse({"version": 1, "data": plain | settings.keys()})
        rows = reader.data.read(source) if settings.keys() else rows
    if not isinstance(rows, Table):
        hint = "give a CSV or Parquet file, a table of a database, or the URL of a database"
        raise DataError("discovery looks at tables and databases", hint=hint)
    shape = of_table(rows) if policy is None else None
    if shape is not None:
        return _of_baskets(shape, source, table)
    finders = sorted(catalogue("discover", Finder).values(), key=lambda cls: cls.order)
    found = []
    for place, cls in enumerate(finders):
        progress(place / len(finders), cls.name)
        found.append(cls().find(rows, policy))
    tree: dict[str, Any] = {
        "version": 1,
        "data": {"kind": "table"} | _named(source, table) | dict(read) | settings.keys(),
    }
    for each in found:
        tree |= each.policy
    left_out = tuple(_left_out(tree)) if policy is None else ()
    reasons = (*_told(settings), *_sets(rows), *(reason for each in found for reason in each.reasons), *left_out)
    warnings = (*settings.doubts, *(warning for each in found for warning in each.warnings))
    remarks = {name: remark for each in found for name, remark in each.remarks.items()}
    return Suggestion(
        tree, reasons, warnings, tuple(rule for each in found for rule in each.proposals), remarks=remarks
    )


def _left_out(tree: dict[str, Any]) -> Iterator[str]:
    """Take dependencies out of ``knows:`` that tie quasi-identifiers to other columns: no recoded table keeps claims
    beside it."""
    roles = {name: role for name, entry in tree.get("columns", {}).items() if (role := _role(entry)) != "drop"}
    known = [name for name, role in roles.items() if role in ("quasi-identifier", "identifier")]
    if "person" in tree:  # whose rows they are is not published, so nobody learns anything by it
        private = {name for name, role in roles.items() if role == "identifier"}
        tree["knows"] = [text for text in tree.get("knows", ()) if not parse_dependency(text).columns & private]
    mixed = [
        text
        for text in tree.get("knows", ())
        if known and partly_known_dependency(known, roles, [parse_dependency(text)])
    ]
    for text in mixed:
        tree["knows"] = [other for other in tree["knows"] if other != text]
        yield (
            f"{text} is not under 'knows:', which would require sub-tables; an adversary who "
            "knows it learns more from classes than is counted"
        )
    if not tree.get("knows", True):
        del tree["knows"]


def _role(entry: Any) -> str:
    """The role of an entry; that which is proposed where it is under review."""
    return entry if isinstance(entry, str) else str(entry.get("proposed") or entry.get("role"))


def _sets(rows: Table) -> Iterator[str]:
    for name, separator in item_columns(rows).items():
        yield (
            f"'{name}' holds sets of items; alone they are read with kind: baskets, items: {name}, separator:"
            f" {separator!r}"
        )


def _told(settings: Suggested) -> Iterator[str]:
    if settings.missing:
        yield f"missing values are written as {', '.join(settings.missing)}"
    for name in settings.decimal_comma:
        yield f"numbers of '{name}' have a decimal comma"
    for name in settings.thousands:
        yield f"numbers of '{name}' have signs between thousands"
    for name, written in settings.date_format.items():
        yield f"days of '{name}' are written as {written}"


def _named(source: Any, table: str) -> dict[str, str]:
    """Where the data lies, unless it was given as an object or the address holds a login."""
    if not isinstance(source, str | Path):
        return {}
    text = str(source)
    if is_url(text):
        return {"source": WITHHELD if "@" in text else text, **({"table": table} if table else {})}
    return {"source": text}


# Basket shapes
# -------------


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
    return (
        BasketShape({"format": "fimi"}, (), "one record a line: sets of items") if ending in ("dat", "fimi") else None
    )


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
    return {
        name: separator for name, separator in found.items() if separator and not _is_written(name, table.text(name))
    }


def _is_written(name: str, text: TextColumn) -> bool:
    """Whether a column holds names or texts of people, whose words are no items."""
    values = [label for label in text.labels if label]
    found = detect(name, values, rows=len(text.codes))
    return found is not None and found.role in ("identifier", "drop")


def _wide(table: Table) -> BasketShape | None:
    flags = [name for name in table.names if {label.lower() for label in table.text(name).labels} <= _FLAGS]
    labels = tuple(name for name in table.names if name not in flags)
    if len(flags) < _LEAST_FLAGS or len(labels) > 1:
        return None
    return BasketShape(
        {"format": "wide", "labels": list(labels)}, labels, f"{len(flags)} columns of 0 and 1: sets of items"
    )


def _long(table: Table) -> BasketShape | None:
    if len(table.names) != 2 or table.rows < 2:
        return None
    record, item = (table.text(name) for name in table.names)
    pairs = len(set(zip(record.codes.tolist(), item.codes.tolist(), strict=True)))
    repeats = table.rows >= 1.5 * len(record.labels) and table.rows >= _USED * len(item.labels)
    tied = set(record.labels) & set(item.labels)  # then both columns name the same things: ties of a graph
    together = int((np.diff(record.codes) != 0).sum()) + 1 == len(
        record.labels
    )  # the rows of a record stand below each other
    if not repeats or pairs < table.rows or tied or len(record.labels) <= len(item.labels) or not together:
        return None
    names = {"record": table.names[0], "items": table.names[1]}
    return BasketShape(
        {"format": "long"} | names, (), f"'{table.names[0]}' repeats and no pair does: one row for every item"
    )


def _separator(text: TextColumn) -> str:
    """What stands between the items of the cells, or nothing when they are no sets."""
    return next((mark for mark in _SEPARATORS if _are_sets(text, mark)), "")


def _are_sets(text: TextColumn, separator: str) -> bool:
    cells = [
        [word.strip() for word in label.split(separator) if word.strip()] for label in text.labels[:_LOOKED_AT] if label
    ]
    sizes = [len(cell) for cell in cells]
    several = sum(size > 1 for size in sizes)
    if len(cells) < 5 or 2 * several < len(cells) or len(set(sizes)) < 2 or max(sizes) < 3:
        return False
    words = Counter(word for cell in cells for word in cell)
    twice = sum(len(set(cell)) < len(cell) for cell in cells)
    ordered = Counter(frozenset(cell) for cell in cells if len(cell) > 1)
    return words.total() >= _USED * len(words) and twice <= _TWICE * len(cells) and len(ordered) > 1


# Writing
# -------


PRIVATE = "Contains values of your data. Review every line before you share it."
_WIDE = 128
_RECODED = "rules that hold in the data, for columns with the role replaced; remove '#' to switch one on"
_REPLACED = "rules that hold in the data; write '#' before one to switch it off"
_OFF = "More rules that hold and are switched off; remove '#' to switch one on."


def policy_text(found: Suggestion, apart: str = "") -> str:
    """YAML that reads back as the suggested policy with the rules that are switched on.

    Rules that are switched off follow at the end, or are in the file `apart`, which the draft then names."""
    first = [f"# Decide first: {name}: {' '.join(reason.split())}\n" for name, reason in found.left.items()]
    remarks = (f"# {line}\n" for line in found.reasons)
    keys = [text for key, value in found.policy.items() for text in _key(found, key, value)]
    return "".join([f"# {PRIVATE}\n", *first, *remarks, *keys, *_keep(found, apart)])


def _key(found: Suggestion, key: str, value: Any) -> Iterator[str]:
    if key == "columns" and found.remarks:
        yield "columns:\n" + "".join(_column(name, entry, found.remarks.get(name, "")) for name, entry in value.items())
    else:
        yield write_yaml({key: value}, compact=key == "columns")
    if key == "data" and found.accepted:
        lines = write_switches("accept", ((name, True, remark) for name, remark in found.accepted.items())).splitlines()
        yield "".join(f"  {line}\n" for line in lines)


def _column(name: str, entry: Any, remark: str) -> str:
    """One entry below ``columns:`` with the reason beside it; a long one has the reason above it."""
    note = f"# {' '.join(remark.split())}" if remark else ""
    line = f"{write_flow(name)}: {write_flow(entry)}"
    if len(line) + len(note) < _WIDE:
        return f"  {line}  {note}".rstrip() + "\n"
    lines = [line] if len(line) < _WIDE else write_yaml({name: entry}).splitlines()
    return "".join(f"  {line}\n" for line in ([note] if note else []) + lines)


def left_out_rules(found: Suggestion) -> str:
    """Return the rules of a database that are switched off, as lines to copy below `keep:`; empty where there are
    none."""
    off = "" if is_recoded(found) else _switches(found, False)
    return f"# {PRIVATE}\n# {_OFF}\n{off}" if off else ""


def _switches(found: Suggestion, on: bool) -> str:
    recoded = is_recoded(found)
    entries = [(each.rule, each.active and not recoded, str(each)) for each in found.proposals]
    return write_switches("keep" if on else "", [entry for entry in entries if entry[1] == on]).removeprefix(":\n")


def _keep(found: Suggestion, apart: str) -> Iterator[str]:
    """In a table that is recoded no rule is on: generalized values keep none."""
    if not found.proposals:
        return
    recoded = is_recoded(found)
    yield _switches(found, True).replace("keep:", f"keep:  # {_RECODED if recoded else _REPLACED}", 1)
    off = _switches(found, False)
    if apart and off and not recoded:
        yield f"# {len(off.splitlines())} rules that are switched off are in {apart}, each with the reason.\n"
    else:
        yield (f"# {_OFF}\n" if off and not recoded else "") + off


def is_recoded(found: Suggestion) -> bool:
    """Whether the policy publishes generalized values rather than new ones."""
    return dict(found.policy.get("data", {})).get("kind") == "table"
