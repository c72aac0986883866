"""Which engine makes which part: the cheapest that is exact, a solver for the rest.

    the part's rules                                       engine per-record rules
    legal records (table, intervals, tree, automaton), or draws until legal `unique` over whole groups of columns
    keyed permutation of ranks one to three totals (sum, mean, count, min, max)       fixed totals a total per group or
    per parent row                    totals per group `same_multiset` of all columns                         shuffle
    medians and quantiles, of the column or per group      draws around settled places (not uniform) `at_most`,
    `increasing`, `no_overlap`, `distinct`, …   draws that are arranged (not uniform) `a determines b`, `at_least(k, …)`
    counts per value with a fixed total, or direct draws (not uniform) anything else
    blocks for a constraint solver (LM, LM*, IG)

Guarantee
    A part that is routed to a uniform engine comes out uniformly among all legal ones. A part whose engine does not
    read the original is independent of it, hence zero-knowledge in the sense of [obfuscation Definition 5.3].


Calculating
-----------
Columns that a rule calculates with: their values must be numbers or days, whatever the type of the column says.

A column of whole numbers may get the texts of a pattern, and a list of values may have one that is no number. Binding
cannot see that; here every column is tested that occurs in a sum, a mean, a difference, a running total or a single
cell, or together with one.


Contradictions
--------------
Rules that contradict each other: the smallest set of them, named.

>>> smallest_conflict("abcd", lambda rules: {"b", "d"} <= set(rules))
['b', 'd']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.block_division import SolverBudget
from sfumato.kinds.testdata.methods.sampling.column_arrangements import column_arrangement_for, quantiles
from sfumato.kinds.testdata.methods.sampling.problem import (
    Clause,
    PartDemands,
    RulePart,
    SamplingProblem,
    contexts,
    demands_of_part,
)
from sfumato.kinds.testdata.methods.sampling.record_samplers import (
    MOST,
    Crowded,
    Distinct,
    Functional,
    NewColumn,
    PartSampler,
    PerRecord,
    RecordRanges,
    Rejected,
    Shuffled,
    Spaces,
    WeightedSampler,
)
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Divided, SolverProcesses
from sfumato.kinds.testdata.methods.sampling.total_samplers import (
    MOST_CLASSES,
    Balanced,
    GroundOfTotals,
    Grouped,
    Summed,
    contributions,
    group_rule,
    unit_of,
)
from sfumato.policy.constraint_language import IntegrityRule, columns_of
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    Arithmetic,
    AtLeast,
    Cell,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Determines,
    Function,
    Negative,
    Node,
    Number,
    Running,
    SameMultiset,
    Unique,
)

_LISTED = 2_000_000
Fallback = Callable[[SamplingProblem, RulePart], PartSampler]
Progress = Callable[[float, str], None]
_Made = dict[ColumnValue, NewColumn]


def _nobody(done: float, what: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Route:
    """A part with its engine."""

    part: RulePart
    engine: PartSampler

    @property
    def reads_original(self) -> bool:
        """Whether the engine, or a rule through its totals, looks at original values of replaced columns."""
        looks_back = any(column.original for clause in self.part.clauses for column in columns_of(clause.body))
        return self.engine.reads_original or looks_back

    @property
    def title(self) -> str:
        return ", ".join(str(column) for column in self.part.columns)


def routes(problem: SamplingProblem, fallback: Fallback) -> list[Route]:
    """An engine for every part; everything that can be known before the run is checked here."""
    followers = {column for reference in problem.references for column in reference.child if problem.is_new(column)}
    found = []
    for part in problem.parts:
        if set(part.columns) <= followers:
            if part.clauses:
                raise PolicyError(
                    f"rules on '{part.columns[0]}' clash with its reference",
                    hint="state them on the column it refers to",
                )
            continue
        found.append(Route(part, chosen_engine(problem, part, fallback)))
    return found


def chosen_engine(problem: SamplingProblem, part: RulePart, fallback: Fallback) -> PartSampler:
    """The direct engine or the fallback; of rules that leave nothing the smallest contradicting set is named."""
    require_numbers(problem, part)
    try:
        return exact(problem, part) or fallback(problem, part)
    except Infeasible as error:
        raise with_conflict(error, part, lambda own: exact(problem, own)) from None


def exact(problem: SamplingProblem, part: RulePart) -> PartSampler | None:
    """The direct engine for a part, or None when there is none."""
    shuffled = _shuffled(problem, part)
    if shuffled is not None:
        return shuffled
    asked = demands_of_part(problem, part)
    if any(problem.weights(column) is not None for column in part.columns):
        return _weighed(problem, part, asked)
    if len({column.table for column in part.columns}) > 1:
        return _across(problem, part, asked)
    if asked.totals and not asked.others:
        return _balanced(problem, part, asked)
    if not asked.others:
        return _per_record(problem, part, asked.conditions)
    if not asked.totals and (placed := quantiles(problem, part, asked.others, asked.conditions)) is not None:
        return placed
    found = (
        _one_rule(problem, part, asked.others[0], asked.conditions)
        if len(asked.others) == 1 and not asked.totals
        else None
    )
    if found is None and not asked.totals and all(isinstance(clause.body, Unique) for clause in asked.others):
        return Rejected.made(problem, part, asked.conditions, asked.others)
    return found


def _per_record(problem: SamplingProblem, part: RulePart, conditions: list[Condition]) -> PartSampler | None:
    ranges = RecordRanges.made(problem, part, conditions)
    if ranges is not None:
        return ranges
    if (_calls_beside_given(problem, conditions) or _many_lists(problem, part, conditions)) and (
        found := Rejected.made(problem, part, conditions)
    ) is not None:
        return found
    spaces = Spaces(problem, part, conditions)
    return Rejected.made(problem, part, conditions) if spaces.legal is None else PerRecord(spaces)


def _many_lists(problem: SamplingProblem, part: RulePart, conditions: list[Condition]) -> bool:
    """Whether listing the legal values once for every combination of given values costs more than trying draws."""
    given = {column for condition in conditions for column in columns_of(condition) if not problem.is_new(column)}
    if not given:
        return False
    widest = max(problem.levels(column).size for column in part.columns)
    return widest * len(contexts(problem, part, conditions)) > _LISTED


def _calls_beside_given(problem: SamplingProblem, conditions: list[Condition]) -> bool:
    """Functions of several columns, or of given values: trying draws costs less than listing every combination."""
    for condition in conditions:
        calls = any(isinstance(node, Function) for node in condition.walk())
        if calls and (
            len(columns_of(condition)) > 1 or any(not problem.is_new(column) for column in columns_of(condition))
        ):
            return True
    return False


def _weighed(problem: SamplingProblem, part: RulePart, asked: PartDemands) -> PartSampler:
    """Learned weights go with per-record rules and totals over domains that can be listed, and with nothing else."""
    spaces = Spaces(problem, part, asked.conditions)
    small = spaces.legal is not None and all(one.space.size <= MOST for one in spaces.legal)
    engine = None
    if small and not asked.others:
        engine = _balanced(problem, part, asked, learned=True) if asked.totals else WeightedSampler(problem, spaces)
    if engine is None:
        names = ", ".join(str(column) for column in part.columns)
        hint = "use uniform weights, or per-record rules and totals over smaller domains"
        raise PolicyError(f"weights cannot be learned for the part {names}", where="keep", hint=hint)
    return engine


def _shuffled(problem: SamplingProblem, part: RulePart) -> PartSampler | None:
    """Rows that move together keep every rule of the part that treats records alike."""
    names = [set(c.body.columns) for c in part.clauses if isinstance(c.body, SameMultiset)]
    if set(part.columns) not in names:
        return None
    symmetric = all(problem.is_new(column) for clause in part.clauses for column in columns_of(clause.body))
    symmetric &= not any(isinstance(node, Cell) for clause in part.clauses for node in clause.body.walk())
    return Shuffled(problem, part) if symmetric else None


def _balanced(
    problem: SamplingProblem, part: RulePart, asked: PartDemands, *, learned: bool = False
) -> PartSampler | None:
    ground = ground_of_totals(problem, part, asked, learned=learned)
    if ground is None:
        return None
    engine = Balanced(ground)
    if learned:
        engine.name, engine.uniform, engine.reads_original = "fixed totals by learned weights", False, True
    return engine


def ground_of_totals(
    problem: SamplingProblem,
    part: RulePart,
    asked: PartDemands,
    *,
    learned: bool = False,
    units: list[int] | None = None,
) -> GroundOfTotals | None:
    """What the totals of a part rest on, in given units or the smallest that do; None when it cannot be listed."""
    if len(asked.totals) > 3:
        return None
    roots = [
        c
        for c in part.columns
        if any(c in n.walk() for t in asked.totals for s in t.summands for n in (s.argument,) if n)
    ]
    beside = [
        Compare("=", column, column) for column in _given_in(problem, asked)
    ]  # records apart by what the totals weigh them with
    spaces = Spaces(problem, part, [*asked.conditions, *beside], roots[0] if roots else None)
    if spaces.legal is None or len(spaces.contexts) > MOST_CLASSES:
        return None
    used = units or [unit_of(spaces, total) for total in asked.totals]
    tables = []
    for one, context in zip(spaces.legal, spaces.contexts, strict=True):
        table = contributions(one, asked.totals, context.given, used, problem if learned else None)
        if table is None:
            return None
        tables.append(table)
    return GroundOfTotals(spaces, asked.totals, tables, used)


def _given_in(problem: SamplingProblem, asked: PartDemands) -> list[ColumnValue]:
    """Columns that are not made anew inside totals: `sum(quantity * price)` with kept prices."""
    nodes = [
        node for total in asked.totals for s in total.summands for node in (s.argument, s.where) if node is not None
    ]
    return [
        column for column in dict.fromkeys(c for node in nodes for c in columns_of(node)) if not problem.is_new(column)
    ]


def _one_rule(
    problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition]
) -> PartSampler | None:
    if isinstance(clause.body, Unique):
        return _distinct(problem, part, clause, set(clause.body.columns), conditions)
    if isinstance(clause.body, Determines):
        return _functional(problem, part, clause.body, conditions)
    rest = lambda own: exact(problem, own)  # noqa: E731
    if (found := column_arrangement_for(problem, part, clause, conditions, rest)) is not None:
        return found
    spaces = Spaces(problem, part, conditions)
    if spaces.single is None:
        return None
    if isinstance(clause.body, AtLeast) and set(clause.body.columns) == set(part.columns):
        return Crowded(spaces, clause, clause.body.count)
    rule = group_rule(problem, clause)
    return Grouped(spaces, rule) if rule is not None and rule.targets is not None else None


def _distinct(
    problem: SamplingProblem, part: RulePart, clause: Clause, columns: set[ColumnValue], conditions: list[Condition]
) -> PartSampler | None:
    spaces = Spaces(problem, part, conditions)
    if spaces.single is None:
        return None
    new = {column for column in columns if problem.is_new(column)}
    whole = all(set(f.columns) <= new or set(f.columns).isdisjoint(new) for f in spaces.single.space.factors)
    groups = _groups(problem, part, [column for column in columns if not problem.is_new(column)])
    return Distinct(spaces, clause, new, groups) if whole else None


def _groups(problem: SamplingProblem, part: RulePart, known: list[ColumnValue]) -> list[NDArray[np.int64]]:
    """Records that agree on the given columns; uniqueness is needed inside each group only."""
    count = problem.source(part.columns[0]).count
    label = np.zeros(count, dtype=np.int64)
    for column in known:
        distinct, inverse = np.unique(problem.given(column).levels, return_inverse=True)
        _, label = np.unique(label * len(distinct) + inverse, return_inverse=True)
    order = np.argsort(label, kind="stable").astype(np.int64)
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def _functional(
    problem: SamplingProblem, part: RulePart, body: Determines, conditions: list[Condition]
) -> PartSampler | None:
    left = [column for column in body.left if problem.is_new(column)]
    right = tuple(column for column in body.right if problem.is_new(column))
    if not right or set(part.columns) != {*left, *right} or (left and len(left) != len(body.left)):
        return None
    if any(not {*columns_of(c)} <= set(right) and not {*columns_of(c)} <= set(left) for c in conditions):
        return None
    spaces = Spaces(problem, RulePart(right, part.clauses), [c for c in conditions if {*columns_of(c)} <= set(right)])
    if spaces.single is None:
        return None
    if not left:
        label = np.zeros(problem.source(part.columns[0]).count, dtype=np.int64)
        for place, group in enumerate(_groups(problem, part, list(body.left))):
            label[group] = place
        return Functional(None, spaces, label)
    own = Spaces(problem, RulePart(tuple(left), part.clauses), [c for c in conditions if {*columns_of(c)} <= set(left)])
    return None if own.single is None else Functional(own, spaces, None)


def _across(problem: SamplingProblem, part: RulePart, asked: PartDemands) -> PartSampler | None:
    """Two tables: a replaced total in the parent that its children add up to."""
    if len(asked.others) != 1 or asked.totals:
        return None
    rule = group_rule(problem, asked.others[0])
    if rule is None or rule.parent is None:
        return None
    children = tuple(column for column in part.columns if column != rule.parent)
    if len({column.table for column in children}) != 1:
        return None
    spaces = Spaces(problem, RulePart(children, part.clauses), asked.conditions)
    return None if spaces.single is None else Summed(problem, spaces, rule)


def run(
    problem: SamplingProblem,
    found: list[Route],
    random: Randomness,
    jobs: int = 1,
    progress: Progress = _nobody,
    patience: SolverBudget | None = None,
) -> _Made:
    """All new columns; a part's stream of chance depends on its columns only, not on the order or number of workers."""
    made: _Made = {}
    tally = _Tally(found, progress)
    divided = [route.engine for route in found if isinstance(route.engine, Divided)]

    def part(route: Route) -> _Made:
        own = random.child(route.title)
        try:
            new = route.engine.run(own, crew) if isinstance(route.engine, Divided) else route.engine.run(own)
        except BaseException:
            crew.stop()
            raise
        tally.finish(route.engine)
        return new

    with SolverProcesses(jobs, divided, tally.step, patience) as crew:
        for new in _each(part, found, jobs):
            made.update(new)
    for reference in problem.references:
        made.update(_followed(problem, reference.child, reference.parent, made))
    return made


