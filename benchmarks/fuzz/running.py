"""The loop: cases of all kinds one after the other until the time is over; whatever goes wrong is written down with its
seed."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection
from pathlib import Path

from benchmarks.fuzz.anatomy import AnatomyKind
from benchmarks.fuzz.baskets import BasketKind, BlockKind
from benchmarks.fuzz.block_histories import BlockHistoryKind
from benchmarks.fuzz.combinations import CombinationKind
from benchmarks.fuzz.databases import DatabaseKind
from benchmarks.fuzz.features import FeatureKind
from benchmarks.fuzz.flips import FlipKind
from benchmarks.fuzz.graphs import FiguresKind, GraphKind
from benchmarks.fuzz.histories import HistoryKind
from benchmarks.fuzz.hostile import HostileKind
from benchmarks.fuzz.numbers import AveragedKind, PerturbedKind, SuppressedKind
from benchmarks.fuzz.people import HouseholdKind, LinkedKind, PeopleKind, RelatedKind
from benchmarks.fuzz.people_histories import PeopleHistoryKind
from benchmarks.fuzz.recoded import PopulationKind, RecodedKind
from benchmarks.fuzz.replaced import ReplacedKind, WalkedKind
from benchmarks.fuzz.sampled import SampledKind
from benchmarks.fuzz.sequences import SequenceKind
from benchmarks.fuzz.spark import SparkHistoryKind, SparkKind
from benchmarks.fuzz.story import LONGEST, Hangs, Kind, within
from benchmarks.fuzz.subtables import SubTableKind
from benchmarks.fuzz.tally import Tally
from sfumato import AuditRefused
from tests.judges.subtables import Unjudged

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        RecodedKind(),
        PopulationKind(),
        AnatomyKind(),
        SubTableKind(),
        CombinationKind(),
        ReplacedKind(),
        WalkedKind(),
        BasketKind(),
        BlockKind(),
        GraphKind(),
        FiguresKind(),
        DatabaseKind(),
        SequenceKind(),
        FlipKind(),
        FeatureKind(),
        BlockHistoryKind(),
        HistoryKind(),
        PeopleKind(),
        LinkedKind(),
        HouseholdKind(),
        RelatedKind(),
        PeopleHistoryKind(),
        SampledKind(),
        AveragedKind(),
        SuppressedKind(),
        PerturbedKind(),
        HostileKind(),
    )
}


SLOW_KINDS: dict[str, Kind] = {kind.name: kind for kind in (SparkKind(), SparkHistoryKind())}
"""Kinds that need a session of Spark; they are played when they are named."""


def play(case: str, tally: Tally) -> None:
    """One case by its name, ``kind:seed:number``; nothing it does ends the run."""
    kind = (KINDS | SLOW_KINDS)[case.partition(":")[0]]
    tally.case = case
    place = Path(tempfile.mkdtemp(prefix="fuzz-", dir=_memory()))
    try:
        with within(LONGEST):
            kind.play(random.Random(case), place, tally)
    except Hangs:
        tally.fail("hang", traceback.format_exc())
    except Unjudged:
        tally.count_one("given up")
    except AuditRefused as error:
        tally.fail("audit refusal", str(error))
    except Exception:
        tally.fail("crash", traceback.format_exc()[-1800:])
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _memory() -> str | None:
    """Folders are synced when they are written; in memory that costs nothing."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def run(
    seed: int,
    *,
    minutes: float = 0.0,
    cases: int | None = None,
    only: Collection[str] = (),
    save: Callable[[Tally, float], None] | None = None,
) -> Tally:
    """Cases until so many CPU minutes are over, or so many cases of every kind; kinds share the time by their weights.

    `save` gets the figures so far, with the CPU minutes they took, now and then and at the end.
    """
    tally, started, said = Tally(), time.process_time(), time.monotonic()
    kinds = {name: kind for name, kind in (KINDS | SLOW_KINDS).items() if name in (only or KINDS)}
    spent = dict.fromkeys(kinds, 0.0)
    number = dict.fromkeys(spent, 0)
    while cases is not None or time.process_time() - started < 60 * minutes:
        left = [name for name in spent if cases is None or number[name] < cases]
        if not left:
            break
        name = min(left, key=lambda name: spent[name] / kinds[name].weight)
        before, failures = time.process_time(), len(tally.failures)
        play(f"{name}:{seed}:{number[name]}", tally)
        number[name] += 1
        spent[name] += time.process_time() - before + 1e-3
        for failure in tally.failures[failures:]:
            print(
                f"{failure['what']} in {failure['case']}: {failure['detail'].strip()[-400:]}",
                file=sys.stderr,
                flush=True,
            )
        if time.monotonic() - said > 20:
            said = time.monotonic()
            _progress(tally, time.process_time() - started)
            if save is not None:
                save(tally, (time.process_time() - started) / 60)
    if save is not None:
        save(tally, (time.process_time() - started) / 60)
    return tally


def _progress(tally: Tally, seconds: float) -> None:
    figures = tally.figures()
    words = (
        "releases judged",
        "violations",
        "false alarms",
        "spoilings planted",
        "spoilings found",
        "hostile inputs",
        "audit refusals",
        "crashes",
    )
    print(f"{seconds / 60:6.1f} min  " + "  ".join(f"{word} {figures[word]:,}" for word in words), flush=True)
