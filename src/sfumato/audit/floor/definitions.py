"""The models, from their definitions: what a level means, what a group of people has, and which way is better.

Notation
    group     people whom an outsider cannot tell apart, with the weight of every hidden value among their candidates
    r₁ ≥ r₂ … the weights of a group from frequent to rare, T their sum
    p, q      the shares of a value in a group and in the whole release

Definitions, per group and hidden column; the release has the level of its worst group
    k-anonymity        the number of candidates                                             Samarati, Sweeney 1998
    p-sensitivity      different values                                                     Truta, Vinay 2006
    l-diversity        distinct: different values; frequency: T / r₁; entropy: exp(−Σ p ln p);
                       recursive (c, l): the largest l with r₁ < c (r_l + … + r_m), 0 without one   Machanavajjhala et al. 2006
    entropy diversity  exp(−Σ p ln p), or exp(G(T) − Σ (r/T) G(r)), at most the number of values, with
                       G(n) = ψ(n) + (−1)ⁿ ∫ xⁿ⁻¹ / (1 + x) dx from 0 to 1                  Grassberger 2003
    t-closeness        the earth mover's distance of p from q                               Li et al. 2007
    β-likeness         (q − p) / p where q > p; enhanced: also at most −ln p                Cao, Karras 2012
    δ-disclosure       |ln q/p| for every value of the release                              Brickell, Shmatikov 2008
    average risk       the mean of one over the size of everybody's group                   El Emam, Dankar 2008
    profitability      loss over candidates where gain over candidates exceeds the cost     Wan et al. 2015
    k-map              people of the population behind a group's rows                       Sweeney 2002
    δ-presence         rows over people of the population who fit them                      Nergiz et al. 2007
    (α, k)-anonymity   r₁ / T, and the number of candidates                                 Wong et al. 2006
    subset anonymity   rows that look alike in any m known columns                          Templ, Kowarik, Meindl 2015
    k-degree-anonymity people with the same number of ties                                  Liu, Terzi 2008

Invariants
    I1  Weights are whole numbers; shares are compared by cross multiplication wherever the definition is strict.
    I2  A parameter that stands here under another name, or not at all, is not guessed: the claim is not counted.

Cost: linear in the values of all groups, with a logarithm for the order of numbers.

>>> table = Groups(2, {"illness": [{"flu": 2, "gout": 1}, {"flu": 1, "cold": 1}]}, {"illness": {"flu": 3, "gout": 1, "cold": 1}})
>>> level = level_of("l-diversity", {"l": "2", "kind": "frequency"})
>>> counted("l-diversity", table, level), reaches("l-diversity", level, counted("l-diversity", table, level))
({'l': 1.5, 'kind': 'frequency'}, False)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sfumato.audit.floor.distances import Weights, equal, hierarchical, number, ordered

Level = dict[str, Any]
_SLACK = 1e-9
_EULER = 0.57721566490153286
_BEYOND = 1e9
"""What no level of likeness or disclosure allows."""


class NotCounted(Exception):
    """The floor has no count for this claim; the reason is its text."""


@dataclass(frozen=True, slots=True)
class Groups:
    """A release as an outsider sees it: groups of people, and how hidden values spread over the candidates of each."""

    fewest: int
    """Candidates of the smallest group."""
    spreads: Mapping[str, Sequence[Weights]] = field(default_factory=dict)
    """Per hidden column the weights of every group; groups with the same shares may stand here once."""
    overall: Mapping[str, Weights] = field(default_factory=dict)
    """Per hidden column the weights in the whole release."""
    sizes: Sequence[int] = ()
    """Candidates of every group, where that is known."""
    rows: Sequence[int] = ()
    """Published rows of every group, where candidates are people of a population."""
    chances: Sequence[Fraction] = ()
    """Where everybody of the population is known: the chances of kinds of people to be in the table, at least and at most."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One model."""

    parameters: Mapping[str, Any]
    """Names, with what a parameter is when it is not written; ``...`` when it must be."""
    count: Callable[[Groups, Level], Level] | None
    """The level of a release; None when it cannot be counted on groups."""
    at_most: frozenset[str] = frozenset()
    """Parameters of which less is more private."""
    hides: bool = True
    """Whether it speaks of hidden values."""
    joint: bool = False
    """Whether it speaks of all releases together."""


