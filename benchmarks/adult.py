"""The Adult records of the boundaries paper as a recoding problem, and larger tables resampled from them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np

from sfumato.data.hierarchy import Hierarchy, encode
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.p_sensitivity import PSensitivity

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult"
QUASI = ("age", "workclass", "marital-status", "race", "sex", "native-country")
SENSITIVE = ("education-num", "education", "occupation")
WEIGHTS = {"education-num": 0.3, "education": 0.3, "occupation": 0.4}
BOUNDARY = {
    "age": ("0-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-100"),
    "native-country": (
        "North America", "Central America", "South America", "West Europe", "East Europe", "East Asia", "West Asia",
        "South (ambiguous, alone)",
    ),
}  # fmt: skip
TABLE_6 = {
    (4, 2): (11, 11), (4, 3): (17, 11), (4, 4): (38, 11),
    (8, 2): (42, 42), (8, 3): (42, 42), (8, 4): (52, 42), (8, 6): (127, 42), (8, 8): (358, 42),
    (10, 2): (51, 51), (10, 3): (51, 51), (10, 4): (61, 51), (10, 6): (136, 51), (10, 8): (358, 51), (10, 10): (463,
    51),
    (20, 2): (162, 162), (20, 3): (162, 162), (20, 4): (162, 162), (20, 6): (192, 162), (20, 8): (370, 162),
    (20, 10): (463, 162), (20, 13): (1593, 162),
}  # fmt: skip
"""(k, p) → records suppressed by GreedyCPKA and by GreedyCKA."""


def adult(*, bounded=True, folder=ADULT):
    """Domains, leaf codes and sensitive columns of the 45,222 complete Adult records."""
    with gzip.open(folder / "adult_45222.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    domains, codes = [], []
    for name in QUASI:
        hierarchy = _hierarchy(name, folder)
        domains.append(hierarchy.bounded(BOUNDARY[name]) if bounded and name in BOUNDARY else hierarchy)
        codes.append(
            _coded([row[name] for row in rows], lambda values, h=hierarchy, n=name: encode(h, values, column=n))
        )
    sensitive = []
    for name in SENSITIVE:
        labels = tuple(sorted({row[name] for row in rows}))
        sensitive.append(
            Sensitive(name, _coded([row[name] for row in rows], lambda v, x=labels: np.searchsorted(x, v)), labels)
        )
    return tuple(domains), tuple(codes), tuple(sensitive)


def _hierarchy(name, folder):
    text = (folder / "hierarchies_boundaries" / f"{name}.csv").read_text()
    delimiter = ";" if ";" in text else ","
    return Hierarchy.from_paths([row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row], name=name)


def _coded(column, encoder):
    values, inverse = np.unique(np.array(column), return_inverse=True)
    return np.asarray(encoder(values.tolist()), dtype=np.int32)[inverse]


def resampled(table, records, *, redrawn=0.1, seed=0):
    """A larger table like this one: rows drawn with replacement, then a share of all values redrawn from its column."""
    domains, codes, sensitive = table
    source = np.random.default_rng(seed)
    rows = source.integers(0, len(codes[0]), records)

    def column(original):
        fresh = original[source.integers(0, len(original), records)]
        return np.where(source.random(records) < redrawn, fresh, original[rows]).astype(np.int32)

    drawn = tuple(column(original) for original in codes)
    return domains, drawn, tuple(Sensitive(one.name, column(one.codes), one.labels) for one in sensitive)


def problem(table, k, p=None):
    """p-sensitive k-anonymity, or only k-anonymity without p."""
    domains, codes, sensitive = table
    claims = [Requirement(KAnonymity(k=k))]
    if p is not None:
        claims.append(Requirement(PSensitivity(p=p), SENSITIVE))
    return RecodingProblem(QUASI, domains, codes, sensitive, tuple(claims))


def ntil(problem, grouping):
    """Normalized total information loss [boundaries Def. 11]; suppressed records count fully."""
    size = np.bincount(grouping.group, weights=grouping.count, minlength=grouping.groups)
    heights = sum(
        domain.height(lo, hi) for domain, (lo, hi) in zip(problem.domains, problem.intervals(grouping), strict=True)
    )
    columns = len(problem.domains)
    return float((size @ heights + (problem.records - size.sum()) * columns) / (problem.records * columns))
