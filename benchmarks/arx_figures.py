"""What ARX's own tests expect on Adult, found again here: optima over the whole lattice, judged by the models of this
house.

    python -m benchmarks.arx_figures hidden                      # t-closeness, β-likeness, l-diversity, k-anonymity:
    4,320 nodes python -m benchmarks.arx_figures risk                        # k-anonymity, average risk, uniqueness:
    12,960 nodes python -m benchmarks.arx_figures population adult_subset.csv # k-map and δ-presence of a research
    subset, which ARX brings along

ARX's test suite (github.com/arx-deidentifier/arx, src/test) states for many configurations the least loss over all
nodes, and its node. Every node is looked at here: classes that our model refuses are suppressed, and what is left costs
what ARX's measure says, computed from its published formula. The table is the same (30,162 records, ARX's hierarchies);
no code of ARX is used.

Results: ``results/arx-figures.csv``. ``tests/people/test_arx_figures.py`` judges the cases at the nodes that ARX names,
too."""

from __future__ import annotations

import csv
import gzip
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adult_by_definition import tree
from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.registry import find
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.models.base import Model
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.models.entropy_diversity import corrected_logarithms
from sfumato.workflow.risk.figures import population_uniques

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "arx-figures.csv"
FILES = {"sex": "sex", "age": "age", "race": "race", "marital-status": "marital-status", "education": "education",
         "native-country": "native-country", "workclass": "workclass", "occupation": "occupation",
         "income": "salary-class"}  # fmt: skip