def level_of(model: str, written: Mapping[str, Any]) -> Level:
    """The level that a claim asks for, under the names and in the form of a certificate."""
    known = DEFINITIONS[model].parameters
    if not written.keys() <= known.keys():
        raise NotCounted("the claim has a parameter that the definition does not have")  # I2
    level = {name: _value(written[name]) if written.get(name) is not None else default for name, default in known.items()}
    if ... in level.values():
        raise NotCounted("the claim lacks a parameter")
    if level.get("kind") != "recursive":
        level.pop("c", None)
    return {name: value for name, value in level.items() if value is not None}


def _value(written: Any) -> Any:
    if isinstance(written, Mapping):
        return [row[::-1] for row in nested_rows(written, [])]
    if not isinstance(written, str):
        return [list(row) if not isinstance(row, str) else row for row in written]
    value = number(written)
    if value is None:
        return written
    return int(value) if value == int(value) else value


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


def counted(model: str, groups: Groups, level: Level) -> Level:
    """The level that the release has."""
    definition = DEFINITIONS[model]
    if definition.count is None:
        raise NotCounted("it is no count of people who look alike")
    if definition.hides and not groups.spreads:
        raise NotCounted("it hides no column")
    return definition.count(groups, level)


def reaches(model: str, required: Level, achieved: Level) -> bool:
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


def worse(model: str, one: Level, other: Level) -> Level:
    """The less private of two levels, parameter by parameter."""
    at_most = DEFINITIONS[model].at_most
    return {
        name: (max if name in at_most else min)(value, other[name]) if isinstance(value, int | float) else value
        for name, value in one.items()
    }


# -- what a group has -----------------------------------------------------------------------------------------------------------


def _all(groups: Groups) -> Iterable[Weights]:
    return (spread for spreads in groups.spreads.values() for spread in spreads)


def _distinct(groups: Groups) -> int:
    return min(len(spread) for spread in _all(groups))


def _frequency(groups: Groups) -> float:
    return min(sum(spread.values()) / max(spread.values()) for spread in _all(groups))


def _entropy(groups: Groups) -> float:
    return math.exp(min(_entropy_of(spread) for spread in _all(groups)))


def _entropy_of(spread: Weights) -> float:
    total = sum(spread.values())
    return -math.fsum(weight / total * math.log(weight / total) for weight in spread.values())


def _estimated(groups: Groups, level: Level) -> Level:
    if level["estimator"] == "shannon":
        return level | {"l": _entropy(groups)}
    if level["estimator"] != "grassberger":
        raise NotCounted("the estimator is unknown")
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


def _recursive(groups: Groups, c: Fraction) -> int:
    return min(_recursive_of(spread, c) for spread in _all(groups))


def _recursive_of(spread: Weights, c: Fraction) -> int:
    ranked = sorted(spread.values(), reverse=True)
    rest, most = sum(ranked), ranked[0] * c.denominator
    for l, weight in enumerate(ranked):
        if not most < c.numerator * rest:  # I1
            return l
        rest -= weight
    return len(ranked)


def _diversity(groups: Groups, level: Level) -> Level:
    kinds: dict[str, Callable[[], float]] = {
        "distinct": lambda: _distinct(groups),
        "frequency": lambda: _frequency(groups),
        "entropy": lambda: _entropy(groups),
        "recursive": lambda: _recursive(groups, Fraction(str(level["c"]))),
    }
    if level["kind"] not in kinds:
        raise NotCounted("the kind of diversity is unknown")
    return level | {"l": kinds[level["kind"]]()}


def _closeness(groups: Groups, level: Level) -> Level:
    distances: dict[str, Callable[[Iterable[Weights], Weights], float]] = {
        "equal": equal,
        "ordered": lambda spreads, whole: ordered(spreads, whole, level.get("order", ())),
        "hierarchical": lambda spreads, whole: hierarchical(spreads, whole, level.get("tree", ())),
    }
    if level["distance"] not in distances:
        raise NotCounted("the distance is unknown")
    far = distances[level["distance"]]
    farthest = max((far(spreads, groups.overall[column]) for column, spreads in groups.spreads.items()), default=0.0)
    return {"t": max(farthest, 0.0), "distance": level["distance"]}


def _likeness(groups: Groups, level: Level) -> Level:
    """(q − p) / p, the largest; of the enhanced kind beyond every level where it exceeds −ln p."""
    if level["kind"] not in ("basic", "enhanced"):
        raise NotCounted("the kind of likeness is unknown")
    largest = 0.0
    for p, q in _shares(groups):
        gain = (q - p) / p
        largest = max(largest, _BEYOND if level["kind"] == "enhanced" and gain > -math.log(p) + _SLACK / 1000 else gain)
    return {"beta": largest, "kind": level["kind"]}


