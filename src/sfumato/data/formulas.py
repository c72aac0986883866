"""Cells that a spreadsheet would take for a formula: they begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return.

What is made of digits and signs only, like ``-5``, ``+49 170 1234`` or the range ``-10--1``, is none.

>>> [is_formula(text) for text in ("=1+1", "@SUM(A1)", "-A1", "+cmd|' /C calc'!A0", "-5", "-1.5e3", "+49 170 1234", "a=b", "-", "")]
[True, True, True, True, False, False, False, False, False, False]
>>> escaped("=1+1"), escaped("-5")
("'=1+1", '-5')
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_BEGINS = ("=", "+", "-", "@", "\t", "\r")
_FIRST = frozenset(_BEGINS)
_HARMLESS = re.compile(r"[-+.,\d %]*(?:\d[eE][-+]?\d+)?")
MARK = "'"


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would try to compute it."""
    return len(text) > 1 and text.startswith(_BEGINS) and not _HARMLESS.fullmatch(text)


def formulas_among(texts: Iterable[str]) -> list[int]:
    """The places of formulas; most texts do not begin like one, and cost nothing more.

    >>> formulas_among(["a", "=1+1", "-5", "", "@SUM(A1)"])
    [1, 4]
    """
    return [place for place, text in enumerate(texts) if text[:1] in _FIRST and is_formula(text)]


def escaped(text: str) -> str:
    """With an apostrophe before it when it is a formula; spreadsheets then show it as the text it is."""
    return MARK + text if is_formula(text) else text
