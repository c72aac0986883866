"""All records that the rules allow, listed by plain trial, and how likely each is for one person when totals are fixed.

Used by the audit to know what an outsider believes about somebody before and after a blind release: the outsider knows domains and
rules, so the belief is uniform over all tables that obey them.

Notation
    part      columns joined by rules, found again here without the method's word
    context   given (not replaced) values that the part's rules mention
    share     probability of a legal record for one person, all tables that obey the totals being equally likely

Cost: the product of the domains, at most `_MOST` combinations; beyond that there is no list (None).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.rule_values import coded
from sfumato.audit.rules import Judge
from sfumato.data.arrays import FloatArray
from sfumato.data.classes import group
from sfumato.data.table import TextColumn
from sfumato.policy.replacements import Ordered, ValueDomain, Values
from sfumato.policy.rules import IntegrityRule, columns_of, conjuncts, linear_comparison
from sfumato.policy.rules.tree import Aggregate, Cell, Compare, Condition, Localities, Statement

_MOST = 2_000_000
_LONGEST = 1 << 25


@dataclass(frozen=True)
class Joined:
    """A part: its replaced columns, its per-record conditions, and its clauses about the whole table."""

    columns: tuple[str, ...]
    conditions: tuple[Condition, ...]
    whole: tuple[Condition | Statement, ...]

    @property
    def mentioned(self) -> tuple[str, ...]:
        """Columns outside the part that its conditions mention."""
        names = [c.name for node in self.conditions for c in columns_of(node)]
        return tuple(dict.fromkeys(name for name in names if name not in self.columns))

    @property
    def groups(self) -> tuple[str, ...]:
        """Columns by which a total is fixed group by group."""
        nodes = [n for clause in self.whole for n in clause.walk() if isinstance(n, Aggregate)]
        return tuple(dict.fromkeys(key.name for node in nodes for key in node.by))

    @property
    def looks_back(self) -> bool:
        """Whether its values are bound to original ones: by name, or by the pattern that localities keep."""
        patterns = any(isinstance(node, Localities) for node in self.whole)
        return patterns or any(c.original for node in (*self.conditions, *self.whole) for c in columns_of(node))


def part_of(column: str, replaced: tuple[str, ...], rules: list[IntegrityRule]) -> Joined:
    """The part that a replaced column belongs to."""
    clauses = [clause for rule in rules for clause in conjuncts(rule.body)]
    inside = {column}
    while True:
        grown = set(inside)
        for clause in clauses:
            names = {c.name for c in columns_of(clause) if c.name in replaced and not c.original}
            if names & inside:
                grown |= names
        if grown == inside:
            break
        inside = grown
    own = [c for c in clauses if inside & {found.name for found in columns_of(c) if not found.original}]
    single = [c for c in own if isinstance(c, Condition) and not any(isinstance(n, (Aggregate, Cell)) for n in c.walk())]
    return Joined(tuple(c for c in replaced if c in inside), tuple(single), tuple(c for c in own if c not in single))


def legal_records(part: Joined, domains: dict[str, ValueDomain], context: dict[str, str]) -> dict[str, TextColumn] | None:
    """Every combination of the part's columns that its conditions allow in a context, or None when there are too many to try."""
    labels = {name: _values(domains[name]) for name in part.columns}
    sizes = [0 if values is None else len(values) for values in labels.values()]
    if 0 in sizes or float(np.prod(np.array(sizes, dtype=float))) > _MOST:
        return None
    grid = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1)
    table = {name: TextColumn(codes, tuple(labels[name] or ())) for name, codes in zip(part.columns, grid, strict=True)}
    rows = grid.shape[1]
    table |= {name: TextColumn(np.zeros(rows, dtype=np.int32), (value,)) for name, value in context.items()}
    judge = Judge({None: table})
    keep = np.ones(rows, dtype=bool)
    for condition in part.conditions:
        keep &= ~np.broadcast_to(judge.verdict(condition, None).false, (rows,))
    return {name: TextColumn(table[name].codes[keep], table[name].labels) for name in part.columns}


def _values(domain: ValueDomain) -> tuple[str, ...] | None:
    if isinstance(domain, Ordered) and domain.size <= _MOST:
        return tuple(domain.text(level) for level in range(domain.low, domain.high + 1))
    return domain.values if isinstance(domain, Values) else None


def contributions(clauses: tuple[Condition | Statement, ...], table: dict[str, TextColumn]) -> list[NDArray[np.int64]] | None:
    """What each record adds to every fixed total, in whole numbers; None when a clause is no fixed total.

    Records that agree in the columns which the clauses mention add the same: it is worked out once for all of them.
    """
    mentioned = {column.name for clause in clauses for column in columns_of(clause) if not column.original}
    texts = {name: coded(column) for name, column in table.items()}
    alike = group([texts[name].codes for name in texts if name in mentioned], rows=len(next(iter(texts.values())).codes))
    found = _added(clauses, {name: TextColumn(text.codes[alike.first], text.labels) for name, text in texts.items()})
    return None if found is None else [_whole(total)[alike.of] for total in found]


