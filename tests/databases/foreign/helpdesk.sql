CREATE TABLE roles (
  id serial PRIMARY KEY,
  name varchar(100) NOT NULL UNIQUE
);
CREATE TABLE organizations (
  id serial PRIMARY KEY,
  name varchar(100) NOT NULL UNIQUE,
  domain varchar(250)
);
CREATE TABLE users (
  id serial PRIMARY KEY,
  organization_id integer REFERENCES organizations,
  login varchar(255) NOT NULL UNIQUE, -- personal
  firstname varchar(100), -- personal
  lastname varchar(100), -- personal
  email varchar(255), -- personal
  phone varchar(100), -- personal
  fax varchar(100), -- personal
  password varchar(120), -- personal
  vip boolean DEFAULT false,
  note varchar(5000), -- personal
  last_login timestamp,
  preferences text
);
CREATE TABLE roles_users (
  role_id integer NOT NULL REFERENCES roles,
  user_id integer NOT NULL REFERENCES users,
  PRIMARY KEY (role_id, user_id)
);
CREATE TABLE tokens (
  id serial PRIMARY KEY,
  user_id integer NOT NULL REFERENCES users,
  token varchar(100) NOT NULL UNIQUE, -- personal
  action varchar(40) NOT NULL
);
CREATE TABLE tickets (
  id serial PRIMARY KEY,
  number varchar(60) NOT NULL UNIQUE,
  title varchar(250) NOT NULL,
  customer_id integer NOT NULL REFERENCES users,
  owner_id integer NOT NULL REFERENCES users,
  cc text[] NOT NULL DEFAULT '{}', -- personal
  created_at timestamp NOT NULL,
  closed_at timestamp,
  CHECK (closed_at >= created_at)
);
CREATE TABLE ticket_articles (
  id serial PRIMARY KEY,
  ticket_id integer NOT NULL REFERENCES tickets,
  "from" varchar(3000), -- personal
  subject varchar(3000),
  body text NOT NULL, -- personal
  internal boolean NOT NULL DEFAULT false
);
CREATE TABLE attachments (
  id serial PRIMARY KEY,
  object_type varchar(40) NOT NULL,
  object_id integer NOT NULL,
  filename varchar(250) NOT NULL,
  content bytea
);
INSERT INTO roles (name) VALUES ('Admin'), ('Agent'), ('Customer');
INSERT INTO organizations (name, domain) SELECT 'Firm ' || n, 'firm' || n || '.test' FROM generate_series(1, 9) n;
INSERT INTO users (organization_id, login, firstname, lastname, email, phone, fax, password, vip, note, last_login, preferences)
  SELECT n % 9 + 1, lower(pg_temp.given(n) || '.' || pg_temp.family(n)), pg_temp.given(n), pg_temp.family(n), lower(pg_temp.given(n) || '.' || pg_temp.family(n)) || '@firm' || n % 9 + 1 || '.test', '+49 30 ' || (100000 + n * 733), NULL, md5('z' || n), n % 20 = 0,
    CASE WHEN n % 6 = 0 THEN 'Call ' || pg_temp.given(n) || ' only in the morning' END, timestamp '2023-01-01' + n * interval '1 hour', 'theme: dark' FROM generate_series(1, 110) n;
INSERT INTO roles_users SELECT n % 3 + 1, n FROM generate_series(1, 110) n;
INSERT INTO tokens (user_id, token, action) SELECT n, md5('t' || n), 'api' FROM generate_series(1, 60) n;
INSERT INTO tickets (number, title, customer_id, owner_id, cc, created_at, closed_at) SELECT '7700' || n, 'Printer ' || n || ' is jammed', n % 110 + 1, n % 10 + 1, CASE WHEN n % 3 = 0 THEN ARRAY[lower(pg_temp.given(n % 110 + 1) || '.' || pg_temp.family(n % 110 + 1)) || '@firm' || (n % 110 + 1) % 9 + 1 || '.test'] ELSE '{}' END, timestamp '2023-02-01' + n * interval '1 hour', CASE WHEN n % 4 > 0 THEN timestamp '2023-03-01' + n * interval '1 hour' END FROM generate_series(1, 150) n;
INSERT INTO ticket_articles (ticket_id, "from", subject, body, internal) SELECT n % 150 + 1, pg_temp.given((n % 150 + 1) % 110 + 1) || ' ' || pg_temp.family((n % 150 + 1) % 110 + 1) || ' <' || lower(pg_temp.given((n % 150 + 1) % 110 + 1) || '.' || pg_temp.family((n % 150 + 1) % 110 + 1)) || '@firm.test>', 'Printer', 'Hello, this is ' || pg_temp.given(n % 110 + 1) || ' ' || pg_temp.family(n % 110 + 1) || '. It is jammed again.', n % 5 = 0 FROM generate_series(1, 300) n;
INSERT INTO attachments (object_type, object_id, filename, content) SELECT 'Ticket', n, 'picture' || n || '.png', decode(md5(n::text), 'hex') FROM generate_series(1, 40) n;
