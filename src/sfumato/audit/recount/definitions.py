"""The models, from their definitions: what a level means, what a group of people has, and which way is better.

Notation
    group     people whom an adversary cannot tell apart, with the weight of every sensitive value among their candidates
    r₁ ≥ r₂ … the weights of a group from frequent to rare, T their sum
    p, q      the shares of a value in a group and in the whole release

Definitions, per group and sensitive column; the release has the level of its worst group
    k-anonymity        the number of candidates                                             Samarati, Sweeney 1998
    p-sensitivity      different values                                                     Truta, Vinay 2006
    l-diversity        distinct: different values; frequency: T / r₁; entropy: exp(−Σ p ln p);
                       recursive (c, l): the largest l with r₁ < c (r_l + … + r_m), 0 without one   Machanavajjhala et al. 2006
    entropy diversity  exp(−Σ p ln p), or exp(G(T) − Σ (r/T) G(r)), at most the number of values, with
                       G(n) = ψ(n) + (−1)ⁿ ∫ xⁿ⁻¹ / (1 + x) dx from 0 to 1                  Grassberger 2003
    t-closeness        the earth mover's distance of p from q                               Li et al. 2007
    β-likeness         (q − p) / p where q > p; enhanced: also at most −ln p                Cao, Karras 2012
    δ-disclosure       |ln q/p| for every value of the release                              Brickell, Shmatikov 2008
    average risk       the mean of one over the size of each person's group                   El Emam, Dankar 2008
    profitability      loss over candidates where gain over candidates exceeds the cost     Wan et al. 2015
    k-map              people of the population behind a group's rows                       Sweeney 2002
    δ-presence         rows over people of the population who fit them                      Nergiz et al. 2007
    (α, k)-anonymity   r₁ / T, and the number of candidates                                 Wong et al. 2006
    subset anonymity   rows that look alike in any m known columns                          Templ, Kowarik, Meindl 2015
    k-degree-anonymity people with the same number of ties                                  Liu, Terzi 2008

Invariants
    I1  Weights are whole numbers; shares are compared by cross multiplication wherever the definition is strict.
    I2  A parameter that stands here under another name, or not at all, is not guessed: the requirement is not counted.

Cost: linear in the values of all groups, with a logarithm for the order of numbers.

>>> table = RecountedClasses(2, {"illness": [{"flu": 2, "gout": 1}, {"flu": 1, "cold": 1}]}, {"illness": {"flu": 3, "gout": 1, "cold": 1}})
>>> level = level_of("l-diversity", {"l": "2", "kind": "frequency"})
>>> count_level("l-diversity", table, level), is_at_least_as_private("l-diversity", level, count_level("l-diversity", table, level))
({'l': 1.5, 'kind': 'frequency'}, False)


Distances
---------
How far apart the sensitive values of a group and those of the whole release are, from the definitions of t-closeness.

*Equal*: half of the sum of |p − q| over all values.

*Ordered*: the m different numbers of the release in their order, neighbours 1/(m − 1) apart. The order is the one the
policy declares, if it names every value, else that of numbers, else that of days; other text has no such distance. An empty cell
is one apart from every number, and the two are compared one after the other: |p₀ − q₀| for empty or not, then (1 − p₀) times the
distance of the numbers in the group from all numbers, together at most 1.

*Hierarchical*: two values are as far apart as the height of the lowest node above both, over the height of the tree. From
the bottom up every node joins what is too much below some of its children with what lacks below others: that costs its height over
the tree's for the smaller of the two, and the rest is handed on. A value that the tree does not name, an empty one too, stands
directly under the root.

>>> whole = {"9": 1, "10": 1, "100": 2}
>>> equal_distance([{"9": 1, "10": 1}], whole), ordered_distance([{"9": 1, "10": 1}], whole, ())
(0.5, 0.375)
>>> hierarchical_distance([{"9": 1, "10": 1}], whole, [["9", "few", "any"], ["10", "few", "any"], ["100", "many", "any"]])
0.5
"""  # noqa: E501

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from sfumato.core.errors import ReleaseError

