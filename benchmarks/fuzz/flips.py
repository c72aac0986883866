"""Graphs whose ties were flipped, published up to three times with one ledger; judged by listing every outcome."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, ClassVar

import networkx as nx

import sfumato as sf
from benchmarks.fuzz.story import Kind
from benchmarks.fuzz.tally import Tally
from sfumato.core.errors import LedgerError
from tests.judges.graphs import Flip, broken
from tests.secret import secret


class FlipKind(Kind):
    """One tie, the ties to people who are recognized, and numbers of ties, over one release or several."""

    name: ClassVar[str] = "flips"
    form: ClassVar[str] = "graph"
    weight: ClassVar[float] = 2.0

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        people = rng.randint(4, 6)
        graph = nx.gnp_random_graph(people, rng.random(), seed=rng.getrandbits(32))
        several, flips = rng.random() < 0.6, list[Flip]()
        claims = rng.sample(_claims(rng), rng.choice([1, 1, 2]))
        for number in range(rng.randint(2, 3) if several else 1):
            method: dict[str, Any] = {} if rng.random() < 0.7 else {"mu": rng.choice([0.1, 0.3, 0.45])}
            tree = {"version": 1, "data": {"kind": "graph"}, "protect": claims, "method": {"edge-perturbation": method}}
            book: dict[str, Any] = {"ledger": place / "book", "new_ledger": not number} if several else {}
            tally.count_one("tried")
            try:
                made = sf.publish(sf.Policy.parse(tree), data=graph, seed=secret(rng.getrandbits(60)), **book)
            except (sf.Infeasible, sf.PolicyError, LedgerError) as error:
                tally.refused(type(error).__name__, "edge-perturbation")
                break
            folder = made.write(place / f"out-{number}", report=False)
            public = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["public"]
            flips.append((public["delete"], public["add"]))
            tally.judged("graph with flips", "edge-perturbation")
            said = [broken(*next(iter(claim.items())), flips, people) for claim in claims]
            tally.violations([each for each in said if each])
            verdict = sf.verify(folder, original=graph, **({"ledger": place / "book"} if several else {}))
            tally.alarm("with the original", [one.model for one in verdict.findings if not one.holds])
            pairs = list(nx.non_edges(graph)) if rng.random() < 0.5 else []
            graph = graph.copy()
            graph.add_edges_from(rng.sample(pairs, min(1, len(pairs))))
        if len(flips) > 1:
            tally.count_one("histories")


def _claims(rng: random.Random) -> list[dict[str, Any]]:
    return [
        {"edge-privacy": {"epsilon": rng.choice([0.3, 1.0, 2.5])}},
        {"neighbourhood": {"known": rng.randint(1, 2), "success_at_most": rng.choice([0.6, 0.75, 0.9])}},
        {"degree-attack": {"apart": rng.randint(1, 2), "success_at_most": rng.choice([0.6, 0.75, 0.9])}},
    ]
