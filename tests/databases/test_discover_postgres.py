"""Discovery on a real server: declared constraints first, wide types left alone, a login never shown."""

import psycopg
import pytest
from postgres_server import session

from sfumato.ui.cli import main
from sfumato.workflow.discover.discover import discover, policy_text

SCHEMA = """
CREATE TYPE mood AS ENUM ('calm', 'busy');
CREATE TABLE member (id uuid PRIMARY KEY, email varchar(60) UNIQUE, born date, mood mood NOT NULL, phone json,
  joined timestamptz);
CREATE TABLE visit (id serial PRIMARY KEY, member_id uuid NOT NULL REFERENCES member, began timestamp, ended timestamp);
INSERT INTO member SELECT md5(n::text)::uuid, 'm' || n || '@example.org', date '1950-03-04' + n * 97,
  (CASE n % 2 WHEN 0 THEN 'calm' ELSE 'busy' END)::mood, '{"home": 1}', now() FROM generate_series(1, 150) n;
INSERT INTO visit (member_id, began, ended) SELECT md5((n % 150 + 1)::text)::uuid,
  timestamp '2020-01-01' + n * interval '7 hours',
  timestamp '2020-01-01' + n * interval '7 hours' + (n % 977) * interval '13 minutes' FROM generate_series(1, 900) n;
"""


@pytest.fixture
def url(fresh):
    found = fresh()
    with session(found) as connection:
        connection.execute(SCHEMA)
    return found


def test_rows_alone_tell_keys_links_and_orders(url):
    on = {each.rule for each in discover(url, declared=False).proposals if each.active}
    assert {
        "unique(member.id)",
        "unique(member.email)",
        "unique(visit.id)",
        "visit.member_id references member.id",
    } <= on
    assert "visit.began <= visit.ended" in on


def test_the_policy_of_a_server(url, tmp_path, capsys):
    with psycopg.connect(url.replace("postgresql+psycopg", "postgresql")) as connection:
        before = connection.execute("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables").fetchone()
    found = discover(url)
    assert 'member.mood in {"calm", "busy"}' in {each.rule for each in found.proposals if each.declared}
    assert found.policy["columns"]["member.email"]["domain"] == {"fakes": "email"}
    assert found.policy["columns"]["member.born"]["domain"] == {"dates": ["1950-01-01", "1999-12-31"]}
    assert found.policy["columns"]["member.phone"]["domain"] == {"empty": True}, "a telephone book in json is no number"
    assert "sesame" not in policy_text(found)
    with psycopg.connect(url.replace("postgresql+psycopg", "postgresql")) as connection:
        assert (
            before
            == connection.execute("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables").fetchone()
        )


def test_a_wrong_password_is_one_line(url, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["discover", url.replace("sesame", "open")])
    told = capsys.readouterr()
    if ended.value.code == 0:
        pytest.skip("this server asks for no password")
    assert ended.value.code == 3
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert "open" not in told.err.replace("opening", "")