HIDDEN = "occupation"
Node = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A configuration, and what ARX says is its optimum."""

    models: tuple[tuple[str, Mapping[str, Any]], ...]
    suppressed: float
    measure: str
    loss: float
    node: Node

    def __str__(self) -> str:
        said = [" ".join([name, *(f"{key} {value}" for key, value in level.items())]) for name, level in self.models]
        return f"{' + '.join(said)}, {self.suppressed:.0%} suppressed, {self.measure}"


def case(
    model: str, level: Mapping[str, Any], suppressed: float, measure: str, loss: float, node: Node, k: int = 0
) -> Case:
    more = (("k-anonymity", {"k": k}),) if k else ()
    return Case(((model, level), *more), suppressed, measure, loss, node)


T, B, E, L, K, M, P = (
    "t-closeness",
    "beta-likeness",
    "entropy-diversity",
    "l-diversity",
    "k-anonymity",
    "k-map",
    "delta-presence",
)
ORDERED: dict[str, Any] = {"distance": "ordered"}
OF_HIDDEN = (
    case(T, {"t": 0.2}, 0.04, "squares", 311880088, (1, 4, 1, 0, 3, 2, 2, 1), 5),
    case(T, {"t": 0.2}, 0.04, "squares", 311880088, (1, 4, 1, 0, 3, 2, 2, 1), 100),
    case(T, {"t": 0.2}, 0.0, "squares", 456853172, (1, 4, 1, 1, 3, 2, 2, 1), 5),
    case(T, {"t": 0.2} | ORDERED, 0.04, "squares", 2712340, (0, 0, 1, 1, 2, 2, 2, 0), 5),
    case(T, {"t": 0.2} | ORDERED, 0.04, "squares", 19937246, (1, 0, 1, 2, 3, 2, 2, 1), 100),
    case(T, {"t": 0.1} | ORDERED, 0.0, "squares", 97868020, (1, 1, 1, 2, 3, 2, 2, 1), 5),
    case(T, {"t": 0.2} | ORDERED, 0.0, "squares", 162312130, (1, 4, 1, 1, 1, 2, 2, 1), 100),
    case(B, {"beta": 3, "kind": "basic"}, 0.5, "loss", 0.34883856157237925, (0, 3, 0, 0, 2, 0, 1, 0)),
    case(B, {"beta": 2, "kind": "enhanced"}, 0.0, "loss", 0.759176305345683, (1, 4, 1, 1, 3, 2, 2, 0)),
    case(B, {"beta": 1, "kind": "basic"}, 1.0, "loss", 0.6081345989904172, (1, 4, 0, 1, 3, 0, 2, 0)),
    case(B, {"beta": 10, "kind": "enhanced"}, 1.0, "loss", 0.3419039849540606, (0, 3, 0, 0, 3, 1, 2, 0)),
    case(B, {"beta": 5, "kind": "basic"}, 0.4, "loss", 0.23350465152356303, (0, 2, 0, 0, 2, 0, 1, 0)),
    case(E, {"l": 5, "estimator": "grassberger"}, 0.0, "entropy", 324620.5269918692, (1, 1, 1, 1, 3, 2, 2, 1)),
    case(L, {"l": 5, "kind": "entropy"}, 0.04, "entropy and suppressed", 228878.2039109517, (1, 0, 1, 1, 2, 2, 2, 1)),
    case(L, {"l": 5, "kind": "entropy"}, 0.0, "entropy", 324620.5269918692, (1, 1, 1, 1, 3, 2, 2, 1)),
    case("profitability", {"benefit": 1200, "loss": 300, "gain": 1200, "cost": 2}, 0.0, "entropy", 0.0, (0,) * 8),
)  # fmt: skip
BETWEEN = (
    case(E, {"l": 5, "estimator": "grassberger"}, 0.04, "entropy and suppressed", 216092.124036387, (1, 0, 1, 0, 3, 2,
    2, 0)),
    case(E, {"l": 3, "estimator": "grassberger"}, 0.05, "entropy and suppressed", 180347.4325366015, (0, 0, 1, 1, 2, 2,
    2, 0)),
)  # fmt: skip
"""ARX stops adding when a sum is too large, though values that occur once would still lower it: which classes it
refuses besides depends on the order in which it meets values. Its figure lies between ours and the one where every such
class is refused."""
OF_RISK = (
    case(K, {"k": 5}, 0.04, "entropy", 255559.85455731067, (1, 0, 1, 1, 3, 2, 2, 0, 1)),
    case(K, {"k": 100}, 0.04, "entropy", 379417.3460570988, (1, 1, 1, 1, 3, 2, 2, 1, 1)),
    case(K, {"k": 5}, 0.0, "entropy", 407289.5388925293, (1, 2, 1, 1, 3, 2, 2, 1, 1)),
    case(K, {"k": 100}, 0.0, "entropy", 453196.8932458743, (0, 4, 1, 1, 3, 2, 2, 1, 1)),
    case("average-risk", {"risk": 0.01}, 0.04, "entropy and suppressed", 314637.8461904862, (1, 0, 1, 1, 3, 2, 2, 1,
    1)),
)  # fmt: skip
OF_POPULATION = (
    case(M, {"k": 3}, 0.0, "entropy", 23387.494246375998, (0, 0, 1, 2, 3, 2, 2, 0)),
    case(M, {"k": 5}, 0.0, "entropy", 28551.7222913157, (1, 0, 1, 2, 3, 2, 2, 1)),
    case(M, {"k": 10}, 0.0, "entropy", 30238.2081484441, (0, 1, 1, 2, 3, 2, 2, 0)),
    case(M, {"k": 5}, 0.0, "mean size", 45.014925373134325, (1, 0, 1, 2, 3, 2, 2, 1)),
    case(M, {"k": 7}, 0.05, "entropy", 17075.7181747451, (0, 0, 1, 1, 2, 2, 2, 0)),
    case(M, {"k": 3}, 0.05, "entropy and suppressed", 15121.633326877098, (0, 0, 1, 1, 1, 2, 1, 0)),
    case(M, {"k": 20}, 0.05, "mean size", 11.424242424242424, (1, 0, 1, 1, 3, 2, 1, 0)),
    case(P, {"at_most": 0.2}, 0.0, "mean size", 52.0, (1, 4, 1, 1, 0, 2, 2, 0)),
    case(P, {"at_most": 0.2}, 0.0, "entropy", 30238.2081484441, (0, 1, 1, 2, 3, 2, 2, 0)),
    case(P, {"at_most": 0.2}, 0.05, "entropy", 19804.2887675027, (1, 0, 1, 1, 2, 2, 2, 0)),
    case(P, {"at_most": 0.2}, 0.05, "entropy and suppressed", 20747.362350403302, (1, 0, 1, 1, 2, 2, 2, 0)),
    case(P, {"at_least": 0.05, "at_most": 0.15}, 0.0, "mean size", 150.8, (0, 4, 0, 1, 3, 2, 2, 1)),
    case(P, {"at_least": 0.05, "at_most": 0.15}, 0.0, "entropy", 37223.2491248282, (1, 4, 1, 1, 1, 2, 2, 1)),
    case(P, {"at_least": 0.05, "at_most": 0.15}, 0.05, "entropy and suppressed", 33660.3063277646, (1, 4, 1, 1, 0, 2, 2,
    1)),
)  # fmt: skip
OF_DRAWN = (
    (20000, case(T, {"t": 0.2, "distance": "hierarchical"}, 0.0, "entropy", 178437.4164900378, (1, 4, 1, 1, 3, 2, 2, 1),
    5)),
    (30000, case(T, {"t": 0.2, "distance": "hierarchical"}, 0.0, "entropy", 250816.4033099704, (0, 4, 1, 1, 3, 2, 2,
    1))),
    (10000, case(K, {"k": 5}, 0.0, "entropy", 70774.7774633781, (0, 4, 1, 1, 2, 2, 2, 0))),
    (9000, case(L, {"l": 5, "kind": "recursive", "c": 4}, 0.0, "entropy", 65996.221545847, (1, 2, 1, 1, 3, 2, 2, 1))),
)  # fmt: skip
"""Of the records that ARX's tests draw with a fixed seed: how many draws, and what is found among them."""
LOW_MEDIUM, MEDIUM, HIGH = (0, 2, 0, 1, 1, 1, 1, 1, 0), (1, 2, 1, 1, 2, 1, 1, 1, 1), (1, 3, 1, 2, 2, 2, 2, 2, 1)
OF_SAMPLING = (
    case("differential-privacy", {"epsilon": 2, "delta": 1e-5}, 1.0, "loss", 0.6820705793543056, LOW_MEDIUM),
    case("differential-privacy", {"epsilon": 1.5, "delta": 1e-6}, 1.0, "loss", 0.8112222411559193, HIGH),
    case("differential-privacy", {"epsilon": math.log(2), "delta": 1e-7}, 1.0, "loss", 0.7437618217405468, LOW_MEDIUM),
    case("differential-privacy", {"epsilon": math.log(3), "delta": 1e-8}, 1.0, "loss", 0.6092780386290699, MEDIUM),
    case("differential-privacy", {"epsilon": 2, "delta": 1e-5}, 1.0, "loss", 0.5968589299712612, MEDIUM),
    case("differential-privacy", {"epsilon": 1.5, "delta": 1e-6}, 1.0, "loss", 0.6856395441402736, LOW_MEDIUM),
    case("differential-privacy", {"epsilon": 0.01, "delta": 1e-9}, 1.0, "loss", 0.9999999999999989, LOW_MEDIUM),
)
"""Differential privacy by sampling at fixed levels: the share that is drawn and the threshold follow from ε and δ."""
UNIQUES = ((0.01, "pitman", 0.1446083531167384), (0.1, "pitman", 0.27684993883653597), (0.1, "zayatz",
0.3207402393466189),
           (0.2, "zayatz", 0.3577099234829125), (1.0, "zayatz", 0.5142895033485844))  # fmt: skip
