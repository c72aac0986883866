"""Sequences of releases in one ledger: a table that is published, grows, and is published again; judged by
enumeration."""

from __future__ import annotations

import random
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import sfumato as sf
from benchmarks.fuzz.spoiling import spoilings
from benchmarks.fuzz.story import Kind, Story
from benchmarks.fuzz.tally import Tally
from sfumato.core.errors import LedgerError
from sfumato.history.ledger import Ledger
from tests.secret import secret
from tests.sequential.stories import Judge, joined, people, release
from tests.trust.test_ledgers import FORGERIES, forged, head_of, stored


class SequenceKind(Kind):
    """Up to three releases that are judged together."""

    name: ClassVar[str] = "sequences"
    form: ClassVar[str] = "recoded table"
    weight: ClassVar[float] = 2.0

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        numbers = np.random.default_rng(rng.getrandbits(32))
        model, k = rng.choice([("k-linkability", 2), ("k-linkability", 3), ("k-diversity", 1.5), ("k-diversity", 2)])
        options: dict[str, Any] = {"model": model, "k": k, "cohorts": rng.choice(["known", "known", "unknown"])}
        options |= {"growth": rng.choice(["unifying", "unifying", "separative"]), "cells": rng.random() < 0.8}
        table = people(numbers, rng.randint(3, 5))
        made = 0
        for number in range(rng.randint(1, 3)):
            columns = [name for name in "abs" if rng.random() < 0.65]
            columns = columns if columns not in ([], ["s"]) else ["a", "s"]
            tally.count_one("tried")
            try:
                release(place, columns, table, seed=secret(rng.getrandbits(60)), **options)
            except sf.Infeasible:
                tally.refused("infeasible", "sequential")
                break
            except (sf.PolicyError, sf.DataError) as error:
                tally.refused(type(error).__name__, "sequential")
                break
            made += 1
            tally.judged("sequence of recoded tables", "sequential")
            self._judge(place, made, table, options, tally)
            if rng.random() < 0.5 and len(table["id"]) < 5:
                table = joined(table, people(numbers, rng.randint(1, 2), first=100 * (number + 1)))
        if made > 1:
            tally.count_one("histories")
        if made:
            self._spoil_ledger(rng, place, made, tally)
            story = Story({}, None, None, None, "sequential")
            for spoiling in spoilings(rng, "recoded table", 0.3, certain=True):
                self._spoil_folder(spoiling, rng, story, place, made, tally)

    def _judge(self, place: Path, made: int, table: Any, options: dict[str, Any], tally: Tally) -> None:
        goal = options["model"].removeprefix("k-")
        level = Judge(place).level(goal, cohorts=options["cohorts"] == "known")
        if level is not None and level < Fraction(str(options["k"])):
            tally.violations([f"{options['model']} of {level} where {options['k']} was asked"])
        folder, book = place / f"release-{made}", place / "book.ledger"
        tally.alarm("with the ledger", _told(folder, ledger=book))
        tally.alarm("with ledger and original", _told(folder, ledger=book, original=table))

    def _spoil_ledger(self, rng: random.Random, place: Path, made: int, tally: Tally) -> None:
        """A chain that was computed anew is found from the last certificate."""
        if rng.random() < 0.5:
            return
        last, forge = (
            place / f"release-{made}",
            rng.choice([one for one in FORGERIES if made == 3 or one.__name__ in _SHORT]),
        )
        entries = stored(place / "book.ledger")
        if forge.__name__ == "change_first" and entries[0][0]["records"] == 5:
            return  # that is what it would be changed to
        file = forged(forge(entries), place / "forged.ledger")
        found = _refused(lambda: sf.verify(last, ledger=file)) or _refused(
            lambda: Ledger(file).verify(head=head_of(last))
        )
        tally.spoilt("ledger", forge.__name__, f"{made} releases", found)
        file.unlink()

    def _spoil_folder(
        self, spoiling: Any, rng: random.Random, story: Story, place: Path, made: int, tally: Tally
    ) -> None:
        copy = place / "spoilt"
        shutil.copytree(place / f"release-{made}", copy)
        said = spoiling.plant(rng, copy, story)
        if said:
            found = bool(_told(copy)) or bool(_told(copy, ledger=place / "book.ledger"))
            tally.spoilt("sequence of recoded tables", spoiling.name, said, found)
        shutil.rmtree(copy)


_SHORT = ("cut_last", "without_heads")
"""Forgeries that make sense of a single release."""


def _refused(act: Any) -> bool:
    try:
        found = act()
    except LedgerError:
        return True
    return bool(getattr(found, "violated", False))


def _told(folder: Path, **given: Any) -> list[str]:
    try:
        verdict = sf.verify(folder, **given)
    except sf.SfumatoError as error:
        return [f"unreadable: {error.what}"]
    return [f"{finding.model}: {finding.reason}" for finding in verdict.findings if not finding.holds]
