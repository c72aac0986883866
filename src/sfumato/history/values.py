"""What people's values are, in one numbering of leaves over all releases, and which leaves a published cell stands for.

Invariants
    I1  A label means the same leaves in every release; a hierarchy that changed between releases is refused.
    I2  A value that nobody remembers is −1, and no cell covers it.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.errors import LedgerError
from sfumato.history.bundles import Bundles, PeopleSheet
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.past import SEPARATOR, PastRelease


class LeafValues:
    """Values and cells of the people of a history."""

    def __init__(self, bundles: Bundles) -> None:
        self.bundles = bundles
        self._domains: dict[str, Generalization] = {}
        self._codes: dict[str, IntArray] = {}

    def domain(self, name: str) -> Generalization:
        """The leaves of a column over all releases, by the newest policy that names it."""
        if name not in self._domains:
            values = self.bundles.history.column(name)
            policy = next((policy for policy in self.bundles.policies if name in policy.columns), None)
            plain = policy is None or name.startswith(SEPARATOR)
            self._domains[name] = Hierarchy.flat(values or ["?"]) if plain else _made(policy, name, values)
        return self._domains[name]

    def codes(self, name: str) -> IntArray:
        """Everybody's leaf, from the newest release that remembers it (I2)."""
        if name not in self._codes:
            found = np.full(self.bundles.people, -1, dtype=np.int64)
            for past, place in zip(self.bundles.history.releases, self.bundles.places, strict=True):
                if name in past.memory.values.names:
                    text = past.memory.values.text(name)
                    codes = np.array([self.domain(name).code_of.get(label, -1) for label in text.labels], dtype=np.int64)
                    found[place] = codes[text.codes]
            self._codes[name] = found
        return self._codes[name]

    def intervals(self, sheet: PeopleSheet, name: str) -> tuple[IntArray, IntArray]:
        """The leaves behind every label of a column of a sheet (I1)."""
        if name.startswith(SEPARATOR):  # a bucket covers nobody who has no number of it
            nothing = np.full(len(sheet.labels[name]), -1, dtype=np.int64)
            return nothing, nothing
        return labels_of(self.bundles, sheet, name, self.domain(name))


def labels_of(bundles: Bundles, sheet: PeopleSheet, name: str, domain: Generalization) -> tuple[IntArray, IntArray]:
    """The leaves of a domain behind every label of a column of a sheet (I1)."""
    past = bundles.history.releases[sheet.release]
    old = _of_release(past, name, domain)
    shown = set(np.unique(sheet.cells[name]).tolist())
    pairs = [
        interval_of(past, name, label, old, domain) if code in shown else (0, 0) for code, label in enumerate(sheet.labels[name])
    ]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _made(policy: Policy | None, name: str, values: list[str]) -> Generalization:
    assert policy is not None
    return generalization_of(policy, name, values)


def _of_release(past: PastRelease, name: str, domain: Generalization) -> Generalization:
    """How a column could be written in a release."""
    if name not in past.exhibit.policy.columns or name not in past.memory.values.names:
        return domain
    return generalization_of(past.exhibit.policy, name, list(past.memory.values.text(name).labels))


def interval_of(past: PastRelease, name: str, label: str, old: Generalization, domain: Generalization) -> tuple[int, int]:
    """The leaves that a published label stands for, in the numbering of `domain`; `old` is how the release read it."""
    before = old.interval(label)
    if before is None:
        raise LedgerError(f"release {past.number}: a cell of '{name}' is no label of its hierarchy")
    codes = [domain.code_of.get(leaf, -1) for leaf in old.leaves[before[0] : before[1]]]
    now = (0, domain.size) if before == (0, old.size) and old.size > 1 else domain.interval(label)
    if now is None and -1 not in codes and max(codes) - min(codes) + 1 == len(codes):
        now = min(codes), max(codes) + 1
    if now is None or -1 in codes or not (now[0] <= min(codes) and max(codes) < now[1]):
        hint = "publish with the hierarchy that the earlier release used"
        raise LedgerError(f"the hierarchy of '{name}' changed since release {past.number}", hint=hint)
    return now
