-- Invented people: names that no list of common names holds, so that a search for them means something.
CREATE FUNCTION pg_temp.given(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT initcap((ARRAY['bel','dor','fen','gal','hes','jor','kel','lum','mar','nev','ost','pel'])[n % 12 + 1]
            || (ARRAY['anda','eric','ilda','omar','usto','ymir','ette'])[n / 12 % 7 + 1]) $$;
CREATE FUNCTION pg_temp.family(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT initcap((ARRAY['zorv','quell','brand','trost','wexl','yarr','plosk','grim','hald'])[n % 9 + 1]
            || (ARRAY['anek','imar','oster','uvian','elsen','aczyk'])[n / 9 % 6 + 1]
            || (ARRAY['','ov','dal','mir','wick'])[n / 54 % 5 + 1]) $$;
CREATE FUNCTION pg_temp.luhn(body text) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT body || ((10 - sum(CASE WHEN (length(body) - i) % 2 = 0 THEN d * 2 - CASE WHEN d > 4 THEN 9 ELSE 0 END ELSE d END) % 10) % 10)
     FROM generate_series(1, length(body)) i, LATERAL (SELECT substr(body, i, 1)::int AS d) x $$;
