CREATE TABLE schools (
  school_code char(6) PRIMARY KEY,
  name text NOT NULL,
  street text NOT NULL, -- personal
  town text NOT NULL
);
CREATE TABLE classes (
  class_id serial PRIMARY KEY,
  school_code char(6) NOT NULL REFERENCES schools,
  label varchar(4) NOT NULL,
  year smallint NOT NULL,
  UNIQUE (school_code, label, year)
);
CREATE TABLE pupils (
  pupil_id integer PRIMARY KEY,
  class_id integer NOT NULL REFERENCES classes,
  name text NOT NULL, -- personal
  birthday date NOT NULL, -- personal
  guardian_name text, -- personal
  guardian_phone text, -- personal
  allergies text
);
CREATE TABLE marks (
  pupil_id integer NOT NULL REFERENCES pupils,
  subject varchar(12) NOT NULL,
  term smallint NOT NULL CHECK (term IN (1, 2)),
  mark smallint NOT NULL CHECK (mark BETWEEN 1 AND 6),
  teacher text NOT NULL,
  PRIMARY KEY (pupil_id, subject, term)
);
INSERT INTO schools SELECT 'SC' || lpad(n::text, 4, '0'), 'Primary School No. ' || n, n * 3 || ' Market Square', (ARRAY['Linz', 'Graz', 'Wels'])[n % 3 + 1] FROM generate_series(1, 12) n;
INSERT INTO classes (school_code, label, year) SELECT 'SC' || lpad((n % 12 + 1)::text, 4, '0'), (n / 12 % 4 + 1) || 'a', 2024 FROM generate_series(0, 35) n;
INSERT INTO pupils SELECT 70000 + n, n % 36 + 1, pg_temp.given(n) || ' ' || pg_temp.family(n), date '2012-01-01' + (n * 7)::int, pg_temp.given(n + 11) || ' ' || pg_temp.family(n), '0660 ' || (1000000 + n * 7919), CASE WHEN n % 9 = 0 THEN 'nuts' END FROM generate_series(1, 200) n;
INSERT INTO marks SELECT 70000 + n, s, t, (n + t + length(s)) % 6 + 1, 'T' || n % 14 FROM generate_series(1, 200) n, unnest(ARRAY['maths', 'german', 'music']) s, generate_series(1, 2) t;
