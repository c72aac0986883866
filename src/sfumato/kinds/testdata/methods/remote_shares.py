"""New values for records that lie elsewhere: where rules tie records by keys and totals alone, every share is made by
itself.

Definition
    A part whose rules look at one record at a time is drawn record by record, whatever the other records are. A key
    that must be unique is a keyed permutation of all possible ones: the record with number i gets the i-th. Of a total
    over all records every share gets its part beforehand (`sampling/dealt_totals.py`). So a share of the records, with
    their numbers, is all that is needed to make its new values; shares that are made apart, in any order or twice, fit
    together.

Guarantee
    What is made for a share has the law that it has in the whole table: uniform among all legal records, for unique
    keys among all that differ, and with totals among all tables that have them. It depends on the secret, the numbers
    of the records and the kept columns that rules mention, and on nothing else.

Invariants
    I1  No replaced value of the original is at hand, so none can be looked up.
    I2  Chance is keyed by the secret and by the numbers of the records: a share that is made again comes out the same.


Divided totals ------------ Fixed totals of a table in shares: every share gets its own total, and is then sampled
separately.

Definition
    A table with given totals is drawn in two steps: first what every share adds to them, then the records of each share
    given what it adds. The second step needs the share alone. The first needs only the number of records per context
    and share.

Guarantee
    Both steps together have the law that the whole table has in one piece: every legal table is equally likely.

Invariants
    I1  What a share adds is drawn as the sum of independent records and accepted with probability pmf_rest(what is
        left) / peak_rest, `rest` being the shares after it; the last share gets what is left. That is the step of
        `totals.py` from one half to the other, taken from share to share.
    I2  The records that were added up are forgotten. Given its total, a share is sampled independently.

Cost: one draw for every record, here, without keeping any; a few dozen Fourier points a share.

>>> from sfumato.core.randomness import Randomness
>>> sampler = TotalSampler([np.arange(6)[:, None]], [np.ones(6)], np.zeros(0, dtype=np.int64), np.array([7]))
>>> dealt = dealt_totals(sampler, np.array([20]), np.array([[3], [3], [1]]), Randomness(seed=1))
>>> dealt.shape, int(dealt.sum())
((3, 1), 20)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.engines.protocol import COUNT, NUMBER
from sfumato.kinds.testdata.form import ReplacedPart
from sfumato.kinds.testdata.methods.obfuscation import (
    CONSTANTS,
    describe_part,
    describe_routes,
    problem_of,
    states_statistic,
)
from sfumato.kinds.testdata.methods.sampling.problem import (
    RulePart,
    SamplingProblem,
    WholeTable,
    aggregated,
    aggregates_in,
    demands_of_part,
    is_total,
)
from sfumato.kinds.testdata.methods.sampling.record_samplers import Distinct, NewColumn, PartSampler
from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route, chosen_engine, ground_of_totals
from sfumato.kinds.testdata.methods.sampling.sum_distribution import Sum, SumDistribution, TotalSampler, placed_by
from sfumato.kinds.testdata.methods.sampling.total_samplers import Balanced, GroundOfTotals
from sfumato.policy.constraint_language import IntegrityRule, classify, columns_of, conjuncts
from sfumato.policy.constraint_language.syntax_tree import Aggregate, ColumnValue, Condition, Node, Statement, Unique
from sfumato.policy.kept_constraints import integrity_rules, replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.value_domains import Computed, Empty, Like, draws_by_frequency

_HERE = "use --engine local"


def reason_records_are_tied(policy: Policy) -> str:
    """Why records cannot be drawn apart from each other; empty when they can."""
    if policy.claims:
        return "what outsiders believe of replaced columns is judged on rows"
    if policy.plugins is not None:
        return "own code of the data holder ('plugins:') is not sent to a cluster"
    for name, domain in replacements_of(policy).items():
        if isinstance(domain, Like | Computed | Empty) or draws_by_frequency(policy.columns[name].domain or {}):
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
class PartShare:
    """What every share adds to the totals of a part, by the number of its first record, in these units."""

    units: tuple[int, ...]
    added: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class IndependentDraws:
    """Makes the new values of shares of a table; plain enough to be sent to where the rows lie."""

    policy: Policy
    secret: bytes = b""
    records: int = 0
    """How many records all shares have together."""
    constants: Mapping[Aggregate, Fraction] = field(default_factory=dict)
    """What rules say of kept columns of all records."""
    dealt: Mapping[str, PartShare] = field(default_factory=dict)
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

    def with_totals(self, counted: pa.Table) -> IndependentDraws:
        """The same with a total for every share.

        Parameters
        ----------
        counted : pa.Table
            How many records (`COUNT`) of each combination of the columns that matter are in the share whose first
            record has this `NUMBER`.
        """
        firsts, share = np.unique(counted.column(NUMBER).to_numpy(), return_inverse=True)
        dealt = {}
        for part in self._parts_with_totals():
            engine = self._balance(part, counted, share, len(firsts))
            added = engine.deal(self._chance(title_of(part)).child("totals of shares")).tolist()
            dealt[title_of(part)] = PartShare(engine.units, dict(zip(firsts.tolist(), map(tuple, added), strict=True)))
        return replace(self, dealt=dealt)

    def planned(
        self, sample: pa.Table, counted: pa.Table | None = None
    ) -> tuple[tuple[ReplacedPart, ...], tuple[str, ...]]:
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
        constants = (CONSTANTS,) if any(map(states_statistic, integrity_rules(self.policy))) else ()
        return tuple(describe_part(route) for route in found), (*describe_routes(found), *constants)

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
        kinds = pa.table(
            {name: pa.array([key[place] for key in rows], pa.string()) for place, name in enumerate(names)}
        )
        ground = self._ground(self._problem(Table(kinds)), part)
        context = np.zeros(max(len(rows), 1), dtype=np.int64)
        for place, one in enumerate(ground.spaces.contexts):
            context[one.records] = place
        counts = np.zeros((shares, len(ground.spaces.contexts)), dtype=np.int64)
        np.add.at(counts, (share, context[of]), counted.column(COUNT).to_numpy())
        return DealtBalance(ground, counts)

    def _ground(self, problem: SamplingProblem, part: RulePart, units: list[int] | None = None) -> GroundOfTotals:
        asked = demands_of_part(problem, part)
        ground = ground_of_totals(problem, part, asked, units=units) if not asked.others else None
        if ground is None:
            raise PolicyError(
                f"the totals of {title_of(part)} cannot be divided among shares", where="keep", hint=_HERE
            )
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
    """Return unchanged columns that occur in a clause together with new ones, except those that only make a
    constant."""
    bodies = aggregates_in(clause) if is_total(clause) else [clause]
    varying = [body for body in bodies if _names(body) & new]
    return [column for body in varying for column in columns_of(body) if column.name not in new]


def _names(node: Node) -> set[str]:
    return {column.name for column in columns_of(node)}


def _no_solver(problem: SamplingProblem, part: RulePart) -> PartSampler:
    names = ", ".join(str(column) for column in part.columns)
    raise PolicyError(f"new values of {names} need a constraint solver, which looks at rows", where="keep", hint=_HERE)


# Divided totals
# --------------


_TRIES = 100_000
_AT_ONCE = 1 << 20


def dealt_totals(sampler: TotalSampler, total: IntArray, counts: IntArray, random: Randomness) -> IntArray:
    """What each share adds to the totals, one row a share; `counts` has the records of every class (columns) in every
    share."""
    law = sampler.law_towards(total)
    cumulative = [np.cumsum(weight) for weight in law.weights]
    found = np.zeros((len(counts), sampler.dimensions), dtype=np.int64)
    left, behind = np.asarray(total, dtype=np.int64), counts.sum(axis=0)
    for share, own in enumerate(counts[:-1]):
        behind = behind - own
        found[share] = _added(law, cumulative, own, Sum(law, behind), left, random)
        left = left - found[share]
    found[-1] = left
    return found


def _added(
    law: SumDistribution, cumulative: list[FloatArray], own: IntArray, rest: Sum, left: IntArray, random: Randomness
) -> IntArray:
    """What a share adds, in the law that it has when all shares together reach what is left (I1)."""
    for _ in range(_TRIES):
        added = sum(
            (_sum_of(law.values[place], cumulative[place], int(own[place]), random) for place in np.flatnonzero(own)),
            np.zeros(law.dimensions, dtype=np.int64),
        )
        if random.uniform(1)[0] < rest.pmf((left - added)[None, :])[0] / rest.peak:
            return added
    raise Infeasible("the totals cannot be reached together", hint="change one of the totals or the domain")


def _sum_of(values: IntArray, cumulative: FloatArray, count: int, random: Randomness) -> IntArray:
    """The sum of independent contributions, of which none is kept (I2)."""
    often = np.zeros(len(values), dtype=np.int64)
    for start in range(0, count, _AT_ONCE):
        drawn = placed_by(cumulative, random.uniform(min(_AT_ONCE, count - start)))
        often += np.bincount(drawn, minlength=len(values))
    found: IntArray = often @ values
    return found


class DealtBalance:
    """Totals over a table in shares, as the divider sees it: no records, only counts of each context per share."""

    name = "fixed totals"
    uniform = True
    reads_original = False

    def __init__(self, ground: GroundOfTotals, counts: IntArray) -> None:
        self.counts, self.units = counts, tuple(ground.units)
        self.whole = Balanced(ground, counts.sum(axis=0))

    def deal(self, random: Randomness) -> IntArray:
        """What each share must add."""
        whole = self.whole
        total = whole.sampler.choose_total(whole.low, whole.high, random)
        whole.sampler.require_reachable(total)
        return dealt_totals(whole.sampler, total, self.counts, random)

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        raise NotImplementedError("records are made share by share")


@dataclass(frozen=True)
class DealtShare:
    """The records of one share, given what they add together."""

    ground: GroundOfTotals
    added: IntArray

    name = "fixed totals"
    uniform = True
    reads_original = False

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        return self.ground.records(self.ground.sampler().draw(self.added, random), random)