def _each(work: Callable[[Route], _Made], found: list[Route], jobs: int) -> list[_Made]:
    """What the work makes of every part: several at a time, or here where there is one at a time."""
    if min(jobs, len(found)) <= 1:
        return [work(route) for route in found]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        parts = [pool.submit(work, route) for route in found]
        failures = [failure for one in parts if (failure := one.exception()) is not None]
    for failure in sorted(failures, key=lambda failure: isinstance(failure, CancelledError)):
        raise failure
    return [one.result() for one in parts]


class _Tally:
    """How much of all parts is done, told as it grows."""

    def __init__(self, found: list[Route], progress: Progress) -> None:
        self._titles = {id(route.engine): route.title for route in found}
        self._left = {id(r.engine): r.engine.tasks if isinstance(r.engine, Divided) else 1 for r in found}
        self._all, self._progress, self._lock = max(1, sum(self._left.values())), progress, Lock()

    def step(self, engine: PartSampler) -> None:
        """One task of the engine is done; its last one counts when the part is."""
        with self._lock:
            self._left[id(engine)] = max(1, self._left[id(engine)] - 1)
            self._tell(engine)

    def finish(self, engine: PartSampler) -> None:
        with self._lock:
            self._left[id(engine)] = 0
            self._tell(engine)

    def _tell(self, engine: PartSampler) -> None:
        self._progress(1 - sum(self._left.values()) / self._all, self._titles[id(engine)])


