CREATE TYPE user_status AS ENUM ('pending', 'active', 'suspended');
CREATE TYPE nwr AS ENUM ('Node', 'Way', 'Relation');
CREATE TABLE users (
  id bigserial PRIMARY KEY,
  email varchar NOT NULL UNIQUE, -- personal
  pass_crypt varchar NOT NULL, -- personal
  display_name varchar NOT NULL DEFAULT '' UNIQUE, -- personal
  description text NOT NULL DEFAULT '', -- personal
  home_lat double precision, -- personal
  home_lon double precision, -- personal
  creation_ip varchar, -- personal
  status user_status NOT NULL DEFAULT 'pending',
  creation_time timestamp NOT NULL
);
CREATE TABLE changesets (
  id bigserial PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users,
  created_at timestamp NOT NULL,
  closed_at timestamp NOT NULL,
  num_changes integer NOT NULL DEFAULT 0,
  CHECK (closed_at >= created_at)
);
CREATE TABLE changeset_tags (
  changeset_id bigint NOT NULL REFERENCES changesets,
  k varchar NOT NULL DEFAULT '',
  v varchar NOT NULL DEFAULT '',
  PRIMARY KEY (changeset_id, k)
);
CREATE TABLE nodes (
  node_id bigint NOT NULL,
  version bigint NOT NULL,
  latitude integer NOT NULL, -- personal
  longitude integer NOT NULL, -- personal
  changeset_id bigint NOT NULL REFERENCES changesets,
  visible boolean NOT NULL,
  tile bigint NOT NULL,
  PRIMARY KEY (node_id, version)
);
CREATE TABLE way_nodes (
  way_id bigint NOT NULL,
  node_id bigint NOT NULL,
  version bigint NOT NULL,
  sequence_id bigint NOT NULL,
  PRIMARY KEY (way_id, version, sequence_id),
  FOREIGN KEY (node_id, version) REFERENCES nodes (node_id, version)
);
CREATE TABLE messages (
  id bigserial PRIMARY KEY,
  from_user_id bigint NOT NULL REFERENCES users,
  to_user_id bigint NOT NULL REFERENCES users,
  title varchar NOT NULL,
  body text NOT NULL, -- personal
  sent_on timestamp NOT NULL
);
CREATE TABLE relation_members (
  relation_id bigint NOT NULL,
  member_type nwr NOT NULL,
  member_id bigint NOT NULL,
  member_role varchar NOT NULL,
  sequence_id integer NOT NULL DEFAULT 0,
  PRIMARY KEY (relation_id, sequence_id)
);
INSERT INTO users (email, pass_crypt, display_name, description, home_lat, home_lon, creation_ip, status, creation_time)
  SELECT lower(pg_temp.family(n)) || n || '@maps.test', md5('c' || n), pg_temp.given(n) || pg_temp.family(n), CASE WHEN n % 4 = 0 THEN 'Maps by ' || pg_temp.given(n) || ' ' || pg_temp.family(n) ELSE '' END,
    52 + n / 173.0, 4 + n / 91.0, '192.0.2.' || n, (ARRAY['pending', 'active', 'suspended'])[n % 3 + 1]::user_status, timestamp '2012-01-01' + n * interval '9 hours' FROM generate_series(1, 100) n;
INSERT INTO changesets (user_id, created_at, closed_at, num_changes) SELECT n % 100 + 1, timestamp '2015-01-01' + n * interval '3 hours', timestamp '2015-01-01' + n * interval '3 hours' + (n % 50) * interval '1 minute', n % 40 FROM generate_series(1, 300) n;
INSERT INTO changeset_tags SELECT n, 'comment', 'survey of road ' || n % 17 FROM generate_series(1, 300) n;
INSERT INTO nodes SELECT n, 1, 520000000 + n * 7919, 40000000 + n * 6007, n % 300 + 1, true, n * 31 FROM generate_series(1, 600) n;
INSERT INTO way_nodes SELECT (n - 1) / 6 + 1, n, 1, (n - 1) % 6 FROM generate_series(1, 600) n;
INSERT INTO messages (from_user_id, to_user_id, title, body, sent_on) SELECT n % 100 + 1, (n * 7) % 100 + 1, 'Road ' || n, 'Dear ' || pg_temp.given((n * 7) % 100 + 1) || ' ' || pg_temp.family((n * 7) % 100 + 1) || ', is this road open?', timestamp '2016-01-01' + n * interval '1 hour' FROM generate_series(1, 90) n;
INSERT INTO relation_members SELECT (n - 1) / 4 + 1, (ARRAY['Node', 'Way'])[n % 2 + 1]::nwr, n, (ARRAY['', 'outer', 'inner'])[n % 3 + 1], (n - 1) % 4 FROM generate_series(1, 80) n;
