r"""SQLite keeps a storage class with every value, whatever the column declares; as text it must survive.

A value is written plainly when its column's affinity gives it back as it was: numbers in numeric columns, text in text
columns, text and canonical numbers in columns without affinity. Everything else carries a mark: ``\x`` bytes in hex (as
PostgreSQL writes bytea), ``\i`` an integer, ``\r`` a real, ``\t`` a text. A text that looks marked is marked itself, so
that `encode` and `decode` are inverse.

>>> [encode(value, "BLOB") for value in (5, 5.0, "5", "five", b"\x05")]
['5', '5.0', '\\t5', 'five', '\\x05']
>>> [decode(text, "BLOB") for text in ('5', '5.0', '\\t5', 'five', '\\x05')]
[5, 5.0, '5', 'five', b'\x05']
>>> decode("10.50", "NUMERIC"), decode("10.50", "TEXT"), affinity("NVARCHAR(20)"), affinity("DATETIME")
(10.5, '10.50', 'TEXT', 'NUMERIC')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MARKED = r"^\\(x([0-9a-fA-F][0-9a-fA-F])*$|i-?[0-9]+$|r|t)"
_MARKED = re.compile(MARKED)
_INTEGER = re.compile(r"[+-]?[0-9]{1,25}\Z")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_LEAST, _MOST = -(2**63), 2**63 - 1
_NUMERIC = ("INTEGER", "REAL", "NUMERIC")


def affinity(declared: str) -> str:
    """SQLite's own five rules, in its order."""
    name = declared.upper()
    for signs, found in (
        (("INT",), "INTEGER"),
        (("CHAR", "CLOB", "TEXT"), "TEXT"),
        (("BLOB",), "BLOB"),
        (("REAL", "FLOA", "DOUB"), "REAL"),
    ):
        if any(sign in name for sign in signs):
            return found
    return "NUMERIC" if name else "BLOB"


def _natural(text: str, kind: str) -> Any:
    """What an unmarked text is in a column of this affinity."""
    if kind == "TEXT":
        return text
    if kind == "BLOB":
        return _canonical(text)
    bare = text.strip(" \t\n\v\f\r")
    if _INTEGER.match(bare) and _LEAST <= int(bare) <= _MOST:
        return int(bare)
    return float(bare) if _NUMBER.match(bare) else text


def _canonical(text: str) -> Any:
    if _INTEGER.match(text) and str(int(text)) == text and _LEAST <= int(text) <= _MOST:
        return int(text)
    return float(text) if _NUMBER.match(text) and repr(float(text)) == text else text


def decode(text: str | None, kind: str) -> Any:
    """The value that SQLite is to store."""
    if text is None:
        return None
    if not _MARKED.match(text):
        return _natural(text, kind)
    mark, rest = text[1], text[2:]
    if mark == "x":
        return bytes.fromhex(rest)
    return int(rest) if mark == "i" else float(rest) if mark == "r" else rest


def encode(value: Any, kind: str) -> str | None:
    """The text of a stored value."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    plain = value if isinstance(value, str) else repr(value)
    if _MARKED.match(plain) or not _same(_natural(plain, kind), value, kind):
        return ("\\t" if isinstance(value, str) else "\\i" if isinstance(value, int) else "\\r") + plain
    return plain


def _same(one: Any, other: Any, kind: str) -> bool:
    """Equal and of one class; numeric affinities fold a whole real into an integer anyway."""
    if kind in _NUMERIC and not isinstance(one, str) and not isinstance(other, str):
        return bool(one == other)
    return type(one) is type(other) and bool(one == other)


def text_column(values: Iterable[Any], kind: str) -> pa.Array:
    """A column of stored values as text; whole columns at once where every value is plain."""
    values = list(values)
    classes = set(map(type, values)) - {type(None)}
    if classes == {int} and kind != "TEXT":
        return pa.array(values, pa.int64()).cast(pa.string())
    if classes <= {str} and kind == "TEXT":
        column = pa.array(values, pa.string())
        if not pc.any(pc.starts_with(column, "\\")).as_py():
            return column
    return pa.array([encode(value, kind) for value in values], pa.string())


def stored_column(column: pa.Array, kind: str) -> list[Any]:
    """A column of texts as the values to store."""
    values = column.to_pylist()
    if kind == "TEXT" and not pc.any(pc.starts_with(column, "\\")).as_py():
        return list(values)
    if kind == "INTEGER" and pc.all(pc.match_substring_regex(column, "^-?[0-9]{1,18}$"), min_count=0).as_py():
        return list(column.cast(pa.int64()).to_pylist())
    if kind == "REAL" and pc.all(pc.match_substring_regex(column, r"^-?[0-9]+\.[0-9]+$"), min_count=0).as_py():
        return list(column.cast(pa.float64()).to_pylist())
    rule: Callable[[str | None], Any] = partial(decode, kind=kind)
    return list(map(rule, values))
