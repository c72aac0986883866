CREATE SCHEMA hr;
CREATE SCHEMA payroll;
CREATE TYPE hr.grade AS ENUM ('junior', 'senior', 'chief');
CREATE DOMAIN hr.percent AS numeric(5, 2) CHECK (VALUE BETWEEN 0 AND 100);
CREATE TABLE public.site (
  id serial PRIMARY KEY,
  name text NOT NULL,
  country char(2) NOT NULL
);
CREATE TABLE hr.employee (
  id serial PRIMARY KEY,
  site_id integer NOT NULL REFERENCES public.site,
  boss_id integer REFERENCES hr.employee,
  given_name text NOT NULL, -- personal
  surname text NOT NULL, -- personal
  work_email text NOT NULL UNIQUE, -- personal
  national_id char(10) UNIQUE, -- personal
  hired date NOT NULL,
  grade hr.grade NOT NULL DEFAULT 'junior',
  workload hr.percent NOT NULL DEFAULT 100
);
ALTER TABLE hr.employee ENABLE ROW LEVEL SECURITY;
COMMENT ON COLUMN hr.employee.workload IS 'share of a full week';
CREATE TABLE payroll.account (
  employee_id integer PRIMARY KEY REFERENCES hr.employee,
  iban text NOT NULL, -- personal
  holder text NOT NULL -- personal
);
CREATE TABLE payroll.payment (
  id bigint GENERATED ALWAYS AS IDENTITY,
  employee_id integer NOT NULL REFERENCES hr.employee,
  paid date NOT NULL,
  gross numeric(9, 2) NOT NULL CHECK (gross > 0),
  net numeric(9, 2) NOT NULL,
  PRIMARY KEY (id, paid),
  CHECK (net <= gross)
) PARTITION BY RANGE (paid);
CREATE TABLE payroll.payment_2022 PARTITION OF payroll.payment FOR VALUES FROM ('2022-01-01') TO ('2023-01-01');
CREATE TABLE payroll.payment_2023 PARTITION OF payroll.payment FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
INSERT INTO site (name, country) SELECT 'Plant ' || n, (ARRAY['DE', 'PL'])[n % 2 + 1] FROM generate_series(1, 5) n;
INSERT INTO hr.employee (site_id, boss_id, given_name, surname, work_email, national_id, hired, grade, workload)
  SELECT n % 5 + 1, CASE WHEN n > 8 THEN n % 8 + 1 END, pg_temp.given(n), pg_temp.family(n), lower(left(pg_temp.given(n), 1) || pg_temp.family(n)) || n || '@firm.test', lpad((n * 7654321)::text, 10, '8'),
    date '2005-01-01' + (n * 31)::int, (ARRAY['junior', 'senior', 'chief'])[n % 3 + 1]::hr.grade, 50 + n % 6 * 10 FROM generate_series(1, 110) n;
INSERT INTO payroll.account SELECT id, 'DE' || lpad((id * 17 % 90 + 10)::text, 2, '0') || lpad((id * 1299709)::text, 18, '5'), given_name || ' ' || surname FROM hr.employee;
INSERT INTO payroll.payment (employee_id, paid, gross, net) SELECT id, date '2022-01-31' + 30 * k, 3000 + id, 2000 + id FROM hr.employee, generate_series(0, 11) k;
