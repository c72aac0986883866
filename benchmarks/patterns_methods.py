"""Five numeric tables that were not used while the walk was built, four methods, equal linkage risk: what each is still
good for.

    PYTHONPATH=src python benchmarks/patterns_methods.py [--risk 0.05] [--only iris] [--method noise]

Linkage risk is the share of people whose row is found by whoever knows everybody's original numbers, the best of
looking by value and by rank (`audit.checks.linked_rows`). Every method has one setting; the weakest one at or below the
wanted risk is taken, so that all stand at equal risk. Utility:

    forest    accuracy of a random forest trained on the release, on original records that were held back (mean of three
              splits)
    clusters  agreement of k-means on the release with k-means on the original, record by record (adjusted Rand index)
    relation  mean absolute difference of the correlations between columns
    spread    mean ratio of standard deviations, release over original
    queries   mean relative error of 300 counts over random ranges of two columns

Methods: `walk runs` is the paper's (partitions are runs of records, values move in the whole domain, each column for
itself), `walk near` has partitions of k records near each other, values between the ends of their partition, and a
share of 0.3/k of all localities; `walk boxes` the same without localities; `noise` is normal noise, in proportion to
each spread; `swapping` exchanges values of a column whose ranks are close; `microaggregation` is MDAV with means."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import adjusted_rand_score

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.linear_properties import ReplacedColumn, RuleSheet
from sfumato.kinds.testdata.methods.polytope_walk import WalkEffort, walk
from sfumato.kinds.testdata.pattern_checks import mid_ranks, reidentified_share, scale_to_unit_range
from sfumato.policy.constraint_language import parse

RESULTS = Path(__file__).parent / "results"
LEVELS, STEPS = 2000, 10_000
HEADER = ["table", "method", "setting", "risk", "forest", "clusters", "relation", "spread", "queries"]


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Columns as whole numbers from 0 to 2000, and a label to learn."""
    iris, wine, cancer, sugar = (
        datasets.load_iris(),
        datasets.load_wine(),
        datasets.load_breast_cancer(),
        datasets.load_diabetes(),
    )
    digits = datasets.load_digits()
    bright = digits.data.reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4)).reshape(-1, 16)[:500, [1, 2, 5, 6, 9, 10, 13, 14]]
    raw = {
        "iris": (iris.data, iris.target),
        "wine": (wine.data[:, :8], wine.target),
        "breast cancer": (cancer.data[:400, :8], cancer.target[:400]),
        "diabetes": (sugar.data[:, [0, 2, 3, 4, 5, 6, 8, 9]], (sugar.target > np.median(sugar.target)).astype(int)),
        "digits": (bright, digits.target[:500]),
    }
    return {name: (leveled(data), label) for name, (data, label) in raw.items()}


def leveled(data: np.ndarray) -> np.ndarray:
    low, high = data.min(axis=0), data.max(axis=0)
    return np.rint((data - low) / (high - low) * LEVELS).astype(np.int64)


def walked(data: np.ndarray, words: str, *, narrow: bool, seed: int = 7) -> np.ndarray:
    names = [f"c{column}" for column in range(data.shape[1])]
    sheet = RuleSheet({n: ReplacedColumn(data[:, c], 0, LEVELS) for c, n in enumerate(names)}, len(data), narrow=narrow)
    polytope, variable, _ = sheet.polytope([parse(f"localities({', '.join(names)}) {words}")], Randomness(seed))
    place = walk(polytope, Randomness(seed), WalkEffort(STEPS)).place[polytope.variable_of]
    return np.column_stack([place[variable[name]] for name in names]).astype(float)


def noisy(data: np.ndarray, share: float, seed: int = 7) -> np.ndarray:
    return data + np.random.default_rng(seed).normal(size=data.shape) * data.std(axis=0) * share


def swapped(data: np.ndarray, window: float, seed: int = 7) -> np.ndarray:
    """Every column by itself: sorted values exchange places with one at most `window` of all ranks away."""
    rng, after = np.random.default_rng(seed), data.astype(float)
    reach = max(1, round(window * len(data)))
    for column in range(data.shape[1]):
        order, free = np.argsort(data[:, column], kind="stable"), np.ones(len(data), bool)
        for rank in range(len(data)):
            if free[rank]:
                near = np.flatnonzero(free[rank + 1 : rank + 1 + reach]) + rank + 1
                if near.size:
                    other = int(rng.choice(near))
                    after[order[rank], column], after[order[other], column] = (
                        data[order[other], column],
                        data[order[rank], column],
                    )
                    free[other] = False
                free[rank] = False
    return after


