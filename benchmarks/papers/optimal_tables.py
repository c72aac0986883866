"""Age and gender of Adult and of the census, with the taxonomies of [obfuscation §6.2]: heights 4 and 2."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np

from sfumato.data.generalization import Generalization, Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TABLES = {
    "adult-32561": ("adult/adult_48842.csv.gz", "age", "sex", "occupation"),
    "adult-30162": ("adult/adult_30162.csv.gz", "age", "sex", "occupation"),
    "census-148318": ("census_income_kdd/occ_like_148318.csv.gz", "age", "gender", "occupation"),
}


def age_and_gender(
    table: str, *requirements: Requirement, records: int | None = None, ranges: bool = False
) -> RecodingProblem:
    """The first records of a table; age by years, 5 years, 20 years and any (or by any interval of years), gender or
    any."""
    path, *names = TABLES[table]
    with gzip.open(SHARED / path, "rt", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if table != "adult-32561" or row["split"] == "train"][:records]
    age = np.array([int(row[names[0]]) for row in rows])
    years = np.unique(age)
    domains: tuple[Generalization, ...] = (
        _ages(years, ranges=ranges),
        Hierarchy.flat(sorted({row[names[1]] for row in rows})),
    )
    gender = np.array([domains[1].code_of[row[names[1]]] for row in rows], dtype=np.int32)
    code = {int(year): domains[0].code_of[str(year)] for year in years}
    labels, job = np.unique([row[names[2]] for row in rows], return_inverse=True)
    hidden = Sensitive("occupation", job.astype(np.int32), tuple(map(str, labels)))
    codes = (np.array([code[int(year)] for year in age], dtype=np.int32), gender)
    return RecodingProblem(("age", "gender"), domains, codes, (hidden,), requirements)


def _ages(years: np.ndarray, *, ranges: bool) -> Generalization:
    if ranges:
        return Ranges(tuple(str(year) for year in years))
    paths = []
    for year in range(100):
        five, twenty = year // 5 * 5, year // 20 * 20
        paths.append((str(year), f"{five}-{five + 4}", f"{twenty}-{twenty + 19}", "*"))
    return Hierarchy.from_paths(paths)
