"""`hospital`: a discharge table with names, exact ages, zip codes and diagnoses becomes a table that may be shared.


Sequential
----------
`sequential`: a registry publishes the same columns every quarter, while people come and leave.


Versatile
---------
`versatile`: a health department whose rules speak about pairs and triples of columns, none of which is simply
"sensitive"."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.audit.join_attack import JoinAttack
from sfumato.kinds.subtables.attacks import IntersectionAttack
from sfumato.release.method import Progress, no_progress
from sfumato.ui.demos.scenario import Say, Scenario, tell, verified_line
from sfumato.workflow.estimate import estimate
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify

POLICY = """\
# A hospital publishes its discharges for research: who was ill must stay private, when and where must stay useful.
version: 1
data: {kind: table, source: discharges.csv}
columns:
  name:       identifier
  age:        {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}, boundary: {level: 3}}
  sex:        quasi-identifier
  zip:        {role: quasi-identifier, hierarchy: {prefix: 5}}
  admitted:   {role: quasi-identifier, hierarchy: {dates: [month, quarter, year]}}
  ward:       other
  diagnosis:  sensitive
protect:
  - k-anonymity: {k: 5}
  - l-diversity: {l: 2, kind: distinct}
utility: {minimize: loss, suppress_at_most: 2%}
"""

_FIRST = [
    "Ada",
    "Ben",
    "Cleo",
    "Dora",
    "Emil",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "Jun",
    "Kai",
    "Lea",
    "Max",
    "Nora",
    "Otto",
    "Pia",
]
_LAST = [
    "Abel",
    "Berg",
    "Conti",
    "Duval",
    "Evans",
    "Ferri",
    "Gallo",
    "Holm",
    "Ito",
    "Jansen",
    "Klein",
    "Lopez",
    "Nagy",
    "Olsen",
]
_WARDS = {
    "cardiology": ["angina", "arrhythmia", "heart failure", "hypertension"],
    "surgery": ["appendicitis", "fracture", "gallstones", "hernia"],
    "medicine": ["asthma", "diabetes", "influenza", "pneumonia"],
    "neurology": ["epilepsy", "migraine", "stroke"],
}


class Hospital(Scenario):
    """Three thousand hospital discharges, five people at least behind every row."""

    name: ClassVar[str] = "hospital"
    title: ClassVar[str] = "A hospital shares its discharges"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "discharges.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"])
            writer.writerows(discharges(3000))
        policy.write_text(POLICY, encoding="utf-8")
        return policy, data


def discharges(count: int, seed: int = 1452) -> list[list[str]]:
    """Invented patients: older people are more often in cardiology, districts differ in age."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        district = int(rng.choice(6, p=[0.3, 0.22, 0.18, 0.14, 0.1, 0.06]))
        age = int(np.clip(rng.normal(48 + 4 * district, 19), 0, 99))
        weights = np.array([0.1 + age / 150, 0.3, 0.35, 0.1 + age / 300])
        ward = list(_WARDS)[int(rng.choice(4, p=weights / weights.sum()))]
        zip_code = f"{71 + district // 3}{district}{int(rng.integers(0, 8)):02d}"
        day = dt.date(2025, 1, 1) + dt.timedelta(days=int(rng.integers(0, 365)))
        name = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
        sex = "F" if rng.random() < 0.52 else "M"
        rows.append([name, str(age), sex, zip_code, day.isoformat(), ward, str(rng.choice(_WARDS[ward]))])
    return rows


# Sequential
# ----------


SEQUENTIAL_POLICY = """\
# Every quarter has the same columns. An adversary who joins all quarters is left with three illnesses per person.
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
_ILLNESSES = [
    "angina",
    "asthma",
    "diabetes",
    "epilepsy",
    "flu",
    "fracture",
    "hepatitis",
    "hernia",
    "measles",
    "migraine",
    "stroke",
]


class Registry(Scenario):
    """Four quarters of one registry with a ledger: people come and leave, and every quarter is judged with all before
    it."""

    name: ClassVar[str] = "sequential"
    title: ClassVar[str] = "A registry publishes every quarter"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data = folder / "registry.csv"
        write_people(data, *QUARTERS["2026-03-31"])
        for number, day in enumerate(QUARTERS, start=1):
            (folder / f"policy-{number}.yaml").write_text(SEQUENTIAL_POLICY.format(day=day), encoding="utf-8")
        return folder / "policy-1.yaml", data

    def play(self, folder: Path, say: Say, progress: Progress = no_progress) -> Path:
        _, data = self.make(folder)
        ledger = folder / "registry.ledger"
        for number, (day, (first, last)) in enumerate(QUARTERS.items(), start=1):
            write_people(data, first, last)
            publication = publish(folder / f"policy-{number}.yaml", progress=progress, new_ledger=number == 1)
            release = publication.write(folder / f"release-{number}")
            said, fakes = publication.certificate.records, publication.release.form.to_public().get("counterfeits", 0)
            say(
                f"{day}: {said.published:,} people published, {said.suppressed:,} suppressed, {fakes:,} counterfeit"
                " records added."
            )
        tell(publication, say, release)
        say(
            verified_line(verify(release, original=data, ledger=ledger), "with the original data and all four releases")
        )
        for column, figures in JoinAttack(ledger=str(ledger)).run().items():
            full = figures["full"]
            say(
                f"Attack: joining {figures['releases']} releases on {column} puts {full['people_below']:,} people below"
                " the level."
            )
            say(f"        At least {full['linkability']} different values stay possible for everybody.")
        say(f"The series as a picture: {folder / 'release-4.private.html'}")
        return release / "report.html"


def write_people(path: Path, first: int, last: int, seed: int = 1506) -> None:
    """Write invented people, those between two numbers; a person does not depend on the others."""
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


# Versatile
# ---------


VERSATILE_POLICY = """\
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
_QUESTIONS = [
    "count where age = 60-69 and icd9 = diabetes",
    "count where hospital = H2 and gender = F",
    "count where race = asian",
]


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
            writer.writerows(versatile_discharges(4000))
        policy.write_text(VERSATILE_POLICY, encoding="utf-8")
        return policy, data

    def play(self, folder: Path, say: Say, progress: Progress = no_progress) -> Path:
        report = super().play(folder, say, progress)
        release = folder / "release"
        taken = IntersectionAttack(target=str(release)).run()
        say(f"Attack: intersecting all tables reveals the values of {taken['compromised']:,} people.")
        answering = estimate(release)
        for question in _QUESTIONS:
            say(f"Query: {question}: about {answering.count(question):,.0f}")
        return report


def versatile_discharges(count: int, seed: int = 2010) -> list[list[str]]:
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
        rows.append(
            [f"H{hospital}", f"{age}0-{age}9", gender, f"{71000 + zip_code}", f"C{county}", who, illness, surgeon]
        )
    return rows