def aggregated(data: np.ndarray, fewest: int) -> np.ndarray:
    """MDAV: the record farthest from the mean takes its nearest ones, and the one farthest from it does, too."""
    points, left, after = data / data.std(axis=0), np.arange(len(data)), data.astype(float)

    def take(centre: np.ndarray) -> None:
        nonlocal left
        near = np.argsort(((points[left] - centre) ** 2).sum(axis=1), kind="stable")[:fewest]
        after[left[near]] = data[left[near]].mean(axis=0)
        left = np.delete(left, near)

    while len(left) >= 2 * fewest:
        far = points[left[((points[left] - points[left].mean(axis=0)) ** 2).sum(axis=1).argmax()]]
        take(far)
        if len(left) >= 2 * fewest:
            take(points[left[((points[left] - far) ** 2).sum(axis=1).argmax()]])
    if len(left):
        after[left] = data[left].mean(axis=0)
    return after


WAYS = {
    "walk runs": (
        (0.3, 0.1, 0.03, 0.01),
        lambda data, share: walked(data, f"sample {share} partition 20", narrow=False),
    ),
    "walk near": (
        (5, 8, 12, 20, 30, 45, 70),
        lambda data, size: walked(data, f"sample {0.3 / size:.4f} partition near {size}", narrow=True),
    ),
    "walk boxes": (
        (5, 8, 10, 12, 14, 16, 20, 30, 45),
        lambda data, size: walked(data, f"sample 0 partition near {size}", narrow=True),
    ),
    "noise": ((0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2), noisy),
    "swapping": ((0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45), swapped),
    "microaggregation": ((2, 3, 5, 8, 10, 12, 14, 16, 18, 20, 30), aggregated),
}


def risk(before: np.ndarray, after: np.ndarray) -> float:
    before = before.astype(float)
    return max(
        reidentified_share(*scale_to_unit_range(before, after)),
        reidentified_share(mid_ranks(before, before), mid_ranks(after, after)),
    )


def utility(before: np.ndarray, after: np.ndarray, label: np.ndarray) -> list[float]:
    old = np.nan_to_num(np.corrcoef(before.T))
    new = np.nan_to_num(np.corrcoef(after.T))
    relation = float(np.abs(old - new)[np.triu_indices(len(old), 1)].mean())
    spread = float((after.std(axis=0) / before.std(axis=0)).mean())
    return [_forest(before, after, label), _clusters(before, after, label), relation, spread, _queries(before, after)]


def _forest(before: np.ndarray, after: np.ndarray, label: np.ndarray) -> float:
    found = []
    for seed in range(3):
        chosen = np.random.default_rng(seed).random(len(label)) < 0.7
        forest = RandomForestClassifier(60, random_state=seed).fit(after[chosen], label[chosen])
        found.append(forest.score(before[~chosen], label[~chosen]))
    return float(np.mean(found))


def _clusters(before: np.ndarray, after: np.ndarray, label: np.ndarray) -> float:
    scale, count = before.std(axis=0), len(np.unique(label))
    both = [KMeans(max(3, count), n_init=5, random_state=1).fit_predict(table / scale) for table in (before, after)]
    return float(adjusted_rand_score(*both))


def _queries(before: np.ndarray, after: np.ndarray) -> float:
    rng, errors = np.random.default_rng(1), []
    while len(errors) < 300:
        columns = rng.choice(before.shape[1], 2, replace=False)
        low, high = np.sort(rng.choice(before[:, columns[0]], 2)), np.sort(rng.choice(before[:, columns[1]], 2))
        true, told = (_count(table, columns, low, high) for table in (before, after))
        if true >= 5:
            errors.append(abs(told - true) / true)
    return float(np.mean(errors))


def _count(table: np.ndarray, columns: np.ndarray, first: np.ndarray, second: np.ndarray) -> int:
    one, two = table[:, columns[0]], table[:, columns[1]]
    return int(((one >= first[0]) & (one <= first[1]) & (two >= second[0]) & (two <= second[1])).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--risk", type=float, default=0.05)
    parser.add_argument("--only", default="", help="one table; the others keep their lines")
    parser.add_argument("--method", default="", help="one method; the others keep their lines")
    asked, path = parser.parse_args(), RESULTS / "patterns-methods.csv"
    kept = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))[1:] if path.exists() else []
    for name, (data, label) in tables().items():
        if asked.only not in ("", name):
            continue
        ways = [way for way in ("original", *WAYS) if asked.method in ("", way)]
        rows = [_at_risk(name, way, data, label, asked.risk) for way in ways]
        made = [[f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
        kept = [line for line in kept if line[0] != name or line[1] not in ways] + made
        print(*("  ".join(line) for line in made), sep="\n", flush=True)
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *kept])


def _at_risk(name: str, way: str, data: np.ndarray, label: np.ndarray, wanted: float) -> list[object]:
    """The weakest setting at the wanted risk, or the strongest there is."""
    settings, make = WAYS.get(way, ((1,), lambda numbers, _: numbers.astype(float)))
    for setting in settings:
        after = make(data, setting)
        found = risk(data, after)
        if found <= wanted or setting == settings[-1]:
            return [name, way, setting, found, *utility(data.astype(float), after, label)]
    raise AssertionError


if __name__ == "__main__":
    main()
