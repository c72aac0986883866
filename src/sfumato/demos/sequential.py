"""`sequential`: a registry publishes the same columns every quarter, while people come and leave."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.attacks.join import JoinAttack
from sfumato.demos.base import Say, Scenario, describe
from sfumato.methods.base import Progress, silent
from sfumato.spine.publish import publish
from sfumato.spine.verify import verify

POLICY = """\
# Every quarter the same columns: whoever joins all quarters must be left with at least three illnesses for everybody.
version: 1
data: {{kind: table, source: registry.csv}}
columns:
  person:  identifier
  age:     {{role: quasi-identifier, hierarchy: {{intervals: [5, 10, 20, 40]}}}}
  sex:     quasi-identifier
  region:  quasi-identifier
  illness: sensitive
protect:
  - k-anonymity: {{k: 3}}
  - l-diversity: {{l: 3}}
series: {{cohorts: unknown, leaving: counterfeits, date: {day}}}
ledger: registry.ledger
key: person
"""
QUARTERS = {"2026-03-31": (0, 1000), "2026-06-30": (20, 1060), "2026-09-30": (45, 1110), "2026-12-31": (70, 1170)}
"""What each quarter is about, and who is in the registry by then: everybody from the first number to the second."""
_ILLNESSES = ["angina", "asthma", "diabetes", "epilepsy", "flu", "fracture", "hepatitis", "hernia", "measles", "migraine", "stroke"]


class Registry(Scenario):
    """Four quarters of one registry with a ledger: people come and leave, and every quarter is judged with all before it."""

    name: ClassVar[str] = "sequential"
    title: ClassVar[str] = "A registry publishes every quarter"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data = folder / "registry.csv"
        write_people(data, *QUARTERS["2026-03-31"])
        for number, day in enumerate(QUARTERS, start=1):
            (folder / f"policy-{number}.yaml").write_text(POLICY.format(day=day), encoding="utf-8")
        return folder / "policy-1.yaml", data

    def play(self, folder: Path, say: Say, progress: Progress = silent) -> Path:
        _, data = self.make(folder)
        ledger = folder / "registry.ledger"
        for number, (day, (first, last)) in enumerate(QUARTERS.items(), start=1):
            write_people(data, first, last)
            publication = publish(folder / f"policy-{number}.yaml", progress=progress, new_ledger=number == 1)
            release = publication.write(folder / f"release-{number}")
            said, fakes = publication.certificate.records, publication.release.form.to_public().get("counterfeits", 0)
            say(f"{day}: {said.published} people published, {said.suppressed} withheld, {fakes} stood in for")
            say(f"          loss {publication.utility['loss']:.4f}")
            for finding in publication.findings[:2]:
                say(describe(finding))
        verdict = verify(release, original=data, ledger=ledger)
        say("verified  " + ("all quarters together hold" if verdict.holds else "VIOLATED"))
        for column, figures in JoinAttack(ledger=str(ledger)).run().items():
            full = figures["full"]
            say(f"adversary joins {figures['releases']} quarters on {column}: {full['people_below']} people below the level,")
            say(f"          fewest values {full['linkability']}")
        say(f"the timeline as a picture: {folder / 'release-4.private.html'}")
        return release / "report.html"


def write_people(path: Path, first: int, last: int, seed: int = 1506) -> None:
    """Invented people, those between two numbers; a person is the same whoever else is there."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", "age", "sex", "region", "illness"])
        for number in range(last):
            age = int(np.clip(rng.gamma(6.0, 7.5), 0, 99))
            sex = "F" if rng.random() < 0.5 + age / 800 else "M"
            region = str(rng.choice(["north", "south", "east", "west"], p=[0.4, 0.3, 0.2, 0.1]))
            weights = np.exp(-0.5 * ((np.arange(len(_ILLNESSES)) - age / 9) / 4) ** 2) + 0.05
            illness = _ILLNESSES[int(rng.choice(len(_ILLNESSES), p=weights / weights.sum()))]
            if number >= first:
                writer.writerow([f"P{number:05d}", age, sex, region, illness])
