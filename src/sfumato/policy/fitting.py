"""Whether a domain fits the type of a database column, and the domain as that type writes it.

>>> from sfumato.policy.replacements import read
>>> fitted(read({"dates": ["2020-01-01", "2020-12-31"]}), ColumnFacts("t", "timestamp", "TIMESTAMP")).text(737425)
'2020-01-01 00:00:00'
"""

from __future__ import annotations

import re
from dataclasses import replace

from sfumato.data.database import ColumnFacts
from sfumato.policy.replacements import (
    Computed,
    Dates,
    Decimals,
    Empty,
    FormedFakes,
    Integers,
    Like,
    Ordered,
    PatternDomain,
    Timestamps,
    ValueDomain,
    Values,
)

NUMBERS = ("integer", "decimal", "float")
MOMENTS = ("date", "timestamp")
_DIGITS = re.compile(r"(?:\[[0-9]-[0-9]\]|\[[0-9]+\]|[0-9]|\\d|\{\d{1,2}\})+")
_FORMED = {"uuid": "uuid", "inet": "ipv4", "cidr": "ipv4", "macaddr": "mac"}
"""Kinds of columns and the fakes that fit them."""
_FITS: dict[str, tuple[type[ValueDomain], ...]] = {
    "integer": (Integers, Values, Like, PatternDomain),
    "decimal": (Integers, Decimals, Values, Like),
    "float": (Integers, Decimals, Values, Like),
    "date": (Dates, Values, Like),
    "timestamp": (Dates, Timestamps, Values, Like),
    "text": (ValueDomain,),
}
_NOTHING = {"text": "", "json": "{}", "array": "{}", "list": "[]", "tsvector": "", "binary": "\\x", "hstore": "", "xml": ""}
"""What stands for nothing where a null is not allowed."""
_WIDTHS = {
    "TINYINT": 7, "SMALLINT": 15, "INT2": 15, "MEDIUMINT": 23, "INTEGER": 31, "INT": 31, "INT4": 31, "SERIAL": 31, "BIGINT": 63,
    "INT8": 63,
}  # fmt: skip
_UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64}


def _bounds(native: str) -> tuple[int, int] | None:
    """The least number of a type of whole numbers and the first that is too large, as far as the type says.

    >>> _bounds("smallint"), _bounds("int(10) unsigned"), _bounds("UTINYINT"), _bounds("numeric")
    ((-32768, 32768), (0, 4294967296), (0, 256), None)
    """
    name, *rest = re.sub(r"\(\d+\)", " ", native.upper()).split() or [""]
    if name in _UNSIGNED:
        return 0, 1 << _UNSIGNED[name]
    if name not in _WIDTHS:
        return None
    return (0, 1 << _WIDTHS[name] + 1) if "UNSIGNED" in rest else (-(1 << _WIDTHS[name]), 1 << _WIDTHS[name])


def misfit(domain: ValueDomain, column: ColumnFacts) -> str:
    """Why values of the domain cannot stand in the column; empty when they can."""
    if column.computed:
        return "the server computes this column from others"
    if isinstance(domain, Computed):
        return ""
    if _padded(column) and not (isinstance(domain, Empty) and column.nullable):
        return _misfit_padded(domain, column)
    if isinstance(domain, Empty):
        return (
            ""
            if column.nullable or column.kind in _NOTHING
            else f"the type {column.native} has no empty value, and no null is allowed"
        )
    fitting = _FITS.get(column.kind, (Values, Like))
    if isinstance(domain, PatternDomain) and column.kind != "text":
        formed = isinstance(domain, FormedFakes) and _FORMED.get(column.kind) == domain.fake
        formed = formed or (column.kind == "uuid" and _spells_uuid(domain.pattern))
        digits = column.kind == "integer" and _DIGITS.fullmatch(domain.pattern) is not None
        return "" if formed or (digits and _narrow(domain, column)) else _unfit(domain, column)
    if not isinstance(domain, fitting):
        return _unfit(domain, column)
    if isinstance(domain, Values):
        return _misfit_values(domain, column)
    if isinstance(domain, Ordered):
        return _misfit_ordered(domain, column)
    return ""


def _padded(column: ColumnFacts) -> bool:
    """Whether the server fills every text up to the same length."""
    return column.kind == "text" and column.native.lower().startswith(("character(", "char(", "bpchar("))


