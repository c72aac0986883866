"""Equal seed and data give equal published files, across changes of the code.

The digests were stored before the source tree was rearranged. A change that is meant to alter a release stores new
ones: ``python -m tests.digests.test_digests > tests/digests/digests.json``; the commit says which methods changed and
why."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf

SEED = 0x5F3A_91C4_77D0_2B68_E1A5_0C9D_4F26_B833
STORED = Path(__file__).parent / "digests.json"

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20, 40]}}
TABLE = {
    "age": AGE,
    "sex": "quasi-identifier",
    "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 4}},
    "ward": "other",
}
RULES = ["age, sex -> illness : 2-diversity", "ward -> sex : 1-diversity"]
FREQUENT = [{"l-diversity": {"l": 2, "kind": "frequency"}}]


def people(rows: int = 240, seed: int = 4) -> dict[str, list[str]]:
    rng = random.Random(seed)
    return {
        "age": [str(rng.randint(20, 59)) for _ in range(rows)],
        "sex": [rng.choice("FM") for _ in range(rows)],
        "zip": [f"10{rng.randint(0, 4)}{rng.randint(0, 9)}" for _ in range(rows)],
        "ward": [rng.choice("NS") for _ in range(rows)],
        "illness": [rng.choice(["flu", "gout", "cold", "burn", "cough"]) for _ in range(rows)],
    }


def table(
    method: str, protect: list[Any], options: dict[str, Any] | None = None, **roles: Any
) -> tuple[dict[str, Any], Any]:
    columns = {**TABLE, "illness": "sensitive", **roles}
    return {"columns": columns, "protect": protect, "method": {method: options or {}}}, people()


def generalized(method: str, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
    return table(method, [{"k-anonymity": {"k": 4}}, {"p-sensitivity": {"p": 2}}], options)


def subtables(method: str) -> tuple[dict[str, Any], Any]:
    return table(method, RULES, **dict.fromkeys(("age", "sex", "zip", "ward", "illness"), "other"))


def baskets(method: str, options: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    rng = random.Random(60)
    items = [" ".join(f"i{n}" for n in range(10) if rng.random() < 0.4) or "i0" for _ in range(90)]
    data = {"items": items, "label": [f"l{rng.randrange(12)}" for _ in items]}
    tree = {"data": {"kind": "baskets", "items": "items"}, "columns": {"label": "sensitive"}}
    return {**tree, "protect": [{"k-anonymity": {"k": 3}}], "method": {method: options}}, data


def graph(method: str, protect: list[Any], options: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    import networkx as nx

    tree = {"data": {"kind": "graph"}, "protect": protect, "method": {method: options}}
    return tree, nx.powerlaw_cluster_graph(60, 3, 0.4, seed=2)


def replaced() -> tuple[dict[str, Any], Any]:
    rng = random.Random(2)
    domain = {"role": "replaced", "domain": {"integers": [0, 40]}}
    data = {"ward": [rng.choice("NS") for _ in range(60)], "grade": ["10"] * 60}
    data["score"] = [str(rng.randint(10, 40)) for _ in range(60)]
    tree = {
        "columns": {"ward": "other", "grade": domain, "score": domain},
        "keep": ["grade <= score", "sum(grade) = 600"],
    }
    return {**tree, "method": {"obfuscation": {}}}, data


def pattern() -> tuple[dict[str, Any], Any]:
    rng = random.Random(3)
    data = {"v": [str(rng.randint(0, 99)) for _ in range(60)]}
    columns = {"v": {"role": "replaced", "domain": {"integers": [0, 120]}}}
    return {"columns": columns, "keep": ["localities(v)"], "method": {"pattern-walk": {}}}, data


def linked() -> tuple[dict[str, Any], Any]:
    rows = people(120)
    rows["patient"] = [str(place // 2) for place in range(120)]
    columns = {"patient": "identifier", **TABLE, "illness": {"role": "sensitive", "persistent": False}}
    tree = {
        "columns": columns,
        "person": {"columns": "patient", "rows": "linked"},
        "protect": [{"k-anonymity": {"k": 3}}],
    }
    return {**tree, "method": {"linked": {"groups": "mondrian"}}}, rows


CASES: dict[str, Any] = {
    "mondrian": lambda: generalized("mondrian"),
    "clustering": lambda: generalized("clustering"),
    "global": lambda: generalized("global"),
    "refined": lambda: generalized("refined", {"seconds": 0.3}),
    "optimal": lambda: table("optimal", [{"k-anonymity": {"k": 4}}], zip="other"),
    "sequential": lambda: generalized("sequential", {"seconds": 0.3}),
    "anatomy": lambda: table("anatomy", FREQUENT),
    "multi-sensitive": lambda: table(
        "multi-sensitive", [{"l-diversity": {"l": 1.5, "kind": "frequency"}}], ward="sensitive"
    ),
    "guardian": lambda: subtables("guardian"),
    "utility-aware": lambda: subtables("utility-aware"),
    "single-attribute": lambda: subtables("single-attribute"),
    "microaggregation": lambda: table(
        "microaggregation", [{"k-anonymity": {"k": 4}}], age="quasi-identifier", zip="other"
    ),
    "local-suppression": lambda: table("local-suppression", [{"subset-anonymity": {"k": 3, "m": 2}}]),
    "swapping": lambda: table("swapping", []),
    "shuffling": lambda: table("shuffling", [], {"columns": ["age"]}, age="quasi-identifier"),
    "noise": lambda: table("noise", [], {"columns": ["age"]}, age="quasi-identifier"),
    "pram": lambda: table("pram", []),
    "nonreciprocal": lambda: baskets("nonreciprocal", {}),
    "blocks": lambda: baskets("blocks", {"items": "vote"}),
    "degree-anonymity": lambda: graph("degree-anonymity", [{"k-degree-anonymity": {"k": 3}}], {}),
    "edge-perturbation": lambda: graph("edge-perturbation", [], {"mu": 0.05}),
    "obfuscation": replaced,
    "pattern-walk": pattern,
    "linked": linked,
}


def digests_of(name: str, folder: Path) -> dict[str, str]:
    """Publish one case and return the digest of every published table."""
    tree, data = CASES[name]()
    sf.publish(sf.Policy.parse({"version": 1, **tree}), data=data, seed=SEED).write(folder / "out", report=False)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted((folder / "out").glob("*.csv"))}


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, str]]:
    """Return the digests as a process of its own computes them: the test process shortens some searches."""
    printed = subprocess.run(
        [sys.executable, "-m", "tests.digests.test_digests"], capture_output=True, text=True, check=True
    )
    return json.loads(printed.stdout)


@pytest.mark.parametrize("name", CASES)
def test_the_published_files_are_those_that_were_stored(name: str, found: dict[str, dict[str, str]]) -> None:
    assert found[name] == json.loads(STORED.read_text())[name]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        published = {name: digests_of(name, Path(place) / name) for name in CASES}
    sys.stdout.write(json.dumps(published, indent=1, sort_keys=True) + "\n")
