"""A replaced table: what a person who knows rules, domains and the way it was made believes about a person's original
values.

Guarantee
    *Blind* parts (made without looking at the values they replace) tell nothing: the belief is the one before
    publication, uniform over all tables that obey the rules [obfuscation Theorem 5.1; Def. 5.3]. It is computed exactly
    where legal records can be listed, else estimated from the published rows, which are themselves draws from it.
    *Shuffled* parts leave the published frequencies. Parts made by LM or LM* are reverse engineered [obfuscation
    §5.5.2].

Notation
    kind of person   people with the same given values that matter for the sensitive column
    grade            exact, or estimate ± d at 1 − α with d from the number of draws

Departures
    The adversary is taken to know which published row is whose (kept columns may tell) and the given values a part's
    rules mention. How a part was made is the manifest's word; it cannot be read off the data. Section 5.5.2 runs the
    method backwards with the method's own solver. The audit has none and may not borrow it, so LM and LM* are reverse
    engineered where uniform worlds can be counted (per-record rules and one total); for other rules it refuses to give
    a figure.


Database
--------
A database for testing: it makes no promise about what adversaries believe, so no model can be claimed; its checks judge
it.


Worlds
------
What an adversary who knows the algorithm may believe: possible worlds, the confidence of a link, and how often to ask.

Paper
    [obfuscation §4]: Eq. 1 (posterior of a world), p_{id,s} (confidence of a link), l = 1 / max p, and the number of
    repetitions t after which all estimated confidences lie within d of the truth with probability 1 − α (Thompson
    1987).

Notation
    likelihood[w]   probability that the algorithm turns world w into what was published
    t               max over m of z²(1 − α/2m)·(1/m)(1 − 1/m)/d²: the worst case is m equally likely values

Departures
    Table 1 prints 0.2 for α = 0.02 and 3899 where the rule gives 3900.

>>> confidence({"T1": 0.5, "T3": 0.01}, {"T1": {("Joe", "a"), ("Bob", "b")}, "T3": {("Joe", "a"), ("Bob",
...     "c")}})[("Bob", "b")]
0.9803921568627451
>>> worlds_needed(0.05, 0.05)
510


Reverse engineering
-------------------
Reverse engineering of LM and LM*: worlds that could have led to what was published, drawn as the paper prescribes.

Paper
    [obfuscation §5.5.2]: LM^R runs LM on the published table with the blocks in reverse order, (LM*)^R runs LM*; what
    both assume, that every solution of a block is equally likely, is exact here: a block keeps its total, and inside it
    all combinations of legal records with that total are drawn with equal probability.

Notation
    W_r(s)   logarithm of the number of ways r records reach the sum s
    t        repetitions; `worlds.repetitions(d, α)` says how many give ± d at 1 − α

Departures
    Blocks are disjoint and each keeps its own total, so their order does not matter and all are drawn at once.

Cost: t · N · (distinct contributions).


Legal records
-------------
All records that the rules allow, listed by plain trial, and how likely each is for one person when totals are fixed.

Used by the audit to know what an adversary believes about a person before and after a blind release: the adversary
knows domains and rules, so the belief is uniform over all tables that obey them.

Notation
    part      columns joined by rules, found again here without the method's word
    context   given (not replaced) values that the part's rules mention
    share     probability of a legal record for one person, all tables that obey the totals being equally likely

Cost: the product of the domains, at most `_MOST` combinations; beyond that there is no list (None).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import DataError
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.table import TextColumn
from sfumato.kinds.testdata.form import DatabaseForm, Replaced, ReplacedPart
from sfumato.policy.constraint_language import IntegrityRule, columns_of, conjuncts, linear_comparison
from sfumato.policy.constraint_language.evaluated_values import encode_column
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import Aggregate, Cell, Compare, Condition, Localities, Statement
from sfumato.policy.kept_constraints import integrity_rules, replacements_of
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.value_domains import Ordered, ValueDomain, Values
from sfumato.release.certificate import Finding
from sfumato.release.evidence import Evidence, evaluate_requirement
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView

ALPHA = 0.05
DEVIATION = 0.05
_WORK = 4e8
_WIDEST = 0.3
_CONTEXTS = 2_000


@dataclass(frozen=True)
class Belief:
    """People by kind, and the probability of every value for each."""

    people: IntArray
    spread: ValueDistribution
    grade: str
    how: str


class ReplacedReading(Evidence):
    """Belief about original values, by possible worlds."""

    name: ClassVar[str] = "replaced table"
    steady: ClassVar[bool] = False
    form: ClassVar[type[Form]] = Replaced

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        return self._beliefs(exhibit, claim)[0]

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        return evaluate_requirement(claim, *self._beliefs(exhibit, claim))

    def _beliefs(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> tuple[Linkage, str, str]:
        rows = exhibit.data.rows
        kept = [name for name in claim.given if exhibit.policy.columns[name].role != "replaced"]
        classes = equivalence_classes_of([exhibit.data.text(name).codes for name in kept], rows=rows)
        found = [believed(exhibit, claim, name) for name in claim.hide]
        if not found:
            return Linkage(classes.counts, classes.counts), "exact", "rows with the same kept values"
        people = found[0].people
        candidates = classes.counts if len(classes) == len(people) else np.full(len(people), classes.counts.min())
        spread = {name: belief.spread for name, belief in zip(claim.hide, found, strict=True)}
        if any(len(belief.people) != len(people) for belief in found):
            raise DataError("hidden columns of different parts need one claim each")
        estimated = [belief.grade for belief in found if belief.grade != "exact"]
        how = "; ".join(dict.fromkeys(belief.how for belief in found))
        return Linkage(people, candidates, spread), (estimated or ["exact"])[0], how


def believed(exhibit: ReleaseView, claim: PrivacyRequirement, name: str) -> Belief:
    """What an adversary with the requirement's given columns believes about one sensitive column."""
    if exhibit.policy.columns[name].role != "replaced":
        kept = [g for g in claim.given if exhibit.policy.columns[g].role != "replaced"]
        return _counted(exhibit, name, kept, "exact", "the column is published as it is")
    part = part_of_column(name, _replaced(exhibit), integrity_rules(exhibit.policy))
    made = _entry(exhibit, name)
    known = [g for g in claim.given if g in part.columns and g != name]
    if made.engine == "shuffle":
        return _counted(exhibit, name, [], "exact", "the published values are the original ones in another order")
    if any(column.original for condition in part.conditions for column in columns_of(condition)):
        raise DataError(
            "rules bind new values to the original ones of the same record", hint="no claim can hide such a column"
        )
    if made.learned:
        return _estimated(
            exhibit, part, name, known, "frequencies were learned; belief estimated from the published rows"
        )
    if made.heuristic in ("LM", "LM*"):
        return _reversed(exhibit, part, name, made)
    return _blind(exhibit, part, name, known)


