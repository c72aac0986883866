"""Five numeric tables that nobody had looked at, four methods, equal linkage risk, one grid, several draws.

    pip install --no-deps --target FOLDER palmerpenguins==0.1.6 vega_datasets==0.9.0 lifelines==0.30.3
    statsmodels==0.15.0 PYTHONPATH=src python benchmarks/patterns_confirmed.py FOLDER [table …]      # what the results
    have is not made again

The tables were chosen before anything was run on them, with the settings that `docs/how-to/patterns.md` recommended
before: `walk boxes` (partitions of near records, values between the ends of their partition, no localities), beside the
paper's own way (`walk runs`), normal noise, rank swapping and microaggregation. Measures and outsider are those of
`patterns_methods.py`.

Every method has one setting, on a grid of the same steps (about a seventh each, whole numbers for sizes); taken is the
weakest one at which the outsider finds at most 5 % of the rows, on average over the draws. Figures are means over the
draws; `sd` are the standard deviations between draws (microaggregation draws nothing)."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from patterns_methods import RESULTS, aggregated, leveled, noisy, risk, swapped, utility, walked

DATA = Path(__file__).parents[2] / "shared" / "data"
MEASURES = ("forest", "clusters", "relation", "spread", "queries")
HEADER = ["table", "rows", "columns", "method", "setting", "risk", *MEASURES, *(f"{name}_sd" for name in MEASURES)]
WANTED, DRAWS = 0.05, (11, 12, 13)
SIZES = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 21, 24, 28, 32, 37, 42, 48, 55, 63, 72, 83, 95]
Numbers = tuple[np.ndarray, np.ndarray]
Way = Callable[[np.ndarray, float, int], np.ndarray]
WAYS: dict[str, tuple[list[float], Way]] = {
    "walk boxes": ([float(k) for k in SIZES], lambda data, k, seed: _boxes(data, int(k), seed)),
    "walk runs": ([0.3 / 1.15**n for n in range(25)], lambda data, share, seed: _runs(data, share, seed)),
    "noise": ([0.1 * 1.15**n for n in range(25)], noisy),
    "swapping": ([0.02 * 1.15**n for n in range(25)], swapped),
    "microaggregation": ([float(k) for k in SIZES], lambda data, k, seed: aggregated(data, int(k))),
}


def _boxes(data: np.ndarray, size: int, seed: int) -> np.ndarray:
    return walked(data, f"sample 0 partition near {size}", narrow=True, seed=seed)


def _runs(data: np.ndarray, share: float, seed: int) -> np.ndarray:
    return walked(data, f"sample {share:.4f} partition 20", narrow=False, seed=seed)


def tables(folder: Path) -> dict[str, Callable[[], Numbers]]:
    """By name, what reads the columns and the label to learn; rows with a missing cell are left out."""
    measured = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
    engine = ("Miles_per_Gallon", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration")
    asked = ("rate_marriage", "age", "yrs_married", "children", "religious", "educ", "occupation", "occupation_husb")
    clinic = ("age", "tsize", "pnodes", "progrec", "estrec", "time")
    stays = ("time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications", "number_diagnoses")
    stays = (*stays, "number_inpatient", "number_outpatient", "number_emergency")
    return {
        "penguins": lambda: _columns(_csv(folder / "palmerpenguins/data/penguins.csv"), measured, "species"),
        "cars": lambda: _columns(json.loads((folder / "vega_datasets/_data/cars.json").read_text()), engine, "Origin"),
        "tumours": lambda: _columns(_csv(folder / "lifelines/datasets/gbsg2.csv"), clinic, "cens"),
        "marriages": lambda: _columns(_affairs(folder), asked, "any"),
        "hospital stays": lambda: _columns(_stays(), stays, "readmitted"),
    }


def _csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _affairs(folder: Path) -> list[dict[str, str]]:
    """Every twelfth woman of the survey, which is sorted by the answer."""
    rows = _csv(folder / "statsmodels/datasets/fair/fair.csv")[::12]
    return [row | {"any": str(float(row["affairs"]) > 0)} for row in rows]


def _stays() -> list[dict[str, str]]:
    """The first stay of each of the first 500 patients."""
    first: dict[str, dict[str, str]] = {}
    with gzip.open(DATA / "diabetes_130_hospitals" / "diabetic_data_101766.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            if len(first) == 500:
                break
            first.setdefault(row["patient_nbr"], row | {"readmitted": str(row["readmitted"] != "NO")})
    return list(first.values())


def _columns(rows: list[dict[str, str]], names: tuple[str, ...], label: str) -> Numbers:
    whole = [row for row in rows if all(row[name] not in (None, "", "NA", "?") for name in names)]
    data = np.array([[float(row[name]) for name in names] for row in whole])
    return leveled(data), np.unique([row[label] for row in whole], return_inverse=True)[1]


def weakest(data: np.ndarray, grid: list[float], way: Way) -> tuple[float, float, list[np.ndarray]]:
    """The first setting of the grid at the wanted risk, by halving; its risk, and what its draws made."""
    low, high, best = 0, len(grid) - 1, None
    while low <= high:
        middle = (low + high) // 2
        made = [way(data, grid[middle], seed) for seed in DRAWS]
        found = float(np.mean([risk(data, one) for one in made]))
        if found <= WANTED or middle == len(grid) - 1:
            best, high = (grid[middle], found, made), middle - 1
        else:
            low = middle + 1
    assert best is not None
    return best


def main(folder: Path, asked: list[str]) -> None:
    path = RESULTS / "patterns-confirmed.csv"
    kept = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))[1:] if path.exists() else []
    for name, read in tables(folder).items():
        if asked and name not in asked:
            continue
        data, label = read()
        for way in ("original", *WAYS):
            if any(line[0] == name and line[3] == way for line in kept):
                continue
            setting, found, made = weakest(data, *WAYS[way]) if way in WAYS else (0.0, 1.0, [data.astype(float)])
            figures = np.array([utility(data.astype(float), one, label) for one in made])
            line = [name, *data.shape, way, setting, found, *figures.mean(axis=0), *figures.std(axis=0)]
            kept.append([f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in line])
            print(*kept[-1], sep="  ", flush=True)
            with path.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([HEADER, *kept])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
