"""One call from a frame to an anonymous frame: roles, order of columns, types, intervals."""

from __future__ import annotations

import warnings

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.errors import DataError

PEOPLE = pd.DataFrame(
    {
        "age": [20 + i % 40 for i in range(200)],
        "town": pd.Categorical([("Bari", "Pisa")[i % 2] for i in range(200)]),
        "illness": pd.Categorical([("flu", "gout", "cold")[i % 3] for i in range(200)]),
        "visits": pd.array([i % 4 for i in range(200)], dtype="Int64"),
        "name": [f"person {i}" for i in range(200)],
    },
    index=range(1000, 1200),
)


def test_columns_keep_order_and_types_and_rows_get_a_new_index() -> None:
    safe = sf.anonymize(
        PEOPLE, k=5, quasi_identifiers=["age", "town"], sensitive={"illness": 2}, keep=["visits"], identifiers=["name"]
    )
    assert list(safe.columns) == ["age", "town", "illness", "visits"]
    assert safe["illness"].dtype == PEOPLE["illness"].dtype and safe["visits"].dtype == PEOPLE["visits"].dtype
    assert isinstance(safe["town"].dtype, pd.CategoricalDtype)
    assert list(safe.index) == list(range(len(safe)))
    assert sf.check(safe, ["age", "town"], sensitive=["illness"], k=5, l=2).holds


def test_a_column_without_a_role_is_left_out_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="left out, because they have no role: visits, name"):
        safe = sf.anonymize(PEOPLE, quasi_identifiers=["age", "town"], sensitive=["illness"])
    assert list(safe.columns) == ["age", "town", "illness"]


def test_intervals_hold_the_numbers_they_stand_for() -> None:
    asked = {"quasi_identifiers": ["age"], "identifiers": ["name", "town", "illness", "visits"]}
    safe = sf.anonymize(PEOPLE, k=30, intervals="interval", hierarchies={"age": sf.intervals(5, 10, 20)}, **asked)
    assert isinstance(safe["age"].dtype, pd.IntervalDtype)
    assert all(any(age in interval for age in PEOPLE["age"]) for interval in safe["age"].dropna())


def test_levels_of_sensitive_columns() -> None:
    people = PEOPLE[["age", "illness"]]
    safe = sf.anonymize(people, quasi_identifiers=["age"], sensitive={"illness": {"l": 2, "t": 0.3}})
    assert sf.check(safe, ["age"], sensitive=["illness"], k=5, l=2, t=0.3).holds
    with pytest.raises(DataError, match="'m' is no level of 'illness'"):
        sf.anonymize(people, quasi_identifiers=["age"], sensitive={"illness": {"m": 2}})
    with pytest.raises(DataError, match="did you mean 'age'"):
        sf.anonymize(people, quasi_identifiers=["aeg"])


def test_no_resource_is_left_open_and_polars_stays_polars() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        safe = sf.anonymize(
            pl.from_pandas(PEOPLE[["age", "illness"]]), quasi_identifiers=["age"], sensitive=["illness"]
        )
    assert isinstance(safe, pl.DataFrame) and safe.columns == ["age", "illness"]


def test_a_draft_shows_roles_and_reads_back() -> None:
    found = sf.discover(PEOPLE)
    assert found.roles["name"] == "identifier" and found.roles["illness"] == "sensitive"
    assert sf.Policy.parse(dict(found.policy)).accept_roles().quasi_identifiers
    assert "illness" in found._repr_html_() and found.text.startswith("# Contains values of your data")
