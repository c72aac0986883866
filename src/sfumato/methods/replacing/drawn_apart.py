"""New values for records that lie elsewhere: where no rule ties records to each other, every share of them is made by itself.

Definition
    A part whose rules look at one record at a time is drawn record by record, whatever the other records are. A key that must be
    unique is a keyed permutation of all possible ones: the record with number i gets the i-th. So a share of the records, with
    their numbers, is all that is needed to make its new values; shares that are made apart, in any order or twice, fit together.

Guarantee
    What is made for a share has the law that it has in the whole table: uniform among all legal records, and for unique keys among
    all that differ. It depends on the secret, the numbers of the records and the kept columns that rules mention, and on nothing
    else.

Invariants
    I1  No replaced value of the original is at hand, so none can be looked up.
    I2  Chance is keyed by the secret and by the numbers of the records: a share that is made again comes out the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.engines.base import NUMBER
from sfumato.errors import Infeasible, PolicyError
from sfumato.forms.replaced import MadePart
from sfumato.methods.replacing.obfuscation import made_part, problem_of, routes_said
from sfumato.methods.replacing.sampling.engines import Distinct, Engine, NewColumn
from sfumato.methods.replacing.sampling.problem import RulePart, SamplingProblem
from sfumato.methods.replacing.sampling.router import Route, routes
from sfumato.policy.keep import integrity_rules, replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.replacements import Computed, Empty, Like, learns
from sfumato.policy.rules import IntegrityRule, classify, columns_of, conjuncts
from sfumato.policy.rules.tree import ColumnValue, Unique
from sfumato.randomness import Randomness

_HERE = "use --engine local"


def tied(policy: Policy) -> str:
    """Why records cannot be drawn apart from each other; empty when they can."""
    if policy.claims:
        return "what outsiders believe of replaced columns is judged on rows"
    if policy.plugins is not None:
        return "own code of the data holder ('plugins:') is not sent to a cluster"
    for name, domain in replacements_of(policy).items():
        if isinstance(domain, Like | Computed | Empty) or learns(policy.columns[name].domain or {}):
            return f"new values of '{name}' are computed or learned from rows"
    return next((f'"{rule}" ties records to each other' for rule in integrity_rules(policy) if _ties(rule, policy)), "")


def _ties(rule: IntegrityRule, policy: Policy) -> bool:
    new = set(policy.with_role("replaced"))
    if classify(rule).against_original:
        return True
    whole = [part for part in conjuncts(rule.body) if classify(IntegrityRule(rule.text, part)).is_global]
    return not all(isinstance(part, Unique) and {column.name for column in columns_of(part)} <= new for part in whole)


@dataclass(frozen=True)
class DrawnApart:
    """Makes the new values of shares of a table; plain enough to be sent to where the rows lie."""

    policy: Policy
    secret: bytes
    records: int
    """How many records all shares have together."""

    @property
    def mentioned(self) -> tuple[str, ...]:
        """Kept columns that rules look at."""
        named = {column.name for rule in integrity_rules(self.policy) for column in columns_of(rule)}
        return tuple(name for name in self.policy.columns if name in named and name not in replacements_of(self.policy))

    def planned(self, sample: pa.Table) -> tuple[tuple[MadePart, ...], tuple[str, ...]]:
        """How parts are made, for the manifest and in sentences; refuses what some records already show to be impossible."""
        found = self._routes(Table(sample))
        for route in found:
            if isinstance(route.engine, Distinct) and route.engine.key_space.size < self.records:
                what = f"only {route.engine.key_space.size} different values are possible for {self.records} records"
                raise Infeasible(what, where=f"part {route.title}", hint="widen the domain of its columns")
        return tuple(made_part(route) for route in found), routes_said(found)

    def __call__(self, share: pa.Table) -> dict[str, pa.Array]:
        """The new columns of a share: the kept columns that rules mention, and the numbers of its records."""
        numbers = share.column(NUMBER).to_numpy().astype(np.int64)
        made: dict[str, pa.Array] = {}
        for route in self._routes(Table(share)):
            made |= {column.name: one.arrow() for column, one in self._drawn(route, numbers)}
        return made

    def _routes(self, table: Table) -> list[Route]:
        found = routes(problem_of(self.policy, table), _no_solver)  # I1
        for route in found:
            unique = any(isinstance(clause.body, Unique) for clause in route.part.clauses)
            if unique and not isinstance(route.engine, Distinct):  # it would be so within a share only
                raise PolicyError(f"keys of {route.title} hang on other records", where="keep", hint=_HERE)
        return found

    def _drawn(self, route: Route, numbers: IntArray) -> Iterator[tuple[ColumnValue, NewColumn]]:
        seed = int.from_bytes(b"\x01" + self.secret)
        chance = Randomness(seed).child("new values").child(route.title)
        if isinstance(route.engine, Distinct):
            yield from route.engine.of_numbers(chance.bytes(16), numbers).items()
        else:
            first = str(int(numbers[0])) if len(numbers) else ""  # I2
            yield from route.engine.run(chance.child(f"share from {first}")).items()


def _no_solver(problem: SamplingProblem, part: RulePart) -> Engine:
    names = ", ".join(str(column) for column in part.columns)
    raise PolicyError(f"new values of {names} need a constraint solver, which looks at rows", where="keep", hint=_HERE)
