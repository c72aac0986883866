"""What is odd about a table: what a careful reader would ask about before believing it, with the setting that would
mend it.

Nothing here is about privacy and nothing is changed: an oddity is a sentence with a count, and where reading the file
otherwise would mend it, the setting under ``data:`` that does. Sentences name columns and counts, never values of
people.

Cost: one pass over the distinct values of every column, and one sort of the rows.

>>> import pyarrow as pa
>>> odd = Table(pa.table({"pay": ["1,5", "NA", "2,0"], "town": ["Ulm ", "ulm", "Bonn"], "unit": ["x", "x", "x"]}))
>>> for each in find_oddities(odd):
...     print(each.column, "|", each.what, "|", each.setting)
 | missing values seem to be written as NA | {'missing': ['NA']}
pay | numbers have a decimal comma | {'decimal_comma': ['pay']}
town | 1 record has blanks around its value | {}
town | 2 values differ only in capitals or blanks | {}
unit | says the same in every record | {}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table, TextColumn
from sfumato.io.table_source import NULL_WORDS, suggested

_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_FORMULA = r"^[=+@-]."
_MOSTLY, _LONG = 0.95, 1_000


@dataclass(frozen=True, slots=True)
class Oddity:
    """One thing to look at; `setting` holds keys for ``data:`` that would mend it."""

    column: str
    what: str
    setting: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def find_oddities(table: Table) -> list[Oddity]:
    """Everything odd: how the file seems to be written, then column by column, then rows and columns that stand
    twice."""
    found = [*_written(table)]
    if len(table.names) == 1 and any(sign in table.names[0] for sign in ";\t|"):
        found.append(Oddity("", "there is one column, and its name holds separators: set the right one"))
    for name in table.names:
        found += (Oddity(name, what, setting) for what, setting in _column(table.text(name), table.rows))
    return [*found, *_twice(table)]


def _written(table: Table) -> Iterator[Oddity]:
    """What `io.table_source` suggests."""
    settings = suggested(table.frame)
    if settings.missing:
        yield Oddity(
            "",
            f"missing values seem to be written as {', '.join(settings.missing)}",
            {"missing": list(settings.missing)},
        )
    for name in settings.decimal_comma:
        yield Oddity(name, "numbers have a decimal comma", {"decimal_comma": [name]})
    for name in settings.thousands:
        yield Oddity(name, "numbers have signs between thousands", {"thousands": [name]})
    for name, written in settings.date_format.items():
        yield Oddity(name, f"days are written as {written}", {"date_format": {name: written}})
    yield from (Oddity("", doubt) for doubt in settings.doubts)


def _column(text: TextColumn, rows: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    labels, counts = pa.array(text.labels, pa.string()), np.asarray(text.counts())
    full = np.array([bool(label) for label in text.labels])
    empty = int(counts[~full].sum())
    if empty == rows:
        yield "is empty", {}
        return
    if full.sum() == 1:
        yield "says the same in every record" + (" that has a value" if empty else ""), {}
    elif empty > rows / 2:
        yield f"is empty in {_records(empty)}", {}
    for what, hit, setting in _texts(labels, full, counts):
        yield what.format(_records(int(counts[hit].sum())), _have(int(counts[hit].sum()))), setting
    folded = pc.utf8_lower(pc.utf8_trim_whitespace(labels.filter(pa.array(full))))
    alike = len(folded) - pc.count_distinct(folded).as_py()
    if alike:
        yield f"{2 * alike if alike == 1 else f'at least {alike + 1:,}'} values differ only in capitals or blanks", {}


def _texts(
    labels: pa.Array, full: np.ndarray, counts: np.ndarray
) -> Iterator[tuple[str, np.ndarray, Mapping[str, Any]]]:
    """Sentences about distinct values, and which of them they are about."""
    blank = _mask(pc.not_equal(pc.utf8_trim_whitespace(labels), labels)) & full
    if blank.any():
        yield "{0} {1} blanks around " + ("its value" if counts[blank].sum() == 1 else "their values"), blank, {}
    numeric = _mask(pc.match_substring_regex(labels, _NUMBER))
    words = _mask(pc.is_in(labels, pa.array(NULL_WORDS)))
    strange = full & ~numeric & ~words
    if strange.any() and counts[numeric].sum() >= _MOSTLY * counts[full].sum():
        yield "{0} {1} a text among numbers", strange, {}
    formula = _mask(pc.match_substring_regex(labels, _FORMULA)) & ~numeric & full
    if formula.any():
        yield "{0} {1} a text that a spreadsheet would run", formula, {"escape": "formulas"}
    broken = _mask(pc.match_substring(labels, "\ufffd"))
    if broken.any():
        yield "{0} {1} signs that could not be read: set the encoding", broken, {}
    long = _mask(pc.greater(pc.utf8_length(labels), _LONG))
    if long.any():
        yield f"{{0}} {{1}} a text of more than {_LONG:,} signs", long, {}


def _mask(found: pa.Array) -> np.ndarray:
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _records(count: int) -> str:
    return f"{count:,} record{'' if count == 1 else 's'}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _twice(table: Table) -> Iterator[Oddity]:
    """Rows that stand more than once, and columns that say the same in every row."""
    rows = equivalence_classes_of([table.text(name).codes for name in table.names], rows=table.rows)
    again = table.rows - len(rows)
    if again and len(table.names) > 1:
        yield Oddity(
            "", f"{_records(again)} {'stands' if again == 1 else 'stand'} in the file already: every column is the same"
        )
    for place, one in enumerate(table.names):
        for two in table.names[place + 1 :]:
            first, second = table.text(one), table.text(two)
            if len(first.labels) > 1 and first.labels == second.labels and np.array_equal(first.codes, second.codes):
                yield Oddity(two, f"says the same as '{one}' in every record")