Weights = Mapping[str, int]
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)


def hierarchical_distance(spreads: Iterable[Weights], whole: Weights, rows: Sequence[Sequence[str]]) -> float:
    """The largest distance in a tree, from rows leaf, …, root."""
    tree = _Tree(whole, rows)
    return max(tree.distance(spread) for spread in spreads)


class _Tree:
    """Who stands below whom, how high every node is, and the weight of the whole release below it."""

    def __init__(self, whole: Weights, rows: Sequence[Sequence[str]]) -> None:
        self.up = {child: node for row in rows for child, node in pairwise(row) if child != node}
        self.root = rows[0][-1]
        self.up |= {value: self.root for value in whole if value not in self.up}
        self.height: dict[str, int] = {}
        for leaf in self.up.keys() - set(self.up.values()):
            for height, node in enumerate(self._above(leaf)):
                self.height[node] = max(self.height.get(node, 0), height)
        self.whole, self.total = self._below(whole), sum(whole.values())

    def _above(self, node: str) -> Iterable[str]:
        yield node
        while node != self.root:
            node = self.up[node]
            yield node

    def _below(self, spread: Weights) -> dict[str, int]:
        weights: dict[str, int] = {}
        for value, weight in spread.items():
            for node in self._above(value):
                weights[node] = weights.get(node, 0) + weight
        return weights

    def distance(self, spread: Weights) -> float:
        """Σ height · min(over, short) / H; where a group has nothing below a node, all is short and nothing moves."""
        size = sum(spread.values())
        extra = {node: weight * self.total - self.whole[node] * size for node, weight in self._below(spread).items()}
        over: dict[str, int] = {}
        for node, much in extra.items():
            if node != self.root:
                over[self.up[node]] = over.get(self.up[node], 0) + max(much, 0)
        moved = sum(self.height[node] * min(much, much - extra[node]) for node, much in over.items())
        return moved / (self.height[self.root] * size * self.total)


def equal_distance(spreads: Iterable[Weights], whole: Weights) -> float:
    """½ Σ |p − q|, the largest: values that a group lacks contribute their q."""
    everything = sum(whole.values())
    farthest = 0.0
    for spread in spreads:
        total = sum(spread.values())
        met = sum(
            abs(weight * everything - whole[value] * total) - whole[value] * total for value, weight in spread.items()
        )
        farthest = max(farthest, (met + everything * total) / (2 * everything * total))
    return farthest


def ordered_distance(spreads: Iterable[Weights], whole: Weights, declared: Sequence[str]) -> float:
    """The largest distance of numbers in their order."""
    order = _Order(whole, declared)
    return max(order.distance(spread) for spread in spreads)


