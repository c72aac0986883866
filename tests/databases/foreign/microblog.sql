CREATE TABLE accounts (
  id bigint PRIMARY KEY,
  username varchar NOT NULL DEFAULT '', -- personal
  domain varchar,
  display_name varchar NOT NULL DEFAULT '', -- personal
  note text NOT NULL DEFAULT '', -- personal
  avatar_file_name varchar,
  private_key text, -- personal
  locked boolean NOT NULL DEFAULT false,
  followers_count bigint NOT NULL DEFAULT 0,
  created_at timestamp NOT NULL
);
CREATE UNIQUE INDEX ON accounts (lower(username), coalesce(lower(domain), ''));
CREATE TABLE users (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
  email varchar NOT NULL DEFAULT '' UNIQUE, -- personal
  encrypted_password varchar NOT NULL DEFAULT '', -- personal
  current_sign_in_ip inet, -- personal
  sign_in_count integer NOT NULL DEFAULT 0,
  confirmed_at timestamp,
  locale varchar,
  chosen_languages varchar[]
);
CREATE TABLE statuses (
  id bigint PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES accounts,
  in_reply_to_id bigint REFERENCES statuses,
  text text NOT NULL DEFAULT '', -- personal
  spoiler_text text NOT NULL DEFAULT '',
  url varchar UNIQUE,
  visibility integer NOT NULL DEFAULT 0,
  created_at timestamp NOT NULL
);
CREATE TABLE follows (
  account_id bigint NOT NULL REFERENCES accounts,
  target_account_id bigint NOT NULL REFERENCES accounts,
  created_at timestamp NOT NULL,
  PRIMARY KEY (account_id, target_account_id),
  CHECK (account_id <> target_account_id)
);
CREATE TABLE invites (
  id bigserial PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users,
  code varchar NOT NULL UNIQUE,
  uses integer NOT NULL DEFAULT 0,
  max_uses integer,
  CHECK (max_uses IS NULL OR uses <= max_uses)
);
INSERT INTO accounts SELECT 108000000000000000 + n * 65537, lower(pg_temp.given(n)) || n, CASE WHEN n % 4 = 0 THEN 'far.test' END, pg_temp.given(n) || ' ' || pg_temp.family(n), CASE WHEN n % 2 = 0 THEN '<p>I am ' || pg_temp.given(n) || ' ' || pg_temp.family(n) || '</p>' ELSE '' END, NULL, NULL, false, n, timestamp '2022-11-01' + n * interval '1 hour' FROM generate_series(1, 120) n;
INSERT INTO users (account_id, email, encrypted_password, current_sign_in_ip, sign_in_count, confirmed_at, locale, chosen_languages) SELECT 108000000000000000 + n * 65537, lower(pg_temp.given(n) || '_' || pg_temp.family(n)) || '@toot.test', md5('e' || n), ('192.0.2.' || n)::inet, n, timestamp '2022-11-02' + n * interval '1 hour', 'en', ARRAY['en', 'de'] FROM generate_series(1, 120) n WHERE n % 4 > 0;
INSERT INTO statuses SELECT 109000000000000000 + n * 4099, 108000000000000000 + (n % 120 + 1) * 65537, CASE WHEN n > 200 THEN 109000000000000000 + (n - 200) * 4099 END, 'Hello ' || pg_temp.given((n * 3) % 120 + 1) || ' ' || pg_temp.family((n * 3) % 120 + 1) || ', nice boat!', '', 'https://toot.test/s/' || n, n % 3, timestamp '2023-01-01' + n * interval '10 minutes' FROM generate_series(1, 300) n;
INSERT INTO follows SELECT 108000000000000000 + n * 65537, 108000000000000000 + (n % 119 + 1 + CASE WHEN n % 119 + 1 >= n THEN 1 ELSE 0 END) * 65537, timestamp '2023-01-01' FROM generate_series(1, 118) n;
INSERT INTO invites (user_id, code, uses, max_uses) SELECT id, md5('i' || id), id % 5, CASE WHEN id % 2 = 0 THEN 10 END FROM users;
