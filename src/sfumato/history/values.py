"""What people's values are, in one numbering of leaves over all releases, and which leaves a published cell stands for.

Invariants
    I1  A label means the same leaves in every release; a hierarchy that changed between releases is refused.
    I2  A value that nobody remembers is −1, and only a cell that says nothing covers it.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.errors import LedgerError
from sfumato.history.bundles import Bundles
from sfumato.history.people_sheet import PeopleSheet
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.past import SEPARATOR


class LeafValues:
    """Values and cells of the people of a history."""

    def __init__(self, bundles: Bundles) -> None:
        self.bundles = bundles
        self._domains: dict[str, Generalization] = {}
        self._codes: dict[str, IntArray] = {}

    def domain(self, name: str) -> Generalization:
        """The leaves of a column over all releases, by the newest policy that names it."""
        if name not in self._domains:
            values = self.bundles.values.ever(name)
            policy = next((policy for policy in self.bundles.policies if name in policy.columns), None)
            plain = policy is None or name.startswith(SEPARATOR)
            self._domains[name] = Hierarchy.flat(values or ["?"]) if plain else _made(policy, name, values)
        return self._domains[name]

    def codes(self, name: str) -> IntArray:
        """Everybody's leaf, from the newest release that remembers it (I2)."""
        if name not in self._codes:
            self._codes[name] = remembered_codes(self.bundles, name, self.domain(name))
        return self._codes[name]

    def intervals(self, sheet: PeopleSheet, name: str, release: int) -> tuple[IntArray, IntArray]:
        """The leaves behind every label of a column of a sheet, as one of its releases wrote them (I1)."""
        if name.startswith(SEPARATOR):  # a bucket covers nobody who has no number of it
            nothing = np.full(len(sheet.labels[name]), -1, dtype=np.int64)
            return nothing, nothing
        return labels_of(self.bundles, sheet, name, self.domain(name), release)


def remembered_codes(bundles: Bundles, name: str, domain: Generalization) -> IntArray:
    """Everybody's leaf of a domain in a column, by the newest release that told it (I2)."""
    leaf = np.array([*(domain.code_of.get(label, -1) for label in bundles.values.ever(name)), -1], dtype=np.int64)
    return leaf[bundles.values.newest.get(name, np.full(bundles.people, -1, dtype=np.int64))]


def labels_of(bundles: Bundles, sheet: PeopleSheet, name: str, domain: Generalization, release: int) -> tuple[IntArray, IntArray]:
    """The leaves of a domain behind every label of a column of a sheet, as one of its releases wrote them (I1)."""
    old = _of_release(bundles, release, name, domain)
    shown = set(sheet.standing(name, release).tolist())
    pairs = [
        interval_of(bundles.history.releases[release].number, name, label, old, domain) if code in shown else (0, 0)
        for code, label in enumerate(sheet.labels[name])
    ]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def common_cells(bundles: Bundles, sheet: PeopleSheet, name: str, domain: Generalization) -> tuple[IntArray, IntArray]:
    """Per code of a column the leaves that all its cells have in common."""
    said = sheet.said(name)
    lo, hi = np.zeros(len(said), dtype=np.int64), np.full(len(said), domain.size, dtype=np.int64)
    for place, release in enumerate(sheet.releases):
        low, high = labels_of(bundles, sheet, name, domain, release)
        there = said[:, place] >= 0
        lo[there] = np.maximum(lo[there], low[said[there, place]])
        hi[there] = np.minimum(hi[there], high[said[there, place]])
    return lo, hi


def _made(policy: Policy | None, name: str, values: list[str]) -> Generalization:
    assert policy is not None
    return generalization_of(policy, name, values)


def _of_release(bundles: Bundles, release: int, name: str, domain: Generalization) -> Generalization:
    """How a column could be written in a release."""
    policy, values = bundles.history.releases[release].cover.policy, bundles.values.known_to(release, name)
    if name not in policy.columns or values is None:
        return domain
    return generalization_of(policy, name, values)


def interval_of(release: int, name: str, label: str, old: Generalization, domain: Generalization) -> tuple[int, int]:
    """The leaves that a published label stands for, in the numbering of `domain`; `old` is how that release read it."""
    before = old.interval(label)
    if before is None:
        raise LedgerError(f"release {release}: a cell of '{name}' is no label of its hierarchy")
    codes = [domain.code_of.get(leaf, -1) for leaf in old.leaves[before[0] : before[1]]]
    now = domain.interval(label)
    if now is None and -1 not in codes and max(codes) - min(codes) + 1 == len(codes):
        now = min(codes), max(codes) + 1
    if now is None or -1 in codes or not (now[0] <= min(codes) and max(codes) < now[1]):
        hint = "publish with the hierarchy that the earlier release used"
        raise LedgerError(f"the hierarchy of '{name}' changed since release {release}", hint=hint)
    return now
