"""Random small tables, hierarchies, boundaries and claims; and every way in which a method that recodes can be asked
to."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from sfumato.core.registry import catalogue
from sfumato.kinds.tables.methods.recoding import RecodingMethod
from sfumato.kinds.tables.methods.sequential import Sequential
from sfumato.release.method import Method

DIVERSITIES = ("distinct", "frequency", "entropy", "recursive")
DISTANCES = ("equal", "ordered", "hierarchical")
MODELS = (
    "k-anonymity",
    "beta-likeness",
    "entropy-diversity",
    "delta-disclosure",
    "average-risk",
    "profitability",
    "p-sensitivity",
    "alpha-k-anonymity",
    "k-linkability",
    "k-diversity",
    *DIVERSITIES,
    *DISTANCES,
)
"""Every model of tables by its name, l-diversity by its kinds and t-closeness by its distances."""


def recoding_variants(seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """(method, parameters) of all methods that recode one table by itself."""
    for name, cls in catalogue("methods", Method).items():
        if issubclass(cls, RecodingMethod) and not issubclass(cls, Sequential):
            yield from ((name, parameters) for parameters in settings_of(cls, seconds))


def settings_of(cls: type[Method], seconds: float) -> Iterator[dict[str, Any]]:
    """The defaults, and once more for every other word that a parameter may be and for every switch."""
    usual = {"seconds": seconds} if "seconds" in cls.model_fields else {}
    yield usual
    for key, field in cls.model_fields.items():
        if get_origin(field.annotation) is Literal:
            yield from ({**usual, key: word} for word in get_args(field.annotation) if word != field.default)
        elif field.annotation is bool:
            yield {**usual, key: not field.default}


def random_tree(rng: random.Random, leaves: list[str], name: str) -> Any:
    """An unbalanced tree with only children here and there; leaves in random order."""
    rng.shuffle(leaves)

    def grow(some: list[str], label: str, depth: int) -> Any:
        if depth == 0 or len(some) == 1 or rng.random() < 0.3:
            if rng.random() < 0.15:
                return {f"{label}.only": list(some)}
            return list(some)
        cut = rng.randint(1, len(some) - 1)
        left, right = grow(some[:cut], f"{label}a", depth - 1), grow(some[cut:], f"{label}b", depth - 1)
        return {f"{label}a": left, f"{label}b": right}

    return {name: grow(leaves, name, 3)}


def nodes(tree: Any) -> list[str]:
    if isinstance(tree, dict):
        return [label for key, below in tree.items() for label in (key, *nodes(below))]
    return list(tree)


def random_claims(rng: random.Random, models: list[str]) -> list[dict[str, Any]]:
    claims: list[dict[str, Any]] = []
    for model in models:
        if model == "k-anonymity":
            claims.append({model: {"k": rng.randint(1, 4)}})
        elif model == "p-sensitivity":
            claims.append({model: {"p": rng.randint(1, 3)}})
        elif model == "alpha-k-anonymity":
            claims.append({model: {"alpha": rng.choice([0.5, 0.6, 0.75]), "k": rng.randint(1, 3)}})
        elif model == "beta-likeness":
            claims.append({model: {"beta": rng.choice([0.5, 1, 2]), "kind": rng.choice(["basic", "enhanced"])}})
        elif model == "entropy-diversity":
            claims.append(
                {model: {"l": rng.choice([1.2, 1.8, 2.4]), "estimator": rng.choice(["shannon", "grassberger"])}}
            )
        elif model == "delta-disclosure":
            claims.append({model: {"delta": rng.choice([0.5, 1, 2])}})
        elif model == "average-risk":
            claims.append({model: {"risk": rng.choice([0.25, 0.4, 0.6]), "k": rng.randint(1, 2)}})
        elif model == "profitability":
            claims.append({model: {"benefit": 1, "loss": rng.choice([2, 3.5]), "gain": rng.choice([1, 4]), "cost": 1}})
        elif model == "k-linkability":
            claims.append({model: {"k": rng.randint(1, 3)}})
        elif model == "k-diversity":
            claims.append({model: {"k": rng.choice([1.25, 1.5, 2, 2.5])}})
        elif model in DISTANCES:
            tree = (
                {"tree": {"any": {"low": ["0", "1"], "high": {"some": ["2", "3"], "most": ["4"]}}}}
                if model == "hierarchical"
                else {}
            )
            claims.append({"t-closeness": {"t": rng.choice([0.2, 0.35, 0.5]), "distance": model} | tree})
        else:
            level: dict[str, Any] = {"l": rng.randint(1, 3), "kind": model}
            claims.append({"l-diversity": level | ({"c": rng.choice([1.0, 2.0, 3.0])} if model == "recursive" else {})})
    return claims


def random_case(seed: int, models: list[str] | None = None) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """A policy (without method) and records."""
    rng = random.Random(seed)
    columns: dict[str, Any] = {"id": "identifier"}
    values: dict[str, list[str]] = {}
    for i in range(rng.randint(1, 3)):
        name = f"q{i}"
        values[name] = [f"{name}v{j}" for j in range(rng.randint(1, 6))]
        columns[name] = {"role": "quasi-identifier"}
        if rng.random() < 0.8:
            columns[name]["hierarchy"] = random_tree(rng, list(values[name]), f"{name}")
            if rng.random() < 0.5:
                inner = nodes(columns[name]["hierarchy"])
                columns[name]["boundary"] = rng.sample(inner, rng.randint(1, min(3, len(inner))))
    for i in range(rng.randint(1, 2)):
        columns[f"s{i}"] = "sensitive"
        values[f"s{i}"] = [str(j) for j in range(rng.randint(1, 4))]
    if rng.random() < 0.3:
        columns["note"] = "other"
        values["note"] = ["x", "y"]
    records = [
        {
            "id": str(i),
            **{name: rng.choice(options[: rng.randint(1, len(options))]) for name, options in values.items()},
        }
        for i in range(rng.randint(1, 14))
    ]
    chosen = models if models is not None else rng.sample(MODELS, rng.randint(1, 2))
    return {"version": 1, "columns": columns, "protect": random_claims(rng, chosen)}, records