def _followed(
    problem: SamplingProblem,
    child: tuple[ColumnValue, ...],
    parent: tuple[ColumnValue, ...],
    made: dict[ColumnValue, NewColumn],
) -> dict[ColumnValue, NewColumn]:
    """Referring columns take the new value of the row they referred to."""
    pairs = [(c, p) for c, p in zip(child, parent, strict=True) if problem.is_new(c) and p in made]
    if not pairs:
        return {}
    rows = zip(*(list(problem.source(p).original[p.name]) for p in parent), strict=True)
    place = {row: number for number, row in enumerate(rows)}
    keys = list(zip(*(list(problem.source(c).original[c.name]) for c in child), strict=True))
    if any(key not in place for key in keys):
        dangling = sum(key not in place for key in keys)
        raise Infeasible(f"{dangling} records refer to no row", where=f"{child[0]} references {parent[0]}")
    target = np.array([place[key] for key in keys], dtype=np.int64)
    return {c: NewColumn(made[p].levels, made[p].codes[target]) for c, p in pairs}


def rules_of_part(found: list[Route]) -> list[IntegrityRule]:
    """The rules behind some routes, each once."""
    return list(dict.fromkeys(rule for route in found for rule in route.part.rules))


# Calculating
# -----------


_FOLDED = ("sum", "mean")
"""Aggregates that add values up; the others only put them in order or count them."""


