"""Two related tables on real data: patients (race, gender, age) and their encounters, published together.

    python -m benchmarks.people_related FOLDER [--k 5] [--groups mondrian]
    sfumato attack linkage FOLDER/out --original FOLDER/policy.yaml --known 1

A patient's line has what the first of the encounters says (age differs between encounters of 9 % of the patients).
FOLDER gets both tables, the policy and the release, which is verified as whoever finds it can."""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path
from typing import Any

import sfumato as sf
from benchmarks.people import CONSTANT, EVENT, ages, encounters


def tables(folder: Path) -> None:
    """``patients.csv`` and ``encounters.csv``."""
    data = encounters()
    first = {name: place for place, name in reversed(list(enumerate(data["patient_nbr"])))}
    for file, names, places in (
        ("patients.csv", ("patient_nbr", *CONSTANT), sorted(first.values())),
        ("encounters.csv", ("patient_nbr", *EVENT, "chapter"), range(len(data["patient_nbr"]))),
    ):
        with (folder / file).open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(names)
            writer.writerows([data[name][place] for name in names] for place in places)


def policy(k: int, groups: str) -> dict[str, Any]:
    columns: dict[str, Any] = {"patient_nbr": "identifier", "chapter": {"role": "sensitive", "persistent": False}}
    columns |= {name: {"role": "quasi-identifier"} for name in (*CONSTANT, *EVENT)}
    columns["age"]["hierarchy"], columns["time_in_hospital"]["hierarchy"] = ages(), "ranges"
    return {
        "version": 1,
        "data": {"source": "encounters.csv", "people": "patients.csv"},
        "columns": columns,
        "person": {"columns": "patient_nbr", "rows": "linked"},
        "protect": [{"k-anonymity": {"k": k}}, {"l-diversity": {"l": 2}}],
        "utility": {"suppress_at_most": 0.02},
        "method": {"related": {"groups": groups}},
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--groups", default="mondrian")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    tables(given.folder)
    (given.folder / "policy.yaml").write_text(json.dumps(policy(given.k, given.groups)))
    before = time.process_time()
    made = sf.publish(sf.Policy.read(given.folder / "policy.yaml"))
    out = made.write(given.folder / "out", report=False)
    print(made.certificate.records, made.utility, f"{time.process_time() - before:.1f} CPU s", flush=True)
    before = time.process_time()
    for finding in sf.verify(out).findings:
        print(finding.model, finding.holds, finding.achieved, finding.grade)
    print(f"verified in {time.process_time() - before:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
