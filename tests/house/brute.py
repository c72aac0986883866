"""A checker written from the definitions: plain Python over rows, no code of the product but the parsed policy's
numbers."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Row = dict[str, str]
Tree = Any
Weights = Mapping[str, Any]
"""How much of each value there is: counts of rows, or exact shares."""
JOINT = ("k-linkability", "k-diversity")
"""Claims about all releases together: their outsider uses every quasi-identifier."""


def paths(tree: Tree, above: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """leaf → (leaf, …, root) of nested mappings and lists."""
    if isinstance(tree, dict):
        found: dict[str, tuple[str, ...]] = {}
        for label, below in tree.items():
            found |= paths(below, (label, *above))
        return found
    return {leaf: (leaf, *above) for leaf in tree}


def chain_of(value: str, hierarchy: Tree) -> tuple[str, ...] | None:
    """The labels of a value, itself first, from the words of the policy; ``None`` for ranges, which have too many."""
    if hierarchy == "ranges":
        return None
    if hierarchy is None or value == "":
        root = (
            next(iter(hierarchy))
            if isinstance(hierarchy, dict) and not set(hierarchy) & {"intervals", "prefix", "dates"}
            else "*"
        )
        return (value, root)
    if "intervals" in hierarchy:
        bins = [(int(value) // width * width, width) for width in hierarchy["intervals"]]
        return (value, *(f"{low}-{low + width - 1}" for low, width in bins), "*")
    if "prefix" in hierarchy:
        shortest = len(value) - min(hierarchy["prefix"], len(value))
        return (
            value,
            *(value[:keep] + "*" * (len(value) - keep) for keep in range(len(value) - 1, max(shortest, 0), -1)),
            "*",
        )
    if "dates" in hierarchy:
        return (value, *(value[: {"month": 7, "year": 4}[unit]] for unit in hierarchy["dates"]), "*")
    return paths(hierarchy)[value]


def allowed_labels(value: str, column: dict[str, Any]) -> set[str]:
    """The labels this value may be published as, boundaries included."""
    chain = chain_of(value, column.get("hierarchy"))
    assert chain is not None
    boundary = column.get("boundary")
    if isinstance(boundary, dict):
        return set(chain[: boundary["level"] + 1])
    for i, label in enumerate(chain):
        if label in set(boundary or ()):
            return set(chain[: i + 1])
    return set(chain)


def may_stand_for(label: str, value: str, column: dict[str, Any]) -> bool:
    """Whether a published label may stand for a value of a quasi-identifier."""
    if column.get("hierarchy") != "ranges":
        return label in allowed_labels(value, column)
    ends = re.fullmatch(r"(-?\d+)-(-?\d+)", label)
    return label == value or (ends is not None and int(ends[1]) <= int(value) <= int(ends[2]))


def covers(row: Row, record: Row, columns: dict[str, dict[str, Any]]) -> bool:
    for name, column in columns.items():
        if not column.get("publish", True):
            continue
        if column["role"] == "quasi-identifier" and not may_stand_for(row[name], record[name], column):
            return False
        if column["role"] in ("sensitive", "other") and row[name] != record[name]:
            return False
    return True


def perfect_matching(rows: list[Row], records: list[Row], columns: dict[str, dict[str, Any]]) -> bool:
    """Every row stands for a record of its own (augmenting paths)."""
    edges = [[j for j, record in enumerate(records) if covers(row, record, columns)] for row in rows]
    owner: dict[int, int] = {}

    def augment(i: int, seen: set[int]) -> bool:
        for j in edges[i]:
            if j not in seen:
                seen.add(j)
                if j not in owner or augment(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    return all(augment(i, set()) for i in range(len(rows)))


def classes(rows: list[Row], given: list[str]) -> list[list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in given)].append(row)
    return list(groups.values())


def satisfies(group: list[Row], everything: list[Row], hide: list[str], model: str, level: dict[str, Any]) -> bool:
    counts = [Counter(row[name] for row in group) for name in hide]
    whole = [Counter(row[name] for row in everything) for name in hide]
    return believed(len(group), counts, whole, model, level)


def believed(size: int, counts: list[Weights], whole: list[Weights], model: str, level: dict[str, Any]) -> bool:
    """Whether a model holds for somebody among `size` candidates whose hidden values are spread so, column by
    column."""
    if model == "k-anonymity":
        return size >= level["k"]
    if model == "p-sensitivity":
        return all(len(count) >= level["p"] for count in counts)
    if model == "alpha-k-anonymity":
        return size >= level["k"] and all(max(c.values()) <= level["alpha"] * sum(c.values()) + 1e-9 for c in counts)
    if model == "k-linkability":
        return all(len(count) >= level["k"] for count in counts)
    if model == "k-diversity":
        return all(max(count.values()) * Fraction(str(level["k"])) <= sum(count.values()) for count in counts)
    if model == "l-diversity":
        return all(diverse(count, level) for count in counts)
    if model == "beta-likeness":
        return all(q <= p or likely(p, q, level) for p, q in beside(counts, whole))
    if model == "entropy-diversity":
        return all(
            estimated(count, level.get("estimator", "shannon")) >= math.log(level["l"]) - 1e-9 for count in counts
        )
    if model == "delta-disclosure":
        return all(q > 0 and abs(math.log(q / p)) < level["delta"] for p, q in beside(counts, whole))
    if model == "profitability":
        return level["gain"] <= level["cost"] * size or level["loss"] / size <= level["benefit"] + 1e-12
    if model == "t-closeness":
        kind, tree = level.get("distance", "equal"), level.get("tree")
        return all(
            distance(count, all_, kind, tree) <= level["t"] + 1e-9 for count, all_ in zip(counts, whole, strict=True)
        )
    raise AssertionError(model)


def beside(counts: list[Counter[str]], whole: list[Counter[str]]) -> list[tuple[float, float]]:
    """For every hidden value its share in the release, and in the group."""
    return [
        (all_[value] / sum(all_.values()), count[value] / sum(count.values()))
        for count, all_ in zip(counts, whole, strict=True)
        for value in all_
    ]


def likely(p: float, q: float, level: dict[str, Any]) -> bool:
    gain = (q - p) / p
    return gain <= level["beta"] + 1e-9 and (level.get("kind", "basic") == "basic" or gain <= -math.log(p) + 1e-9)


def average(published: list[Row], given: list[str]) -> float:
    """Mean of one over the size of everybody's class."""
    return sum(1 / len(group) for group in classes(published, given) for _ in group) / max(len(published), 1)


