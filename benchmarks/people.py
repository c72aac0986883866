"""One person in several rows: 101,766 encounters of 71,518 patients, published by rows, by people, and as a linked
file.

    python benchmarks/people.py [--quick] [--ordered]

Quasi-identifiers: race, gender, age, and of the stay its type, where it ended, and how long it was. Hidden: the chapter
of the first diagnosis (ICD-9). Losses are the product's own metric (share of its domain that a cell gives up); CPU
seconds of one core."""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "people.csv"
CONSTANT, EVENT = ("race", "gender", "age"), ("admission_type_id", "discharge_disposition_id", "time_in_hospital")


def encounters() -> dict[str, list[str]]:
    """The columns that are used, all as text."""
    frame = pl.read_csv(SHARED / "diabetes_130_hospitals" / "diabetic_data_101766.csv.gz", infer_schema_length=0)
    data = {name: frame[name].fill_null("?").to_list() for name in ("patient_nbr", *CONSTANT, *EVENT)}
    return data | {"chapter": [chapter(code) for code in frame["diag_1"].fill_null("?").to_list()]}


def chapter(code: str) -> str:
    """The chapter of an ICD-9 code, by its first three digits."""
    if not code[:1].isdigit():
        return code[:1]
    ends = (139, 239, 279, 289, 319, 389, 459, 519, 579, 629, 679, 709, 739, 759, 779, 799, 999)
    return str(next(place for place, end in enumerate(ends) if float(code) < end + 1))


def policy(k: int, method: dict[str, Any], person: Any = None, *, ranges: bool = False) -> sf.Policy:
    columns: dict[str, Any] = {"patient_nbr": "identifier", "chapter": {"role": "sensitive"}}
    for name in (*CONSTANT, *EVENT):
        columns[name] = {"role": "quasi-identifier"}
        if ranges or name == "time_in_hospital":
            columns[name]["hierarchy"] = "ranges"
        elif name == "age":
            columns[name]["hierarchy"] = ages()
    tree: dict[str, Any] = {"version": 1, "columns": columns, "method": method}
    tree["protect"] = [{"k-anonymity": {"k": k}}, {"l-diversity": {"l": 2}}]
    if person is not None:
        tree["person"] = person
        columns["chapter"]["persistent"] = False
        for name in CONSTANT if isinstance(person, dict) else ():
            columns[name]["constant"] = True
    return sf.Policy.parse(tree)


def ages() -> dict[str, Any]:
    """Decades in two halves: under 50, and from 50 on."""
    decades = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]
    return {"*": {"<50": decades[:5], ">=50": decades[5:]}}


def measured(
    name: str, k: int, method: dict[str, Any], data: dict[str, list[str]], person: Any = None
) -> dict[str, Any]:
    """One release with its figures."""
    before = time.process_time()
    publication = sf.publish(policy(k, method, person, ranges=data["race"][0].isdigit()), data=data)
    entry = {
        "release": name,
        "k": k,
        "loss": publication.utility["loss"],
        "cpu": round(time.process_time() - before, 1),
    }
    entry |= {"suppressed": publication.certificate.records.suppressed, **people_in_classes(publication, data, k)}
    print(entry, flush=True)
    return entry


def people_in_classes(publication: sf.Publication, data: dict[str, list[str]], k: int) -> dict[str, Any]:
    """How many people really stand in the classes of rows."""
    rows = publication.release.parts["data"].table.select([*CONSTANT, *EVENT]).to_pylist()
    behind = publication.release.trace.rows["data"].tolist()
    classes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row, record in zip(rows, behind, strict=True):
        classes[tuple(row.values())].append(data["patient_nbr"][record])
    few = [Counter(members) for members in classes.values() if len(set(members)) < k]
    over = sum(max(Counter(members).values()) * k > len(members) for members in classes.values())
    return {
        "classes": len(classes),
        "fewer_than_k_people": len(few),
        "people_in_them": sum(map(len, few)),
        "over_a_kth": over,
    }


def by_rows_of_people(publication: sf.Publication, data: dict[str, list[str]]) -> dict[str, float]:
    """The loss of a linked release for people with one, two, three and more rows, and with up to three."""
    exhibit, behind = publication.exhibit, publication.release.trace.rows["data"]
    rows = Counter(data["patient_nbr"])
    size = np.array([rows[data["patient_nbr"][record]] for record in behind.tolist()])
    loss = np.zeros(len(behind))
    for name in exhibit.policy.quasi_identifiers:
        width = exhibit.recoded[name].width(*exhibit.intervals(name))
        loss += width[exhibit.data.text(name).codes] / len(exhibit.policy.quasi_identifiers)
    parts = {"1": size == 1, "2": size == 2, "3": size == 3, "4+": size > 3, "up to 3": size <= 3}
    over_people = {
        f"{name}, over people": np.average(loss[inside], weights=1 / size[inside]) for name, inside in parts.items()
    }
    over_people["all, over people"] = np.average(loss, weights=1 / size)
    return {
        name: round(float(mean), 4)
        for name, mean in ({n: loss[i].mean() for n, i in parts.items()} | over_people).items()
    }


def linked(k: int, seconds: float, data: dict[str, list[str]]) -> dict[str, Any]:
    before = time.process_time()
    method = {"linked": {"seconds": seconds}}
    whose = {"columns": "patient_nbr", "rows": "linked"}
    publication = sf.publish(policy(k, method, whose, ranges=data["race"][0].isdigit()), data=data)
    entry = {
        "release": "linked",
        "k": k,
        "loss": publication.utility["loss"],
        "cpu": round(time.process_time() - before, 1),
    }
    entry |= {"suppressed": publication.certificate.records.suppressed, "by rows": by_rows_of_people(publication, data)}
    print(entry, flush=True)
    return entry


def ordered(data: dict[str, list[str]]) -> dict[str, list[str]]:
    """Every column as numbers in the order of its values, so that cells are ranges and a cut leaves nothing behind."""
    found = dict(data)
    for name in (*CONSTANT, *EVENT):
        place = {
            value: str(i) for i, value in enumerate(sorted(set(data[name]), key=lambda value: (len(value), value)))
        }
        found[name] = [place[value] for value in data[name]]
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="mondrian only")
    parser.add_argument("--only", default="", help="rows, people or linked")
    parser.add_argument("--ordered", action="store_true", help="all columns as ranges of numbers")
    given = parser.parse_args()
    data, found = encounters(), []
    if given.ordered:
        data = ordered(data)
    methods: list[dict[str, Any]] = (
        [{"mondrian": {}}] if given.quick else [{"mondrian": {}}, {"refined": {"seconds": 30}}]
    )
    for k in (5, 10):
        for method in methods:
            for name, person in (("rows", None), ("people", "patient_nbr")):
                if given.only in ("", name):
                    found.append(measured(f"{name}, {next(iter(method))}", k, method, data, person))
        if given.only in ("", "linked"):
            found.append(linked(k, 30 if given.quick else 60, data))
    if not given.quick and not given.only:
        names = list(dict.fromkeys(key for entry in found for key in entry))
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
