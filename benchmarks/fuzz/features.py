"""Policies with many keys at once: what `check` accepts is published and verified, or refused with a reason.

Nothing is judged from the definitions here. Looked for are releases that the audit refuses, releases that `verify`
finds fault with, and crashes, on tables with no row, one row, or little to tell.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.story import Kind, columns_of
from benchmarks.fuzz.tally import Tally
from tests.house.cases import MODELS, random_claims
from tests.secret import secret

METHODS = ["mondrian", "clustering", "refined", "optimal", "global", "anatomy", "guardian", "utility-aware",
           "single-attribute", "multi-sensitive", "microaggregation", "local-suppression", "linked",
           "sequential"]  # fmt: skip
FAST = {"seconds": 0.02}
TIMED = ("refined", "optimal", "linked", "local-suppression")
NUMBERS = ["ranges", "flat", {"intervals": [5, 10]}, {"cuts": [0, 10, 30, 100]}, {"top": 40, "bottom": 5}, {"round": 5},
           {"top": 40, "intervals": [5, 20]}, {"prefix": 1}]  # fmt: skip
CITIES = [None, "flat", {"*": {"south": ["Bari", "Lecce"], "north": ["Pisa"]}}, {"recode": {"Bari": "South"}}]


class FeatureKind(Kind):
    """Any roles, hierarchies, boundaries, requirements, people, populations and series together."""

    name: ClassVar[str] = "features"
    form: ClassVar[str] = "any form"
    weight: ClassVar[float] = 3.0

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        records = _records(rng)
        tree = _policy(rng, place, records)
        again = rng.random() < 0.4
        for number in range(rng.randint(2, 3) if again else 1):
            data = columns_of(records) if records else {name: [] for name in _row(rng, 0)}
            book: dict[str, Any] = {"ledger": place / "book", "new_ledger": not number} if again else {}
            tally.count_one("tried")
            try:
                one = sf.publish(sf.Policy.parse(tree, base=place), data, seed=secret(rng.getrandbits(60)), **book)
            except sf.AuditRefused as error:
                tally.fail("audit refusal", f"{error}; release {number + 1}")
                return
            except sf.SfumatoError as error:
                tally.refused(type(error).__name__, "features")
                break
            folder = one.write(place / f"out-{number}", report=rng.random() < 0.05)
            tally.count_one("published and verified")
            population = place / "town.csv" if "file" in tree.get("population", {}) else None
            verdict = sf.verify(
                folder, original=data, **({"ledger": place / "book"} if again else {}), population=population
            )
            tally.alarm("with everything", [f"{f.model}: {f.reason}" for f in verdict.findings if not f.holds])
            alone = sf.verify(folder)
            tally.alarm("alone", [f"{f.model}: {f.reason}" for f in alone.findings if not f.holds])
            records = [row for row in records if rng.random() < 0.85]
            records += [_row(rng, 1000 * (number + 1) + i) for i in range(rng.randint(0, 4))]


def _row(rng: random.Random, number: int) -> dict[str, str]:
    return {
        "id": f"i{number}",
        "who": f"w{rng.randrange(8)}",
        "age": rng.choice(["", "3", "17", "17", "25", "41", "60"]),
        "city": rng.choice(["Bari", "Lecce", "Pisa", ""]),
        "sex": rng.choice("mf"),
        "ill": rng.choice(["flu", "flu", "gout", "cold", ""]),
        "drug": rng.choice("xyz"),
        "note": rng.choice(["n1", "n2"]),
        "w": rng.choice(["1", "2", "5"]),
    }


def _records(rng: random.Random) -> list[dict[str, str]]:
    return [_row(rng, i) for i in range(rng.choice([0, 1, 2, 4, 6, 8, 12, 16]))]


def _policy(rng: random.Random, place: Path, records: list[dict[str, str]]) -> dict[str, Any]:
    columns: dict[str, Any] = {"id": "identifier", "who": "identifier"}
    columns["age"] = {"role": "quasi-identifier", "hierarchy": rng.choice(NUMBERS)}
    columns["city"] = {"role": "quasi-identifier", "hierarchy": rng.choice(CITIES)}
    if rng.random() < 0.3:
        columns["age"]["at_most"] = rng.randint(0, 2)
    columns["sex"] = rng.choice(["quasi-identifier", "quasi-identifier", "other", "drop"])
    columns["ill"] = rng.choice(["sensitive", "sensitive", {"role": "sensitive", "publish": False}, "other"])
    columns["drug"] = rng.choice(["sensitive", "other", "drop", {"role": "replaced", "domain": {"values": ["x", "y"]}}])
    columns["note"] = rng.choice(["other", "drop", "quasi-identifier"])
    columns["w"] = rng.choice(["other", "drop"])
    claims = random_claims(
        rng, rng.sample([m for m in MODELS if m not in ("ordered", "hierarchical")], rng.randint(1, 2))
    )
    if rng.random() < 0.3:
        claims[0] = {"given": rng.sample(["age", "city"], rng.randint(1, 2)), "hide": "ill", "by": claims[0]}
    tree: dict[str, Any] = {"version": 1, "columns": columns, "protect": claims, "key": "id"}
    if rng.random() < 0.8:
        method = rng.choice(METHODS)
        tree["method"] = {method: FAST if method in TIMED else {}}
    if rng.random() < 0.3:
        tree["utility"] = {"suppress_at_most": rng.choice([0, 0.1, 0.5])}
    if rng.random() < 0.2:
        tree.setdefault("utility", {})["importance"] = {"age": 3}
    if rng.random() < 0.25:
        tree["person"] = rng.choice(["who", {"columns": "who", "rows": "linked"}, {"columns": "id", "together": "who"}])
    if rng.random() < 0.15:
        tree["population"] = rng.choice([{"fraction": 0.5}, {"weight": "w"}, {"file": "town.csv"}])
        tree["protect"] = [*claims[:1], rng.choice([{"k-map": {"k": 2}}, {"delta-presence": {"at_most": 0.9}}])]
        lines = ["age,city,sex", *(f"{row['age']},{row['city']},{row['sex']}" for row in records * 2)]
        (place / "town.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if rng.random() < 0.4:
        series: dict[str, Any] = {"leaving": rng.choice(["withhold", "counterfeits", "refuse"])}
        series["cohorts"] = rng.choice(["known", "unknown"])
        if rng.random() < 0.3:
            series["waiting"] = 0.3
        tree["series"] = series
    if rng.random() < 0.1:
        tree["knows"] = ["city -> sex"]
    return tree
