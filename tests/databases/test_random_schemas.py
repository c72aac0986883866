"""Random schemas of PostgreSQL: what `discover` writes passes the strict check and publishes, whatever types and keys
there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from postgres_server import Server, session
from small_shop import sfumato

from tests.slow import SLOW

VALUES = {
    "text": "'t' || n % 9",
    "varchar(12)": "'v' || n",
    "char(6)": "lpad(n::text, 6, '0')",
    "integer": "n * 3 % 50",
    "bigint": "n * 4000000001",
    "smallint": "(n % 90)::smallint",
    "numeric(8,2)": "n / 7.0",
    "double precision": "n / 3.0",
    "boolean": "n % 2 = 0",
    "date": "date '2000-01-01' + n::int",
    "timestamp": "timestamp '2000-01-01' + n * interval '1 hour'",
    "timestamptz": "timestamptz '2000-01-01 00:00+00' + n * interval '1 minute'",
    "uuid": "md5(n::text)::uuid",
    "jsonb": "jsonb_build_object('email', 'u' || n || '@x.test')",
    "text[]": "ARRAY['a', 'b' || n]",
    "inet": "('10.0.0.' || n % 200)::inet",
    "bytea": "decode(md5(n::text), 'hex')",
    "tsvector": "to_tsvector('simple', 'word' || n)",
    "time": "time '08:00' + n * interval '1 minute'",
    "interval": "n * interval '1 day'",
    "point": "point(n, n)",
    "daterange": "daterange(date '2000-01-01', date '2000-01-02' + n::int)",
    "macaddr": "('08:00:2b:01:02:' || lpad(to_hex(n % 256), 2, '0'))::macaddr",
}
NAMES = (
    "email",
    "first_name",
    "phone",
    "password",
    "birth_date",
    "ip_address",
    "notes",
    "zip",
    "latitude",
    "card_number",
    "username",
    "amount",
    "state",
)
TABLES = ("users", "orders", "schools")

columns = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(sorted(VALUES)), st.booleans(), st.booleans()),
    min_size=1,
    max_size=6,
    unique_by=lambda c: c[0],
)


_NUMBERS = [
    ("email", "bigint", False, False),
    ("first_name", "bigint", False, False),
    ("phone", "numeric(8,2)", True, False),
]
EACH_OTHER = {"users": [("email", "bigint", False, False)], "orders": _NUMBERS, "schools": _NUMBERS}
"""Two tables refer to each other, and each has the totals of the other."""
A_TEXT_FOR_A_NUMBER = {"users": [("zip", "integer", True, True), ("username", "integer", False, False)]}
"""A rule ties new values, which are texts of a pattern, to kept ones that do not fit it."""
_CODES = [("amount", "smallint", True, True), ("state", "bigint", False, False), ("zip", "integer", True, True)]
_PERSON = [
    ("birth_date", "char(6)", False, False),
    ("card_number", "integer", False, False),
    ("first_name", "bigint", True, True),
]
A_TOTAL_OF_TEXTS = {"orders": _PERSON, "users": _CODES, "schools": _CODES}
"""A new column, whose values are texts, is the total of another one."""
_FEW = [("first_name", "numeric(8,2)", False, False), ("birth_date", "time", False, True)]
ALL_ALIKE = {"schools": _FEW, "users": _FEW, "orders": _FEW}
"""Totals along references of which all but one are switched off."""

A_COPY_OF_DIGITS = {"schools": [("amount", "text", False, False), ("card_number", "text", False, True)]}
"""A text is computed from another one, all of whose new values look like numbers."""


def script(tables: dict[str, list[tuple[str, str, bool, bool]]]) -> str:
    """Tables that refer to the first one, each column of any type, required or unique or both."""
    found, first = [], ""
    for name, own in tables.items():
        parts = ["id serial PRIMARY KEY", *([f"{first}_id integer REFERENCES {first}"] if first else [])]
        for column, kind, required, unique in own:
            single = unique and kind in ("varchar(12)", "char(6)", "bigint", "uuid", "date", "timestamp")
            parts.append(f"{column} {kind}{' NOT NULL' if required else ''}{' UNIQUE' if single else ''}")
        found.append(f"CREATE TABLE {name} ({', '.join(parts)})")
        listed = ", ".join([*([f"{first}_id"] if first else []), *(column for column, *_ in own)])
        values = ", ".join([*(["n % 30 + 1"] if first else []), *(VALUES[kind] for _, kind, *_ in own)])
        found.append(f"INSERT INTO {name} ({listed}) SELECT {values} FROM generate_series(1, 40) n")
        first = first or name
    return "; ".join(found)


@settings(
    max_examples=6 if SLOW else 3,
    deadline=None,
    phases=[
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ],  # every example takes seconds: a failure is shown as it was drawn
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(chosen=st.fixed_dictionaries(dict.fromkeys(TABLES, columns)))
@example(chosen=EACH_OTHER)
@example(chosen=A_TEXT_FOR_A_NUMBER)
@example(chosen=A_TOTAL_OF_TEXTS)
@example(chosen=ALL_ALIKE)
@example(chosen=A_COPY_OF_DIGITS)
def test_what_is_proposed_can_be_published(
    chosen, tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = postgres.database(), postgres.database()
    with session(source) as connection:
        connection.execute(script(chosen))
    monkeypatch.setenv("SFUMATO_SOURCE", source)
    monkeypatch.setenv("SFUMATO_TARGET", target)
    found = sfumato("discover", source, "--target", target)
    assert found.returncode == 0, found.stderr
    folder = tmp_path / source.rpartition("/")[2]
    folder.mkdir()
    (folder / "found.yaml").write_text(found.stdout)
    checked = sfumato("check", str(folder / "found.yaml"), "--strict", "--accept-roles")
    if "columns: {}" in found.stdout:
        return
    if (
        ": {role: review}" in found.stdout
    ):  # nothing fits a personal column, so nothing is proposed: only a person can decide
        assert checked.returncode == 2 and "no role is proposed" in checked.stderr
        return
    assert checked.returncode == 0, found.stdout + checked.stdout + checked.stderr
    done = sfumato(
        "publish", str(folder / "found.yaml"), "--out", str(folder / "release"), "--no-report", "--accept-roles"
    )
    assert done.returncode == 0, found.stdout + done.stderr
    postgres.drop_all()
