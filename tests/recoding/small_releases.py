"""Tiny policies whose claims give their outsiders some of the columns, and all their releases, from the definitions."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from typing import Any

Row = dict[str, Any]
TREE = {"*": {"a": ["v0", "v1"], "b": ["v2"]}}
MODELS: list[dict[str, dict[str, Any]]] = [
    {"k-anonymity": {"k": 2}},
    {"k-anonymity": {"k": 3}},
    {"p-sensitivity": {"p": 2}},
    {"l-diversity": {"l": 2}},
    {"l-diversity": {"l": 2, "kind": "frequency"}},
    {"l-diversity": {"l": 2, "kind": "entropy"}},
    {"l-diversity": {"l": 2, "kind": "recursive", "c": 2}},
    {"alpha-k-anonymity": {"alpha": 0.6, "k": 2}},
    {"t-closeness": {"t": 0.4}},
]


def random_policy(seed: int, *, most: int = 6) -> tuple[dict[str, Any], list[Row]]:
    """A policy without method, and records."""
    rng = random.Random(seed)
    columns: dict[str, Any] = {}
    values: dict[str, list[str]] = {}
    for i in range(rng.randint(1, 3)):
        name, size = f"q{i}", rng.randint(2, 3)
        columns[name] = {"role": "quasi-identifier"}
        values[name] = [f"v{j}" for j in range(size)]
        if size == 3 and rng.random() < 0.5:
            columns[name]["hierarchy"] = TREE
            if rng.random() < 0.5:
                columns[name]["boundary"] = rng.choice([["a", "b"], ["a"], ["b"]])
    quasi = list(columns)
    columns["s"] = "sensitive"
    values["s"] = [f"s{j}" for j in range(rng.randint(2, 3))]
    records = [{name: rng.choice(some) for name, some in values.items()} for _ in range(rng.randint(2, most))]
    drawn = [_claim(rng, quasi) for _ in range(rng.randint(1, 3))]
    claims = list(
        {str({**claim, "given": sorted(claim["given"])}): claim for claim in drawn}.values()
    )  # equal ones are refused
    utility: dict[str, Any] = {"minimize": rng.choice(["loss", "loss", "ntil"])}
    if rng.random() < 0.4:
        utility["suppress_at_most"] = rng.choice([0.0, 0.2, 0.5])
    return {"version": 1, "columns": columns, "protect": claims, "utility": utility}, records


def _claim(rng: random.Random, quasi: list[str]) -> dict[str, Any]:
    given = rng.sample(quasi, rng.randint(0 if rng.random() < 0.1 else 1, len(quasi)))
    by = rng.choice(MODELS)
    return {"given": given, "hide": [] if "k-anonymity" in by else ["s"], "by": by}


def chain(spec: dict[str, Any], value: str) -> tuple[str, ...]:
    """What a value may be published as, from itself to its boundary."""
    whole = (value, "a" if value in ("v0", "v1") else "b", "*") if "hierarchy" in spec else (value, "*")
    bound = next((i for i, label in enumerate(whole) if label in (spec.get("boundary") or ())), len(whole) - 1)
    return whole[: bound + 1]


def satisfies(some: list[Row], everybody: list[Row], by: dict[str, dict[str, Any]]) -> bool:
    ((model, level),) = by.items()
    count, total = Counter(row["s"] for row in some), len(some)
    ranked = sorted(count.values(), reverse=True)
    if model == "k-anonymity":
        return total >= level["k"]
    if model == "alpha-k-anonymity":
        return total >= level["k"] and ranked[0] <= level["alpha"] * total + 1e-9
    if model == "t-closeness":
        whole = Counter(row["s"] for row in everybody)
        return sum(abs(count[v] / total - whole[v] / len(everybody)) for v in whole) / 2 <= level["t"] + 1e-9
    kind, least = level.get("kind", "distinct"), level.get("l", level.get("p"))
    if kind == "frequency":
        return ranked[0] * least <= total
    if kind == "entropy":
        return -sum(n / total * math.log(n / total) for n in ranked) >= math.log(least) - 1e-9
    if kind == "recursive":
        return len(ranked) >= least and ranked[0] < level["c"] * sum(ranked[least - 1 :])
    return len(count) >= least


def holds(published: list[Row], claims: list[dict[str, Any]]) -> bool:
    """Whether every claim holds for whoever knows its given columns, and nothing else."""
    for claim in claims:
        classes: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in published:
            classes[tuple(row[name] for name in claim["given"])].append(row)
        if not all(satisfies(some, published, claim["by"]) for some in classes.values()):
            return False
    return True


def specs_of(policy: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: spec for name, spec in policy["columns"].items() if isinstance(spec, dict)}


def spoken_of(policy: dict[str, Any]) -> list[str]:
    return [name for name in specs_of(policy) if any(name in claim["given"] for claim in policy["protect"])]


def most_published(policy: dict[str, Any], records: list[Row]) -> int:
    """The most records that any release can publish, when regions are suppressed as wholes."""
    specs = specs_of(policy)
    ceiling = [{**row, **{name: chain(spec, row[name])[-1] for name, spec in specs.items()}} for row in records]
    regions: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in ceiling:
        regions[tuple(row[name] for name in spoken_of(policy))].append(row)
    best = 0
    for size in range(1, len(regions) + 1):
        for some in itertools.combinations(regions.values(), size):
            rows = [row for region in some for row in region]
            if len(rows) > best and holds(rows, policy["protect"]):
                best = len(rows)
    return best


def possible(policy: dict[str, Any], records: list[Row]) -> bool:
    limit, most = policy["utility"].get("suppress_at_most"), most_published(policy, records)
    return most > 0 and (limit is None or len(records) - most <= limit * len(records) + 1e-9)


def cost(spec: dict[str, Any], label: str, values: set[str], objective: str) -> float:
    """What a published label loses."""
    leaves = {"v0", "v1", "v2"} if "hierarchy" in spec else values
    below = {leaf for leaf in leaves if label in chain({key: spec[key] for key in spec if key != "boundary"}, leaf)}
    if objective == "loss":
        return (len(below) - 1) / max(len(leaves) - 1, 1)
    tall = 2 if "hierarchy" in spec else 1
    high = 0 if len(below) == 1 else 1 if len(below) < len(leaves) else tall
    return high / tall if len(leaves) > 1 else 0.0


def least_cost(policy: dict[str, Any], records: list[Row], keep: list[int]) -> float | None:
    """The least loss, summed over the kept records, of all their local recodings; none when there are too many to
    try."""
    specs, objective = specs_of(policy), policy["utility"]["minimize"]
    spoken = spoken_of(policy)
    options = []
    for i in keep:
        cells = [
            chain(spec, records[i][name]) if name in spoken else (records[i][name],) for name, spec in specs.items()
        ]
        options.append(
            [{**records[i], **dict(zip(specs, labels, strict=True))} for labels in itertools.product(*cells)]
        )
    if math.prod(map(len, options)) > 20_000:
        return None
    seen = {name: {row[name] for row in records} for name in specs}
    best = math.inf
    for rows in itertools.product(*options):
        price = sum(cost(spec, row[name], seen[name], objective) for row in rows for name, spec in specs.items())
        if price < best - 1e-12 and holds(list(rows), policy["protect"]):
            best = price
    return best / len(specs)


def least_loss(policy: dict[str, Any], records: list[Row], savable: list[int]) -> float | None:
    """The least figure of all releases of the savable records, or of fewer when the policy names a limit."""
    limit, number = policy["utility"].get("suppress_at_most"), len(records)
    fewest = min(len(savable), max(1, number - int(limit * number + 1e-9))) if limit else len(savable)
    sets = [list(keep) for size in range(fewest, len(savable) + 1) for keep in itertools.combinations(savable, size)]
    found = [(least_cost(policy, records, keep), number - len(keep)) for keep in sets]
    known = [(total + suppressed) / number for total, suppressed in found if total is not None]
    return min(known) if len(known) == len(found) else None
