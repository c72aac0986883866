"""Patterns: every value has the form of one expression, sign by sign for codes of one length, run by run for others.

Guarantee
    A sign is spelled out at a place, and a length is stated, only when at least five different values have it there (`OFTEN`); a
    column with fewer than twenty different values gets no pattern. So no pattern spells out a single value.

Notation
    chance  that d different values all fit although one value in ten looks otherwise: 0.9^d

Cost: one pass over the distinct values.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> plates, rooms = [f"{'AB'[i % 2]}X-{i:03}" for i in range(200)], [f"R{i}.{i % 7}" for i in range(200)]
>>> table = Table(pa.table({"plate": plates, "room": rooms}))
>>> [each.rule for each in PatternTemplate().propose(DataView.of({None: table}))]
['match(plate, "[AB]X-[01][0-9]{2}")', 'match(room, "R[0-9]{1,3}\\\\.[0-9]")']
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import ClassVar

from sfumato.discover.proposal import OFTEN, Proposal
from sfumato.discover.templates.base import Template
from sfumato.discover.view import ColumnView, DataView

_LEAST, _LONGEST, _FEW = 20, 40, 4
_CLASSES = (
    ("[0-9]", string.digits),
    ("[A-Z]", string.ascii_uppercase),
    ("[a-z]", string.ascii_lowercase),
    ("[0-9a-f]", "0123456789abcdef"),
    ("[0-9A-F]", "0123456789ABCDEF"),
    ("[A-Za-z]", string.ascii_letters),
    ("[0-9A-Z]", string.digits + string.ascii_uppercase),
    ("[0-9a-z]", string.digits + string.ascii_lowercase),
    ("[0-9A-Za-z]", string.digits + string.ascii_letters),
)


class PatternTemplate(Template):
    """`match(a, "…")`."""

    name: ClassVar[str] = "patterns"
    order: ClassVar[int] = 70

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for column in view.columns:
            pattern, different = pattern_of(column), len(column.values)
            if pattern:
                escaped = pattern.replace('"', '\\"')
                yield Proposal(f'match({column}, "{escaped}")', PatternTemplate.name, different, different * math.log10(0.9))


def pattern_of(column: ColumnView) -> str:
    """The form that all values share, empty when they share none worth saying."""
    values = column.values
    if column.unit != "text" or len(values) < _LEAST or max(map(len, values)) > _LONGEST or not all(map(str.isprintable, values)):
        return ""
    return _by_place(values) if len({len(value) for value in values}) == 1 else _by_run(values)


def _by_place(values: list[str]) -> str:
    """One class of signs per place."""
    if len(values[0]) < 2:
        return ""
    classes = [_class(Counter(signs)) for signs in zip(*values, strict=True)]
    return "" if "" in classes else "".join(_repeated(sign, len(list(run))) for sign, run in groupby(classes))


def _class(signs: Counter[str]) -> str:
    """The narrowest class; single signs only when each occurs often."""
    if len(signs) == 1:
        return _literal(next(iter(signs)))
    for written, members in _CLASSES:
        if signs.keys() <= set(members):
            return _listed(signs) if len(signs) <= _FEW and min(signs.values()) >= OFTEN else written
    return ""


def _listed(signs: Counter[str]) -> str:
    """Signs that may stand at a place; neighbours as a range."""
    return f"[{''.join(sorted(signs))}]"


def _literal(sign: str) -> str:
    return sign if sign.isalnum() or sign in "-_ @:;,'\"/" else re.escape(sign)


def _repeated(sign: str, times: int) -> str:
    if times == 1:
        return sign
    return f"{sign}{{{times}}}" if sign.startswith("[") else sign * times


def _by_run(values: list[str]) -> str:
    """One class per run of letters, run of digits or other sign, when all values are cut into runs alike."""
    cut = [_runs(value) for value in values]
    shapes = {tuple(kind for kind, _ in runs) for runs in cut}
    if len(shapes) != 1 or len(cut[0]) < 2:
        return ""
    return "".join(_run(kind, [runs[place][1] for runs in cut]) for place, kind in enumerate(shapes.pop()))


def _runs(value: str) -> list[tuple[str, str]]:
    """The value cut where the kind of sign changes; kinds are D(igit), L(etter) and every other sign for itself."""
    return [(kind, "".join(run)) for kind, run in groupby(value, key=_kind)]


def _kind(sign: str) -> str:
    return "D" if sign in string.digits else "L" if sign in string.ascii_letters else sign


def _run(kind: str, found: list[str]) -> str:
    texts = Counter(found)
    if len(texts) == 1:
        return "".join(_literal(sign) for sign in found[0])
    if kind not in "DL":
        return _literal(kind) + _times(Counter(map(len, found)))
    signs = Counter(sign for text in texts for sign in set(text))
    lengths = Counter(map(len, found))
    sign = _class(Counter(found)) if set(lengths) == {1} else _wide(set(signs))
    return sign + _times(lengths)


def _wide(signs: set[str]) -> str:
    return next(written for written, members in _CLASSES if signs <= set(members))


def _times(lengths: Counter[int]) -> str:
    """How often; an end that only a few values reach is left open."""
    low, high = min(lengths), max(lengths)
    if low == high:
        return "" if low == 1 else f"{{{low}}}"
    upper = str(high) if lengths[high] >= OFTEN else ""
    lower = low if lengths[low] >= OFTEN else 1
    return "+" if lower == 1 and not upper else f"{{{lower},{upper}}}"
