CREATE TABLE customers (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE, -- personal
  display_name text NOT NULL, -- personal
  phone text, -- personal
  gravatar char(32), -- personal
  marketing boolean NOT NULL DEFAULT false,
  signup timestamptz NOT NULL
);
CREATE TABLE addresses (
  id serial PRIMARY KEY,
  customer_id uuid NOT NULL REFERENCES customers ON DELETE CASCADE,
  line1 text NOT NULL, -- personal
  city text NOT NULL,
  postal_code text NOT NULL, -- personal
  country char(2) NOT NULL
);
CREATE TABLE products (
  sku varchar(12) PRIMARY KEY,
  name text NOT NULL,
  description text,
  price numeric(8, 2) NOT NULL CHECK (price > 0),
  tags text[] NOT NULL DEFAULT '{}'
);
CREATE TABLE orders (
  id serial PRIMARY KEY,
  customer_id uuid NOT NULL REFERENCES customers,
  customer_name text NOT NULL, -- personal
  placed timestamptz NOT NULL,
  shipped timestamptz,
  total numeric(10, 2) NOT NULL,
  payload jsonb NOT NULL, -- personal
  CHECK (shipped >= placed)
);
CREATE TABLE order_lines (
  order_id integer NOT NULL REFERENCES orders ON DELETE CASCADE,
  line smallint NOT NULL,
  sku varchar(12) NOT NULL REFERENCES products,
  quantity integer NOT NULL CHECK (quantity > 0),
  price numeric(8, 2) NOT NULL,
  PRIMARY KEY (order_id, line)
);
CREATE TABLE reviews (
  id serial PRIMARY KEY,
  sku varchar(12) NOT NULL REFERENCES products,
  author_name text NOT NULL, -- personal
  stars smallint NOT NULL CHECK (stars BETWEEN 1 AND 5),
  body text, -- personal
  UNIQUE (sku, author_name)
);
CREATE VIEW revenue AS SELECT sku, sum(quantity * price) AS money FROM order_lines GROUP BY sku;
CREATE MATERIALIZED VIEW best_customers AS SELECT c.id, c.display_name, sum(o.total) AS spent FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.customer_name := upper(NEW.customer_name); RETURN NEW; END $$;
INSERT INTO customers SELECT md5('u' || n)::uuid, lower(pg_temp.given(n) || '.' || pg_temp.family(n)) || '@post.test', pg_temp.given(n) || ' ' || pg_temp.family(n), '+31 6 ' || lpad((n * 99991)::text, 8, '1'), md5(lower(pg_temp.given(n) || '.' || pg_temp.family(n)) || '@post.test'), n % 2 = 0, timestamptz '2018-01-01 00:00+00' + n * interval '9 hours' FROM generate_series(1, 130) n;
INSERT INTO addresses (customer_id, line1, city, postal_code, country) SELECT md5('u' || n)::uuid, n || ' ' || pg_temp.family(n * 3) || ' Lane', (ARRAY['Zwolle', 'Breda', 'Delft'])[n % 3 + 1], (1000 + n * 17)::text || ' AB', 'NL' FROM generate_series(1, 130) n;
INSERT INTO products SELECT 'SKU-' || lpad(n::text, 5, '0'), 'Garden chair type ' || n, 'A chair for the garden, weatherproof, type ' || n, 5 + n * 1.25, ARRAY['garden', 'type' || n % 5] FROM generate_series(1, 40) n;
INSERT INTO orders (customer_id, customer_name, placed, shipped, total, payload) SELECT md5('u' || (n % 130 + 1))::uuid, pg_temp.given(n % 130 + 1) || ' ' || pg_temp.family(n % 130 + 1), timestamptz '2020-01-01 10:00+00' + n * interval '3 hours', CASE WHEN n % 5 > 0 THEN timestamptz '2020-01-03 10:00+00' + n * interval '3 hours' END, 0, jsonb_build_object('email', lower(pg_temp.given(n % 130 + 1) || '.' || pg_temp.family(n % 130 + 1)) || '@post.test', 'channel', 'web') FROM generate_series(1, 260) n;
INSERT INTO order_lines SELECT o, l, 'SKU-' || lpad(((o * 3 + l) % 40 + 1)::text, 5, '0'), l % 4 + 1, 5 + ((o * 3 + l) % 40 + 1) * 1.25 FROM generate_series(1, 260) o, generate_series(1, 3) l;
UPDATE orders SET total = (SELECT sum(quantity * price) FROM order_lines WHERE order_id = orders.id);
INSERT INTO reviews (sku, author_name, stars, body) SELECT 'SKU-' || lpad((n % 40 + 1)::text, 5, '0'), pg_temp.given(n % 130 + 1) || ' ' || pg_temp.family(n % 130 + 1), n % 5 + 1, 'Nice chair number ' || n FROM generate_series(1, 120) n;
REFRESH MATERIALIZED VIEW best_customers;
CREATE TRIGGER touched BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch();
