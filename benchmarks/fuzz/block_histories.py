"""Blocks of baskets over several releases: who is in a block is known, the labels are judged by all possible worlds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.story import Kind, rows_of
from benchmarks.fuzz.tally import Tally
from sfumato.core.errors import LedgerError
from sfumato.data.baskets import Baskets
from tests.judges.histories import HistoryJudge, PublishedTable, Release, TooManyWorlds, table_of
from tests.secret import secret

LABELS = ["x", "y", "z"]
HIDDEN = {"hidden", "or hidden"}
"""Two words, so that it is no value."""
ITEMS = "abcd"


class BlockHistoryKind(Kind):
    """Two or three releases with one ledger; people come and go."""

    name: ClassVar[str] = "blocks over releases"
    form: ClassVar[str] = "basket blocks"
    weight: ClassVar[float] = 3.0

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        many = rng.randint(5, 8)
        sets = [[item for item in ITEMS if rng.random() < 0.5] for _ in range(many)]
        labels = [rng.choice(LABELS) for _ in range(many)]
        claim = rng.choice([{"l-diversity": {"l": 2}}, {"l-diversity": {"l": 2, "kind": "frequency"}}])
        claims = [claim, *([{"k-anonymity": {"k": rng.randint(2, 3)}}] if rng.random() < 0.4 else [])]
        columns = {"label": "sensitive", "who": "identifier"}
        tree: dict[str, Any] = {"version": 1, "data": {"kind": "baskets"}, "columns": columns, "key": "who"}
        settings = {"items": rng.choice(["vote", "dealt"]), "correlated": "accepted", "spread": rng.choice([1, 2])}
        tree |= {"protect": claims, "method": {"blocks": settings}}
        people: list[dict[str, str]] = [{} for _ in range(many)]
        made: list[Release] = []
        for number in range(rng.randint(2, 3)):
            here = [i for i in range(many) if rng.random() < 0.85] or list(range(many))
            told = {"label": [labels[i] for i in here], "who": [f"p{i}" for i in here]}
            data = Baskets.of([sets[i] for i in here], told, names=list(ITEMS))
            tally.count_one("tried")
            options: dict[str, Any] = {"ledger": place / "book", "new_ledger": not made}
            try:
                one = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(rng.getrandbits(60)), **options)
            except (sf.Infeasible, sf.PolicyError, LedgerError) as error:
                tally.refused(type(error).__name__, "blocks")
                continue
            folder = one.write(place / f"out-{number}", report=False)
            behind = [here[record] for record in one.release.trace.rows["data"].tolist()]
            made.append(_release(rows_of(folder / "data.csv"), behind, people, len(made)))
            given = frozenset(name for person in people for name in person)
            known = [{name: person.get(name, "nowhere") for name in given} for person in people]
            judge = HistoryJudge(known, made, given, True)
            try:
                said = _broken(judge, claims, len(made) - 1)
            except TooManyWorlds:
                tally.count_one("given up")
                return
            tally.judged("history of blocks", "blocks")
            tally.violations(said)
            if rng.random() < 0.7:
                continue
            verdict = sf.verify(folder, ledger=place / "book", original=data)
            tally.alarm("with ledger and original", [found.model for found in verdict.findings if not found.holds])
        if len(made) > 1:
            tally.count_one("histories")


def _release(rows: list[dict[str, str]], behind: list[int], people: list[dict[str, str]], number: int) -> Release:
    """Rows by block and label; everybody's block is known.

    Whoever has a hidden label has one in every release of the series, which is public; only where a block shows none at
    all, because somebody left, it may be any.
    """
    name = f"block {number}"
    for row, who in zip(rows, behind, strict=True):
        people[who][name] = row["block"]
    telling = {row["block"] for row in rows if row["label"]}
    told = []
    for row in rows:
        shown = {row["label"]} if row["label"] else HIDDEN if row["block"] in telling else {*LABELS, *HIDDEN}
        told.append(((name, frozenset({row["block"]})), ("label", frozenset(shown))))
    table: PublishedTable = table_of(number, told)
    return Release((table,), frozenset(behind))


def _broken(judge: HistoryJudge, claims: list[dict[str, Any]], newest: int) -> list[str]:
    plain = [("k-anonymity", "", c["k-anonymity"]["k"]) for c in claims if "k-anonymity" in c]
    plain += [("l-diversity", "label", 2) for c in claims if "l-diversity" in c]
    said = judge.broken(plain, newest)
    if "kind" in claims[0]["l-diversity"] and judge.classes_are_apart() and judge.highest_belief("label") * 2 > 1:
        said.append(f"label believed with {judge.highest_belief('label')}")
    return said
