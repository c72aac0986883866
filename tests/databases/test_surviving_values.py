"""Values that were replaced in one column and stand in another: found, warned about, refused, and remedied by
discovery."""

import csv
import random
import re
import sqlite3
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from small_shop import sfumato

from sfumato.data.check_digits import luhn_digit
from sfumato.kinds.testdata.leaked_values import (
    BETWEEN,
    columns_that_reveal,
    fold_texts,
    match_original_values,
    split_words,
)
from sfumato.policy.constraint_language.syntax_tree import ColumnValue
from sfumato.workflow.discover.leak_remedies import equation
from tests.secret import SEED

PEOPLE = [
    f"{first}{number} {last}"
    for number, (first, last) in enumerate([("Carla", "Schmidt"), ("Boris", "Ovchin"), ("Mae", "Li")] * 8)
]
POLICY = """
version: 1
data: {{kind: database, source: "sqlite:///{path}", accept: [{accept}]}}
columns:
  person.name:  {{role: replaced, domain: {{fakes: name}}}}
  person.email: {{role: replaced, domain: {{fakes: email}}}}
  person.born:  {{role: replaced, domain: {{dates: [1950-01-01, 1999-12-31]}}}}
"""


def shop(path: Path, extra: str = "", fill: str = "") -> None:
    """People with a name, an e-mail address and a birthday, and what the case under test derives from them."""
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, email TEXT, born DATE{extra})")
        rows = [(n, name, f"m{n}x@home.test", f"19{50 + n}-0{n % 9 + 1}-1{n % 9}") for n, name in enumerate(PEOPLE)]
        connection.executemany("INSERT INTO person (id, name, email, born) VALUES (?, ?, ?, ?)", rows)
        connection.execute(
            "CREATE TABLE log (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person (id), text TEXT, doc JSON)"
        )
        connection.execute("INSERT INTO log SELECT id, id, 'nothing', '{}' FROM person")
        connection.executescript(fill)


def published(folder: Path, accept: str = "") -> tuple[int, str]:
    policy = folder / "people.yaml"
    policy.write_text(POLICY.format(path=folder / "people.db", accept=accept))
    found = sfumato("publish", str(policy), "--out", str(folder / "release"), "--seed", str(SEED), "--no-report")
    return found.returncode, found.stderr