def _replaced(exhibit: ReleaseView) -> tuple[str, ...]:
    return tuple(
        name for name, column in exhibit.policy.columns.items() if column.role == "replaced" and column.publish
    )


def _entry(exhibit: ReleaseView, name: str) -> ReplacedPart:
    for entry in exhibit.of(Replaced).parts:
        if name in entry.columns:
            return entry
    raise DataError(f"the manifest does not say how column '{name}' was made")


def _counted(exhibit: ReleaseView, name: str, by: list[str], grade: str, how: str) -> Belief:
    """Frequencies in the published rows, per combination of the columns `by`."""
    text = exhibit.data.text(name)
    classes = equivalence_classes_of([exhibit.data.text(column).codes for column in by], rows=exhibit.data.rows)
    return Belief(
        classes.counts, ValueDistribution.count(classes.of, text.codes, len(classes), text.labels), grade, how
    )


def _blind(exhibit: ReleaseView, part: ConstraintPart, name: str, known: list[str]) -> Belief:
    exact = _enumerated(exhibit, part, name, known)
    if exact is not None:
        return exact
    if part.looks_back:
        raise DataError(
            "totals of the original leave a belief that cannot be computed here", hint="use smaller domains"
        )
    how = "blind to the original (zero knowledge); the belief is estimated from the published rows"
    return _estimated(exhibit, part, name, known, how)


