"""Wide types of PostgreSQL go through the whole flow: replaced where the policy says so, untouched everywhere else."""

from __future__ import annotations

from pathlib import Path

from postgres_server import Server
from shops import asked, session
from small_shop import write_policy

import sfumato as sf
from sfumato.workflow.database_load import load_release
from tests.secret import secret

TABLES = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE person (
  id uuid PRIMARY KEY, mood mood, paid numeric(12,4) CHECK (paid >= 0), seen timestamptz NOT NULL,
    active boolean NOT NULL,
  tags text[], facts jsonb, picture bytea, wakes time, note text DEFAULT '', age smallint);
CREATE TABLE visit (person uuid NOT NULL REFERENCES person, at timestamptz NOT NULL, PRIMARY KEY (person, at));
INSERT INTO person
  SELECT gen_random_uuid(), (ARRAY['sad','ok','happy'])[1 + n % 3]::mood, n * 1.25,
         '2020-01-01 10:00:00+02'::timestamptz + n * interval '1 hour',
         n % 2 = 0, ARRAY['a,b', NULL, '"q"', n::text], jsonb_build_object('n', n, 'x', NULL, 'deep', ARRAY[1, 2]),
         decode(md5(n::text), 'hex'),
         '08:15:00', CASE WHEN n % 3 = 0 THEN NULL WHEN n % 3 = 1 THEN '' ELSE E'line\\nbreak, "quoted"' END, n
  FROM generate_series(1, 200) n;
INSERT INTO visit SELECT id, seen FROM person;
"""
POLICY = """
version: 1
data: {{kind: database, source: '{source}', target: '{target}', accept: ["surviving:person.seen->visit.at"]}}
columns:
  person.id:     {{role: replaced, domain: {{pattern: "[0-9a-f]{{8}}-([0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}"}}}}
  person.mood:   {{role: replaced, domain: {{values: [sad, ok, happy]}}}}
  person.paid:   {{role: replaced, domain: {{decimals: [0, 500], places: 4}}}}
  person.seen:   {{role: replaced, domain: {{timestamps: [2019-01-01, 2021-12-31], step: minute}}}}
  person.active: {{role: replaced, domain: {{values: ["true", "false"]}}}}
  person.age:    {{role: replaced, domain: {{integers: [18, 99]}}}}
"""


def test_wide_types(tmp_path: Path, postgres: Server) -> None:
    source, target = postgres.database(), postgres.database()
    with session(source) as connection:
        connection.execute(TABLES)
        connection.commit()
    policy = write_policy(tmp_path, source, target, POLICY)
    out = sf.publish(policy, seed=secret(4)).write(tmp_path / "release", report=False)
    assert load_release(policy, out).holds
    assert sf.verify(out, original=source, target=target).holds
    kept = "SELECT tags, facts::text, picture, wakes, note FROM person"
    assert sorted(map(repr, asked(source, kept)[1])) == sorted(map(repr, asked(target, kept)[1]))
    columns = "column_name, data_type, udt_name, is_nullable"
    types = f"SELECT {columns} FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
    assert asked(source, types)[1] == asked(target, types)[1]
    assert asked(target, "SELECT count(*) FROM person JOIN visit ON id = person")[1] == [(200,)]
    both = "SELECT id::text, seen FROM person"
    assert not set(asked(source, both)[1]) & set(asked(target, both)[1])
    assert asked(target, "SELECT bool_and(scale(paid) = 4 AND paid BETWEEN 0 AND 500) FROM person")[1] == [(True,)]
