CREATE FUNCTION plausible(kg numeric) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT kg BETWEEN 1 AND 400 $$;
CREATE TABLE doctor (
  id serial PRIMARY KEY,
  full_name text NOT NULL, -- personal
  ward text NOT NULL,
  pager varchar(12) -- personal
);
CREATE TABLE patient (
  id serial PRIMARY KEY,
  full_name text NOT NULL, -- personal
  ts tsvector, -- personal
  slug text UNIQUE, -- personal
  dob date NOT NULL, -- personal
  birth_year integer, -- personal
  sex char(1) CHECK (sex IN ('f', 'm', 'x')),
  insurance_number varchar(12) UNIQUE, -- personal
  kg numeric(5, 1) CHECK (plausible(kg)),
  contact jsonb, -- personal
  admitted timestamp NOT NULL,
  discharged timestamp,
  CHECK (discharged IS NULL OR discharged > admitted)
);
CREATE TABLE visit (
  id bigserial PRIMARY KEY,
  patient_id integer NOT NULL REFERENCES patient,
  doctor_id integer REFERENCES doctor,
  seen timestamp NOT NULL,
  diagnosis varchar(7) NOT NULL,
  note text, -- personal
  cost numeric(8, 2) NOT NULL CHECK (cost >= 0)
);
CREATE TABLE bill (
  visit_id bigint PRIMARY KEY REFERENCES visit,
  patient_name text NOT NULL, -- personal
  net numeric(8, 2) NOT NULL,
  tax numeric(8, 2) NOT NULL,
  gross numeric(9, 2) NOT NULL,
  CHECK (gross = net + tax)
);
CREATE VIEW open_visits AS SELECT v.id, p.full_name FROM visit v JOIN patient p ON p.id = v.patient_id WHERE p.discharged IS NULL;
INSERT INTO doctor (full_name, ward, pager) SELECT 'Dr. ' || pg_temp.given(n + 40) || ' ' || pg_temp.family(n + 77), 'ward ' || n % 4, '77' || lpad((n * 389)::text, 6, '0') FROM generate_series(1, 24) n;
INSERT INTO patient (full_name, ts, slug, dob, birth_year, sex, insurance_number, kg, contact, admitted, discharged)
  SELECT pg_temp.given(n) || ' ' || pg_temp.family(n), to_tsvector('simple', pg_temp.given(n) || ' ' || pg_temp.family(n)), lower(pg_temp.given(n) || '-' || pg_temp.family(n)) || '-' || n, date '1930-01-01' + (n * 113)::int, extract(year FROM date '1930-01-01' + (n * 113)::int)::int,
    (ARRAY['f', 'm', 'x'])[n % 3 + 1], 'K' || lpad((n * 80021)::text, 9, '2'), 40 + n % 60, jsonb_build_object('email', lower(pg_temp.given(n)) || n || '@clinic.test', 'next_of_kin', jsonb_build_object('name', pg_temp.given(n + 9) || ' ' || pg_temp.family(n))),
    timestamp '2021-01-01' + n * interval '7 hours', CASE WHEN n % 4 > 0 THEN timestamp '2021-02-01' + n * interval '8 hours' END FROM generate_series(1, 140) n;
INSERT INTO visit (patient_id, doctor_id, seen, diagnosis, note, cost) SELECT n % 140 + 1, n % 24 + 1, timestamp '2021-03-01' + n * interval '2 hours', 'J' || n % 90 + 10 || '.' || n % 9, CASE WHEN n % 3 = 0 THEN 'Spoke with ' || pg_temp.given(n % 140 + 1) || ' ' || pg_temp.family(n % 140 + 1) || ' about the dose.' END, n % 300 + 0.5 FROM generate_series(1, 420) n;
INSERT INTO bill SELECT v.id, p.full_name, v.cost, round(v.cost * 0.19, 2), v.cost + round(v.cost * 0.19, 2) FROM visit v JOIN patient p ON p.id = v.patient_id;
