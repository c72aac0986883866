"""Nothing twice: in one run each hierarchy, schema, bound policy and published part is made once, whoever looks at
it."""

from __future__ import annotations

import importlib
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from tests.secret import secret

POLICY = {
    "version": 1,
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 5}},
        "sex": "quasi-identifier",
        "ill": "sensitive",
    },
    "protect": [{"k-anonymity": {"k": 5}}, {"l-diversity": {"l": 2}}],
    "method": {"mondrian": {}},
}


def table(rows: int = 400) -> dict[str, list[str]]:
    rng = np.random.default_rng(1)
    return {
        "name": [f"person {i}" for i in range(rows)],
        "age": [str(v) for v in rng.integers(18, 90, rows)],
        "zip": [str(v) for v in rng.integers(10_000, 10_400, rows)],
        "sex": list(rng.choice(["f", "m"], rows)),
        "ill": list(rng.choice(list("abcdef"), rows)),
    }


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often each expensive thing was made, by what it is and what it is about."""
    from sfumato.policy import generalizations

    found: Counter[Any] = Counter()
    generalizations._KEPT.clear()

    def watch(where: str, name: str, about: Callable[..., Any]) -> None:
        module_name, _, owner = where.partition(":")
        place: Any = importlib.import_module(module_name)
        place = getattr(place, owner) if owner else place
        usual = getattr(place, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            found[name, about(*args, **kwargs)] += 1
            return usual(*args, **kwargs)

        monkeypatch.setattr(place, name, watched)

    watch("sfumato.io.hierarchy_files", "_build", lambda spec, values, column, base: column)
    watch("sfumato.data.table", "as_text", lambda column, name: name)
    watch("sfumato.io.table_files", "read_csv", lambda path, *rest, **more: Path(path).name)
    watch("sfumato.kinds.baskets.form", "from_table", lambda *given, **more: "")
    watch(
        "sfumato.policy.database_policy:BoundPolicy", "__init__", lambda self, policy, schema: (id(policy), id(schema))
    )
    watch("sfumato.io.sql.schema_reading", "schema_of", lambda link: "")
    return found


def test_a_published_table(counted: Counter[Any], tmp_path: Path) -> None:
    sf.publish(sf.Policy.parse(POLICY), data=table(), seed=secret(1)).write(tmp_path / "out")
    hierarchies = {about: count for (name, about), count in counted.items() if name == "_build"}
    assert hierarchies == {"age": 1, "zip": 1, "sex": 1}
    assert counted["read_csv", "data.csv"] == 1
    encoded = {about: count for (name, about), count in counted.items() if name == "as_text"}
    assert {name: encoded[name] for name in ("age", "zip", "sex", "ill")} == dict.fromkeys(
        ("age", "zip", "sex", "ill"), 2
    ), "once as it came, once as it was published"


def test_published_baskets(counted: Counter[Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [
        {"items": " ".join(sorted({f"i{v}" for v in rng.integers(0, 12, 5)})), "label": "xyz"[i % 3]} for i in range(60)
    ]
    policy = {
        "version": 1,
        "data": {"kind": "baskets", "items": "items"},
        "columns": {"label": "sensitive"},
        "protect": [{"k-anonymity": {"k": 4}}],
    }
    data = {name: [row[name] for row in rows] for name in ("items", "label")}
    sf.publish(sf.Policy.parse(policy), data=data, seed=secret(1)).write(tmp_path / "out")
    parsed = sum(count for (name, _), count in counted.items() if name == "from_table")
    assert parsed == 1


def test_a_published_database(counted: Counter[Any], tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.executescript(
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
            "CREATE TABLE bill (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer(id),"
            "amount INTEGER CHECK (amount > 0));"
        )
        base.executemany("INSERT INTO customer VALUES (?, ?)", [(i, f"n{i}") for i in range(1, 30)])
        base.executemany("INSERT INTO bill VALUES (?, ?, ?)", [(i, 1 + i % 29, i + 1) for i in range(60)])
    policy = {
        "version": 1,
        "data": {"kind": "database", "source": f"sqlite:///{tmp_path / 'shop.db'}"},
        "columns": {"customer.name": {"role": "replaced", "domain": {"pattern": "[A-Z][a-z]{5}"}}},
        "keep": ["bill.amount > 0"],
    }
    sf.publish(sf.Policy.parse(policy), seed=secret(1)).write(tmp_path / "out")
    assert counted["schema_of", ""] == 1
    bound = [count for (name, _), count in counted.items() if name == "__init__"]
    assert bound == [1, 1, 1], "the policy as it is; the folder's own for the audit, and that to the manifest's schema"
