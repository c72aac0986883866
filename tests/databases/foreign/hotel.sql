CREATE TABLE room (
  room_no smallint PRIMARY KEY,
  floor smallint NOT NULL,
  beds smallint NOT NULL CHECK (beds BETWEEN 1 AND 6)
);
CREATE TABLE guest (
  guest_id serial PRIMARY KEY,
  surname varchar(50) NOT NULL, -- personal
  forename varchar(50) NOT NULL, -- personal
  title varchar(10),
  passport_no char(9) UNIQUE, -- personal
  nationality char(3) NOT NULL,
  telephone bigint, -- personal
  UNIQUE (surname, forename, telephone)
);
CREATE TABLE booking (
  booking_id serial PRIMARY KEY,
  guest_id integer NOT NULL REFERENCES guest,
  room_no smallint NOT NULL REFERENCES room,
  period daterange NOT NULL,
  adults smallint NOT NULL DEFAULT 1 CHECK (adults > 0),
  EXCLUDE USING gist (int4range(room_no, room_no, '[]') WITH &&, period WITH &&)
);
CREATE TABLE extra (
  booking_id integer NOT NULL REFERENCES booking,
  item text NOT NULL,
  price money NOT NULL,
  at timestamptz NOT NULL
);
CREATE TABLE staff_login (
  staff_login_id integer PRIMARY KEY,
  username text NOT NULL UNIQUE, -- personal
  pin char(4) NOT NULL, -- personal
  last_ip inet -- personal
);
INSERT INTO room SELECT n, n / 10, n % 4 + 1 FROM generate_series(101, 140) n;
INSERT INTO guest (surname, forename, title, passport_no, nationality, telephone) SELECT pg_temp.family(n), pg_temp.given(n), 'Dr', chr(65 + (n % 26)::int) || lpad((n * 524287 % 100000000)::text, 8, '0'), (ARRAY['FRA', 'ESP', 'PRT'])[n % 3 + 1], 4930000000 + n * 7 FROM generate_series(1, 140) n;
INSERT INTO booking (guest_id, room_no, period, adults) SELECT n % 140 + 1, 101 + n % 40, daterange((date '2022-01-01' + (n / 40 * 5)::int), (date '2022-01-01' + (n / 40 * 5 + 3)::int)), n % 2 + 1 FROM generate_series(0, 399) n;
INSERT INTO extra SELECT n % 400 + 1, (ARRAY['breakfast', 'parking', 'sauna'])[n % 3 + 1], (n % 30 + 5)::money, timestamptz '2022-01-02 09:00+00' + n * interval '3 hours' FROM generate_series(1, 300) n;
INSERT INTO staff_login SELECT n, 'desk_' || lower(pg_temp.family(n + 60)), lpad((n * 37 % 10000)::text, 4, '0'), '10.1.2.3'::inet FROM generate_series(1, 12) n;