def require_numbers(problem: SamplingProblem, part: RulePart) -> None:
    """Refuse rules of a part that calculate with texts."""
    for clause in part.clauses:
        for node in clause.body.walk():
            for column in _calculated(node):
                if _is_text(problem, column):
                    what = f"a rule calculates with '{column}', and not all of its values are numbers or days"
                    hint = "give it a domain of numbers or days, or leave the rule out"
                    raise PolicyError(what, where=f'rule "{clause.rule}"', hint=hint)


def _calculated(node: Node) -> Iterator[ColumnValue]:
    """The columns whose values a node calculates with, itself."""
    if isinstance(node, Cell):
        yield node.column
    elif isinstance(node, Compare):
        sides = (node.left, node.right)
        if any(_is_amount(side) for side in sides):
            yield from (side for side in sides if isinstance(side, ColumnValue))
    else:
        yield from (part for part in _operands(node) if isinstance(part, ColumnValue))


def _operands(node: Node) -> tuple[Node | None, ...]:
    if isinstance(node, Arithmetic):
        return node.left, node.right
    if isinstance(node, Negative):
        return (node.value,)
    if isinstance(node, Running) or (isinstance(node, Aggregate) and node.function in _FOLDED):
        return (node.argument,)
    return ()


def _is_amount(node: Node) -> bool:
    """Whether an expression is a number, whatever its columns are."""
    return isinstance(node, Number | Date | Arithmetic | Negative | Running) or (
        isinstance(node, Aggregate) and node.function in (*_FOLDED, "count", "distinct")
    )