FIRST, LAST = "substr(name, 1, instr(name, ' ') - 1)", "substr(name, instr(name, ' ') + 1)"
OWN = "(SELECT {0} FROM person WHERE person.id = person_id)"
CASES = {
    "a copy in another table": ("", f"UPDATE log SET text = {OWN.format('name')}"),
    "inside a sentence": ("", f"UPDATE log SET text = 'called ' || {OWN.format('name')} || ' again' WHERE id = 3"),
    "inside json": ("", f"UPDATE log SET doc = json_object('to', {OWN.format('email')}) WHERE id = 5"),
    "escaped in json": ("", """UPDATE log SET doc = '{"by": "\\u0043arla0 Schmidt"}' WHERE id = 0"""),
    "lower case": (", search TEXT", "UPDATE person SET search = lower(name)"),
    "initials": (", short TEXT", f"UPDATE person SET short = substr(name, 1, 1) || substr({LAST}, 1, 1)"),
    "a year": (", year INTEGER", "UPDATE person SET year = substr(born, 1, 4)"),
    "words in another order": (", search TEXT", f"UPDATE person SET search = 'x ' || {LAST} || ' ' || {FIRST}"),
    "lexemes": (", ts TEXT", f"UPDATE person SET ts = '''' || lower({FIRST}) || ''':1 ''' || lower({LAST}) || ''':2'"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_value_that_survives_is_refused(tmp_path, case):
    shop(tmp_path / "people.db", *CASES[case])
    code, told = published(tmp_path)
    assert code == 5, told
    assert "surviving:person." in told
    assert not (tmp_path / "release").exists()


def test_a_digest_survives(tmp_path):
    from hashlib import md5

    shop(tmp_path / "people.db", ", gravatar TEXT")
    with sqlite3.connect(tmp_path / "people.db") as connection:
        for (email,) in connection.execute("SELECT email FROM person").fetchall():
            connection.execute(
                "UPDATE person SET gravatar = ? WHERE email = ?", (md5(email.encode()).hexdigest(), email)
            )
    assert "surviving:person.email->person.gravatar" in published(tmp_path)[1]


def test_what_does_not_survive_is_published(tmp_path):
    shop(
        tmp_path / "people.db",
        ", height INTEGER",
        "UPDATE person SET height = 150 + id % 7; UPDATE log SET text = 'line ' || id",
    )
    code, told = published(tmp_path)
    assert code == 0, told


def test_a_pair_can_be_accepted_and_is_said(tmp_path):
    shop(tmp_path / "people.db", *CASES["a copy in another table"])
    code, told = published(tmp_path, accept='"surviving:person.name->log.text"')
    assert code == 0, told
    assert "surviving:person.name->log.text" in (tmp_path / "release" / "manifest.json").read_text()


def test_check_warns_by_name(tmp_path):
    shop(tmp_path / "people.db", *CASES["inside json"])
    policy = tmp_path / "people.yaml"
    policy.write_text(POLICY.format(path=tmp_path / "people.db", accept=""))
    found = sfumato("check", str(policy), "--strict")
    assert found.returncode == 2
    assert "surviving:person.email->log.doc" in found.stdout + found.stderr


@pytest.mark.parametrize("case", CASES)
def test_discovery_remedies_what_survives(tmp_path, case):
    """The written policy passes the strict check and publishes, and no name, address or word of them is in the
    folder."""
    shop(tmp_path / "people.db", *CASES[case])
    policy = tmp_path / "found.yaml"
    policy.write_text(sfumato("discover", f"sqlite:///{tmp_path}/people.db").stdout)
    assert sfumato("check", str(policy), "--strict", "--accept-roles").returncode == 0
    done = sfumato("publish", str(policy), "--out", str(tmp_path / "release"), "--no-report", "--accept-roles")
    assert done.returncode == 0, done.stderr
    text = "".join(file.read_text() for file in (tmp_path / "release").glob("*.csv")).lower()
    assert not [name for name in PEOPLE if name.lower() in text or "_".join(reversed(name.lower().split())) in text]
    assert "@home.test" not in text


def test_what_an_equation_gives_is_computed_from_the_new_values(tmp_path):
    """Lower case, initials, a login, lexemes and a year follow the invented names and days, row by row, in the
    folder."""
    one, two = f"'''' || lower({FIRST}) || ''':1'", f"'''' || lower({LAST}) || ''':2'"
    made = {
        "search": ("TEXT", "lower(name)"),
        "short": ("TEXT", f"substr(name, 1, 1) || substr({LAST}, 1, 1)"),
        "mark": ("VARCHAR(120)", "lower(name) || '/' || id || '#x'"),
        "ts": (
            "TEXT",
            f"CASE WHEN lower({FIRST}) < lower({LAST}) THEN {one} || ' ' || {two} ELSE {two} || ' ' || {one} END",
        ),
        "year": ("INTEGER", "CAST(substr(born, 1, 4) AS INTEGER)"),
    }
    extra = "".join(f", {name} {kind}" for name, (kind, _) in made.items())
    shop(
        tmp_path / "people.db",
        extra,
        f"UPDATE person SET {', '.join(f'{name} = {how}' for name, (_, how) in made.items())}",
    )
    text = sfumato("discover", f"sqlite:///{tmp_path}/people.db").stdout
    (tmp_path / "found.yaml").write_text(text)
    assert text.count("computed: true") == len(made), text
    done = sfumato(
        "publish", str(tmp_path / "found.yaml"), "--out", str(tmp_path / "release"), "--no-report", "--accept-roles"
    )
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "release" / "person.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["name"] for row in rows}.isdisjoint(PEOPLE)
    for row in rows:
        words = re.findall(r"[^\W_]+", row["name"].lower())
        assert row["search"] == row["name"].lower()
        assert row["short"] == "".join(word[0] for word in row["name"].split())
        assert row["mark"] == f"{row['name'].lower()}/{row['id']}#x"
        assert set(re.findall(r"'(\w+)'", row["ts"])) == set(words)
        assert row["year"] == row["born"][:4]


def test_an_equation_that_misses_one_row_is_none():
    names = [name.split() for name in PEOPLE]
    rows = {"first": [first for first, _ in names], "last": [last for _, last in names]}
    logins = [f"{first[0].lower()}{last.lower()}" for first, last in names]
    assert equation("t", "login", logins, rows, "text") == "t.login = lower(left(t.first, 1)) + lower(t.last)"
    assert equation("t", "login", [*logins[:-1], "root"], rows, "text") == ""
    assert equation("t", "login", [*logins[:-1], None], rows, "text") == ""


def test_card_numbers_are_seen_by_their_check_digit():
    from sfumato.data.personal_columns import personal_kind

    cards = [body + luhn_digit(body) for body in (f"4539{n:011d}" for n in range(1000, 200000, 7919))]
    assert personal_kind("reference", "payments", "text", cards) == "card"
    wrong = [card[:-1] + str((int(card[-1]) + 1) % 10) for card in cards]
    assert personal_kind("reference", "payments", "text", wrong) == ""


ODD = {
    "without accents": ("Łucja Ångström", "text", "seen by lucja angstrom"),
    "in an address": ("Łucja Ångström", "text", "/of?name=%C5%81ucja+%C3%85ngstr%C3%B6m"),
    "in marked-up text": ("Łucja Ångström", "text", "<b>&#321;ucja&nbsp;&Aring;ngstr&ouml;m</b>"),
    "in bytes": ("Łucja Ångström", "binary", "\\x" + "by Łucja Ångström".encode().hex()),
    "in Latin bytes": ("Zoë Ångström", "binary", "\\x" + "by Zoë Ångström".encode("latin-1").hex()),
    "in wide bytes": ("Zoë Ångström", "binary", "\\x" + "by Zoë Ångström".encode("utf-16").hex()),
    "in an array of composites": ("Zoë Ångström", "array", '{"(home,\\"Zoë Ångström\\",1)"}'),
}


@pytest.mark.parametrize("case", ODD)
def test_a_value_is_found_however_it_is_written(case):
    value, kind, cell = ODD[case]
    old = {ColumnValue("name", "t"): pa.array([value, "Wen Zel"])}
    seen = {ColumnValue("c", "u"): (pa.chunked_array([[cell, None, "nothing", "\\x00ff"]]), kind)}
    assert [(one.cells, one.replaced.name) for one in match_original_values(old, seen)] == [(1, "name")]
    assert match_original_values({ColumnValue("name", "t"): pa.array(["Wen Zel"])}, seen) == []


def test_what_is_made_of_a_value_is_found_in_its_row():
    days = [f"19{50 + n % 40}-0{n % 9 + 1}-1{n % 7}" for n in range(60)]
    old = {
        ColumnValue("mail", "t"): [f"q{n}x@home.test" for n in range(60)],
        ColumnValue("born", "t"): days,
        ColumnValue("phone", "t"): [f"+31 6 {10000000 + n * 7919}" for n in range(60)],
        ColumnValue("name", "t"): [f"Ann{chr(97 + n % 26)} Boe{chr(97 + n // 26)}" for n in range(60)],
    }
    kept = {
        "digest": (
            "binary",
            ["\\x" + sha256(mail.encode()).hexdigest() for mail in old[ColumnValue("mail", "t")]],
            "mail",
        ),
        "moment": ("timestamp", [f"{day} 08:00:00" for day in days], "born"),
        "number": ("integer", [day.replace("-", "") for day in days], "born"),
        "dialled": ("integer", [str(610000000 + n * 7919) for n in range(60)], "phone"),
        "mirror": ("text", [name[::-1] for name in old[ColumnValue("name", "t")]], "name"),
        "height": ("integer", [str(150 + n % 40) for n in range(60)], ""),
        "stamp": ("timestamp", [f"2024-0{n % 9 + 1}-1{n % 5} 08:00:00" for n in range(60)], ""),
    }
    sample = pa.table({name: values for name, (_, values, _) in kept.items()})
    kinds = {name: kind for name, (kind, _, _) in kept.items()}
    found = {one.kept.name: one.replaced.name for one in columns_that_reveal("t", old, sample, kinds, 60)}
    assert found == {name: source for name, (_, _, source) in kept.items() if source}


def test_discovery_waves_nothing_through(tmp_path):
    """One note in a hundred names an address, and a copy two tables away has few values: emptied, and no rule lists old
    names."""
    given = ["Ottokar", "Quirina", "Wenzel", "Ysolde", "Thaddeus"]
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.executescript("""
            CREATE TABLE client (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, email TEXT UNIQUE, scan BLOB);
            CREATE TABLE cart (id INTEGER PRIMARY KEY, client INTEGER REFERENCES client (id));
            CREATE TABLE line (id INTEGER PRIMARY KEY, cart INTEGER REFERENCES cart (id), engraved TEXT);
            CREATE TABLE memo (id INTEGER PRIMARY KEY, line TEXT);
        """)
        for n in range(200):
            first, last, mail = given[n % 5], f"Droste{chr(97 + n % 26)}{chr(97 + n // 26)}", f"q{n}x@home.test"
            connection.execute(
                "INSERT INTO client VALUES (?, ?, ?, ?, ?)", (n, first, last, mail, f"of {first} {last}".encode())
            )
            connection.execute("INSERT INTO cart VALUES (?, ?)", (n, n))
            connection.execute("INSERT INTO line VALUES (?, ?, ?)", (n, n, first))
            memo = f"sent to {mail} on monday" if n % 100 == 7 else f"batch {n} went out"
            connection.execute("INSERT INTO memo VALUES (?, ?)", (n, memo))
    text = sfumato("discover", f"sqlite:///{tmp_path}/people.db").stdout
    written = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert "accept" not in written and not [name for name in given if name in written]
    (tmp_path / "found.yaml").write_text(text)
    assert sfumato("check", str(tmp_path / "found.yaml"), "--strict", "--accept-roles").returncode == 0
    done = sfumato(
        "publish", str(tmp_path / "found.yaml"), "--out", str(tmp_path / "release"), "--no-report", "--accept-roles"
    )
    assert done.returncode == 0, done.stderr
    shown = "".join(file.read_text() for file in (tmp_path / "release").glob("*.csv"))
    assert "home.test" not in shown and not [name for name in given if name in shown or name.encode().hex() in shown]


def test_check_tells_when_a_domain_has_too_few_values_for_its_link(tmp_path):
    shop(tmp_path / "people.db", "", "UPDATE log SET text = (SELECT name FROM person WHERE id = person_id)")
    text = POLICY.format(path=tmp_path / "people.db", accept="").replace(
        "{kind", "{consistent: [[person.name, log.text]], kind"
    )
    (tmp_path / "p.yaml").write_text(text + """keep: ["person.name in {'Carla0 Schmidt', 'Nobody'}"]\n""")
    refused = sfumato("check", str(tmp_path / "p.yaml"))
    assert refused.returncode == 2 and "different values are possible for 24" in refused.stderr, refused.stderr


def test_plain_texts_are_split_into_the_same_words_as_any() -> None:
    """Words of texts that are nothing but ASCII are found by a pattern that is quickly understood: it says the same."""
    draw, signs = random.Random(0), "abXY019 _-.,@/%'\"\t\n\x00~^[]{}:;" + "éßØ日٣²Ⅷ"
    for trial in range(300):
        known = signs if trial % 2 else signs[:-7]
        texts = ["".join(draw.choices(known, k=draw.randrange(9))) for _ in range(draw.randrange(5))]
        read = fold_texts(pa.array(texts, pa.string()))
        assert split_words(read).equals(pc.split_pattern_regex(read, BETWEEN)), texts