def _estimated(exhibit: ReleaseView, part: ConstraintPart, name: str, known: list[str], how: str) -> Belief:
    """Published rows are draws from the belief, so their frequencies estimate it."""
    by = [column for column in (*part.mentioned, *known) if column in exhibit.data.names]
    estimate = _counted(exhibit, name, by, "", "")
    rows = int(estimate.people.min())
    d = estimation_margin(rows, ALPHA)
    if d > _WIDEST:
        raise DataError(
            f"{rows} published rows are too few to estimate a belief", hint="publish more rows or use smaller domains"
        )
    return replace(estimate, grade=f"estimate ± {d:.3f} at {1 - ALPHA}", how=how)


def _enumerated(exhibit: ReleaseView, part: ConstraintPart, name: str, known: list[str]) -> Belief | None:
    """The exact belief by listing legal records in every context."""
    split = (*part.mentioned, *part.groups)
    if any(column not in exhibit.data.names for column in split):
        return None
    contexts = equivalence_classes_of([exhibit.data.text(column).codes for column in split], rows=exhibit.data.rows)
    if len(contexts) > _CONTEXTS:
        return None
    domains = replacements_of(exhibit.policy)
    tables: list[dict[str, TextColumn]] = []
    seen: dict[tuple[str, ...], dict[str, TextColumn] | None] = {}
    for first in _firsts(contexts.of, len(contexts)):
        context = {c: exhibit.data.text(c).labels[exhibit.data.text(c).codes[first]] for c in part.mentioned}
        key = tuple(context.values())
        if key not in seen:
            seen[key] = legal_records(part, domains, context)
        listed = seen[key]
        if listed is None or not len(listed[name].codes):
            return None
        tables.append(listed)
    chances = _chances(exhibit, part, tables, contexts, known)
    return None if chances is None else _belief(name, known, tables, chances, contexts.counts)


