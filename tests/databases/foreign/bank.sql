CREATE DOMAIN amount AS numeric(12, 2);
CREATE TABLE branch (
  id smallint PRIMARY KEY,
  name text NOT NULL,
  city text NOT NULL
);
CREATE TABLE client (
  client_id integer PRIMARY KEY,
  salutation varchar(4),
  first_name varchar(40) NOT NULL, -- personal
  last_name varchar(40) NOT NULL, -- personal
  full_name text GENERATED ALWAYS AS (first_name || ' ' || last_name) STORED,
  initials varchar(2), -- personal
  born date NOT NULL, -- personal
  ssn char(11) NOT NULL UNIQUE, -- personal
  tax_id varchar(11), -- personal
  mobile varchar(20), -- personal
  street text, -- personal
  postcode char(5), -- personal
  city text, -- personal
  branch_id smallint NOT NULL REFERENCES branch,
  CHECK (born < '2010-01-01')
);
CREATE TABLE account (
  account_id integer PRIMARY KEY,
  iban varchar(34) NOT NULL UNIQUE, -- personal
  client_id integer NOT NULL REFERENCES client,
  opened date NOT NULL,
  closed date,
  currency char(3) NOT NULL DEFAULT 'EUR',
  balance amount NOT NULL,
  CHECK (closed IS NULL OR closed >= opened)
);
CREATE TABLE card (
  card_number varchar(19) PRIMARY KEY, -- personal
  account_id integer NOT NULL REFERENCES account,
  holder_name text NOT NULL, -- personal
  cvv char(3) NOT NULL, -- personal
  valid_thru date NOT NULL,
  scheme varchar(12) NOT NULL
);
CREATE TABLE transfer (
  transfer_id bigint PRIMARY KEY,
  account_id integer NOT NULL REFERENCES account,
  counterparty_iban varchar(34), -- personal
  purpose text,
  value amount NOT NULL,
  booked timestamptz NOT NULL,
  CHECK (value <> 0)
);
INSERT INTO branch SELECT n, 'Branch ' || n, (ARRAY['Bern', 'Basel', 'Chur'])[n % 3 + 1] FROM generate_series(1, 6) n;
INSERT INTO client (client_id, salutation, first_name, last_name, initials, born, ssn, tax_id, mobile, street, postcode, city, branch_id)
  SELECT 1000 + n, (ARRAY['Ms', 'Mr'])[n % 2 + 1], pg_temp.given(n), pg_temp.family(n), left(pg_temp.given(n), 1) || left(pg_temp.family(n), 1), date '1935-05-05' + (n * 131)::int,
    lpad((n * 7)::text, 3, '0') || '-' || lpad((n % 90 + 10)::text, 2, '0') || '-' || lpad((n * 37)::text, 4, '0'), lpad((n::bigint * 987654321)::text, 11, '4'), '+41 79 ' || lpad((n * 7331)::text, 7, '0'),
    n || ' ' || pg_temp.family(n + 3) || 'weg', lpad((n * 613 % 90000 + 10000)::text, 5, '0'), (ARRAY['Oerlikon', 'Wabern', 'Riehen', 'Davos'])[n % 4 + 1], n % 6 + 1 FROM generate_series(1, 150) n;
INSERT INTO account SELECT 5000 + n, 'CH' || lpad((98 - (('0' || lpad((n * 104729)::text, 17, '76200'))::numeric * 1000000 + 121700) % 97)::text, 2, '0') || lpad((n * 104729)::text, 17, '76200'), 1001 + n % 150, date '2001-01-01' + (n * 9)::int, CASE WHEN n % 6 = 0 THEN date '2015-01-01' + (n * 3)::int END, 'EUR', (n * 13457 % 900000) / 100.0 FROM generate_series(1, 220) n;
INSERT INTO card SELECT pg_temp.luhn('4539' || lpad((n::bigint * 7918277)::text, 11, '3')), 5001 + n % 220, upper(pg_temp.given((1 + n % 220) % 150 + 1) || ' ' || pg_temp.family((1 + n % 220) % 150 + 1)), lpad((n * 7 % 1000)::text, 3, '0'), date '2027-01-31', 'visa' FROM generate_series(1, 180) n;
INSERT INTO transfer SELECT n, 5001 + n % 220, 'CH' || lpad((n * 31 % 89 + 10)::text, 2, '0') || lpad((n * 7907)::text, 17, '1'), 'invoice ' || n, (n % 997 + 1) / 10.0 * (CASE WHEN n % 2 = 0 THEN 1 ELSE -1 END), timestamptz '2020-01-01 08:00+00' + n * interval '37 minutes' FROM generate_series(1, 900) n;
