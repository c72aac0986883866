"""What several tests of databases need: the real ones, a comparison that knows no order, and a table of wide types."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from known_databases import FOLDER, NAMES, file_of

from sfumato.data.database import ColumnFacts, Database, Schema
from sfumato.io.sql import read_rows, read_schema

REAL = NAMES


def real(name: str, folder: Path) -> str:
    """The URL of one of the known databases."""
    return f"sqlite:///{file_of(name, folder, 'sqlite')}"


def chinook_script() -> str:
    """The PostgreSQL script of Chinook, without making and entering its database."""
    packed = FOLDER / "chinook_postgresql.sql.gz"
    if not packed.exists():
        pytest.skip("the script of Chinook is not beside this repository (../shared)")
    text = gzip.decompress(packed.read_bytes()).decode()
    return text[text.index("CREATE TABLE album") :]


def whole(url: str, **options: str) -> Database:
    return read_rows(url, read_schema(url, **options))


def spelt(column: ColumnFacts, value: str | None) -> object:
    """One spelling for numbers that dialects spell differently (10.0 and 10, 1.50 and 1.5), for truth, and for marked
    texts."""
    if value is None or value in ("NaN", "Infinity", "-Infinity"):
        return value
    if column.kind == "text":
        return value[2:] if value.startswith("\\t\\") else value
    if column.kind not in ("float", "decimal", "integer", "boolean"):
        return value
    if column.kind == "boolean":
        return {"true": "1", "false": "0"}.get(value, value)
    try:
        return float(value) if column.kind == "float" else _decimal(value)
    except ValueError:
        return value


def _decimal(value: str) -> object:
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(value).normalize()
    except InvalidOperation:
        raise ValueError from None


def bag(database: Database, table: str, like: Schema, exactly: bool) -> Counter[tuple[object, ...]]:
    columns = []
    for column in like.table(table).columns:
        values = database.tables[table].frame.column(column.name).to_pylist()
        one = {} if exactly else {value: spelt(column, value) for value in set(values)}
        columns.append(values if exactly else [one[value] for value in values])
    return Counter(zip(*columns, strict=True))


def assert_same_rows(one: Database, other: Database, *, exactly: bool) -> None:
    assert {table.name for table in one.schema.tables} == {table.name for table in other.schema.tables}
    for table in one.schema.tables:
        names = [column.name for column in table.columns]
        if one.tables[table.name].frame.select(names).equals(other.tables[table.name].frame.select(names)):
            continue  # in the same order and spelling
        assert bag(one, table.name, one.schema, exactly) == bag(other, table.name, one.schema, exactly), table.name


WIDE = r"""
CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
CREATE DOMAIN positive AS integer NOT NULL CHECK (VALUE > 0);
CREATE DOMAIN postcode AS varchar(5) DEFAULT '00000' CHECK (VALUE ~ '^\d+$');
CREATE TYPE pair AS (a integer, b mood);
CREATE TABLE wide (
  id serial PRIMARY KEY, token uuid UNIQUE, doc json, docb jsonb, numbers int[], texts text[], grid int[][],
  feeling mood DEFAULT 'sad',
  feelings mood[], price numeric(12,4), huge numeric, at timestamptz DEFAULT now(), local timestamp(3), hour time,
  zoned timetz, span interval,
  bytes bytea, flag boolean NOT NULL DEFAULT true, day date, few positive, code postcode, both_of pair, padded char(4),
  short varchar(10) COLLATE "C", twice int GENERATED ALWAYS AS (id * 2) STORED,
  counted bigint GENERATED ALWAYS AS IDENTITY (START 10),
  ratio float8, small real, address inet, card macaddr, reach int4range, bits bit(3), cash money,
  parent int REFERENCES wide(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  CHECK (price > 0 OR price IS NULL), CONSTRAINT brief CHECK (char_length(short) < 9));
CREATE UNIQUE INDEX ON wide (lower(short));
CREATE UNIQUE INDEX ON wide (day, hour) WHERE flag;
CREATE UNIQUE INDEX ON wide (local, hour);
CREATE INDEX ON wide USING gin (docb);
CREATE TABLE lone (alone text);
INSERT INTO lone VALUES (NULL), (''), ('\.'), (E'\\.\n\\.'), (E'a\r\nb'), (' '), ('"'), ('""'), (','), ('NULL'), (NULL),
  (E'\n'), ('naïve 🜚 ﷽'), ('\x41'), ('\tabc');
INSERT INTO wide (token, doc, docb, numbers, texts, grid, feeling, feelings, price, huge, at, local, hour, zoned, span,
  bytes, flag, day, few, code,
  both_of, padded, short, ratio, small, address, card, reach, bits, cash, parent) VALUES
 ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a":  1, "a": 2}', '{"b": "x\ny", "z": [1, null]}', '{1,NULL,3}',
 ARRAY['a,b', '"q"', NULL, '', E'l\nm', 'NULL'],
  '{{1,2},{3,4}}', 'it''s ok', '{sad,happy}', 12.5, 123456789012345678901234567890.123456789, '2020-03-29 01:30:00.123456+05:30',
  '2020-01-01 1:2:3.1234', '01:02:03.5', '01:02:03+02', '1 year 2 mons -3 days 04:05:06.7', '\x00ff5c78', false,
  '0044-03-15 BC', 3, '123',
  ROW(1, 'sad'), 'ab', '', 0.1, 1.1, '10.0.0.0/8', '08:00:2b:01:02:03', '[1,5)', '101', 1234.5, NULL),
 (NULL, 'null', 'null', '{}', '{}', NULL, NULL, '{}', NULL, 'NaN', 'infinity', '-infinity', NULL, NULL,
 '-00:00:00.000001', '\x', true, '9999-12-31',
  1, NULL, ROW(NULL, NULL), '', E'line\n"q"', 'NaN', '-Infinity', NULL, NULL, 'empty', NULL, NULL, 1),
 (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0.0001, 1e-30, NULL, NULL, NULL, NULL, NULL, NULL, true, NULL, 7, NULL,
 NULL, NULL, NULL,
  1e300, 1e-40, NULL, NULL, NULL, NULL, NULL, 3);
"""