"""Share of the population that is unique, by the sampling fraction; ARX compares four digits, and names the model for
0.1 only."""
AVERAGE_RISK = 0.6465751607983555


@dataclass
class Column:
    """A quasi-identifier: its code and the share of its domain at every level of ARX's hierarchy."""

    levels: list[IntArray]
    leaves: list[IntArray]
    domain: int


@dataclass
class Table:
    """Adult, the columns that outsiders know, and the rows that are published."""

    columns: list[Column]
    hidden: IntArray
    labels: tuple[str, ...]
    mine: BoolArray
    _entropies: dict[tuple[int, int], float] = field(default_factory=dict)

    @property
    def shape(self) -> Node:
        return tuple(len(column.levels) for column in self.columns)

    @property
    def people(self) -> int:
        return int(self.mine.sum())

    def entropy(self, node: Node) -> float:
        return math.fsum(self._entropy(at, level) for at, level in enumerate(node))

    def _entropy(self, at: int, level: int) -> float:
        """Σ −n(value) log₂ n(value) / n(its label) over the published rows."""
        if (at, level) not in self._entropies:
            column = self.columns[at]
            pairs = equivalence_classes_of([column.levels[0][self.mine], column.levels[level][self.mine]])
            label = np.bincount(column.levels[level][self.mine])[column.levels[level][self.mine][pairs.first]]
            self._entropies[at, level] = float(-(pairs.counts * np.log2(pairs.counts / label)).sum())
        return self._entropies[at, level]


