"""`sequential`: a registry publishes the same people three times, for three purposes, and new people join before the fourth."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.attacks.join import JoinAttack
from sfumato.demos.base import Say, Scenario, describe
from sfumato.errors import Infeasible
from sfumato.methods.base import Progress, silent
from sfumato.spine.publish import publish
from sfumato.spine.verify import verify

POLICY = """\
# {purpose}: whoever joins this with every earlier release must not link anybody to fewer than four illnesses.
version: 1
data: {{kind: table, source: registry.csv}}
columns:
  person:  identifier
  age:     {{role: quasi-identifier, hierarchy: {{intervals: [5, 10, 20, 40]}}{age}}}
  sex:     {{role: quasi-identifier{sex}}}
  region:  {{role: quasi-identifier{region}}}
  illness: {{role: sensitive{illness}}}
protect:
  - k-linkability: {{k: 4}}
method: {{sequential: {{}}}}
ledger: registry.ledger
key: person
"""
PURPOSES = {
    "Demography": ("age", "sex"),
    "Care by sex": ("sex", "illness"),
    "Care by age": ("age", "illness"),
    "Regions, one year later": ("region", "illness"),
}
_ILLNESSES = ["angina", "asthma", "diabetes", "epilepsy", "flu", "fracture", "hepatitis", "hernia", "measles", "migraine", "stroke"]


class Registry(Scenario):
    """Four releases of one registry with a ledger; each is judged together with all before it."""

    name: ClassVar[str] = "sequential"
    title: ClassVar[str] = "A registry publishes again, and again"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data = folder / "registry.csv"
        write_people(data, 1000)
        for number, (purpose, columns) in enumerate(PURPOSES.items(), start=1):
            hidden = {name: "" if name in columns else ", publish: false" for name in ("age", "sex", "region", "illness")}
            (folder / f"policy-{number}.yaml").write_text(POLICY.format(purpose=purpose, **hidden), encoding="utf-8")
        return folder / "policy-1.yaml", data

    def play(self, folder: Path, say: Say, progress: Progress = silent) -> Path:
        _, data = self.make(folder)
        ledger = folder / "registry.ledger"
        for number, purpose in enumerate(PURPOSES, start=1):
            if number == 4:
                write_people(data, 1150)
                say("150 people joined the registry")
            publication = publish(folder / f"policy-{number}.yaml", progress=progress, new_ledger=number == 1)
            release = publication.write(folder / f"release-{number}")
            say(f"release {number}: {purpose}")
            say(describe(publication.findings[0]))
        _refused(folder, data, say)
        verdict = verify(release, original=data, ledger=ledger)
        say("verified  " + ("all releases together hold" if verdict.holds else "VIOLATED"))
        for column, figures in JoinAttack(ledger=str(ledger)).run().items():
            full, match = figures["full"], figures["match"]
            say(f"adversary joins {figures['releases']} releases on {column}: {full['people_below']} people below the level,")
            say(f"          fewest values {full['linkability']} (the match join would have claimed {match['linkability']})")
        say(f"private timeline: {folder / 'release-4.private.html'}")
        return release / "report.html"


def _refused(folder: Path, data: Path, say: Say) -> None:
    """A record that vanishes is noticed."""
    lines = data.read_text(encoding="utf-8").splitlines()
    data.write_text("\n".join([*lines[:5], *lines[6:]]) + "\n", encoding="utf-8")
    try:
        publish(folder / "policy-4.yaml")
    except Infeasible as refusal:
        say(f"refused:  {refusal.what}")
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_people(path: Path, count: int, seed: int = 1506) -> None:
    """Invented people; the first ones are the same whatever the count."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", "age", "sex", "region", "illness"])
        for number in range(count):
            age = int(np.clip(rng.gamma(6.0, 7.5), 0, 99))
            sex = "F" if rng.random() < 0.5 + age / 800 else "M"
            region = str(rng.choice(["north", "south", "east", "west"], p=[0.4, 0.3, 0.2, 0.1]))
            weights = np.exp(-0.5 * ((np.arange(len(_ILLNESSES)) - age / 9) / 4) ** 2) + 0.05
            illness = _ILLNESSES[int(rng.choice(len(_ILLNESSES), p=weights / weights.sum()))]
            writer.writerow([f"P{number:05d}", age, sex, region, illness])