class _Order:
    """The numbers of a release in their order, with cumulative weights, and the weight of empty cells."""

    def __init__(self, whole: Weights, declared: Sequence[str]) -> None:
        self.key = _keys([value for value in whole if value], declared)
        different = sorted(set(self.key.values()))
        self.rank = {key: rank for rank, key in enumerate(different)}
        weights = [0] * len(different)
        for value, key in self.key.items():
            weights[self.rank[key]] += whole[value]
        self.below = list(accumulate(weights))  # Q · N₁: weight of the numbers up to each rank
        self.sums = [0, *accumulate(self.below)]
        self.numbers, self.empty = sum(weights), whole.get("", 0)

    def distance(self, spread: Weights) -> float:
        """|p₀ − q₀| + (1 − p₀) Σ |P − Q| / (m − 1), at most 1."""
        total, everything = sum(spread.values()), self.numbers + self.empty
        apart = abs(spread.get("", 0) * everything - self.empty * total) / (total * everything)
        return min(apart + self._among_numbers(spread) / total, 1.0)

    def _among_numbers(self, spread: Weights) -> float:
        """The weight of the group's numbers times Σ |P − Q| / (m − 1); P is constant from one of them to the next."""
        mine = sorted((self.rank[self.key[value]], weight) for value, weight in spread.items() if value)
        total, last = sum(weight for _, weight in mine), len(self.below) - 1
        if not total or last < 1:
            return 0.0
        gaps, before, start = 0, 0, 0
        for rank, weight in [*mine, (last, 0)]:
            gaps += self._between(start, rank, before, total)
            before, start = before + weight, rank
        return gaps / (self.numbers * last)

    def _between(self, start: int, end: int, before: int, total: int) -> int:
        """Σ |before · N₁ − Q · total| over the ranks from `start` up to `end`."""
        turn = min(
            max(bisect_right(self.below, before * self.numbers // total), start), end
        )  # Q is at most P up to here
        low, high = self.sums[turn] - self.sums[start], self.sums[end] - self.sums[turn]
        return before * self.numbers * ((turn - start) - (end - turn)) + total * (high - low)


def _keys(values: list[str], declared: Sequence[str]) -> dict[str, float]:
    """What each value is ordered by."""
    places = {value: float(place) for place, value in enumerate(declared)}
    readers: tuple[Callable[[str], float | None], ...] = (places.get, parse_number, _day)
    for read in readers:
        keys = {value: key for value in values if (key := read(value)) is not None}
        if len(keys) == len(values):
            return keys
    raise ReleaseError("values without an order have no ordered distance")


def parse_number(text: str) -> float | None:
    """Digits with a sign, a point and an exponent; nothing else that the language would also take for a number."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) and abs(number) < 1e40 else None


def _day(text: str) -> float | None:
    try:
        return float(date.fromisoformat(text).toordinal())
    except ValueError:
        return None


# Definitions
# -----------


Level = dict[str, Any]
_SLACK = 1e-9
_EULER = 0.57721566490153286
_BEYOND = 1e9
"""What no level of likeness or disclosure allows."""


class NotRecounted(Exception):
    """The recount does not cover this requirement; the reason is its text."""


@dataclass(frozen=True, slots=True)
class RecountedClasses:
    """A release as an adversary sees it: groups of people, and how sensitive values spread over the candidates of
    each."""

    fewest: int
    """Candidates of the smallest group."""
    spreads: Mapping[str, Sequence[Weights]] = field(default_factory=dict)
    """Per sensitive column the weights of every group; groups with the same shares may stand here once."""
    overall: Mapping[str, Weights] = field(default_factory=dict)
    """Per sensitive column the weights in the whole release."""
    sizes: Sequence[int] = ()
    """Candidates of every group, where that is known."""
    rows: Sequence[int] = ()
    """Published rows of every group, where candidates are people of a population."""
    chances: Sequence[Fraction] = ()
    """Where everybody of the population is known: the chances of kinds of people to be in the table, at least and at
    most."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One model."""

    parameters: Mapping[str, Any]
    """Names, with what a parameter is when it is not written; ``...`` when it must be."""
    count: Callable[[RecountedClasses, Level], Level] | None
    """The level of a release; None when it cannot be counted on groups."""
    at_most: frozenset[str] = frozenset()
    """Parameters of which less is more private."""
    hides: bool = True
    """Whether it is about sensitive values."""
    joint: bool = False
    """Whether it is about all releases together."""
    split: bool = False
    """Whether it still holds when values are split into several, so that one sensitive column hides every combination
    with it: more different values, smaller shares, more entropy. A distance from the whole table may grow."""


def level_of(model: str, written: Mapping[str, Any]) -> Level:
    """The level that a requirement asks for, under the names and in the form of a certificate."""
    known = DEFINITIONS[model].parameters
    if not written.keys() <= known.keys():
        raise NotRecounted("the claim has a parameter that the definition does not have")  # I2
    read: dict[str, Callable[[Any], Any]] = {"reference": _counts}
    stated = {name: read.get(name, _value)(value) for name, value in written.items() if value is not None}
    level = {**known, **stated}
    if ... in level.values():
        raise NotRecounted("the claim lacks a parameter")
    if level.get("kind") != "recursive":
        level.pop("c", None)
    return {name: value for name, value in level.items() if value is not None}


def _value(written: Any) -> Any:
    if isinstance(written, Mapping):
        return [row[::-1] for row in nested_rows(written, [])]
    if not isinstance(written, str):
        return [list(row) if not isinstance(row, str) else row for row in written]
    value = parse_number(written)
    if value is None:
        return written
    return int(value) if value == int(value) else value


def _counts(written: Any) -> list[Any]:
    """Rows of a column and its values with their counts, as certificates have them."""
    columns = written.items() if isinstance(written, Mapping) else written
    rows = {column: dict(counts.items() if isinstance(counts, Mapping) else counts) for column, counts in columns}
    return [
        [column, [[value, _value(count)] for value, count in sorted(counts.items())]]
        for column, counts in sorted(rows.items())
    ]


def nested_rows(tree: Any, above: list[str]) -> Iterable[list[str]]:
    """Root, …, leaf of every leaf of nested mappings and lists."""
    if isinstance(tree, str):
        yield [*above, tree]
    elif isinstance(tree, Mapping):
        for name, below in tree.items():
            yield from nested_rows(below, [*above, name]) if below else [[*above, name]]
    else:
        for entry in tree:
            yield from nested_rows(entry, above)


def count_level(model: str, groups: RecountedClasses, level: Level) -> Level:
    """The level that the release has."""
    definition = DEFINITIONS[model]
    if definition.count is None:
        raise NotRecounted("it is no count of people who look alike")
    if definition.hides and not groups.spreads:
        raise NotRecounted("it hides no column")
    for column, counts in level.get("reference", ()):
        if column in groups.spreads:
            seen = dict.fromkeys((value for spread in groups.spreads[column] for value in spread), 0)
            groups = replace(groups, overall={**groups.overall, column: seen | dict(counts)})
    return definition.count(groups, level)


def is_at_least_as_private(model: str, required: Level, achieved: Level) -> bool:
    """Whether one level is at least as private as another."""
    at_most = DEFINITIONS[model].at_most
    for name, asked in required.items():
        found = achieved.get(name)
        if isinstance(asked, int | float):
            slack = _SLACK * max(abs(asked), 1)
            if found is None or (found > asked + slack if name in at_most else found < asked - slack):
                return False
        elif name in achieved and found != asked:
            return False
    return bool(achieved)


def less_private(model: str, one: Level, other: Level) -> Level:
    """The less private of two levels, parameter by parameter."""
    at_most = DEFINITIONS[model].at_most
    return {
        name: (max if name in at_most else min)(value, other[name]) if isinstance(value, int | float) else value
        for name, value in one.items()
    }


# -- what a group has --------------------------------------------------------------------------------------------------


def _all(groups: RecountedClasses) -> Iterable[Weights]:
    return (spread for spreads in groups.spreads.values() for spread in spreads)


def _distinct(groups: RecountedClasses) -> int:
    return min(len(spread) for spread in _all(groups))


def _frequency(groups: RecountedClasses) -> float:
    return min(sum(spread.values()) / max(spread.values()) for spread in _all(groups))


def _entropy(groups: RecountedClasses) -> float:
    return math.exp(min(_entropy_of(spread) for spread in _all(groups)))


def _entropy_of(spread: Weights) -> float:
    total = sum(spread.values())
    return -math.fsum(weight / total * math.log(weight / total) for weight in spread.values())


def _estimated(groups: RecountedClasses, level: Level) -> Level:
    if level["estimator"] == "shannon":
        return level | {"l": _entropy(groups)}
    if level["estimator"] != "grassberger":
        raise NotRecounted("the estimator is unknown")
    of = _corrected_logarithms(max(sum(spread.values()) for spread in _all(groups)))
    return level | {"l": min(min(math.exp(_estimate(spread, of)), len(spread)) for spread in _all(groups))}


def _estimate(spread: Weights, of: Sequence[float]) -> float:
    total = sum(spread.values())
    return of[total] - math.fsum(weight / total * of[weight] for weight in spread.values())


def _corrected_logarithms(most: int) -> list[float]:
    """G(0), …, G(most): ψ and the integral, both by their recurrences from n = 1 on."""
    psi, integral, found = -_EULER, math.log(2), [0.0]
    for n in range(1, most + 1):
        found.append(psi + (integral if n % 2 == 0 else -integral))
        psi, integral = psi + 1 / n, 1 / n - integral
    return found


def _recursive(groups: RecountedClasses, c: Fraction) -> int:
    return min(_recursive_of(spread, c) for spread in _all(groups))


def _recursive_of(spread: Weights, c: Fraction) -> int:
    ranked = sorted(spread.values(), reverse=True)
    rest, most = sum(ranked), ranked[0] * c.denominator
    for l, weight in enumerate(ranked):
        if not most < c.numerator * rest:  # I1
            return l
        rest -= weight
    return len(ranked)


def _diversity(groups: RecountedClasses, level: Level) -> Level:
    kinds: dict[str, Callable[[], float]] = {
        "distinct": lambda: _distinct(groups),
        "frequency": lambda: _frequency(groups),
        "entropy": lambda: _entropy(groups),
        "recursive": lambda: _recursive(groups, Fraction(str(level["c"]))),
    }
    if level["kind"] not in kinds:
        raise NotRecounted("the kind of diversity is unknown")
    return level | {"l": kinds[level["kind"]]()}


def _closeness(groups: RecountedClasses, level: Level) -> Level:
    distances: dict[str, Callable[[Iterable[Weights], Weights], float]] = {
        "equal": equal_distance,
        "ordered": lambda spreads, whole: ordered_distance(spreads, whole, level.get("order", ())),
        "hierarchical": lambda spreads, whole: hierarchical_distance(spreads, whole, level.get("tree", ())),
    }
    if level["distance"] not in distances:
        raise NotRecounted("the distance is unknown")
    far = distances[level["distance"]]
    farthest = max((far(spreads, groups.overall[column]) for column, spreads in groups.spreads.items()), default=0.0)
    return {"t": max(farthest, 0.0), "distance": level["distance"]}


def _likeness(groups: RecountedClasses, level: Level) -> Level:
    """(q − p) / p, the largest; of the enhanced kind beyond every level where it exceeds −ln p."""
    if level["kind"] not in ("basic", "enhanced"):
        raise NotRecounted("the kind of likeness is unknown")
    largest = 0.0
    for p, q in _shares(groups):
        gain = (q - p) / p if p else _BEYOND
        largest = max(
            largest, _BEYOND if level["kind"] == "enhanced" and p and gain > -math.log(p) + _SLACK / 1000 else gain
        )
    return {"beta": largest, "kind": level["kind"]}


def _disclosure(groups: RecountedClasses) -> float:
    """|ln q/p|, the largest; beyond every level where a group lacks a value."""
    shares = ((p, q) for p, q in _shares(groups, lacking=True) if p or q)
    return max((abs(math.log(q / p)) if p and q else _BEYOND for p, q in shares), default=0.0)


def _shares(groups: RecountedClasses, *, lacking: bool = False) -> Iterable[tuple[float, float]]:
    """For every group and value the share in the release, and in the group."""
    for column, spreads in groups.spreads.items():
        whole, everything = groups.overall[column], sum(groups.overall[column].values())
        for spread in spreads:
            total = sum(spread.values())
            for value in whole if lacking else spread:
                yield whole[value] / everything, spread.get(value, 0) / total


def _mean_risk(groups: RecountedClasses, level: Level) -> Level:
    """Groups over people: the mean of one over the size of each person's group; of rows, when candidates are of a
    population."""
    if not groups.sizes:
        raise NotRecounted("the number of groups is not known here")
    if level.get("attacker") is None:
        return {"risk": len(groups.sizes) / sum(groups.sizes), "k": groups.fewest}
    linked = math.fsum(rows / people for rows, people in zip(groups.rows, groups.sizes, strict=True)) / sum(groups.rows)
    drawn = len(groups.sizes) / sum(groups.sizes) if level["attacker"] == "journalist" else 0.0
    return level | {"risk": max(linked, drawn), "k": groups.fewest}


def _benefit(groups: RecountedClasses, level: Level) -> Level:
    """What attacks on the smallest group cost the publisher, if they pay for the attacker."""
    attacked = level["gain"] > level["cost"] * groups.fewest
    return level | {"benefit": level["loss"] / max(groups.fewest, 1) if attacked else 0.0}


def _presence(groups: RecountedClasses, level: Level) -> Level:
    if not groups.chances:
        raise NotRecounted("who is in the population is not known here")
    return {"at_least": float(min(groups.chances)), "at_most": float(max(groups.chances))}


def _share(groups: RecountedClasses) -> float:
    return max(max(spread.values()) / sum(spread.values()) for spread in _all(groups))


DEFINITIONS: Mapping[str, Definition] = {
    "k-anonymity": Definition({"k": ...}, lambda groups, level: {"k": groups.fewest}, hides=False),
    "p-sensitivity": Definition({"p": ...}, lambda groups, level: {"p": _distinct(groups)}, split=True),
    "l-diversity": Definition({"l": ..., "kind": "distinct", "c": 3}, _diversity, split=True),
    "entropy-diversity": Definition({"l": ..., "estimator": "shannon"}, _estimated),
    "t-closeness": Definition(
        {"t": ..., "distance": "equal", "order": None, "tree": None, "reference": None}, _closeness, frozenset({"t"})
    ),
    "alpha-k-anonymity": Definition(
        {"alpha": ..., "k": ...},
        lambda groups, level: {"alpha": _share(groups), "k": groups.fewest},
        frozenset({"alpha"}),
        split=True,
    ),
    "beta-likeness": Definition({"beta": ..., "kind": "basic", "reference": None}, _likeness, frozenset({"beta"})),
    "delta-disclosure": Definition(
        {"delta": ..., "reference": None}, lambda groups, level: {"delta": _disclosure(groups)}, frozenset({"delta"})
    ),
    "average-risk": Definition({"risk": ..., "k": 1, "attacker": None}, _mean_risk, frozenset({"risk"}), hides=False),
    "profitability": Definition(
        {"benefit": ..., "loss": ..., "gain": ..., "cost": ..., "game": None},
        _benefit,
        frozenset({"benefit"}),
        hides=False,
    ),
    "k-map": Definition({"k": ...}, lambda groups, level: {"k": groups.fewest}, hides=False),
    "delta-presence": Definition({"at_least": 0, "at_most": ...}, _presence, frozenset({"at_most"}), hides=False),
    "k-linkability": Definition({"k": ...}, lambda groups, level: {"k": _distinct(groups)}, joint=True, split=True),
    "k-diversity": Definition({"k": ...}, lambda groups, level: {"k": _frequency(groups)}, joint=True, split=True),
    "subset-anonymity": Definition(
        {"k": ..., "m": ...}, lambda groups, level: {"k": groups.fewest, "m": level["m"]}, hides=False
    ),
    "k-degree-anonymity": Definition({"k": ...}, lambda groups, level: {"k": groups.fewest}, hides=False),
    "differential-privacy": Definition(
        {"epsilon": ..., "delta": ...}, None, frozenset({"epsilon", "delta"}), hides=False
    ),
    "km-anonymity": Definition({"k": ..., "m": ...}, None, hides=False),
    "structural-attack": Definition(
        {"planted": ..., "success_at_most": ..., "against": "any"}, None, frozenset({"success_at_most"}), hides=False
    ),
}
