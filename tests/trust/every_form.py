"""One small release of every form with its original, and a forger who redoes every checksum."""

from __future__ import annotations

import csv
import json
import random
import shutil
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import sfumato as sf
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.io.plain_files import digest
from tests.secret import secret

KEPT = "tests of trust"


def columns(rows: int = 120, seed: int = 4) -> dict[str, list[str]]:
    """People with two quasi-identifiers, something else and an illness."""
    rng = random.Random(seed)
    return {
        "age": [str(rng.randint(20, 59)) for _ in range(rows)],
        "sex": [rng.choice("FM") for _ in range(rows)],
        "ward": [rng.choice("NS") for _ in range(rows)],
        "illness": [rng.choice(["flu", "gout", "cold", "burn"]) for _ in range(rows)],
    }


def _table(method: str, protect: list[Any], **roles: Any) -> sf.Policy:
    named = {"age": "quasi-identifier", "sex": "quasi-identifier", "ward": "other", "illness": "sensitive"} | roles
    return sf.Policy.parse({"version": 1, "columns": named, "protect": protect, "method": {method: {}}})


def _recoded() -> tuple[sf.Policy, Any]:
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}
    return _table("mondrian", [{"k-anonymity": {"k": 4}}, {"p-sensitivity": {"p": 2}}], age=age), columns()


def _anatomy() -> tuple[sf.Policy, Any]:
    return _table("anatomy", [{"l-diversity": {"l": 2, "kind": "frequency"}}]), columns()


def _sub_tables() -> tuple[sf.Policy, Any]:
    roles = dict.fromkeys(("age", "sex", "ward", "illness"), "other")
    return _table("guardian", ["age, sex -> illness : 2-diversity", "ward -> sex : 1-diversity"], **roles), columns()


def _replaced() -> tuple[sf.Policy, Any]:
    tree = {
        "version": 1,
        "columns": {
            "ward": "other",
            "grade": {"role": "replaced", "domain": {"integers": [0, 40]}},
            "score": {"role": "replaced", "domain": {"integers": [0, 40]}},
        },
        "keep": ["grade <= score", "sum(grade) = 600"],
        "protect": [{"given": ["ward"], "hide": "grade", "by": {"l-diversity": {"l": 2, "kind": "frequency"}}}],
        "method": {"obfuscation": {}},
    }
    rng = random.Random(2)
    grade = [str(10) for _ in range(60)]
    data = {
        "ward": [rng.choice("NS") for _ in grade],
        "grade": grade,
        "score": [str(rng.randint(10, 40)) for _ in grade],
    }
    return sf.Policy.parse(tree), data


def _baskets() -> tuple[sf.Policy, Any]:
    rng = np.random.default_rng(60)
    sets = [np.flatnonzero(rng.random(8) < 0.4).tolist() for _ in range(60)]
    labels = np.array([f"l{i}" for i in rng.integers(0, 12, 60)], dtype=object)
    tree = {"version": 1, "data": {"kind": "baskets"}, "columns": {"label": "sensitive"}}
    tree |= {"protect": [{"k-anonymity": {"k": 3}}], "method": {"nonreciprocal": {}}}
    return sf.Policy.parse(tree), Baskets(Sets.of(sets, 8), tuple("abcdefgh"), {"label": labels})


def _blocks() -> tuple[sf.Policy, Any]:
    original = _baskets()[1]
    tree = {"version": 1, "data": {"kind": "baskets"}, "columns": {"label": "sensitive"}}
    return (
        sf.Policy.parse(tree | {"protect": [{"k-anonymity": {"k": 3}}], "method": {"blocks": {"items": "vote"}}}),
        original,
    )


def _graph() -> tuple[sf.Policy, Any]:
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": 3}}]}
    policy = sf.Policy.parse(tree | {"method": {"degree-anonymity": {}}})
    return policy, nx.powerlaw_cluster_graph(80, 3, 0.4, seed=2)


def _database() -> tuple[sf.Policy, Any]:
    place = Path(tempfile.mkdtemp(prefix="sfumato-shop-"))
    with sqlite3.connect(place / "shop.db") as base:
        base.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, points INTEGER NOT NULL)")
        base.executemany("INSERT INTO customer VALUES (?, ?, ?)", [(n, f"Person {n}", n % 7) for n in range(1, 41)])
    tree = {
        "version": 1,
        "data": {"kind": "database", "source": f"sqlite:///{place / 'shop.db'}"},
        "columns": {
            "customer.name": {"role": "replaced", "domain": {"fakes": "name"}},
            "customer.points": {"role": "replaced", "domain": {"integers": [0, 9]}},
        },
        "keep": ["sum(customer.points) = sum(original.customer.points)"],
    }
    return sf.Policy.parse(tree), f"sqlite:///{place / 'shop.db'}"


