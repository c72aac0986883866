"""Pinned values: people whose published number is the only one that the kept properties leave possible.

A value that differs from the original is not pinned, the release itself is the witness. For every value that is unchanged two linear
programs ask for the largest and the smallest number it could have while all properties and domains hold; it is pinned when no other
number of its domain lies between them.

Departures
    [multitype §5.6] says nothing about values that the properties determine.

Cost
    Two small linear programs per unchanged value; beyond MOST of them a random sample is judged and the count is scaled up.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Check
from sfumato.audit.checks.localities import columns, rules_of
from sfumato.audit.evidence import Evidence
from sfumato.policy.replacements import Ordered
from sfumato.policy.replacements import read as read_domain
from sfumato.policy.rules import conjuncts, linear_comparison, parse
from sfumato.policy.rules.tree import Aggregate, Cell, Column
from sfumato.release.certificate import Finding

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Term = tuple[int, float]

MOST = 1500


class Pinned(Check):
    """How many values the kept properties leave only one number for: reported, not forbidden."""

    name: ClassVar[str] = "pinned"

    def applies(self, evidence: Evidence) -> bool:
        at_hand = evidence.original is not None and evidence.behind is not None and "localities" in evidence.private
        return evidence.form == "replaced table" and at_hand

    def examine(self, evidence: Evidence) -> Finding:
        space = Space(evidence)
        unchanged = space.unchanged()
        chosen = np.random.default_rng(0).permutation(unchanged)[:MOST]
        pinned = sum(space.size[variable] for variable in chosen if space.is_pinned(int(variable)))
        whole = chosen.size == unchanged.size
        count = int(pinned) if whole else int(round(pinned * unchanged.size / max(1, chosen.size)))
        grade = "exact" if whole else f"estimate (from {chosen.size} of {unchanged.size} unchanged values)"
        achieved = {"pinned": count, "unchanged": int(space.size[unchanged].sum()), "values": int(space.size.sum())}
        return Finding(self.name, True, {}, achieved, grade=grade, reason="reported, not forbidden: such values are published as they are")


class Space:
    """The polytope of all tables that keep the properties, written anew for the audit in plain numbers."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.records = evidence.original.rows
        self.names = [name for name in evidence.policy.with_role("replaced") if self._ordered(name)]
        self.before, self.after, self.unit, self.bounds = {}, {}, {}, {}
        for name in self.names:
            domain = read_domain(evidence.policy.columns[name].domain)
            assert isinstance(domain, Ordered)
            before, after = columns(evidence, name)
            self.before[name], self.after[name] = before, after
            self.bounds[name], self.unit[name] = (domain.low, domain.high), domain.unit
        self._number_variables()
        self.rows = list(self._rows())
        self._group()

    def _ordered(self, name: str) -> bool:
        return isinstance(read_domain(self.evidence.policy.columns[name].domain), Ordered)

    def _number_variables(self) -> None:
        """Cells of a partition that share a value are one variable; without localities every cell is its own."""
        sizes = {name: rule.partition or max(1, self.records) for rule, name in rules_of(self.evidence)}
        self.of: dict[str, Ints] = {}
        taken = 0
        for name in self.names:
            if name in sizes:
                pairs = np.column_stack([np.arange(self.records) // sizes[name], self.before[name]])
                own = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
            else:
                own = np.arange(self.records)
            self.of[name] = own + taken
            taken += int(own.max(initial=-1)) + 1
        self.size = np.bincount(np.concatenate([*self.of.values(), np.empty(0, np.int64)]), minlength=taken)

    def unchanged(self) -> Ints:
        """Variables whose published value is the original one."""
        same = np.zeros(self.size.size, dtype=bool)
        for name in self.names:
            same[self.of[name]] = self.before[name] == self.after[name]
        return np.flatnonzero(same)