def diverse(count: Weights, level: dict[str, Any]) -> bool:
    total, l = sum(count.values()), level["l"]
    kind = level.get("kind", "distinct")
    if kind == "distinct":
        return len(count) >= l
    if kind == "frequency":
        return max(count.values()) * Fraction(str(l)) <= total
    if kind == "entropy":
        return -sum(n / total * math.log(n / total) for n in count.values()) >= math.log(l) - 1e-9
    ranked = sorted(count.values(), reverse=True)
    return len(ranked) >= l and ranked[0] < Fraction(str(level.get("c", 3))) * sum(ranked[l - 1 :])


def through(tree: Tree, gap: Mapping[str, Fraction]) -> float:
    """What is moved through a node of a tree goes down to values of other children, and costs its height over the
    tree's."""
    chain = paths(tree)
    (root,) = tree
    deep = max(len(labels) for labels in chain.values()) - 1
    cost, rest = Fraction(0), dict(gap)
    for height in range(1, deep + 1):
        inner = {
            label
            for labels in chain.values()
            for label in labels[1:]
            if max(c.index(label) for c in chain.values() if label in c) == height
        }
        for label in inner:
            below = [value for value in rest if label in chain.get(value, (value, root))]
            over = sum((rest[value] for value in below if rest[value] > 0), Fraction(0))
            short = -sum((rest[value] for value in below if rest[value] < 0), Fraction(0))
            cost += min(over, short) * height
            for value in below:  # what is left has one sign, and goes on through the first of them
                rest[value] = over - short if value == below[0] else Fraction(0)
    return float(cost / deep)


def estimated(count: Weights, estimator: str) -> float:
    """Shannon's entropy of counts; or Grassberger's, with digamma and the alternating sum of 1/n, 1/(n + 1), …, of no
    more values than there are."""
    total = sum(count.values())
    if estimator == "shannon":
        return -sum(n / total * math.log(n / total) for n in count.values())
    sizes = {total, *count.values()}
    tail = {n: math.log(2) - sum((-1) ** (j + 1) / j for j in range(1, n)) for n in sizes}  # Σ (−1)ʲ⁺¹/j over j ≥ n
    g = {n: sum(1 / j for j in range(1, n)) - 0.5772156649015329 - tail[n] for n in sizes}
    return min(g[total] - sum(n / total * g[n] for n in count.values()), math.log(len(count)))