def _linked() -> tuple[sf.Policy, Any]:
    rows = columns()
    rows["patient"] = [str(place // 2) for place in range(len(rows["age"]))]
    named = {"patient": "identifier", "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}}
    named |= {"sex": "quasi-identifier", "ward": "other", "illness": {"role": "sensitive", "persistent": False}}
    tree = {"version": 1, "columns": named, "person": {"columns": "patient", "rows": "linked"}}
    return (
        sf.Policy.parse(tree | {"protect": [{"k-anonymity": {"k": 3}}], "method": {"linked": {"groups": "mondrian"}}}),
        rows,
    )


def _related() -> tuple[sf.Policy, Any]:
    rows = columns()
    mine = {"patient": [str(place) for place in range(70)], "born": [str(1940 + place % 50) for place in range(70)]}
    rows["patient"] = [str(place // 2) for place in range(len(rows["age"]))]
    named = {
        "patient": "identifier",
        "born": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
        "age": "other",
    }
    named |= {"sex": "quasi-identifier", "ward": "other", "illness": {"role": "sensitive", "persistent": False}}
    tree = {
        "version": 1,
        "data": {"people": "people.csv"},
        "columns": named,
        "person": {"columns": "patient", "rows": "linked"},
    }
    tree |= {"protect": [{"k-anonymity": {"k": 3}}], "method": {"related": {"groups": "mondrian"}}}
    return sf.Policy.parse(tree), {"people": mine, "rows": rows}


def _sampled() -> tuple[sf.Policy, Any]:
    ages = {"*": {"young": [str(age) for age in range(20, 40)], "old": [str(age) for age in range(40, 60)]}}
    tree = {
        "version": 1,
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": ages},
            "sex": "quasi-identifier",
            "illness": "sensitive",
        },
        "protect": [{"differential-privacy": {"epsilon": 2.0, "delta": 0.01}}],
        "method": {"sampled": {"levels": {"age": 1}}},
    }
    return sf.Policy.parse(tree), {name: values for name, values in columns(600).items() if name != "ward"}


def _figures() -> tuple[sf.Policy, Any]:
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"edge-privacy": {"epsilon": 2.0}}]}
    return sf.Policy.parse(tree | {"method": {"private-figures": {"graph": True}}}), _graph()[1]


def _averaged() -> tuple[sf.Policy, Any]:
    return _table("microaggregation", [{"k-anonymity": {"k": 4}}]), columns()


def _suppressed() -> tuple[sf.Policy, Any]:
    return _table("local-suppression", [{"subset-anonymity": {"k": 3, "m": 2}}]), columns()


def _perturbed() -> tuple[sf.Policy, Any]:
    return _table("swapping", []), columns()


_MAKERS = {
    "recoded table": _recoded, "anatomy": _anatomy, "sub-tables": _sub_tables, "replaced table": _replaced,
    "baskets": _baskets,
    "basket blocks": _blocks, "graph": _graph, "database": _database, "linked table": _linked,
    "sampled table": _sampled,
    "graph figures": _figures, "microaggregated table": _averaged, "locally suppressed table": _suppressed,
    "perturbed table": _perturbed, "related tables": _related,
}  # fmt: skip
FORMS = tuple(_MAKERS)


@cache
def release_of(form: str) -> tuple[Path, Any]:
    """The folder of a release of this form, and its original."""
    policy, original = _MAKERS[form]()
    folder = Path(tempfile.mkdtemp(prefix="sfumato-trust-")) / "out"
    data = None if form == "database" else original
    sf.publish(policy, data=data, seed=secret(5)).write(folder)
    assert json.loads((folder / "manifest.json").read_text())["form"] == form
    return folder, original


def copy_of(form: str, target: Path) -> tuple[Path, Any]:
    """The same, to be spoilt."""
    folder, original = release_of(form)
    return Path(shutil.copytree(folder, target / "out")), original


def redo(folder: Path, **changes: Any) -> None:
    """Every checksum and row count as a forger would leave them; `changes` go into the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    files = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and name != "manifest.json":
            files[name] = {"sha256": digest(file)} | (
                {"rows": _rows(file)} if file.suffix == ".csv" and "/" not in name else {}
            )
    (folder / "manifest.json").write_text(json.dumps(manifest | {"files": files} | changes))


def _rows(file: Path) -> int:
    with file.open(newline="", errors="replace") as lines:
        return max(0, sum(1 for _ in csv.reader(lines)) - 1)


def violations(folder: Path, original: Any = None) -> set[str]:
    """What is violated; a folder that cannot even be read is violated as a whole."""
    try:
        verdict = sf.verify(folder, original=original)
    except sf.SfumatoError as error:
        assert error.exit_code == 1
        return {"unreadable"}
    assert verdict.violated == bool([finding for finding in verdict.findings if not finding.holds])
    return {finding.model for finding in verdict.findings if not finding.holds}


def read(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def write(file: Path, rows: list[dict[str, str]]) -> None:
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
