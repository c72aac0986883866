CREATE TABLE "People" (
  "playerID" varchar(10) PRIMARY KEY, -- personal
  "birthYear" integer, -- personal
  "birthCountry" text,
  "nameFirst" text, -- personal
  "nameLast" text NOT NULL, -- personal
  "nameGiven" text, -- personal
  weight integer,
  height integer,
  bats char(1),
  debut date,
  "finalGame" date
);
CREATE TABLE "Teams" (
  "yearID" integer NOT NULL,
  "teamID" char(3) NOT NULL,
  name text NOT NULL,
  park text,
  "W" integer NOT NULL CHECK ("W" >= 0),
  "L" integer NOT NULL CHECK ("L" >= 0),
  "G" integer NOT NULL,
  PRIMARY KEY ("yearID", "teamID")
);
CREATE TABLE "Batting" (
  "playerID" varchar(10) NOT NULL REFERENCES "People",
  "yearID" integer NOT NULL,
  stint integer NOT NULL,
  "teamID" char(3) NOT NULL,
  "AB" integer NOT NULL,
  "H" integer NOT NULL,
  PRIMARY KEY ("playerID", "yearID", stint),
  FOREIGN KEY ("yearID", "teamID") REFERENCES "Teams",
  CHECK ("H" <= "AB")
);
CREATE TABLE "Salaries" (
  "yearID" integer NOT NULL,
  "playerID" varchar(10) NOT NULL REFERENCES "People",
  salary numeric(12, 2) NOT NULL,
  PRIMARY KEY ("yearID", "playerID")
);
CREATE TABLE "Schools" (
  "schoolID" varchar(15) PRIMARY KEY,
  name_full text NOT NULL,
  city text,
  state varchar(20)
);
CREATE TABLE "CollegePlaying" (
  "playerID" varchar(10) NOT NULL REFERENCES "People",
  "schoolID" varchar(15) NOT NULL REFERENCES "Schools",
  "yearID" integer NOT NULL,
  PRIMARY KEY ("playerID", "schoolID", "yearID")
);
INSERT INTO "People" SELECT lower(left(pg_temp.family(n), 5) || left(pg_temp.given(n), 2)) || lpad((n / 9)::text, 2, '0'), 1950 + n % 45, (ARRAY['USA', 'Cuba', 'Japan'])[n % 3 + 1], pg_temp.given(n), pg_temp.family(n),
  pg_temp.given(n) || ' ' || pg_temp.given(n + 5), 150 + n % 80, 66 + n % 12, (ARRAY['R', 'L', 'B'])[n % 3 + 1], date '1975-04-01' + (n * 13)::int, date '1985-09-30' + (n * 17)::int FROM generate_series(1, 160) n;
INSERT INTO "Teams" SELECT 1990 + y, t, 'Town ' || t || ' Club', 'Park ' || t, 60 + y * 3 + p, 100 - y * 3 - p, 160 FROM generate_series(0, 9) y, LATERAL (VALUES ('BOA', 1), ('NYK', 2), ('CHI', 3), ('SEA', 4)) v(t, p);
INSERT INTO "Batting" SELECT "playerID", 1990 + k, 1, (ARRAY['BOA', 'NYK', 'CHI', 'SEA'])[(row_number() OVER () + k)::int % 4 + 1], 100 + length("nameGiven") * k, 20 + k FROM "People", generate_series(0, 3) k;
INSERT INTO "Salaries" SELECT 1990 + k, "playerID", 50000 + weight * 1000 + k FROM "People", generate_series(0, 1) k;
INSERT INTO "Schools" SELECT 'school' || n, 'College of Region ' || n, 'Port ' || n, 'ST' || n % 9 FROM generate_series(1, 30) n;
INSERT INTO "CollegePlaying" SELECT "playerID", 'school' || weight % 30 + 1, 1985 FROM "People";