def _disclosure(groups: Groups) -> float:
    """|ln q/p|, the largest; beyond every level where a group lacks a value."""
    return max((abs(math.log(q / p)) if q else _BEYOND for p, q in _shares(groups, lacking=True)), default=0.0)


def _shares(groups: Groups, *, lacking: bool = False) -> Iterable[tuple[float, float]]:
    """For every group and value the share in the release, and in the group."""
    for column, spreads in groups.spreads.items():
        whole, everything = groups.overall[column], sum(groups.overall[column].values())
        for spread in spreads:
            total = sum(spread.values())
            for value in whole if lacking else spread:
                yield whole[value] / everything, spread.get(value, 0) / total


def _mean_risk(groups: Groups, level: Level) -> Level:
    """Groups over people: the mean of one over the size of everybody's group; of rows, when candidates are of a population."""
    if not groups.sizes:
        raise NotCounted("the number of groups is not known here")
    if level.get("attacker") is None:
        return {"risk": len(groups.sizes) / sum(groups.sizes), "k": groups.fewest}
    linked = math.fsum(rows / people for rows, people in zip(groups.rows, groups.sizes, strict=True)) / sum(groups.rows)
    drawn = len(groups.sizes) / sum(groups.sizes) if level["attacker"] == "journalist" else 0.0
    return level | {"risk": max(linked, drawn), "k": groups.fewest}


def _benefit(groups: Groups, level: Level) -> Level:
    """What attacks on the smallest group cost the publisher, if they pay for the attacker."""
    attacked = level["gain"] > level["cost"] * groups.fewest
    return level | {"benefit": level["loss"] / max(groups.fewest, 1) if attacked else 0.0}


def _presence(groups: Groups, level: Level) -> Level:
    if not groups.chances:
        raise NotCounted("who is in the population is not known here")
    return {"at_least": float(min(groups.chances)), "at_most": float(max(groups.chances))}


def _share(groups: Groups) -> float:
    return max(max(spread.values()) / sum(spread.values()) for spread in _all(groups))


DEFINITIONS: Mapping[str, Definition] = {
    "k-anonymity": Definition({"k": ...}, lambda groups, level: {"k": groups.fewest}, hides=False),
    "p-sensitivity": Definition({"p": ...}, lambda groups, level: {"p": _distinct(groups)}),
    "l-diversity": Definition({"l": ..., "kind": "distinct", "c": 3}, _diversity),
    "entropy-diversity": Definition({"l": ..., "estimator": "shannon"}, _estimated),
    "t-closeness": Definition({"t": ..., "distance": "equal", "order": None, "tree": None}, _closeness, frozenset({"t"})),
    "alpha-k-anonymity": Definition(
        {"alpha": ..., "k": ...}, lambda groups, level: {"alpha": _share(groups), "k": groups.fewest}, frozenset({"alpha"})
    ),
    "beta-likeness": Definition({"beta": ..., "kind": "basic"}, _likeness, frozenset({"beta"})),
    "delta-disclosure": Definition({"delta": ...}, lambda groups, level: {"delta": _disclosure(groups)}, frozenset({"delta"})),
    "average-risk": Definition({"risk": ..., "k": 1, "attacker": None}, _mean_risk, frozenset({"risk"}), hides=False),
    "profitability": Definition(
        {"benefit": ..., "loss": ..., "gain": ..., "cost": ..., "game": None}, _benefit, frozenset({"benefit"}), hides=False
    ),
    "k-map": Definition({"k": ...}, lambda groups, level: {"k": groups.fewest}, hides=False),
    "delta-presence": Definition({"at_least": 0, "at_most": ...}, _presence, frozenset({"at_most"}), hides=False),
    "k-linkability": Definition({"k": ...}, lambda groups, level: {"k": _distinct(groups)}, joint=True),
    "k-diversity": Definition({"k": ...}, lambda groups, level: {"k": _frequency(groups)}, joint=True),
    "subset-anonymity": Definition({"k": ..., "m": ...}, lambda groups, level: {"k": groups.fewest, "m": level["m"]}, hides=False),
    "k-degree-anonymity": Definition({"k": ...}, lambda groups, level: {"k": groups.fewest}, hides=False),
    "differential-privacy": Definition({"epsilon": ..., "delta": ...}, None, frozenset({"epsilon", "delta"}), hides=False),
    "km-anonymity": Definition({"k": ..., "m": ...}, None, hides=False),
    "structural-attack": Definition(
        {"planted": ..., "success_at_most": ..., "against": "any"}, None, frozenset({"success_at_most"}), hides=False
    ),
}
