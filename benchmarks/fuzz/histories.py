"""Histories in one ledger in which people and columns of all roles come and go, judged by all possible worlds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import ClassVar

from benchmarks.fuzz.story import Kind
from benchmarks.fuzz.tally import Tally
from tests.judges.history_cases import HistoryCase, HistoryFigures, play


class HistoryKind(Kind):
    """Up to three releases: recoded tables, anatomies and sub-tables, known or unknown cohorts."""

    name: ClassVar[str] = "histories"
    form: ClassVar[str] = "recoded table"
    weight: ClassVar[float] = 2.0

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        case, figures = HistoryCase.draw(rng), HistoryFigures()
        play(case, place, rng, figures)
        for _ in range(figures.counts["judged"]):
            tally.judged("history of tables", case.releases[-1]["method"])
        for _ in range(figures.counts["infeasible"]):
            tally.refused("infeasible", case.releases[-1]["method"])
        tally.violations(figures.broken)
        for column in ("tried", "given up"):
            for _ in range(figures.counts[column]):
                tally.count_one(column)
        if figures.counts["judged"] > 1:
            tally.count_one("histories")
        for said in figures.refused:
            tally.fail("audit refusal", said)
        for said in figures.crashes:
            tally.fail("crash", said)