@cache
def records() -> list[dict[str, str]]:
    with gzip.open(ADULT / "adult_30162.csv.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


def adult(*without: str, subset: Sequence[tuple[str, ...]] | None = None) -> Table:
    rows = records()
    names = [name for name in FILES if name not in without]
    labels = tuple(sorted({row[HIDDEN] for row in rows}))
    hidden = np.array([labels.index(row[HIDDEN]) for row in rows])
    mine = np.ones(len(rows), dtype=np.bool_)
    if subset is not None:
        left = list(subset)
        wanted: dict[tuple[str, ...], int] = {row: left.count(row) for row in set(left)}
        for place, row in enumerate(rows):
            key = tuple(row[name] for name in FILES)
            mine[place] = wanted.get(key, 0) > 0
            wanted[key] = wanted.get(key, 0) - 1
        assert int(mine.sum()) == len(left)
    return Table([_column(name, [row[name] for row in rows]) for name in names], hidden, labels, mine)


def bits_drawn() -> Iterator[int]:
    """48 bits at a time, with the generator of ARX's language and the seed of its tests."""
    state = (-559038737 ^ 0x5DEECE66D) & ((1 << 48) - 1)
    while True:
        state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        yield state


def drawn(table: Table, draws: int) -> Table:
    """The records that so many draws meet, of which 31 bits are used each."""
    met, left = set(), draws
    for state in bits_drawn():
        bits = state >> 17
        if bits - bits % draws + draws - 1 < 1 << 31:  # the others are drawn again
            met.add(bits % draws)
            left -= 1
        if not left:
            break
    return _only(table, np.array(sorted(met)))


def sampled(table: Table, share: float) -> Table:
    """Every record with a probability, of which 53 bits are drawn."""
    bits = bits_drawn()
    drawn = [((next(bits) >> 22 << 27) + (next(bits) >> 21)) * 2.0**-53 for _ in range(len(table.hidden))]
    return _only(table, np.flatnonzero(np.array(drawn) < share))


def _only(table: Table, rows: IntArray) -> Table:
    columns = [
        Column([each[rows] for each in one.levels], [each[rows] for each in one.leaves], one.domain)
        for one in table.columns
    ]
    return Table(columns, table.hidden[rows], table.labels, np.ones(len(rows), dtype=np.bool_))


def _column(name: str, values: Sequence[str]) -> Column:
    text = (ADULT / "hierarchies_arx" / f"adult_hierarchy_{FILES[name]}.csv").read_text(encoding="utf-8")
    paths = [line.split(";") for line in text.splitlines() if line]
    levels, leaves = [], []
    for level in range(len(paths[0])):
        labels = list(dict.fromkeys(path[level] for path in paths))
        code = {path[0]: labels.index(path[level]) for path in paths}
        below = np.bincount([labels.index(path[level]) for path in paths])
        levels.append(np.array([code[value] for value in values]))
        leaves.append(below[levels[-1]])
    return Column(levels, leaves, len(paths))


@dataclass
class Seen:
    """A node: classes of everybody, with the rows that are published of each."""

    table: Table
    node: Node
    classes: EquivalenceClasses
    rows: IntArray
    linkage: Linkage

    @classmethod
    def at(cls, table: Table, node: Node, *, hidden: bool) -> Seen:
        classes = equivalence_classes_of(
            [column.levels[level] for column, level in zip(table.columns, node, strict=True)]
        )
        rows = np.bincount(classes.of[table.mine], minlength=len(classes))
        spread = (
            {HIDDEN: ValueDistribution.count(classes.of, table.hidden, len(classes), table.labels)} if hidden else {}
        )
        return cls(table, node, classes, rows, Linkage(classes.counts, classes.counts, spread))

    def cost(self, measure: str, shown: BoolArray) -> float:
        gone = int(self.rows[~shown].sum())
        if measure == "squares":
            return float((self.rows.astype(np.float64) ** 2).sum())
        if measure == "mean size":
            return self.table.people / (int((shown & (self.rows > 0)).sum()) + (gone > 0))
        if measure == "entropy":
            return self.table.entropy(self.node)
        return (
            self._loss(shown)
            if measure == "loss"
            else self.table.entropy(self.node) + self._among(~shown[self.classes.of], gone)
        )

    def _among(self, suppressed: BoolArray, gone: int) -> float:
        """What telling suppressed rows apart would take, column by column."""
        shown = [column.levels[level] for column, level in zip(self.table.columns, self.node, strict=True)]
        counts = [np.bincount(codes[suppressed & self.table.mine]) for codes in shown]
        return math.fsum(float(-(n * np.log2(n / gone)).sum()) for n in (count[count > 0] for count in counts))

    def _loss(self, shown: BoolArray) -> float:
        people, kept, factor = self.table.people, shown[self.classes.of], 1.0
        for column, level in zip(self.table.columns, self.node, strict=True):
            covered = float(np.where(kept, column.leaves[level] / column.domain, 1.0).sum())
            share = (covered - people / column.domain) / (people - people / column.domain)
            factor *= (max(share, 0.0) + 1) ** (1 / len(self.table.columns))
        return factor - 1


Judge = Callable[[Seen, Case], BoolArray | None]
"""The classes that may be shown; nothing where the node cannot be had."""


def models_of(table: Table, one: Case) -> list[Model]:
    found = []
    for name, level in one.models:
        more = {"ordered": {"order": table.labels}, "hierarchical": {"tree": tree()}}.get(level.get("distance"), {})
        found.append(find("models", Model, name)(**level, **more))
    return found


def by_class(seen: Seen, one: Case) -> BoolArray | None:
    return np.logical_and.reduce([model.satisfied(seen.linkage) for model in models_of(seen.table, one)])


def by_mean(seen: Seen, one: Case) -> BoolArray | None:
    """The smallest classes go until the mean is low enough; of classes of one size the one that is met first."""
    (model,) = models_of(seen.table, one)
    order = np.lexsort((seen.classes.first, seen.rows))
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        rest = seen.rows[order[middle:]]
        low, high = (low, middle) if model.satisfied(Linkage(rest, rest)).all() else (middle + 1, high)
    shown = np.ones(len(order), dtype=np.bool_)
    shown[order[:low]] = False
    return shown


def by_population(seen: Seen, one: Case) -> BoolArray | None:
    """People of the population behind every class; a class of which nobody is published cannot be suppressed."""
    (model,) = models_of(seen.table, one)
    if model.name == M:
        verdict = model.satisfied(Linkage(seen.rows, seen.classes.counts))
        return verdict | (seen.rows == 0)
    value = np.tile([0, 1], len(seen.rows))
    weight = np.stack([seen.classes.counts - seen.rows, seen.rows], axis=1).ravel()
    spread = ValueDistribution.count(np.repeat(np.arange(len(seen.rows)), 2), value, len(seen.rows), ("0", "1"), weight)
    verdict = model.satisfied(replace(seen.linkage, spread={"presence": spread}))
    return None if (~verdict & (seen.rows == 0)).any() else verdict


def judged(seen: Seen, one: Case, judge: Judge) -> float | None:
    """What a node costs; nothing where it does not keep the claim."""
    shown = judge(seen, one)
    if shown is None or int(seen.rows[~shown].sum()) > one.suppressed * seen.table.people:
        return None
    return seen.cost(one.measure, shown)


def stopped_early(seen: Seen, one: Case) -> BoolArray:
    """The classes that are left where all positive terms of Grassberger's sum are met first."""
    spread, l = seen.linkage.spread[HIDDEN], float(one.models[0][1]["l"])
    terms = np.maximum(spread.weight * corrected_logarithms(spread.weight), 0)
    added = np.bincount(spread.kind(), weights=terms, minlength=spread.kinds)
    shown = by_class(seen, one)
    assert shown is not None
    return shown & (added <= spread.total() * (corrected_logarithms(spread.total()) - math.log(l)) + 1e-9)


def between(table: Table) -> list[dict[str, Any]]:
    found = []
    for one in BETWEEN:
        seen = Seen.at(table, one.node, hidden=True)
        least, most = judged(seen, one, by_class), seen.cost(one.measure, stopped_early(seen, one))
        assert least is not None
        found.append(
            {"case": str(one), "arx": one.loss, "here": f"{least:.6f} to {most:.6f}", "same": least < one.loss < most}
        )
        print(found[-1], flush=True)
    return found


def judge_of(one: Case) -> Judge:
    name = one.models[0][0]
    return by_population if name in (M, P) else by_mean if name == "average-risk" else by_class


def sweep(table: Table, cases: Sequence[Case]) -> list[dict[str, Any]]:
    best: dict[int, tuple[float, Node]] = {}
    needs_hidden = any(judge_of(one) is by_class for one in cases)
    for node in product(*map(range, table.shape)):
        seen = Seen.at(table, node, hidden=needs_hidden)
        for place, one in enumerate(cases):
            cost = judged(seen, one, judge_of(one))
            if cost is not None and cost < best.get(place, (math.inf, node))[0] - 1e-9:
                best[place] = cost, node
    found = []
    for place, one in enumerate(cases):
        cost, node = best.get(place, (math.nan, ()))
        same = math.isclose(cost, one.loss, rel_tol=1e-9, abs_tol=1e-9)
        found.append(
            {"case": str(one), "arx": one.loss, "here": cost, "arx's node": one.node, "our node": node, "same": same}
        )
        print(found[-1], flush=True)
    return found


def of_sampling(table: Table) -> list[dict[str, Any]]:
    """On ARX's draw and levels, with one more than the threshold that our model asks for: what ARX takes, by its
    figures."""
    found = []
    for one in OF_SAMPLING:
        level = one.models[0][1]
        share = -math.expm1(-level["epsilon"])
        k = DifferentialPrivacy(**level).threshold(share, 0.0)
        seen = Seen.at(sampled(table, share), one.node, hidden=False)
        cost = seen.cost("loss", seen.rows >= k + 1)
        same = math.isclose(cost, one.loss, rel_tol=1e-9)
        said = f"{one}: k {k} is enough, {k + 1} taken"
        found.append({"case": said, "arx": one.loss, "here": cost, "arx's node": one.node, "same": same})
        print(found[-1], flush=True)
    return found


def uniqueness() -> list[dict[str, Any]]:
    """Average risk and population uniqueness of the table as it is, nine columns."""
    table = adult()
    sizes = equivalence_classes_of([column.levels[0] for column in table.columns]).counts
    found = [{"case": "average prosecutor's risk", "arx": AVERAGE_RISK, "here": len(sizes) / int(sizes.sum())}]
    for fraction, model, said in UNIQUES:
        shares = {each.model: each.share for each in population_uniques(sizes, fraction).models}
        found.append({"case": f"population uniques at {fraction:g}, by {model}", "arx": said, "here": shares[model]})
    for one in found:
        one["same"] = abs(float(one["arx"]) - float(one["here"])) < 1e-4  # type: ignore[arg-type]
        print(one, flush=True)
    return found


def subset_of(file: Path) -> list[tuple[str, ...]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return [tuple(row) for row in csv.reader(lines, delimiter=";")][1:]


def of_hidden() -> list[dict[str, Any]]:
    table = adult(HIDDEN)
    of_drawn = [one for draws, each in OF_DRAWN for one in sweep(drawn(table, draws), [each])]
    return [*sweep(table, OF_HIDDEN), *of_drawn, *between(table)]


def main() -> None:
    part = sys.argv[1]
    found = {
        "hidden": of_hidden,
        "risk": lambda: [*uniqueness(), *of_sampling(adult()), *sweep(adult(), OF_RISK)],
        "population": lambda: sweep(adult(HIDDEN, subset=subset_of(Path(sys.argv[2]))), OF_POPULATION),
    }[part]()
    known = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as lines:
            known = [row for row in csv.DictReader(lines) if row["part"] != part]
    with RESULTS.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, ["part", "case", "arx", "here", "arx's node", "our node", "same"])
        writer.writeheader()
        writer.writerows([*known, *({"part": part} | one for one in found)])


if __name__ == "__main__":
    main()
