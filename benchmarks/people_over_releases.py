"""People in several rows over two releases: the encounters of ``people.py`` in two halves, by rows and by people.

    python -m benchmarks.people_over_releases [--method mondrian] [--k 5]
    python -m benchmarks.people_over_releases --method linked [--groups mondrian] [--k 5]

The file has no dates; encounters are numbered as they came, so the first release has the first half (by number), the
second all of them. Beside the second release stands one of the same data without a ledger: the difference is what
memory costs."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.people import SHARED, encounters, policy


def visits() -> dict[str, list[str]]:
    """The encounters with their numbers, in the order of these."""
    source = SHARED / "diabetes_130_hospitals" / "diabetic_data_101766.csv.gz"
    number = pl.read_csv(source, infer_schema_length=0)["encounter_id"].to_list()
    order = sorted(range(len(number)), key=lambda place: int(number[place]))
    data = encounters() | {"encounter_id": number}
    return {name: [values[place] for place in order] for name, values in data.items()}


def remembered(k: int, method: dict[str, Any], person: Any) -> sf.Policy:
    tree: dict[str, Any] = dict(policy(k, method, person).document.tree)
    tree["columns"] = {"encounter_id": "identifier", **tree["columns"]}
    most = (
        0.05 if not isinstance(person, dict) else 0.3
    )  # rows that come later and that nobody of the same past has are left out
    return sf.Policy.parse({**tree, "key": "encounter_id", "utility": {"suppress_at_most": most}})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--method", default="mondrian")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--groups", default="mondrian", help="how people are grouped whose rows are linked")
    given = parser.parse_args()
    data = visits()
    half = len(data["encounter_id"]) // 2
    first = {name: values[:half] for name, values in data.items()}
    tied = given.method == "linked"
    for who in [{"columns": "patient_nbr", "rows": "linked"}] if tied else (None, "patient_nbr"):
        said = remembered(given.k, {given.method: {"groups": given.groups} if tied else {}}, who)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for name, rows, ledger in (("first", first, True), ("second", data, True), ("second, alone", data, False)):
                before = time.process_time()
                options: dict[str, Any] = {"ledger": folder / "book", "new_ledger": name == "first"} if ledger else {}
                made = sf.publish(said, data=rows, **options)
                spent, loss = round(time.process_time() - before, 1), round(made.utility["loss"], 4)
                left = made.certificate.records.suppressed
                what = f"linked, {given.groups}" if tied else "people" if who else "rows"
                print(f"{what}, k = {given.k}, {name}: loss {loss}, {left} left out, {spent} CPU s", flush=True)
                if ledger:
                    made.write(folder / name, report=False)


if __name__ == "__main__":
    main()