def _is_text(problem: SamplingProblem, column: ColumnValue) -> bool:
    return problem.levels(column).kind == "text" if problem.is_new(column) else problem.given(column).is_text


# Contradictions
# --------------


_TRIALS = 60
Rule = TypeVar("Rule")


def smallest_conflict(rules: Sequence[Rule], contradicts: Callable[[list[Rule]], bool]) -> list[Rule]:
    """Rules that contradict each other: the fewest while these can be tried out, else a set of which none can be left
    out."""
    kept = list(rules)
    for rule in rules:
        fewer = [other for other in kept if other is not rule]
        if contradicts(fewer):
            kept = fewer
    tried = 0
    for size in range(1, len(kept)):
        for chosen in combinations(rules, size):
            tried += 1
            if tried > _TRIALS:
                return kept
            if contradicts(list(chosen)):
                return list(chosen)
    return kept


def with_conflict(error: Infeasible, part: RulePart, build: Callable[[RulePart], object]) -> Infeasible:
    """The error with the smallest set of the part's rules that already makes it; `build` raises `Infeasible` while one
    is there."""
    if len(part.rules) < 2:
        return error

    def contradicts(rules: list[IntegrityRule]) -> bool:
        try:
            build(RulePart(part.columns, tuple(clause for clause in part.clauses if clause.rule in rules)))
        except Infeasible:
            return True
        except Exception:  # a part without some rules may be covered by no engine, which is no contradiction
            return False
        return False

    found = smallest_conflict(part.rules, contradicts)
    named = " and ".join(f'"{rule}"' for rule in found)
    if not found or (
        all(f'"{rule}"' in f"{error.what} {error.where}" for rule in found) and _names(error, part) == len(found)
    ):
        return error
    what = f"{error.what}; " + ("the rule is " if len(found) == 1 else "these rules contradict each other: ") + named
    return Infeasible(what, where="keep", hint=error.hint or "relax one of these rules or widen a domain")


def _names(error: Infeasible, part: RulePart) -> int:
    """How many of the part's rules the error names."""
    return sum(f'"{rule}"' in f"{error.what} {error.where}" for rule in part.rules)
