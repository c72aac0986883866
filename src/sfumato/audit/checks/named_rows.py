"""Named records: what kept.csv says of published rows is true there, and with the private trace also of the original.

Every line is judged on the published rows by themselves, so a recipient can do it: the three values of a locality stand in their
order, and the gap that is said to be wider is; a rule with rows holds. With the original and the trace the lines are the sampled
localities and the policy's rules, no more and no fewer, so what they say was true before. Rows that are said to stand in the order
of the source do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.rules import Judge
from sfumato.data.arrays import IntArray
from sfumato.data.numbers import whole
from sfumato.errors import SfumatoError
from sfumato.forms.replaced import KEPT, KEPT_COLUMNS, Replaced, WalkTrace
from sfumato.policy.keep import integrity_rules, replacements_of
from sfumato.policy.replacements import Ordered
from sfumato.policy.rules import IntegrityRule, columns_of
from sfumato.policy.rules.tree import Cell, Node
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_SIDES = ("high", "low")
"""The wider gap, by the number that the trace has for it."""


class NamedRows(Check):
    """What is said about single published rows is true."""

    name: ClassVar[str] = "named records"
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.of(Replaced).told or exhibit.of(Replaced).ordered

    def examine(self, exhibit: Exhibit) -> Finding:
        wrong = {"broken": 0, "untrue": 0, "moved": 0}
        lines: list[tuple[str, ...]] = []
        if exhibit.of(Replaced).told:
            lines = _lines(exhibit)
            wrong["broken"] = _broken(exhibit, lines)
            wrong["untrue"] = _untrue(exhibit, lines) if exhibit.private and exhibit.behind is not None else 0
        if exhibit.of(Replaced).ordered and exhibit.behind is not None:
            behind = exhibit.behind["data"]
            wrong["moved"] = int((behind != np.arange(behind.size)).sum())
        reason = ", ".join(f"{count} {what}" for what, count in wrong.items() if count)
        return Finding(self.name, not reason, dict.fromkeys(wrong, 0), {"properties": len(lines), **wrong}, reason=reason)


def _lines(exhibit: Exhibit) -> list[tuple[str, ...]]:
    part = exhibit.tables[KEPT]
    columns = [np.array(part.text(name).labels, dtype=object)[part.text(name).codes].tolist() for name in KEPT_COLUMNS]
    return list(zip(*columns, strict=True))


def _broken(exhibit: Exhibit, lines: list[tuple[str, ...]]) -> int:
    """Lines that cannot be read or do not hold between the rows they name."""
    localities = [line for line in lines if not line[0]]
    values = {name: _levels(exhibit, name, domain) for name, domain in replacements_of(exhibit.policy).items()}
    rules = Counter(line[0] for line in lines if line[0])
    odd = sum(1 for line in lines if line[0] and any(line[1:]))
    judge = Judge({None: {name: exhibit.data.text(name) for name in exhibit.data.names}})
    return odd + sum(not _holds(line, values) for line in localities) + sum(not _rule_holds(rule, exhibit, judge) for rule in rules)


def _levels(exhibit: Exhibit, name: str, domain: Any) -> IntArray:
    text = exhibit.data.text(name)
    own = [domain.level(label) if isinstance(domain, Ordered) else None for label in text.labels]
    return np.array([0 if level is None else level for level in own], dtype=np.int64)[text.codes]


def _holds(line: tuple[str, ...], values: dict[str, IntArray]) -> bool:
    _, name, *rows, wider = line
    places = [whole(row) or 0 for row in rows]
    if name not in values or wider not in _SIDES or not all(1 <= place <= values[name].size for place in places):
        return False
    low, middle, high = (int(values[name][place - 1]) for place in places)
    below, above = middle - low, high - middle
    return low <= middle <= high and (below >= above if wider == "low" else below <= above)


def _rule_holds(text: str, exhibit: Exhibit, judge: Judge) -> bool:
    rule = _read(text, exhibit)
    if rule is None or not _is_named(rule):
        return False
    inside = all(node.record <= exhibit.data.rows for node in rule.body.walk() if isinstance(node, Cell))
    shown = all(column.name in exhibit.data.names for column in columns_of(rule))
    return inside and shown and not judge.broken(rule)


def _read(text: str, exhibit: Exhibit) -> IntegrityRule | None:
    """A told rule, bound to the policy's columns; None when it cannot be understood."""
    try:
        return integrity_rules(replace(exhibit.policy, keep=(text,)))[0]
    except SfumatoError:
        return None


def _untrue(exhibit: Exhibit, lines: list[tuple[str, ...]]) -> int:
    """Lines too many and too few, beside what the trace and the policy say of the original's records."""
    assert exhibit.behind is not None
    behind = exhibit.behind["data"]
    said: Counter[tuple[Any, ...]] = Counter(_of_records(line, behind) for line in lines if not line[0])
    kept: Counter[tuple[Any, ...]] = Counter()
    for name, triples in exhibit.traced(WalkTrace).localities.items():
        kept.update((name, a, b, c, _SIDES[side]) for a, b, c, side in triples.tolist())
    told = Counter(_rule_of_records(line[0], behind, exhibit) for line in lines if line[0])
    asked = Counter(repr(rule.body) for rule in integrity_rules(exhibit.policy) if _is_named(rule))
    return _differences(said, kept) + _differences(told, asked)


def _differences(one: Counter[Any], other: Counter[Any]) -> int:
    return (one - other).total() + (other - one).total()


def _of_records(line: tuple[str, ...], behind: IntArray) -> tuple[Any, ...]:
    _, name, *rows, wider = line
    places = [whole(row) or 0 for row in rows]
    return (name, *(int(behind[place - 1]) if 1 <= place <= behind.size else -1 for place in places), wider)


def _is_named(rule: IntegrityRule) -> bool:
    return any(isinstance(node, Cell) for node in rule.body.walk()) and not any(column.original for column in columns_of(rule))


def _rule_of_records(text: str, behind: IntArray, exhibit: Exhibit) -> str:
    """The told rule with original records in place of published rows, as the policy would have it."""
    rule = _read(text, exhibit)
    return text if rule is None else repr(_behind(rule.body, behind))


def _behind(node: Any, behind: IntArray) -> Any:
    if isinstance(node, Cell):
        return replace(node, record=int(behind[node.record - 1]) + 1 if node.record <= behind.size else 0)
    if isinstance(node, tuple):
        return tuple(_behind(entry, behind) for entry in node)
    if not isinstance(node, Node):
        return node
    return replace(node, **{entry.name: _behind(getattr(node, entry.name), behind) for entry in fields(node) if entry.name != "at"})
