"""Weaving releases together: boxes of one record after another through all releases, in one numbering of leaves.

Paper: [sequential §2.1, §6]

Notation
    population   the records the newest release speaks about: those of the table, and counterfeits for those that vanished
    joined       the release in which a record first appeared
    cohort       one more column that an outsider may know: when a person joined. A row of release r belongs to somebody who joined
                 by then, ``[0, r]``; the stand-in for somebody absent from it to somebody who joined later

Invariants
    I1  A label means the same leaves in every release; a hierarchy that changed between releases is refused.
    I2  The stand-in of an absent record says nothing, except its sensitive value where that release published the column, which is
        what [sequential §6] means: an outsider sees in the next release which values came new.

Departures
    [sequential §6] gives stand-ins a sensitive value in every release; in releases without that column this would let an outsider
    know what nobody published. The cohort column is ours: without it an outsider who knows whether somebody is new breaks part of
    what the paper accepts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.sequence import Attribute, Role
from sfumato.data.table import Table
from sfumato.errors import DataError, LedgerError
from sfumato.history.values import interval_of
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.past import History, PastRelease

COHORT = "\x1fjoined"
Box = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Population:
    """The records a release speaks about, with the original values of the columns it publishes."""

    keys: tuple[str, ...]
    values: Table
    counterfeit: BoolArray

    @classmethod
    def of_past(cls, past: PastRelease) -> Population:
        return cls(past.memory.keys, past.memory.values, past.memory.counterfeit)

    def taking(self, rows: IntArray) -> Population:
        """Some of the records."""
        values = Table(self.values.frame.take(pa.array(rows)))
        return Population(tuple(self.keys[i] for i in rows), values, self.counterfeit[rows])


class Weave:
    """Earlier releases and the population in one numbering; `sensitive` is the hidden column that is judged."""

    def __init__(
        self, releases: tuple[PastRelease, ...], population: Population, policy: Policy, sensitive: str, cohorts: bool
    ) -> None:
        self.releases, self.population, self.policy = releases, population, policy
        self.sensitive_name = sensitive
        self.rows = [_rows(past, population.keys) for past in releases]
        self.joined = _joined(self.rows, len(population.keys))
        names = [name for name in policy.published if name != sensitive]
        for past in releases:
            names += [name for name in past.published if name not in names and name != sensitive]
        self.names = [*names, sensitive]
        self.domains = {name: self._domain(name) for name in self.names}
        self.leaves = np.stack([self._leaves(name) for name in self.names], axis=1)
        self.grown = bool((self.joined > 0).any())
        unknown = bool((self.leaves[:, -1] < 0).any())
        self.cohorts = self.grown and (cohorts or unknown)
        self.attributes = tuple(self._attribute(name) for name in self.names)
        self.sizes = np.array([attribute.size for attribute in self.attributes], dtype=np.int64)

    def _policies(self) -> list[Policy]:
        return [self.policy, *(past.exhibit.policy for past in reversed(self.releases))]

    def _domain(self, name: str) -> Generalization:
        """The leaves of a column over all releases, by the newest policy that names it."""
        policy = next(policy for policy in self._policies() if name in policy.columns)
        values = dict.fromkeys(self.population.values.text(name).labels) if name in self.population.values.names else {}
        values |= dict.fromkeys(History(self.releases).column(name))
        if name == self.sensitive_name:
            return Hierarchy.flat(sorted(values) or ["?"])
        return generalization_of(policy, name, list(values))

    def _leaves(self, name: str) -> IntArray:
        """The leaf of every record in a column, from the newest memory that has it; −1 where nobody remembers."""
        codes = np.full(len(self.population.keys), -1, dtype=np.int64)
        for past, rows in zip(self.releases, self.rows, strict=True):
            if name in past.memory.values.names:
                known = rows >= 0
                codes[known] = _codes(past.memory.values, name, self.domains[name])[rows[known]]
        if name in self.population.values.names:
            codes = _codes(self.population.values, name, self.domains[name])
        return codes

    def _attribute(self, name: str) -> Attribute:
        if name == self.sensitive_name:
            return Attribute(name, self.domains[name].size + 1, "sensitive")  # one more leaf: a value nobody published
        declared = {policy.columns[name].role for policy in self._policies() if name in policy.columns}
        role: Role = "quasi-identifier" if "quasi-identifier" in declared else "other"
        return Attribute(name, self.domains[name].size, role)

    # -- boxes ------------------------------------------------------------------------------------------------------------

    def earlier(self) -> list[Box]:
        """Per earlier release the boxes of all records."""
        return [self.boxes(past, rows, r) for r, (past, rows) in enumerate(zip(self.releases, self.rows, strict=True))]

    def boxes(self, past: PastRelease, rows: IntArray, r: int) -> Box:
        """The boxes that release r gives to the records; stand-ins for the absent ones (I2)."""
        records, here = len(rows), rows >= 0
        lo, hi = np.zeros((records, len(self.names)), dtype=np.int64), np.tile(self.sizes, (records, 1))
        for m, name in enumerate(self.names):
            if name in past.published:
                lo[here, m], hi[here, m] = self._intervals(past, name, past.memory.rows[rows[here]])
        if self.sensitive_name in past.published:
            values = np.where(self.leaves[:, -1] >= 0, self.leaves[:, -1], self.sizes[-1] - 1)
            lo[~here, -1], hi[~here, -1] = values[~here], values[~here] + 1
        return self.with_cohort(lo, hi, here, r)

    def with_cohort(self, lo: IntArray, hi: IntArray, here: BoolArray, r: int) -> Box:
        """Boxes of release r with the column that says when people joined, where it counts."""
        if not self.cohorts:
            return lo, hi
        total = len(self.releases) + 1
        late = self.joined > r
        first = np.where(late & ~here, r + 1, 0)
        last = np.where(here, r + 1, total)
        return np.column_stack([lo, first]), np.column_stack([hi, last])

    def _intervals(self, past: PastRelease, name: str, at: IntArray) -> Box:
        """The leaves that the published cells of some rows stand for, in the numbering of the newest domain (I1)."""
        text = past.exhibit.data.text(name)
        used, codes = np.unique(text.codes[at], return_inverse=True)
        labels = [text.labels[code] for code in used.tolist()]
        domain = self.domains[name]
        if name == self.sensitive_name:
            code = np.array([domain.code_of.get(label, -1) for label in labels], dtype=np.int64)[codes]
            if (code < 0).any():
                raise LedgerError(f"release {past.number} published values of '{name}' that nobody remembers")
            return code, code + 1
        old = (
            generalization_of(past.exhibit.policy, name, list(past.memory.values.text(name).labels))
            if name in past.exhibit.policy.columns
            else domain
        )
        pairs = np.array([interval_of(past.number, name, label, old, domain) for label in labels], dtype=np.int64).reshape(-1, 2)
        return pairs[codes, 0], pairs[codes, 1]

    def columns(self) -> tuple[Attribute, ...]:
        """All attributes, with the cohort when it counts."""
        if not self.cohorts:
            return self.attributes
        return (*self.attributes, Attribute(COHORT, len(self.releases) + 1, "quasi-identifier"))

    def known(self) -> Box:
        """What an outsider may know of each record whose sensitive value was ever published."""
        lo = np.where(self.leaves >= 0, self.leaves, 0)
        hi = np.where(self.leaves >= 0, self.leaves + 1, self.sizes)
        if self.cohorts:
            lo, hi = np.column_stack([lo, self.joined]), np.column_stack([hi, self.joined + 1])
        told = self.leaves[:, -1] >= 0
        return lo[told], hi[told]


def _rows(past: PastRelease, keys: tuple[str, ...]) -> IntArray:
    """Where the past remembers each record, −1 where it does not."""
    return np.array([past.memory.place.get(key, -1) for key in keys], dtype=np.int64)


def _joined(rows: list[IntArray], records: int) -> IntArray:
    joined = np.full(records, len(rows), dtype=np.int64)
    for r in range(len(rows) - 1, -1, -1):
        joined[rows[r] >= 0] = r
    return joined


def _codes(table: Table, name: str, domain: Generalization) -> IntArray:
    text = table.text(name)
    codes = np.array([domain.code_of.get(label, -1) for label in text.labels], dtype=np.int64)
    if (codes < 0).any():
        raise DataError(f"column '{name}': {int((codes < 0).sum())} distinct value(s) are not leaves of its hierarchy")
    return codes[text.codes]