def _firsts(labels: IntArray, count: int) -> list[int]:
    first = np.zeros(count, dtype=np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    return first.tolist()


def _chances(
    exhibit: ReleaseView,
    part: ConstraintPart,
    tables: list[dict[str, TextColumn]],
    contexts: EquivalenceClasses,
    known: list[str],
) -> list[Any] | None:
    """Per context the probability of every listed record; with a total, given that each person's add up to it."""
    if not part.whole:
        return [np.full(len(next(iter(table.values())).codes), 1.0) for table in tables]
    if len(part.whole) != 1 or known:
        return None
    published = {column: exhibit.data.text(column) for column in exhibit.data.names}
    reached = contributions(part.whole, published)
    own = [contributions(part.whole, table) for table in tables]
    if reached is None or any(values is None for values in own):
        return None
    listed = [values[0] for values in own if values]
    if not part.groups:
        return posterior_of_records(listed, contexts.counts.tolist(), int(reached[0].sum()))
    totals = np.bincount(contexts.of, weights=reached[0]).astype(np.int64)
    each = [
        posterior_of_records([v], [n], int(s)) for v, n, s in zip(listed, contexts.counts.tolist(), totals, strict=True)
    ]
    return None if any(one is None for one in each) else [one[0] for one in each if one]


def _belief(
    name: str, known: list[str], tables: list[dict[str, TextColumn]], chances: list[Any], counts: IntArray
) -> Belief:
    """One kind of person per context and per value of the given columns inside the part."""
    start, values, weights, people = [0], [], [], []
    labels = tables[0][name].labels
    for table, chance, count in zip(tables, chances, counts, strict=True):
        cells = equivalence_classes_of([table[column].codes for column in known], rows=len(chance))
        for cell in range(len(cells)):
            inside = cells.of == cell
            weight = np.bincount(table[name].codes[inside], weights=chance[inside], minlength=len(labels))
            used = np.flatnonzero(weight > 0)
            values.append(used)
            weights.append(weight[used])
            start.append(start[-1] + len(used))
            people.append(int(count))
    spread = ValueDistribution(np.array(start, dtype=np.int64), np.concatenate(values), np.concatenate(weights), labels)
    how = "zero knowledge beyond the rules: all tables that obey them are equally likely"
    return Belief(np.array(people, dtype=np.int64), spread, "exact", how)


def _reversed(exhibit: ReleaseView, part: ConstraintPart, name: str, made: ReplacedPart) -> Belief:
    """LM and LM*: worlds drawn backwards from the published table."""
    heuristic, size = made.heuristic, made.block
    listed = None if part.mentioned else legal_records(part, replacements_of(exhibit.policy), {})
    published = {column: exhibit.data.text(column) for column in part.columns}
    own = None if listed is None else contributions(part.whole, listed)
    reached = contributions(part.whole, published)
    if heuristic not in ("LM", "LM*") or listed is None or own is None or reached is None or len(own) != 1:
        raise DataError(
            "what the original left in this part cannot be estimated: the audit draws worlds for per-record rules and"
            " one total",
            hint="drop the claim, change its rules, or use IG, which does not read the original",
        )
    pairs = np.stack([own[0], listed[name].codes.astype(np.int64)], axis=1)
    values, weights = np.unique(pairs, axis=0, return_counts=True)
    totals, place = np.unique(values[:, 0], return_inverse=True)
    mass = np.bincount(place, weights=weights).astype(float)
    start = np.searchsorted(totals, reached[0])
    t = worlds_needed(DEVIATION, ALPHA)
    if t * len(start) * len(totals) > _WORK:
        raise DataError(
            "the table is too large for reverse engineering", hint="use a direct engine or publish fewer records"
        )
    random = _repeatable(start, totals, mass, heuristic, size)
    if heuristic == "LM":
        rows = exhibit.behind["data"] if exhibit.behind is not None else np.arange(len(start))
        order = np.argsort(rows, kind="stable")
        blocks = np.array_split(order, max(1, len(order) // size))
        often = link_frequencies(start, totals, mass, blocks, t, random)
    else:
        often = link_frequencies_random_blocks(start, totals, mass, size, t, random)
    share = np.zeros((len(totals), len(listed[name].labels)))
    np.add.at(share, (place, values[:, 1]), weights)
    chance = often @ (share / share.sum(axis=1, keepdims=True)) / t
    used = chance > 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    spread = ValueDistribution(starts, np.nonzero(used)[1].astype(np.int64), chance[used], listed[name].labels)
    how = f"reverse engineering of {heuristic} with blocks of {size}, {t} worlds drawn{_bias(made)}"
    return Belief(np.ones(len(start), dtype=np.int64), spread, f"estimate ± {DEVIATION} at {1 - ALPHA}", how)


def _repeatable(start: IntArray, totals: IntArray, mass: FloatArray, heuristic: str, size: int) -> np.random.Generator:
    """Return a random generator that depends only on the release, so that every audit draws the same samples."""
    seen = hashlib.sha256(f"{heuristic} {size} ".encode())
    for array in (np.sort(start), totals, mass):
        seen.update(np.ascontiguousarray(array).tobytes())
    return np.random.default_rng(int.from_bytes(seen.digest()))


def _bias(made: ReplacedPart) -> str:
    """What the estimate leaves out: worlds are drawn uniformly, the solver's blocks were not unless they came from hash
    cells."""
    if set(made.variety) == {"cells"}:
        return ""
    return "; it takes the solver's solutions for equally likely, which they are not"


# Database
# --------


class DatabaseReading(Evidence):
    """All tables of a database."""

    name: ClassVar[str] = "database"
    form: ClassVar[type[Form]] = DatabaseForm

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        raise DataError(f"{claim} cannot be judged on a database", hint="publish its tables one by one")


# Worlds
# ------


World = TypeVar("World", bound=Hashable)
Link = TypeVar("Link", bound=Hashable)


def posterior(likelihood: Mapping[World, float]) -> dict[World, float]:
    """Eq. 1: how probable each world is when all were equally so before."""
    total = sum(likelihood.values())
    return {world: weight / total for world, weight in likelihood.items() if weight > 0}


def confidence(likelihood: Mapping[World, float], links: Mapping[World, set[Link]]) -> dict[Link, float]:
    """p_{id,s}: the total probability of the worlds that contain the link."""
    found: dict[Link, float] = {}
    for world, probability in posterior(likelihood).items():
        for link in links[world]:
            found[link] = found.get(link, 0.0) + probability
    return found


def diversity(confidences: Mapping[Link, float]) -> float:
    """l: the inverse of the largest confidence."""
    return 1.0 / max(confidences.values())


def worlds_needed(d: float, alpha: float) -> int:
    """How many worlds to draw so that every estimated confidence is within d, with probability 1 − α."""
    from statistics import NormalDist

    normal = NormalDist()
    worst = max((normal.inv_cdf(1 - alpha / (2 * m)) ** 2) * (1 / m) * (1 - 1 / m) for m in range(2, 20))
    return math.ceil(worst / d**2 - 1e-9)


def estimation_margin(rows: int, alpha: float) -> float:
    """The d that so many draws give at 1 − α."""
    from statistics import NormalDist

    normal = NormalDist()
    worst = max((normal.inv_cdf(1 - alpha / (2 * m)) ** 2) * (1 / m) * (1 - 1 / m) for m in range(2, 20))
    return math.sqrt(worst / rows)


# Reverse engineering
# -------------------


def link_frequencies(
    published: IntArray,
    values: IntArray,
    weights: NDArray[np.float64],
    blocks: list[IntArray],
    repetitions: int,
    random: np.random.Generator,
) -> IntArray:
    """How often person i had contribution values[j] in the drawn worlds, as a matrix (i, j).

    `published[i]` is the place in `values` of what was published for person i; `weights[j]` how many legal records have
    it."""
    counts = np.zeros((len(published), len(values)), dtype=np.int64)
    ways = _ways(values - values[0], weights, max((len(block) for block in blocks), default=0))
    for block in blocks:
        total = int((values[published[block]] - values[0]).sum())
        left = np.full(repetitions, total, dtype=np.int64)
        for place, person in enumerate(block):
            drawn = _step(values - values[0], weights, ways[len(block) - place - 1], left, random)
            counts[person] += np.bincount(drawn, minlength=len(values))
            left -= (values - values[0])[drawn]
    return counts


def link_frequencies_random_blocks(
    published: IntArray,
    values: IntArray,
    weights: NDArray[np.float64],
    size: int,
    repetitions: int,
    random: np.random.Generator,
) -> IntArray:
    """As `link_frequencies` for LM*: every repetition has its own random blocks; all repetitions go side by side."""
    people = len(published)
    counts = np.zeros((people, len(values)), dtype=np.int64)
    offsets = values - values[0]
    ways = _ways(offsets, weights, min(2 * size, people))
    orders = np.stack([random.permutation(people) for _ in range(repetitions)])
    for block in np.array_split(orders, max(1, people // size), axis=1):
        left = offsets[published[block]].sum(axis=1)
        for place in range(block.shape[1]):
            drawn = _step(offsets, weights, ways[block.shape[1] - place - 1], left, random)
            np.add.at(counts, (block[:, place], drawn), 1)
            left = left - offsets[drawn]
    return counts


def _ways(offsets: IntArray, weights: NDArray[np.float64], most: int) -> list[NDArray[np.float64]]:
    span = int(offsets[-1])
    found = [np.zeros(1)]
    for _ in range(most):
        before = found[-1]
        grown = np.full(len(before) + span, -np.inf)
        for offset, weight in zip(offsets, np.log(weights), strict=True):
            piece = grown[offset : offset + len(before)]
            np.logaddexp(piece, before + weight, out=piece)
        found.append(grown)
    return found


def _step(
    offsets: IntArray,
    weights: NDArray[np.float64],
    ways: NDArray[np.float64],
    left: IntArray,
    random: np.random.Generator,
) -> IntArray:
    rest = left[:, None] - offsets
    inside = (rest >= 0) & (rest < len(ways))
    level = np.where(inside, ways[np.where(inside, rest, 0)], -np.inf) + np.log(weights)
    chance = np.exp(level - level.max(axis=1, keepdims=True))
    cumulative = np.cumsum(chance, axis=1)
    target = random.random(len(left)) * cumulative[:, -1]
    found: IntArray = np.minimum((cumulative <= target[:, None]).sum(axis=1), len(offsets) - 1).astype(np.int64)
    return found


# Legal records
# -------------


_MOST = 2_000_000
_LONGEST = 1 << 25


@dataclass(frozen=True)
class ConstraintPart:
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


def part_of_column(column: str, replaced: tuple[str, ...], rules: list[IntegrityRule]) -> ConstraintPart:
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
    single = [
        c for c in own if isinstance(c, Condition) and not any(isinstance(n, (Aggregate, Cell)) for n in c.walk())
    ]
    return ConstraintPart(
        tuple(c for c in replaced if c in inside), tuple(single), tuple(c for c in own if c not in single)
    )


def legal_records(
    part: ConstraintPart, domains: dict[str, ValueDomain], context: dict[str, str]
) -> dict[str, TextColumn] | None:
    """Every combination of the part's columns that its conditions allow in a context, or None when there are too many
    to try."""
    labels = {name: _values(domains[name]) for name in part.columns}
    sizes = [0 if values is None else len(values) for values in labels.values()]
    if 0 in sizes or float(np.prod(np.array(sizes, dtype=float))) > _MOST:
        return None
    grid = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1)
    table = {name: TextColumn(codes, tuple(labels[name] or ())) for name, codes in zip(part.columns, grid, strict=True)}
    rows = grid.shape[1]
    table |= {name: TextColumn(np.zeros(rows, dtype=np.int32), (value,)) for name, value in context.items()}
    judge = ConstraintEvaluator({None: table})
    keep = np.ones(rows, dtype=bool)
    for condition in part.conditions:
        keep &= ~np.broadcast_to(judge.verdict(condition, None).false, (rows,))
    return {name: TextColumn(table[name].codes[keep], table[name].labels) for name in part.columns}


def _values(domain: ValueDomain) -> tuple[str, ...] | None:
    if isinstance(domain, Ordered) and domain.size <= _MOST:
        return tuple(domain.text(level) for level in range(domain.low, domain.high + 1))
    return domain.values if isinstance(domain, Values) else None


def contributions(
    clauses: tuple[Condition | Statement, ...], table: dict[str, TextColumn]
) -> list[NDArray[np.int64]] | None:
    """What each record adds to every fixed total, in whole numbers; None when a clause is no fixed total.

    Records that agree in the columns which the clauses mention add the same: it is worked out once for all of them.
    """
    mentioned = {column.name for clause in clauses for column in columns_of(clause) if not column.original}
    texts = {name: encode_column(column) for name, column in table.items()}
    alike = equivalence_classes_of(
        [texts[name].codes for name in texts if name in mentioned], rows=len(next(iter(texts.values())).codes)
    )
    found = _added(clauses, {name: TextColumn(text.codes[alike.first], text.labels) for name, text in texts.items()})
    return None if found is None else [_whole(total)[alike.of] for total in found]


def _added(
    clauses: tuple[Condition | Statement, ...], table: dict[str, TextColumn]
) -> list[NDArray[np.object_]] | None:
    """The same in fractions, record by record."""
    found = []
    rows = len(next(iter(table.values())).codes)
    judge = ConstraintEvaluator({None: table})
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


def posterior_of_records(own: list[NDArray[np.int64]], counts: list[int], total: int) -> list[FloatArray] | None:
    """For each class the probability of every legal record of one of its people, given the total over everybody.

    `own[c]` are the contributions of class c's legal records, `counts[c]` how many people it has. P(record) is
    proportional to the number of ways the others reach the rest; their sum's law is a product of Fourier transforms.
    None when it is too long.

    Transforms of a length L give the law wrapped round: what is asked for at x holds the chances at x ± L, x ± 2L, … as
    well. Sums lie near their mean, further than `_window` says with a chance below 10⁻³⁰ (Hoeffding), far below what
    rounding does. So L need not be the whole span of the sum."""
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
    """The smallest product of twos, threes and fives that is not below `least`: transforms of large primes take many
    times as long.

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
