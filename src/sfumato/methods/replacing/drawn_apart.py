"""New values for records that lie elsewhere: where rules tie records by keys and totals alone, every share is made by itself.

Definition
    A part whose rules look at one record at a time is drawn record by record, whatever the other records are. A key that must be
    unique is a keyed permutation of all possible ones: the record with number i gets the i-th. Of a total over all records every
    share gets its part beforehand (`sampling/dealt_totals.py`). So a share of the records, with their numbers, is all that is
    needed to make its new values; shares that are made apart, in any order or twice, fit together.

Guarantee
    What is made for a share has the law that it has in the whole table: uniform among all legal records, for unique keys among
    all that differ, and with totals among all tables that have them. It depends on the secret, the numbers of the records and the
    kept columns that rules mention, and on nothing else.

Invariants
    I1  No replaced value of the original is at hand, so none can be looked up.
    I2  Chance is keyed by the secret and by the numbers of the records: a share that is made again comes out the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.engines.base import COUNT, NUMBER
from sfumato.errors import Infeasible, PolicyError
from sfumato.forms.replaced import MadePart
from sfumato.methods.replacing.obfuscation import CONSTANTS, made_part, problem_of, publishes, routes_said
from sfumato.methods.replacing.sampling.dealt_totals import DealtBalance, DealtShare
from sfumato.methods.replacing.sampling.engines import Distinct, Engine, NewColumn
from sfumato.methods.replacing.sampling.problem import RulePart, SamplingProblem, WholeTable
from sfumato.methods.replacing.sampling.router import Route, chosen_engine, ground_of_totals
from sfumato.methods.replacing.sampling.sums import GroundOfTotals
from sfumato.methods.replacing.sampling.wanted import aggregated, aggregates_in, is_total, wanted
from sfumato.policy.keep import integrity_rules, replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.replacements import Computed, Empty, Like, learns
from sfumato.policy.rules import IntegrityRule, classify, columns_of, conjuncts
from sfumato.policy.rules.tree import Aggregate, ColumnValue, Condition, Node, Statement, Unique
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
    return next(filter(None, (_ties(rule, policy) for rule in integrity_rules(policy))), "")


def _ties(rule: IntegrityRule, policy: Policy) -> str:
    """Why a rule ties records that lie apart; empty when it does not."""
    new = set(policy.with_role("replaced"))
    if classify(rule).against_original:
        return f'"{rule}" looks at values of the original that are replaced'
    whole = [part for part in conjuncts(rule.body) if classify(IntegrityRule(rule.text, part)).is_global]
    apart = [part for part in whole if is_total(part) or _is_key(part, new)]
    return "" if len(apart) == len(whole) else f'"{rule}" ties records to each other'


def _is_key(part: Condition | Statement, new: set[str]) -> bool:
    return isinstance(part, Unique) and {column.name for column in columns_of(part)} <= new


@dataclass(frozen=True)
class DealtPart:
    """What every share adds to the totals of a part, by the number of its first record, in these units."""

    units: tuple[int, ...]
    added: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class DrawnApart:
    """Makes the new values of shares of a table; plain enough to be sent to where the rows lie."""

    policy: Policy
    secret: bytes = b""
    records: int = 0
    """How many records all shares have together."""
    constants: Mapping[Aggregate, Fraction] = field(default_factory=dict)
    """What rules say of kept columns of all records."""
    dealt: Mapping[str, DealtPart] = field(default_factory=dict)
    """Parts with totals, by their titles."""

    @property
    def mentioned(self) -> tuple[str, ...]:
        """Kept columns that rules look at record by record."""
        named = {column.name for clause in self._clauses() for column in _beside(clause, self._new)}
        return tuple(name for name in self.policy.columns if name in named)

    @property
    def weighing(self) -> tuple[str, ...]:
        """Of these, columns that decide what a record can add to a total."""
        named = {name for part in self._parts_with_totals() for name in self._given(part)}
        return tuple(name for name in self.policy.columns if name in named)

    @property
    def facts(self) -> tuple[Aggregate, ...]:
        """What rules ask of kept columns of all records."""
        atoms = [atom for clause in self._clauses() if is_total(clause) for atom in aggregates_in(clause)]
        return tuple(dict.fromkeys(atom for atom in atoms if (named := _names(atom)) and not named & self._new))

    @property
    def has_totals(self) -> bool:
        return bool(self._parts_with_totals())

    def fact(self, atom: Aggregate, classes: Table) -> Fraction:
        """What such an aggregate is, from classes of its columns with their counts."""
        assert classes.counts is not None
        given = problem_of(self.policy, classes)
        return aggregated(atom, {column: given.given(column) for column in columns_of(atom)}, classes.counts)

    def with_totals(self, counted: pa.Table) -> DrawnApart:
        """The same with a total for every share.

        Parameters
        ----------
        counted : pa.Table
            How many records (`COUNT`) of each combination of the columns that weigh stand in the share whose first record has
            this `NUMBER`.
        """
        firsts, share = np.unique(counted.column(NUMBER).to_numpy(), return_inverse=True)
        dealt = {}
        for part in self._parts_with_totals():
            engine = self._balance(part, counted, share, len(firsts))
            added = engine.deal(self._chance(title_of(part)).child("totals of shares")).tolist()
            dealt[title_of(part)] = DealtPart(engine.units, dict(zip(firsts.tolist(), map(tuple, added), strict=True)))
        return replace(self, dealt=dealt)

    def planned(self, sample: pa.Table, counted: pa.Table | None = None) -> tuple[tuple[MadePart, ...], tuple[str, ...]]:
        """How parts are made, for the manifest and in sentences; refuses what is seen to be impossible.

        Parameters
        ----------
        sample : pa.Table
            Some records: the kept columns that rules mention.
        counted : pa.Table | None
            How many records of all have each combination of the columns that weigh; for rules with totals.
        """
        problem, found = self._problem(Table(sample)), []
        for part in problem.parts:
            if self._has_totals(part):
                assert counted is not None
                found.append(Route(part, self._balance(part, counted, np.zeros(counted.num_rows, dtype=np.int64), 1)))
            else:
                found.append(self._route(problem, part))
        for route in found:
            if isinstance(route.engine, Distinct) and route.engine.key_space.size < self.records:
                what = f"only {route.engine.key_space.size} different values are possible for {self.records} records"
                raise Infeasible(what, where=f"part {route.title}", hint="widen the domain of its columns")
        constants = (CONSTANTS,) if any(map(publishes, integrity_rules(self.policy))) else ()
        return tuple(made_part(route) for route in found), (*routes_said(found), *constants)

    def __call__(self, share: pa.Table) -> dict[str, pa.Array]:
        """The new columns of a share: the kept columns that rules mention, and the numbers of its records."""
        numbers = share.column(NUMBER).to_numpy().astype(np.int64)
        problem = self._problem(Table(share))
        made: dict[str, pa.Array] = {}
        for part in problem.parts if len(numbers) else ():
            route = self._route(problem, part, int(numbers[0]))
            made |= {column.name: one.arrow() for column, one in self._drawn(route, numbers)}
        return made

    def _problem(self, table: Table) -> SamplingProblem:
        return problem_of(self.policy, table, WholeTable(self.records, self.constants))  # I1

    def _route(self, problem: SamplingProblem, part: RulePart, first: int = 0) -> Route:
        if self._has_totals(part):
            own = self.dealt[title_of(part)]
            ground = self._ground(problem, part, list(own.units))
            return Route(part, DealtShare(ground, np.array(own.added[first], dtype=np.int64)))
        route = Route(part, chosen_engine(problem, part, _no_solver))
        unique = any(isinstance(clause.body, Unique) for clause in part.clauses)
        if unique and not isinstance(route.engine, Distinct):  # it would be so within a share only
            raise PolicyError(f"keys of {route.title} hang on other records", where="keep", hint=_HERE)
        return route

    def _balance(self, part: RulePart, counted: pa.Table, share: IntArray, shares: int) -> DealtBalance:
        """The totals of a part over all shares."""
        names = self._given(part)
        texts = [counted.column(name).to_pylist() for name in names]
        rows: dict[tuple[str, ...], int] = {}
        of = np.array([rows.setdefault(key, len(rows)) for key in zip(*texts, strict=True)] or [0] * counted.num_rows)
        kinds = pa.table({name: pa.array([key[place] for key in rows], pa.string()) for place, name in enumerate(names)})
        ground = self._ground(self._problem(Table(kinds)), part)
        context = np.zeros(max(len(rows), 1), dtype=np.int64)
        for place, one in enumerate(ground.spaces.contexts):
            context[one.records] = place
        counts = np.zeros((shares, len(ground.spaces.contexts)), dtype=np.int64)
        np.add.at(counts, (share, context[of]), counted.column(COUNT).to_numpy())
        return DealtBalance(ground, counts)

    def _ground(self, problem: SamplingProblem, part: RulePart, units: list[int] | None = None) -> GroundOfTotals:
        asked = wanted(problem, part)
        ground = ground_of_totals(problem, part, asked, units=units) if not asked.others else None
        if ground is None:
            raise PolicyError(f"the totals of {title_of(part)} cannot be dealt to shares", where="keep", hint=_HERE)
        return ground

    def _drawn(self, route: Route, numbers: IntArray) -> Iterator[tuple[ColumnValue, NewColumn]]:
        chance = self._chance(route.title)
        if isinstance(route.engine, Distinct):
            yield from route.engine.of_numbers(chance.bytes(16), numbers).items()
        else:
            yield from route.engine.run(chance.child(f"share from {int(numbers[0])}")).items()  # I2

    def _chance(self, title: str) -> Randomness:
        return Randomness(int.from_bytes(b"\x01" + self.secret)).child("new values").child(title)

    @property
    def _new(self) -> set[str]:
        return set(replacements_of(self.policy))

    def _clauses(self) -> list[Condition | Statement]:
        return [part for rule in integrity_rules(self.policy) for part in conjuncts(rule.body)]

    def _parts_with_totals(self) -> list[RulePart]:
        return [part for part in problem_of(self.policy, Table(pa.table({}))).parts if self._has_totals(part)]

    def _has_totals(self, part: RulePart) -> bool:
        return any(is_total(clause.body) for clause in part.clauses)

    def _given(self, part: RulePart) -> list[str]:
        """Kept columns that tell apart what records of a part can be."""
        named = {column.name for clause in part.clauses for column in _beside(clause.body, self._new)}
        return [name for name in self.policy.columns if name in named]


def title_of(part: RulePart) -> str:
    """A part by its columns."""
    return ", ".join(str(column) for column in part.columns)


def _beside(clause: Condition | Statement, new: set[str]) -> list[ColumnValue]:
    """Kept columns that stand in a clause beside new ones; those that only make a constant do not."""
    bodies = aggregates_in(clause) if is_total(clause) else [clause]
    varying = [body for body in bodies if _names(body) & new]
    return [column for body in varying for column in columns_of(body) if column.name not in new]


def _names(node: Node) -> set[str]:
    return {column.name for column in columns_of(node)}


def _no_solver(problem: SamplingProblem, part: RulePart) -> Engine:
    names = ", ".join(str(column) for column in part.columns)
    raise PolicyError(f"new values of {names} need a constraint solver, which looks at rows", where="keep", hint=_HERE)
