"""`versatile`: a health department whose rules speak about pairs and triples of columns, none of which is simply "sensitive"."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.attacks.intersection import IntersectionAttack
from sfumato.demos.base import Say, Scenario
from sfumato.estimation import estimate
from sfumato.methods.base import Progress, silent

POLICY = """\
# A health department's rules speak about combinations: who knows these columns must not learn that one.
version: 1
data: {kind: table, source: discharges.csv}
columns:
  hospital: other
  age: other
  gender: other
  zip: other
  county: other
  race: other
  icd9: other
  surgeon: other
protect:
  - "age, icd9 -> race : 2-diversity"
  - "gender, icd9 -> zip : 4-diversity"
  - "hospital, race -> zip : 4-diversity"
  - {given: [hospital, icd9], hide: surgeon, by: {l-diversity: {l: 3, kind: frequency}}}
  - "hospital -> surgeon : 3-diversity"              # follows from the rule above
  - {given: [race], hide: icd9, by: {t-closeness: {t: 0.3}}}
knows: ["zip -> county"]                             # any map tells this
method: {utility-aware: {}}
"""
_NAMES = ["hospital", "age", "gender", "zip", "county", "race", "icd9", "surgeon"]
_QUESTIONS = ["count where age = 60-69 and icd9 = diabetes", "count where hospital = H2 and gender = F", "count where race = asian"]


class Versatile(Scenario):
    """Four thousand discharges, rules between columns, sub-tables in Guardian Normal Form."""

    name: ClassVar[str] = "versatile"
    title: ClassVar[str] = "A health department publishes under rules between columns"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "discharges.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_NAMES)
            writer.writerows(discharges(4000))
        policy.write_text(POLICY, encoding="utf-8")
        return policy, data

    def play(self, folder: Path, say: Say, progress: Progress = silent) -> Path:
        report = super().play(folder, say, progress)
        release = folder / "release"
        taken = IntersectionAttack(target=str(release)).run()
        say(f"attacked  all tables intersected: {taken['compromised']} people compromised")
        answering = estimate(release)
        for question in _QUESTIONS:
            say(f"asked     {question}: about {answering.count(question):.0f}")
        return report


def discharges(count: int, seed: int = 2010) -> list[list[str]]:
    """Invented discharges: illness depends on age, hospitals on counties, surgeons serve two hospitals each."""
    rng = np.random.default_rng(seed)
    illnesses = ["asthma", "diabetes", "fracture", "hypertension", "influenza", "migraine", "pneumonia", "stroke"]
    rows = []
    for _ in range(count):
        zip_code = int(rng.integers(0, 40))
        county = zip_code // 8
        hospital = int((county + (rng.random() < 0.3) * rng.integers(0, 5)) % 5)
        age = int(np.clip(rng.normal(52, 20), 0, 99)) // 10
        race = int(rng.choice(4, p=[0.45, 0.25, 0.2, 0.1]))
        illness = illnesses[int(rng.integers(0, 4) * (age > 4) + rng.integers(0, 5)) % 8]
        surgeon = f"S{(hospital * 9 + int(rng.integers(0, 18))) % 45:02d}"
        gender = "F" if rng.random() < 0.5 else "M"
        who = ["white", "black", "hispanic", "asian"][race]
        rows.append([f"H{hospital}", f"{age}0-{age}9", gender, f"{71000 + zip_code}", f"C{county}", who, illness, surgeon])
    return rows
