"""Tables for the recoding benchmarks: Adult under the field's hierarchies, and census-like records of any number."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.data.generalization import Generalization, Ranges
from sfumato.data.hierarchy import Hierarchy, encode
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive
from sfumato.models.k_anonymity import KAnonymity

SHARED = Path(__file__).resolve().parents[2] / "shared"
ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "income")
CENSUS = {"age": 0, "gender": 2, "education": 4, "marital": 3, "race": 5, "work_class": 3, "country": 7}
DIABETES = {"race": 6, "gender": 3, "age": 2, "admission_type_id": 3, "discharge_disposition_id": 5}
DIABETES |= {"time_in_hospital": 0, "num_medications": 0, "medical_specialty": 9}
"""How many values of the alphabet a run has; 0 stands for ranges."""


def adult(
    *requirements: Requirement, columns: tuple[str, ...] = ADULT, sensitive: tuple[str, ...] = ("occupation",)
) -> RecodingProblem:
    """30,162 records, eight quasi-identifiers, the hierarchies of the policy `adult-arx`; 5-anonymity unless said
    otherwise."""
    rows = columns_of("adult/adult_30162")
    domains = [_hierarchy(name) for name in columns]
    codes = [_codes(domain, rows[name], name) for name, domain in zip(columns, domains, strict=True)]
    hidden = tuple(_sensitive(name, rows[name]) for name in sensitive)
    return RecodingProblem(
        columns, tuple(domains), tuple(codes), hidden, requirements or (Requirement(KAnonymity(k=5)),)
    )


def census_like(records: int, *requirements: Requirement, seed: int = 1) -> RecodingProblem:
    """Made-up people: skewed, correlated columns with hierarchies, one range, one sensitive column."""
    draw = np.random.default_rng(seed)
    age = np.clip(draw.gamma(4.0, 10.0, records), 0, 99).astype(np.int32)
    place = (draw.zipf(1.3, records) % 512).astype(np.int32)
    work = ((age // 7 + draw.geometric(0.25, records)) % 64).astype(np.int32)
    school = np.clip(draw.normal(8 + work / 12, 3, records), 0, 15).astype(np.int32)
    origin = (draw.zipf(2.0, records) % 128).astype(np.int32)
    sex = draw.integers(0, 2, records).astype(np.int32)
    state = np.where(age < 20, 0, draw.integers(0, 6, records)).astype(np.int32)
    hours = np.where(draw.random(records) < 0.5, 40, np.clip(draw.normal(38, 12, records), 0, 98)).astype(np.int32)
    widths = {"age": (100, 5), "place": (512, 8), "work": (64, 4), "school": (16, 4)}
    widths |= {"origin": (128, 8), "sex": (2, 2), "state": (6, 3)}
    domains: list[Generalization] = [_stairs(size, step) for size, step in widths.values()]
    codes = (age, place, work, school, origin, sex, state, hours)
    hidden = Sensitive("illness", ((draw.zipf(1.4, records) + age) % 40).astype(np.int32), tuple(map(str, range(40))))
    names = (*widths, "hours")
    whole = (*domains, Ranges(tuple(map(str, range(99)))))
    return RecodingProblem(names, whole, codes, (hidden,), requirements or (Requirement(KAnonymity(k=5)),))


def census(*requirements: Requirement) -> RecodingProblem:
    """148,318 working people of a census, seven quasi-identifiers; ages as ranges, other values in runs of their
    alphabet."""
    return _real("census_income_kdd/occ_like_148318", CENSUS, "occupation_group", requirements)


def diabetes(*requirements: Requirement) -> RecodingProblem:
    """101,766 stays in hospitals, eight quasi-identifiers; numbers as ranges, other values in runs of their
    alphabet."""
    return _real("diabetes_130_hospitals/diabetic_data_101766", DIABETES, "insulin", requirements)


def _real(file: str, steps: dict[str, int], hidden: str, requirements: tuple[Requirement, ...]) -> RecodingProblem:
    """A table of `shared`; a column with step 0 is a range, any other a hierarchy of runs of so many values."""
    rows = columns_of(file)
    domains: list[Generalization] = []
    for name, step in steps.items():
        values = sorted(set(rows[name]))
        domains.append(_stairs(len(values), step, values) if step else Ranges.of(values, column=name))
    codes = [_codes(domain, rows[name], name) for name, domain in zip(steps, domains, strict=True)]
    secret = (_sensitive(hidden, rows[hidden]),)
    return RecodingProblem(
        tuple(steps), tuple(domains), tuple(codes), secret, requirements or (Requirement(KAnonymity(k=5)),)
    )


def _stairs(size: int, step: int, names: Sequence[str] = ()) -> Hierarchy:
    """Leaves in runs of `step`, those in runs of `step` again, up to one root."""
    return Hierarchy.from_paths(runs(names or tuple(map(str, range(size))), step, "run " if names else ""))


def runs(names: Sequence[str], step: int, word: str = "run ") -> list[list[str]]:
    """For every name, in the order given, its runs of `step`, `step`² … and the root."""
    paths = []
    for leaf, name in enumerate(names):
        path, width = [name], step
        while width < len(names):
            path.append(f"{word}{leaf // width * width}+{width}")
            width *= step
        paths.append([*path, "*"])
    return paths


def columns_of(file: str) -> dict[str, list[str]]:
    """The columns of a table of `shared`."""
    with gzip.open(SHARED / f"data/{file}.csv.gz", "rt", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    return {name: list(values) for name, values in zip(rows[0], zip(*rows[1:], strict=True), strict=True)}


def adult_paths(name: str) -> list[list[str]]:
    """The field's hierarchy of a column of Adult, leaf first."""
    stem = "salary-class" if name == "income" else name
    path = SHARED / f"data/adult/hierarchies_arx/adult_hierarchy_{stem}.csv"
    with path.open(encoding="utf-8") as stream:
        return list(csv.reader(stream, delimiter=";"))


def _hierarchy(name: str) -> Hierarchy:
    return Hierarchy.from_paths(adult_paths(name), name=name)


def _codes(domain: Generalization, values: list[str], name: str) -> np.ndarray:
    distinct, inverse = np.unique(np.array(values), return_inverse=True)
    return encode(domain, [str(value) for value in distinct], column=name)[inverse]


def _sensitive(name: str, values: list[str]) -> Sensitive:
    labels, codes = np.unique(np.array(values), return_inverse=True)
    return Sensitive(name, codes.astype(np.int32), tuple(map(str, labels)))
