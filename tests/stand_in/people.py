"""A made-up census: people of a country that is none, with the columns that papers on anonymization use."""

from __future__ import annotations

import numpy as np

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex",
    "capital-gain", "capital-loss", "hours-per-week", "native-country", "income", "split",
)  # fmt: skip
SCHOOLS = {
    "none": 1, "four years": 2, "six years": 3, "eight years": 5, "nine years": 6, "ten years": 8, "school": 28,
    "trade": 14,
    "eleven years": 4, "evening school": 3, "some college": 12, "college": 14, "master": 6, "doctor": 2,
}  # fmt: skip
WORK = {"company": 70, "own shop": 8, "own firm": 4, "town": 7, "state": 5, "nation": 3, "family": 1}
TRADES = (
    "baker", "carpenter", "cleaner", "clerk", "driver", "engineer", "farmer", "guard", "manager", "mechanic", "nurse",
    "seller",
    "teacher", "cook",
)  # fmt: skip
PEOPLES = {"hill": 80, "coast": 11, "river": 5, "plain": 3, "island": 1}
COUNTRIES = {
    "Canada": ("North America", 880), "Mexico": ("Central America", 30), "Cuba": ("Central America", 9),
    "Haiti": ("Central America", 3), "Peru": ("South America", 6), "Chile": ("South America", 4),
    "France": ("West Europe", 9),
    "Ireland": ("West Europe", 6), "Poland": ("East Europe", 8), "Hungary": ("East Europe", 2), "China": ("East Asia",
    14),
    "Japan": ("East Asia", 6), "India": ("West Asia", 10), "Iran": ("West Asia", 3),
    "South": ("South (ambiguous, alone)", 5),
}  # fmt: skip
CONTINENTS = {
    "North America": "America", "Central America": "America", "South America": "America", "West Europe": "Europe",
    "East Europe": "Europe", "East Asia": "Asia", "West Asia": "Asia", "South (ambiguous, alone)": "Asia",
}  # fmt: skip
DECADES = {"0-19": [0, 19], **{f"{low}-{low + 9}": [low, low + 9] for low in range(20, 70, 10)}, "70-100": [70, 100]}
REGIONS = {country: region for country, (region, _) in COUNTRIES.items()}
UNIONS = {"single": "alone", "wed": "together", "wed apart": "alone", "parted": "alone", "widowed": "alone"}


def census(rows: int, seed: int) -> list[tuple[str, ...]]:
    """People whose schooling, trade, pay and family go together, as they do everywhere."""
    rng = np.random.default_rng(1_000 + seed)
    age = np.clip(np.rint(rng.gamma(6.0, 6.5, rows)), 17, 90).astype(int)
    school = _drawn(rng, rows, list(SCHOOLS.values()))
    sex = rng.random(rows) < 0.33
    trade = (school + rng.integers(0, 5, rows) + 3 * (sex & (rng.random(rows) < 0.5))) % len(TRADES)
    rich = rng.random(rows) < np.clip((school - 4) * 0.06 + (age - 25) * 0.004, 0.02, 0.8)
    wed = np.where(rng.random(rows) < np.clip((age - 18) / 40, 0, 0.75), 1, _drawn(rng, rows, [60, 5, 6, 20, 9]))
    columns = (
        age, _named(WORK, _drawn(rng, rows, list(WORK.values()))), rng.integers(12_000, 400_000, rows), _named(SCHOOLS,
        school),
        school + 1, _named(UNIONS, wed), np.array(TRADES)[trade], np.where(wed == 1, "spouse", "other"),
        _named(PEOPLES, _drawn(rng, rows, list(PEOPLES.values()))), np.where(sex, "woman", "man"),
        np.where(rng.random(rows) < 0.06, rng.integers(1, 99, rows) * 100, 0), np.where(rng.random(rows) < 0.04, 1_500,
        0),
        np.clip(np.rint(rng.normal(40, 10, rows)), 4, 99).astype(int),
        _named(COUNTRIES, _drawn(rng, rows, [count for _, count in COUNTRIES.values()])), np.where(rich, "above",
        "below"),
        np.where(rng.random(rows) < 0.66, "train", "test"),
    )  # fmt: skip
    return list(zip(*(column.astype(str).tolist() for column in columns), strict=True))


def _drawn(rng: np.random.Generator, rows: int, chances: list[int]) -> np.ndarray:
    return rng.choice(len(chances), rows, p=np.array(chances) / sum(chances))


def _named(words: dict[str, object], codes: np.ndarray) -> np.ndarray:
    return np.array(list(words))[codes]


def _flat(words: object, root: str) -> list[tuple[str, ...]]:
    return [(word, root) for word in words]  # type: ignore[attr-defined]


def _by(groups: dict[str, str], root: str) -> list[tuple[str, ...]]:
    return [(word, group, root) for word, group in groups.items()]


def _ages(widths: tuple[int, ...]) -> list[tuple[str, ...]]:
    labels = [[f"{age // width * width}-{age // width * width + width - 1}" for width in widths] for age in range(101)]
    return [(str(age), *label, "*") for age, label in enumerate(labels)]


_DECADE = {age: label for label, (low, high) in DECADES.items() for age in range(low, high + 1)}
_LEARNT = {
    school: "higher" if place > 10 else "middle" if place > 5 else "lower" for place, school in enumerate(SCHOOLS)
}
_EMPLOYED = {work: "public" if work in ("town", "state", "nation") else "private" for work in WORK}
_HANDS = {trade: "hands" if place % 2 else "desk" for place, trade in enumerate(TRADES)}

HIERARCHIES = {
    "hierarchies_arx": {
        f"adult_hierarchy_{name}.csv": paths
        for name, paths in {
            "age": _ages((5, 10, 20)), "education": _by(_LEARNT, "*"), "marital-status": _by(UNIONS, "*"),
            "native-country": _by(REGIONS, "*"), "occupation": _by(_HANDS, "*"), "race": _flat(PEOPLES, "*"),
            "salary-class": _flat(("above", "below"), "*"), "sex": _flat(("man", "woman"), "*"),
            "workclass": _by(_EMPLOYED, "*"),
        }.items()
    },
    "hierarchies_anjana": {"age.csv": _ages((4, 20)), "workclass.csv": _by(_EMPLOYED, "*"), "race.csv": _flat(PEOPLES,
    "*")},
    "hierarchies_boundaries": {
        "age.csv": [(str(age), _DECADE[age], "0-100") for age in range(101)],
        "native-country.csv": [(land, region, CONTINENTS[region], "World") for land, region in REGIONS.items()],
        "marital-status.csv": _by(UNIONS, "Any marital status"), "workclass.csv": _flat(WORK, "Any work class"),
        "race.csv": _flat(PEOPLES, "Any people"), "sex.csv": _flat(("man", "woman"), "Person"),
    },
    "hierarchies_gong": {"adult_workclass.txt": _by(_EMPLOYED, "*"), "adult_race.txt": _flat(PEOPLES, "*")},
}  # fmt: skip
"""By folder and file: one path from leaf to root for every value, in the formats that other tools write."""
