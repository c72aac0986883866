CREATE TABLE driver (
  driver_id uuid PRIMARY KEY,
  legal_name text NOT NULL, -- personal
  licence_number varchar(20) NOT NULL UNIQUE, -- personal
  birth_date date NOT NULL, -- personal
  emergency_contact jsonb NOT NULL DEFAULT '{}' -- personal
);
CREATE TABLE vehicle (
  vin char(17) PRIMARY KEY,
  plate varchar(10) NOT NULL UNIQUE,
  model text NOT NULL,
  mileage integer NOT NULL CHECK (mileage >= 0)
);
CREATE TABLE tracker (
  mac macaddr PRIMARY KEY, -- personal
  vin char(17) NOT NULL UNIQUE REFERENCES vehicle,
  sim_msisdn varchar(15) -- personal
);
CREATE TABLE trip (
  trip_id bigserial PRIMARY KEY,
  driver_id uuid NOT NULL REFERENCES driver,
  vin char(17) NOT NULL REFERENCES vehicle,
  started timestamptz NOT NULL,
  ended timestamptz NOT NULL,
  start_lat numeric(9, 6) NOT NULL, -- personal
  start_lon numeric(9, 6) NOT NULL, -- personal
  stop_at point, -- personal
  km numeric(7, 2) NOT NULL,
  CHECK (ended > started)
);
INSERT INTO driver SELECT md5('d' || n)::uuid, pg_temp.given(n) || ' ' || pg_temp.family(n), 'L' || lpad((n * 93911)::text, 9, '3'), date '1960-01-01' + (n * 171)::int, jsonb_build_object('phone', '+48 600 ' || n * 7919, 'relation', 'spouse') FROM generate_series(1, 60) n;
INSERT INTO vehicle SELECT upper(left(md5('v' || n), 17)), 'WX ' || lpad((n * 37)::text, 5, '1'), 'Van type ' || n % 4, n * 1013 FROM generate_series(1, 45) n;
INSERT INTO tracker SELECT ('08:00:2b:01:02:' || lpad(to_hex(n), 2, '0'))::macaddr, upper(left(md5('v' || n), 17)), '48600' || n * 7919 FROM generate_series(1, 45) n;
INSERT INTO trip (driver_id, vin, started, ended, start_lat, start_lon, stop_at, km) SELECT md5('d' || n % 60 + 1)::uuid, upper(left(md5('v' || n % 45 + 1), 17)), timestamptz '2024-01-01 06:00+00' + n * interval '2 hours', timestamptz '2024-01-01 07:30+00' + n * interval '2 hours', 50 + n / 997.0, 19 + n / 811.0, point(50 + n / 991.0, 19 + n / 809.0), n % 80 + 0.5 FROM generate_series(1, 400) n;