def _misfit_padded(domain: ValueDomain, column: ColumnFacts) -> str:
    """Texts of exactly the length that the column has: a shorter one would come back with blanks behind it."""
    length = column.length or 1
    if isinstance(domain, PatternDomain) and width(domain.pattern) == (length, length):
        return ""
    if isinstance(domain, Values) and all(len(value) == length for value in domain.values):
        return ""
    if isinstance(domain, Like) or (isinstance(domain, Ordered) and _even(domain, length)):
        return ""
    return f"{column.native} holds texts of exactly {length} characters, and those of {_word(domain)} differ"


def _even(domain: Ordered, length: int) -> bool:
    return {len(domain.text(domain.low)), len(domain.text(domain.high))} == {length}


def width(pattern: str) -> tuple[int, int]:
    """The shortest and the longest text of a form."""
    import re._parser as parser  # type: ignore[import-not-found]

    low, high = parser.parse(pattern).getwidth()
    return int(low), int(high)


def _unfit(domain: ValueDomain, column: ColumnFacts) -> str:
    return f"a domain of {_word(domain)} does not fit the type {column.native}"


def _spells_uuid(pattern: str) -> bool:
    """Whether everything of this form has the length and the signs of a uuid."""
    return width(pattern) == (36, 36) and re.fullmatch(r"[0-9a-f\[\](){}|,-]+", pattern) is not None


def _narrow(domain: PatternDomain, column: ColumnFacts) -> bool:
    """Whether every number of a pattern of digits fits; leading zeros would be lost."""
    most = (_bounds(column.native) or (0, 1 << 63))[1]
    signs = re.sub(r"\[[^]]*\]|\\d", "9", domain.pattern)
    widest = re.sub(r"(.)\{(\d+)\}", lambda found: found[1] * int(found[2]), signs)
    return not re.match(r"0|\[0|\\d", domain.pattern) and widest.isdigit() and int(widest) < most


def _misfit_values(domain: Values, column: ColumnFacts) -> str:
    strange = [value for value in domain.values if column.choices and value not in column.choices]
    if strange:
        return f"'{strange[0]}' is no value of the type {column.native}"
    if column.length is not None and max(map(len, domain.values)) > column.length:
        return f"a value of the list is longer than {column.native} allows"
    form = {"integer": r"[+-]?\d+", "decimal": r"[+-]?\d+(\.\d+)?", "float": r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?"}.get(column.kind)
    wrong = [value for value in domain.values if form and not re.fullmatch(form, value)]
    return f"'{wrong[0]}' is no value of the type {column.native}" if wrong else ""


def _misfit_ordered(domain: Ordered, column: ColumnFacts) -> str:
    bounds = _bounds(column.native)
    if isinstance(domain, Integers) and bounds and not bounds[0] <= domain.low <= domain.high < bounds[1]:
        return f"the bounds are wider than {column.native}"
    if isinstance(domain, Decimals) and column.places is not None and domain.places > column.places:
        return f"{domain.places} decimal places do not fit {column.native}"
    digits = re.search(r"\((\d+)\s*(?:,\s*(\d+)\s*)?\)", column.native) if column.kind == "decimal" else None
    if digits is not None:
        whole = int(digits[1]) - int(digits[2] or 0)
        if max(abs(domain.low), abs(domain.high)) // domain.unit >= 10**whole:
            return f"the bounds are wider than {column.native}"
    if column.length is not None and max(len(domain.text(domain.low)), len(domain.text(domain.high))) > column.length:
        return f"the bounds are longer than {column.native} allows"
    return ""


def fitted(domain: ValueDomain, column: ColumnFacts) -> ValueDomain:
    """The domain as the column's type writes it."""
    if isinstance(domain, Empty):
        return Empty(None if column.nullable else _NOTHING[column.kind])
    if isinstance(domain, Dates) and column.kind == "timestamp":
        domain = Timestamps(domain.low, domain.high, 1)
    if isinstance(domain, Timestamps) and zoned(column):
        domain = replace(domain, zone="+00")
    if isinstance(domain, PatternDomain) and column.length is not None:
        domain = replace(domain, longest=min(domain.longest, column.length))
    return domain


def zoned(column: ColumnFacts) -> bool:
    """Whether the column keeps a time zone."""
    native = column.native.upper()
    return column.kind == "timestamp" and ("WITH TIME ZONE" in native or "TIMESTAMPTZ" in native)


def _word(domain: ValueDomain) -> str:
    return next(iter(domain.declared()))
