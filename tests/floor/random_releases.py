"""Small random tables with everything that cells may contain, policies for them, and claims of every model at random
levels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.audit.certify import judge_claims
from sfumato.policy.policy import public_policy
from sfumato.release.folder import read_folder
from tests.secret import secret

AGES = ["17", "18", "30", "31", "31", "64", "7"]
ZIPS = ["10115", "10117", "80331", "80333", "01067"]
WORDS = [
    "flu",
    "Flu",
    " flu",
    "flu ",
    "gout",
    'a "cold"',
    "a, b",
    "two\nlines",
    "",
    "*",
    "NO",
    "01",
    "1.0",
    "ß",
    "bucket",
    "null",
]
NUMBERS = ["1", "1.0", "01", "2", "10", "9", "100", "-3", "2.5", "1e2", ""]
DAYS = ["2020-01-31", "2020-02-01", "1999-12-31", ""]
Table = dict[str, list[str]]


def random_table(rng: random.Random, rows: int) -> Table:
    few = rng.randint(1, len(WORDS))
    words, numbers = rng.sample(WORDS, few), rng.sample(NUMBERS, rng.randint(1, len(NUMBERS)))
    sources = {"age": AGES, "zip": ZIPS, "sex": ["m", "f", ""], "word": words, "pay": numbers, "day": DAYS}
    return {name: [rng.choice(values) for _ in range(rows)] for name, values in sources.items()}


def random_columns(rng: random.Random) -> dict[str, Any]:
    return {
        "age": {"role": "quasi-identifier", "hierarchy": rng.choice(["ranges", {"intervals": [10, 50]}])},
        "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 5}, "publish": rng.random() < 0.8},
        "sex": rng.choice(["quasi-identifier", "other"]),
        "word": "sensitive",
        "pay": rng.choice(["sensitive", "sensitive", "other"]),
        "day": {"role": "sensitive", "publish": rng.random() < 0.5},
    }


def random_model(rng: random.Random, *, numbers: bool, values: bool = False) -> dict[str, Any]:
    """A model with a level; ordered distances only over numbers, numbers of candidates only where no values are
    wanted."""
    entropy = {"l": rng.choice([1, 1.2, 1.5, 2.25]), "kind": rng.choice(["frequency", "entropy"])}
    recursive = {"l": rng.choice([1, 2, 3]), "kind": "recursive", "c": rng.choice([0.7, 1, 1.1, 2, 3])}
    models: list[dict[str, Any]] = [
        {"p-sensitivity": {"p": rng.randint(1, 4)}},
        {"l-diversity": {"l": rng.randint(1, 4)}},
        {"l-diversity": entropy},
        {"l-diversity": recursive},
        {"l-diversity": {"l": rng.choice([2, 2.0, "2"]), "kind": "recursive"}},
        {"t-closeness": {"t": rng.choice([0.1, 0.3, 0.6, 0.95])}},
    ]
    if numbers:
        models += [{"t-closeness": {"t": rng.choice([0.1, 0.3, 0.6, 0.95]), "distance": "ordered"}}] * 2
    if not values:
        models += [{"k-anonymity": {"k": rng.randint(1, 5)}}] * 2
        models += [{"alpha-k-anonymity": {"alpha": rng.choice([0.3, 0.5, 0.7, 0.9]), "k": rng.randint(1, 4)}}]
    return rng.choice(models)


def random_claim(rng: random.Random, given: Sequence[str], hide: Sequence[str], *, values: bool = False) -> Any:
    """A claim in one of the three ways to write it."""
    known = rng.sample(list(given), rng.randint(1, len(given)))
    hidden = rng.sample([name for name in hide if name not in known], 1)
    way = rng.random()
    if way < 0.2:
        return f"{', '.join(known)} -> {hidden[0]} : {rng.choice([1, 2, 1.5])}-diversity"
    if way < 0.3:
        word = rng.choice(["2-sensitivity", "0.5-closeness"] + ([] if values else ["2-anonymity"]))
        return f"{', '.join(known)} -> {', '.join(hidden)} : {word}"
    model = random_model(rng, numbers=set(hidden) <= {"pay", "day"}, values=values)
    return {"given": known if rng.random() < 0.8 else known[0], "hide": rng.choice([hidden, hidden[0]]), "by": model}


BREAKS = {"data": {"kind": "table", "line_breaks": "allowed"}}


def published(tree: dict[str, Any], data: Table, folder: Path, seed: int, **options: Any) -> sf.Certificate | None:
    """The certificate of the release that was written, or nothing when there is none for such a policy."""
    try:
        publication = sf.publish(sf.Policy.parse(BREAKS | tree), data=data, seed=secret(seed))
    except (sf.Infeasible, sf.PolicyError, sf.DataError):
        return None
    publication.write(folder, report=False, **options)
    return publication.certificate


def audited(folder: Path, tree: dict[str, Any]) -> list[dict[str, Any]]:
    """Another policy laid into the folder, and what the audit says of its claims there, whether they hold or not."""
    policy = sf.Policy.parse(BREAKS | tree)
    (folder / "policy.yaml").write_text(public_policy(policy, {"mondrian": {}}), encoding="utf-8")
    return [finding.to_json() for finding in judge_claims(read_folder(folder))]
