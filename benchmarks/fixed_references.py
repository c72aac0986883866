"""Series under models that compare with the whole table: is every release published, and how many records are
suppressed?

    python -m benchmarks.fixed_references                # 8 configurations, two seeds each
    python -m benchmarks.fixed_references --random 200   # random series

60 people with two quasi-identifiers, quarters with 12 new people; k-anonymity with k = 3, l-diversity with l = 2, and
t-closeness, beta-likeness or delta-disclosure, for an adversary who knows both quasi-identifiers or the age alone. In
half of the configurations six people leave every quarter. Random series draw the model and its level, the number of
people, of those who come and leave, the method, cohorts and what happens when people leave."""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import sfumato as sf
from tests.secret import secret

RESULTS = Path(__file__).parent / "results"
VALUES = ("flu", "flu", "flu", "cold", "cold", "gout")
MODELS: tuple[dict[str, Any], ...] = (
    {"t-closeness": {"t": 0.5}},
    {"t-closeness": {"t": 0.4}},
    {"t-closeness": {"t": 0.4, "distance": "ordered", "order": ["flu", "cold", "gout"]}},
    {"beta-likeness": {"beta": 2}},
    {"beta-likeness": {"beta": 3, "kind": "enhanced"}},
    {"delta-disclosure": {"delta": 1.5}},
    {"delta-disclosure": {"delta": 2.5}},
)


@dataclass(frozen=True)
class Settings:
    """One series."""

    model: dict[str, Any]
    own_given: bool = False
    """Whether the adversary of the model knows the age alone."""
    leaving: int = 0
    """People who leave every quarter."""
    cohorts: str = "known"
    on_leaving: str = "withhold"
    method: str = "mondrian"
    people: int = 60
    coming: int = 12
    quarters: int = 4

    def policy(self) -> sf.Policy:
        claim = {"given": ["age"], "hide": "illness", "by": self.model} if self.own_given else self.model
        columns = {"id": "identifier", "age": "quasi-identifier", "zip": "quasi-identifier", "illness": "sensitive"}
        tree = {"version": 1, "key": "id", "columns": columns, "method": self.method}
        series = {"cohorts": self.cohorts, "leaving": self.on_leaving}
        return sf.Policy.parse(
            {**tree, "protect": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 2}}, claim], "series": series}
        )


@dataclass
class Outcome:
    """What became of a series."""

    suppressed: list[float]
    """Per published release the share of records that it leaves out."""
    refused: list[str]
    infeasible: list[str]


def play(settings: Settings, seed: object) -> Outcome:
    """Publish a series; what is refused is said, and the series goes on."""
    rng, people, gone = random.Random(str(seed)), [], set[str]()
    outcome = Outcome([], [], [])
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder) / "series.ledger"
        for quarter in range(settings.quarters):
            people += [_person(rng, len(people) + i) for i in range(settings.coming if quarter else settings.people)]
            if quarter:
                gone |= set(rng.sample([one["id"] for one in people if one["id"] not in gone], settings.leaving))
            here = [one for one in people if one["id"] not in gone]
            table = {name: [one[name] for one in here] for name in here[0]}
            options: dict[str, Any] = {
                "ledger": book,
                "new_ledger": not book.exists(),
                "seed": secret(rng.getrandbits(60)),
            }
            try:
                made = sf.publish(settings.policy(), table, **options)
            except sf.AuditRefused as error:
                outcome.refused.append(str(error))
            except sf.Infeasible as error:
                outcome.infeasible.append(str(error))
            else:
                made.write(Path(folder) / f"release-{quarter + 1}", report=False)
                outcome.suppressed.append(made.certificate.records.suppressed / len(here))
    return outcome


def _person(rng: random.Random, number: int) -> dict[str, str]:
    return {
        "id": f"p{number}",
        "age": str(rng.randrange(20, 60)),
        "zip": str(rng.randrange(8)),
        "illness": rng.choice(VALUES),
    }


def configurations(model: dict[str, Any]) -> Iterator[Settings]:
    """Own given or not, people leave or not, cohorts known or not."""
    for own_given in (False, True):
        for leaving in (0, 6):
            for cohorts in ("known", "unknown"):
                yield Settings(model, own_given, leaving, cohorts)


def drawn(rng: random.Random) -> Settings:
    """A random series."""
    return Settings(
        rng.choice(MODELS),
        rng.random() < 0.5,
        rng.choice([0, 2, 4, 6]),
        rng.choice(["known", "unknown"]),
        rng.choice(["counterfeits", "withhold"]),
        rng.choice(["mondrian", "refined", "clustering"]),
        rng.choice([40, 60, 90]),
        rng.choice([4, 8, 12, 20]),
        rng.choice([3, 4]),
    )


def run_random(count: int, seed: str = "random") -> tuple[list[list[object]], list[str]]:
    """Random series, summed up per model, and everything that the audit refused."""
    every: dict[str, list[Outcome]] = {}
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        settings = drawn(rng)
        outcome = play(settings, f"{seed}:{number}:people")
        every.setdefault(next(iter(settings.model)), []).append(outcome)
        every.setdefault("all", []).append(outcome)
        for said in outcome.refused:
            print(f"{number} {settings}: {said}", flush=True)
    rows = []
    for model, outcomes in every.items():
        counts: Counter[str] = Counter()
        for outcome in outcomes:
            counts.update(
                releases=len(outcome.suppressed), refused=len(outcome.refused), infeasible=len(outcome.infeasible)
            )
        shares = [mean(outcome.suppressed) if outcome.suppressed else 1.0 for outcome in outcomes]
        figures = [
            counts["releases"],
            counts["refused"],
            counts["infeasible"],
            round(median(shares), 4),
            round(mean(shares), 4),
        ]
        rows.append([model, len(outcomes), *figures])
    return rows, [said for outcome in every["all"] for said in outcome.refused]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--random", type=int, default=0)
    options.add_argument("--seed", default="random")
    chosen = options.parse_args()
    started = time.process_time()
    if chosen.random:
        rows, _ = run_random(chosen.random, chosen.seed)
        head = [
            "model",
            "series",
            "releases",
            "refused by the audit",
            "infeasible",
            "median suppressed",
            "mean suppressed",
        ]
        name = "fixed-references-random"
    else:
        rows, name = [], "fixed-references"
        head = [
            "given",
            "leaving",
            "cohorts",
            "seed",
            "releases",
            "refused by the audit",
            "infeasible",
            "suppressed per release",
        ]
        for settings in configurations({"t-closeness": {"t": 0.5}}):
            for seed in (1, 2):
                outcome = play(settings, seed)
                given = "age" if settings.own_given else "age, zip"
                told = " ".join(f"{share:.3f}" for share in outcome.suppressed)
                counts = [len(outcome.suppressed), len(outcome.refused), len(outcome.infeasible)]
                rows.append([given, settings.leaving, settings.cohorts, seed, *counts, told])
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    for row in [head, *rows]:
        print(*row, sep=", ")
    print(f"{time.process_time() - started:.1f} CPU seconds")


if __name__ == "__main__":
    main()
