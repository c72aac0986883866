"""`testdata`: a faculty's student records become test data in which every business rule is still true and nobody is in it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.demos.base import Scenario

POLICY = """\
# Production data for application testing: same shape, same rules, none of the students.
version: 1
data: {kind: table, source: students.csv}
columns:
  name:              {role: replaced, domain: {fakes: name}}
  phone_number:      {role: replaced, domain: {pattern: "05[0247][0-9]{7}"}}
  department:        other
  registration_date: {role: replaced, domain: {dates: [1990-01-01, 2012-12-31]}}
  graduation_date:   {role: replaced, domain: {dates: [1990-01-01, 2012-12-31]}}
  courses_grade:     {role: replaced, domain: {integers: [80, 100]}}
  thesis_grade:      {role: replaced, domain: {integers: [80, 100]}}
  final_grade:       {role: replaced, domain: {integers: [80, 100]}}
  fee:               {role: replaced, domain: {integers: [1, 90]}}
keep:
  - "unique(name)"
  - "unique(phone_number)"
  - "graduation_date - registration_date >= 300"
  - "final_grade = (courses_grade + thesis_grade) / 2"
  - "mean(final_grade) = 90"
  - "sum(fee by department) = sum(original.fee by department)"
protect:
  - {given: [phone_number], hide: final_grade, by: {l-diversity: {l: 5, kind: frequency}}}
method: {obfuscation: {}}
"""

_FIRST = ["Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kai", "Lea", "Max", "Nora", "Otto", "Pia"]
_LAST = ["Abel", "Berg", "Conti", "Duval", "Evans", "Ferri", "Gallo", "Holm", "Ito", "Jansen", "Klein", "Lopez", "Nagy", "Olsen"]


class TestData(Scenario):
    """Two thousand student records become test data under six rules."""

    __test__: ClassVar[bool] = False  # the name begins like a test's
    name: ClassVar[str] = "testdata"
    title: ClassVar[str] = "A faculty gives its testers data to work with"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "students.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(
                ["name", "phone_number", "department", "registration_date", "graduation_date", "courses_grade", "thesis_grade",
                 "final_grade", "fee"]
            )  # fmt: skip
            writer.writerows(students(2000))
        policy.write_text(POLICY, encoding="utf-8")
        return policy, data


def students(count: int, seed: int = 1503) -> list[list[str]]:
    """Invented students whose final grades average 90 exactly."""
    import datetime as dt

    rng = np.random.default_rng(seed)
    final = rng.integers(82, 99, count)
    while (rest := int(final.sum()) - 90 * count) != 0:  # move single grades until the mean is right
        chosen = rng.integers(count)
        final[chosen] = np.clip(final[chosen] - np.sign(rest), 82, 98)
    phones = rng.choice(10_000_000, count, replace=False)
    rows = []
    for place in range(count):
        half = int(rng.integers(-2, 3))
        begin = dt.date(2000, 1, 1) + dt.timedelta(days=int(rng.integers(0, 3000)))
        end = begin + dt.timedelta(days=int(rng.integers(300, 1200)))
        name = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}-{place}"
        department = str(rng.choice(["history", "physics", "law", "music"], p=[0.4, 0.3, 0.2, 0.1]))
        grades = [str(int(final[place]) + half), str(int(final[place]) - half), str(int(final[place]))]
        phone = f"05{rng.choice(list('0247'))}{int(phones[place]):07d}"
        rows.append([name, phone, department, begin.isoformat(), end.isoformat(), *grades, str(int(rng.integers(5, 60)))])
    return rows
