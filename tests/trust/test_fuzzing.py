"""A short run of the fuzzing target (`make fuzz`) with a fixed seed: every kind of release, spoiling and hostile
file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.fuzz.running import KINDS, play, run
from benchmarks.fuzz.spoiling import Spoiling
from benchmarks.fuzz.tally import Tally
from tests.slow import SLOW

CASES = {"recoded": 50, "anatomy": 25, "subtables": 20, "replaced": 12, "walked": 8, "baskets": 10, "graphs": 20,
"databases": 5,
         "sequences": 4, "hostile": 80, "blocks": 15, "figures": 15, "people": 20, "linked": 8, "sampled": 6,
         "averaged": 15,
         "suppressed": 8, "perturbed": 10, "histories": 6, "population": 10, "combinations": 12, "flips": 6,
         "blocks over releases": 6,
         "households": 20, "related": 6, "people over releases": 4, "features": 40}  # fmt: skip
SHARE = 1.0 if SLOW else 0.4
"""Of these cases; `make fuzz` plays as many as there is time for."""


def test_every_kind_has_its_share() -> None:
    assert set(CASES) == set(KINDS)


@pytest.mark.parametrize("kind", CASES)
def test_nothing_is_wrong(kind: str) -> None:
    """What fails is repeated with ``make fuzz REPLAY=``; the words of a failure say which case it was."""
    tally = run(1, cases=round(SHARE * CASES[kind]), only=[kind])
    assert tally.failures == []
    assert tally.releases.total() + tally.refusals.total() + tally.hostile.total() > 0
    assert tally.found == tally.planted


def test_a_case_is_the_same_when_it_is_played_again() -> None:
    first, second = Tally(), Tally()
    for tally in (first, second):
        for number in range(8):
            play(f"recoded:3:{number}", tally)
    assert first.figures() == second.figures()


def test_what_is_wrong_is_counted_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A judge who finds fault, a spoiling that nobody finds, an error that nobody foresaw: each is written down with
    its case."""
    kind = KINDS["recoded"]
    monkeypatch.setattr(type(kind), "judge", lambda self, story, folder: ["broken on purpose"])
    unnoticed = Spoiling("nothing at all", lambda rng, folder, story: "nothing", certain=True)
    monkeypatch.setattr("benchmarks.fuzz.story.spoilings", lambda rng, form, often: [unnoticed])
    tally = run(2, cases=12, only=["recoded"])
    assert tally.count("violation") == tally.count("not found") == tally.releases.total() > 0
    monkeypatch.setattr(type(kind), "draw", lambda self, rng, place: random.nothing)  # type: ignore[attr-defined]
    play("recoded:2:0", tally)
    assert tally.failures[-1]["what"] == "crash"
    assert tally.failures[-1]["case"] == "recoded:2:0"
    tally.save(tmp_path / "fuzz.json", seed=2)
    assert "AttributeError" in (tmp_path / "fuzz.json").read_text()