def _added(clauses: tuple[Condition | Statement, ...], table: dict[str, TextColumn]) -> list[NDArray[np.object_]] | None:
    """The same in fractions, record by record."""
    found = []
    rows = len(next(iter(table.values())).codes)
    judge = Judge({None: table})
    for clause in clauses:
        form = linear_comparison(clause) if isinstance(clause, Compare) else None
        if form is None or form.operator != "=" or form.tolerance:
            return None
        total = np.zeros(rows, dtype=object)
        for atom, factor in form.terms.items():
            if not isinstance(atom, Aggregate) or not _is_sum(atom):
                return None
            if any(column.original for column in columns_of(atom)):
                continue
            value = np.ones(rows, dtype=object)
            if atom.argument is not None:
                own = judge.value(atom.argument, None)
                value = np.array([factor * int(part) / own.denominator for part in own.parts], dtype=object)
            else:
                value = value * factor
            if atom.where is not None:
                value = value * np.broadcast_to(judge.verdict(atom.where, None).true, (rows,))
            total = total + value
        found.append(total)
    return found


def _is_sum(atom: Aggregate) -> bool:
    return atom.function in ("sum", "count") or (atom.function == "mean" and atom.where is None and not atom.by)


def _whole(values: NDArray[np.object_]) -> NDArray[np.int64]:
    denominator = math.lcm(1, *(getattr(value, "denominator", 1) for value in set(values.tolist())))
    return np.array([int(value * denominator) for value in values], dtype=np.int64)


def shares(own: list[NDArray[np.int64]], counts: list[int], total: int) -> list[FloatArray] | None:
    """For each class the probability of every legal record of one of its people, given the total over everybody.

    `own[c]` are the contributions of class c's legal records, `counts[c]` how many people it has. P(record) is proportional to
    the number of ways the others reach the rest; their sum's law is a product of Fourier transforms. None when it is too long.

    Transforms of a length L give the law wrapped round: what is asked for at x holds the chances at x ± L, x ± 2L, … as well. Sums
    lie near their mean, further than `_window` says with a chance below 10⁻³⁰ (Hoeffding), far below what rounding does. So L need
    not be the whole span of the sum.
    """
    lows = [int(values.min()) for values in own]
    theta = _tilt(own, counts, total)
    single = []
    for values, low in zip(own, lows, strict=True):
        power = theta * (values - low)
        mass = np.bincount(values - low, weights=np.exp(power - power.max()))
        single.append(mass / mass.sum())
    rest_total = total - sum(n * low for n, low in zip(counts, lows, strict=True))
    span = sum(n * (len(mass) - 1) for n, mass in zip(counts, single, strict=True)) + 1
    length = fast_length(min(span, _window(single, counts, rest_total)))
    if length > _LONGEST:
        return None
    transforms = [np.fft.rfft(mass, length) for mass in single]
    found = []
    for place, values in enumerate(own):
        product = np.ones(length // 2 + 1, dtype=complex)
        for other, transform in enumerate(transforms):
            product = product * transform ** (counts[other] - (other == place))
        law = np.maximum(np.fft.irfft(product, length), 0.0)
        left = rest_total - (values - lows[place])
        inside = (left >= 0) & (left < span)
        weight = np.where(inside, law[left % length], 0.0) * np.exp(theta * (values - values.max()))
        weight = np.where(weight > 1e-14 * weight.max(), weight, 0.0)
        found.append(weight / weight.sum())
    return found


def _window(single: list[FloatArray], counts: list[int], place: int) -> int:
    """A length so that sums as far from their mean as a wrapped place near `place` have a chance below 10⁻³⁰."""
    widths = [len(mass) - 1 for mass in single]
    mean = sum(n * float(mass @ np.arange(len(mass))) for n, mass in zip(counts, single, strict=True))
    far = math.sqrt(math.log(2e30) / 2 * sum(n * width**2 for n, width in zip(counts, widths, strict=True)))
    return math.ceil(far + abs(place - mean)) + 2 * max(widths) + 1


def fast_length(least: int) -> int:
    """The smallest product of twos, threes and fives that is not below `least`: transforms of large primes take many times as long.

    >>> fast_length(20_000_001), fast_length(7), fast_length(1)
    (20155392, 8, 1)
    """
    best = 1 << max(least - 1, 0).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            rest = -(-least // three)
            best = min(best, three << max(rest - 1, 0).bit_length())
            three *= 3
        five *= 5
    return best


def _tilt(own: list[NDArray[np.int64]], counts: list[int], total: int) -> float:
    """The exponent that makes the total the expected one, by bisection; any exponent is right, this one is accurate."""

    def mean(theta: float) -> float:
        found = 0.0
        for values, n in zip(own, counts, strict=True):
            power = theta * values
            mass = np.exp(power - power.max())
            found += n * float(mass @ values) / float(mass.sum())
        return found

    reach = 50.0 / max(1, *(int(np.ptp(values)) for values in own))
    low, high = -reach, reach
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < total else (low, middle)
    return (low + high) / 2
