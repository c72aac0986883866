"""Tables for the experiments of [versatile §6]: Adult in its seven attributes, the diabetes encounters, Texas-like
discharges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
SCHOOL = {
    "Preschool": 0, "1st-4th": 1, "5th-6th": 1, "7th-8th": 1, "9th": 2, "10th": 2, "11th": 2, "12th": 2, "HS-grad": 2,
    "Some-college": 3, "Assoc-voc": 4, "Assoc-acdm": 4, "Bachelors": 5, "Prof-school": 6, "Masters": 6, "Doctorate": 6,
}  # fmt: skip
WHITE = {"Prof-specialty", "Exec-managerial", "Adm-clerical", "Tech-support"}
OTHER = {"Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces", "Farming-fishing"}
DIABETES = [
    "race", "gender", "age", "admission_type_id", "discharge_disposition_id", "admission_source_id", "time_in_hospital",
    "payer_code", "medical_specialty", "num_lab_procedures", "num_procedures", "num_medications", "diag_1", "diag_2",
    "diag_3",
    "number_diagnoses", "A1Cresult", "readmitted",
]  # fmt: skip
TEXAS = {
    "thcic": 323, "gender": 2, "pat_zip": 1581, "county": 241, "pat_age": 22, "race": 5, "ad_diag": 3391,
    "prn_diag": 3488,
    "diag1": 3881, "diag2": 4193, "diag3": 4251, "p_icd9": 1708, "hcfa_mdc": 24, "hcfa_drg": 396, "apr_drg": 297,
    "rsk_mor": 6,
    "and_md": 15000, "surgeon": 17432,
}  # fmt: skip


def _codes(column: pl.Series) -> np.ndarray:
    return column.cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1


def adult(rows: int = 10_000, seed: int = 1) -> dict[str, np.ndarray]:
    """Seven attributes with domains 6, 2, 7, 7, 3, 2, 2 [versatile Table 5(a)], sampled without replacement."""
    frame = pl.read_csv(SHARED / "adult" / "adult_45222.csv.gz")
    chosen = np.random.default_rng(seed).choice(len(frame), size=min(rows, len(frame)), replace=False)
    frame = frame[np.sort(chosen)]
    job = [0 if one in WHITE else 2 if one in OTHER else 1 for one in frame["occupation"]]
    return {
        "age": np.clip((frame["age"].to_numpy() - 15) // 10, 0, 5).astype(np.int64),
        "country": (frame["native-country"] != "United-States").to_numpy().astype(np.int64),
        "education": np.array([SCHOOL[one] for one in frame["education"]]),
        "marital_status": _codes(frame["marital-status"]),
        "occupation": np.array(job),
        "income": _codes(frame["income"]),
        "sex": _codes(frame["sex"]),
    }


def diabetes() -> dict[str, np.ndarray]:
    """101,766 hospital encounters, 18 attributes."""
    frame = pl.read_csv(SHARED / "diabetes_130_hospitals" / "diabetic_data_101766.csv.gz", infer_schema_length=0)
    return {name: _codes(frame[name]) for name in DIABETES}


def _zipf(rng: np.random.Generator, size: int, rows: int, flat: float) -> np.ndarray:
    weight = 1.0 / (np.arange(size) + flat)
    return rng.choice(size, size=rows, p=weight / weight.sum())


def _near(rng: np.random.Generator, cause: np.ndarray, size: int, noise: float, spread: int) -> np.ndarray:
    """Values that follow a cause most of the time and wander a little."""
    scaled = (cause * 2654435761 % 4294967291) % size
    wander = scaled + rng.integers(0, spread, len(cause))
    return np.where(rng.random(len(cause)) < noise, rng.integers(0, size, len(cause)), wander % size)


def texas(rows: int = 177_148, seed: int = 7) -> dict[str, np.ndarray]:
    """Made-up discharges with the attribute domains of [versatile Table 5(b)]: places, diagnoses and doctors hang
    together."""
    rng = np.random.default_rng(seed)
    zips = _zipf(rng, TEXAS["pat_zip"], rows, 8)
    hospital = _near(rng, zips // 12, TEXAS["thcic"], 0.1, 4)
    main = _zipf(rng, TEXAS["prn_diag"], rows, 5)
    age = np.clip(rng.normal(13, 5, rows), 0, 21).astype(np.int64)
    table = {
        "thcic": hospital,
        "gender": rng.integers(0, 2, rows),
        "pat_zip": zips,
        "county": zips * 241 // 1581,
        "pat_age": age,
        "race": np.minimum(rng.geometric(0.5, rows) - 1, 4),
        "ad_diag": _near(rng, main, TEXAS["ad_diag"], 0.15, 3),
        "prn_diag": main,
        "diag1": _near(rng, main, TEXAS["diag1"], 0.3, 20),
        "diag2": _near(rng, main, TEXAS["diag2"], 0.4, 40),
        "diag3": _near(rng, age * 37, TEXAS["diag3"], 0.5, 60),
        "p_icd9": _near(rng, main // 2, TEXAS["p_icd9"], 0.2, 5),
        "hcfa_mdc": main % TEXAS["hcfa_mdc"],
        "hcfa_drg": main * TEXAS["hcfa_drg"] // TEXAS["prn_diag"],
        "apr_drg": _near(rng, main // 12, TEXAS["apr_drg"], 0.05, 2),
        "rsk_mor": np.clip(rng.normal(age / 5, 1.2, rows), 0, 5).astype(np.int64),
        "and_md": _near(rng, hospital * 7, TEXAS["and_md"], 0.05, 46),
        "surgeon": _near(rng, hospital * 11 + main % 3, TEXAS["surgeon"], 0.05, 40),
    }
    return {name: codes.astype(np.int64) for name, codes in table.items()}