def distance(count: Weights, overall: Weights, kind: str, tree: Tree = None) -> float:
    n, m = sum(count.values()), sum(overall.values())
    gap = {value: Fraction(count.get(value, 0)) / n - Fraction(overall[value]) / m for value in overall}
    if kind == "equal":
        return float(sum(abs(g) for g in gap.values()) / 2)
    if kind == "hierarchical":
        return through(tree, gap)
    order = sorted(overall, key=float)
    if len(order) < 2:
        return 0.0
    running = list(itertools.accumulate(gap[value] for value in order))
    return float(sum(abs(g) for g in running) / (len(order) - 1))


SHORT = {
    "anonymity": ("k-anonymity", "k", {}),
    "sensitivity": ("p-sensitivity", "p", {}),
    "diversity": ("l-diversity", "l", {"kind": "frequency"}),
    "closeness": ("t-closeness", "t", {}),
}
"""The words of claims in one line."""


def columns_of(policy: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: ({"role": c} if isinstance(c, str) else c) for name, c in policy["columns"].items()}


def published_names(columns: dict[str, dict[str, Any]], *roles: str) -> list[str]:
    """The columns of these roles (of all but identifiers when none is named) that a release shows."""
    shown = roles or ("quasi-identifier", "sensitive", "other", "replaced")
    return [name for name, column in columns.items() if column["role"] in shown and column.get("publish", True)]


def claim_of(claim: Any, columns: dict[str, dict[str, Any]]) -> tuple[list[str], list[str], str, dict[str, Any]]:
    """(given, hide, model, level) of a claim, however it is written."""
    quasi, sensitive = published_names(columns, "quasi-identifier"), published_names(columns, "sensitive")
    if isinstance(claim, str):
        left, number, word = re.fullmatch(r"(.*) : ([\d.]+)-(\w+)", claim).groups()  # type: ignore[union-attr]
        given, hide = ([name.strip() for name in side.split(",")] for side in left.split("->"))
        model, key, more = SHORT[word]
        return given, hide, model, {key: float(number) if "." in number else int(number), **more}
    ((model, level),) = claim.get("by", claim).items()
    given, hide = (
        [side] if isinstance(side, str) else side for side in (claim.get("given", quasi), claim.get("hide", sensitive))
    )
    return quasi if model in JOINT else given, hide, model, level


def violations(published: list[Row], records: list[Row], policy: dict[str, Any]) -> list[str]:
    """Everything that is wrong with a recoded release, by the definitions."""
    columns = columns_of(policy)
    wrong = []
    if any(set(row) != set(published_names(columns)) for row in published):
        return ["columns"]
    if not perfect_matching(published, records, columns):
        wrong.append("untruthful or beyond a boundary")
    limit = policy.get("utility", {}).get("suppress_at_most")
    if limit is not None and len(records) - len(published) > limit * len(records) + 1e-9:
        wrong.append("suppression")
    return wrong + broken_claims(published, policy)


def broken_claims(published: list[Row], policy: dict[str, Any]) -> list[str]:
    """The requirements that a recoded release does not keep."""
    columns = columns_of(policy)
    wrong = []
    for claim in policy["protect"]:
        given, hide, model, level = claim_of(claim, columns)
        if model == "average-risk":
            fewest = min(map(len, classes(published, given)), default=0)
            short = average(published, given) > level["risk"] + 1e-9 or fewest < level.get("k", 1)
            wrong += [model] * (bool(published) and short)
            continue
        if not all(satisfies(group, published, hide, model, level) for group in classes(published, given)):
            wrong.append(model)
    return wrong


def savable(records: list[Row], policy: dict[str, Any]) -> int:
    """How many records generalization alone can publish for claims on numbers and distinct values [boundaries Prop. 5,
    6]."""
    columns = columns_of(policy)
    hide = published_names(columns, "sensitive")
    quasi = published_names(columns, "quasi-identifier")
    regions: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for record in records:
        regions[tuple(ceiling(record[name], columns[name]) for name in quasi)].append(record)
    safe = 0
    for region in regions.values():
        if any(claim_of(claim, columns)[2] in ("average-risk", "entropy-diversity") for claim in policy["protect"]):
            continue  # methods keep something stronger group by group
        if all(satisfies(region, records, hide, *claim_of(claim, columns)[2:]) for claim in policy["protect"]):
            safe += len(region)
    return safe


def ceiling(value: str, column: dict[str, Any]) -> str:
    """The most general label that a value may be published as."""
    chain = chain_of(value, column.get("hierarchy"))
    if chain is None:
        return "*"
    allowed = allowed_labels(value, column)
    return [label for label in chain if label in allowed][-1]
