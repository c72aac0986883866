"""Databases larger than the memory they may take: rows in files, work in pieces, and the same answers as in one.

Everything is done once more with a bound so small that hundreds of rows are many; what is counted in pieces is compared
with counts written from the definitions."""

from __future__ import annotations

import mmap
import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from database_cases import assert_same_rows, whole
from postgres_server import session
from small_shop import make_shop, sfumato, write_policy

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.data.memory_map import (
    MappedFile,
    MappedTableBuilder,
    drop_unused_pages,
    map_column,
    map_numbers,
    map_row_numbers,
    memory_bound,
    resident,
    rows_per_step,
)
from sfumato.io.sql import load, read_rows, read_schema
from sfumato.kinds.testdata.database_source_audit import source_seen
from sfumato.kinds.testdata.database_view import count_differing_rows, count_distinct, dangling, repeated
from sfumato.kinds.testdata.leaked_values import _rows_of, match_original_values
from sfumato.policy.constraint_language.evaluated_values import _days, _numbers, moments, whole_numbers
from sfumato.policy.constraint_language.syntax_tree import ColumnValue
from sfumato.policy.policy import Policy
from sfumato.workflow.database_load import load_release
from tests.secret import SEED

TINY = 20 * 2048  # twenty rows at once


def column(rng: random.Random, rows: int, values: int) -> list[str | None]:
    return [rng.choice([None, "", *map(str, range(values))]) for _ in range(rows)]


def arrow(values: list[str | None]) -> pa.ChunkedArray:
    cut = len(values) // 3
    return pa.chunked_array([values[:cut], values[cut:]], pa.string())


def test_what_is_counted_in_pieces_is_what_the_definitions_say() -> None:
    rng = random.Random(7)
    with memory_bound(TINY):
        assert rows_per_step() == 20
        for _ in range(8):
            a, b, c, d = (column(rng, rng.randint(60, 90), rng.choice([1, 9, 300])) for _ in range(4))
            b, d = (b * 4)[: len(a)], (d * 4)[: len(c)]
            one, two = list(zip(a, b, strict=True)), list(zip(c, d, strict=True))
            left, right = [arrow(a), arrow(b)], [arrow(c), arrow(d)]
            present = [row for row in one if None not in row]
            assert repeated(left) == len(present) - len(set(present))
            assert count_distinct(left) == len(set(one))
            assert dangling(left, right) == sum(row not in set(two) for row in present if "" not in row)
            more, less = Counter(one) - Counter(two), Counter(two) - Counter(one)
            assert count_differing_rows(left, right) == (more.total(), less.total())


def test_values_read_at_once_are_those_read_one_by_one() -> None:
    rng = random.Random(8)
    numbers = ["0", "-0", "12", "-7.5", "0.000001", "999999999999", "00012", "1.10", "1e3", ".5", "+3", "x"]
    days = ["2020-01-01", "0001-01-01", "9999-12-31 23:59:59.999999", "1969-12-31T23:59:59", "2020-02-30", "0000-01-01"]
    days += [
        "2020-01-01 24:00:00",
        "2020-01-01 23:59:60",
        "2020-01-01 00:00:00.5",
        "2020-02-29 12:30:00",
        "2020-01-01 10:00",
    ]
    read = 0
    for _ in range(600):
        for options, quick, slow in ((numbers, whole_numbers, _numbers), (days, moments, _days)):
            texts = rng.choices(options, k=rng.randint(1, 3))
            found = quick(texts)
            if found is not None:
                read += 1
                assert slow(texts) == ([int(part) for part in found[0]], found[1]), texts
    assert read > 100


def test_the_shelf_gives_back_what_was_put_there() -> None:
    rng = random.Random(9)
    texts = [rng.choice([None, "", "ü", "a,b", "x" * 90]) for _ in range(700)]
    with memory_bound(0):
        shelf = MappedTableBuilder(["n", "t"])
        for start in range(0, 700, 97):
            piece = texts[start : start + 97]
            shelf.put(pa.table({"n": pa.array([str(start)] * len(piece)), "t": pa.array(piece, pa.string()).slice(0)}))
        table = shelf.table()
        assert table.column("t").to_pylist() == texts
        assert table.column("t").num_chunks == 1
        assert map_column(pa.array(texts).slice(3, 50)).to_pylist() == texts[3:53]
        assert map_numbers(np.arange(50)).tolist() == list(range(50))
        assert map_row_numbers(50).tolist() == list(range(50))
    with memory_bound(TINY):
        assert map_row_numbers(70).tolist() == list(range(70))


def test_pages_of_files_are_let_go_while_somebody_works() -> None:
    size = 48 << 20
    with tempfile.TemporaryFile() as file:
        file.write(bytes(size))
        file.flush()
        pages = MappedFile(file.fileno(), size)
    before = resident()[1]

    def held() -> int:
        return resident()[1] - before

    assert not any(pages[place] for place in range(0, size, mmap.PAGESIZE)) and held() > size // 2
    drop_unused_pages()
    assert held() < size // 8
    assert not any(pages[place] for place in range(0, size, mmap.PAGESIZE)) and held() > size // 2, "they come back"
    with memory_bound(64 << 20):
        while held() > size // 8:  # nobody asks for it; the watch does it
            pass


def test_old_values_are_found_in_pieces_as_at_once() -> None:
    rng = random.Random(11)
    cards = [str(rng.randrange(10**15, 10**16)) for _ in range(60)]
    notes = [f"paid by {rng.choice(cards)} on day {n}" if n % 3 else f"line {n}" for n in range(300)]
    numbers = [rng.choice(cards) if n % 5 == 0 else str(n) for n in range(400)]
    kinds = [rng.choice(["cash", "card", cards[0]]) for _ in range(500)]
    kept = {
        "note": (notes, "text"),
        "number": (numbers, "integer"),
        "exact": (numbers, "decimal"),
        "kind": (kinds, "text"),
    }
    old = {ColumnValue("card", "pay"): pa.array(cards)}
    shown = {ColumnValue(name, "log"): (arrow(values), kind) for name, (values, kind) in kept.items()}
    meant = {name: sum(any(card in value for card in cards) for value in values) for name, (values, _) in kept.items()}
    for bound in (TINY, 1 << 30):
        with memory_bound(bound):
            assert {one.kept.name: one.cells for one in match_original_values(old, shown)} == meant
            found = _rows_of(arrow([*cards[:20], None, "gone"]), arrow([None, *cards]))
            assert found.to_pylist() == [*range(1, 21), None, None]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("large") / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            CREATE TABLE client (id INTEGER PRIMARY KEY, name TEXT NOT NULL, mail TEXT UNIQUE, born DATE, note TEXT);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, client INTEGER NOT NULL REFERENCES client (id), placed DATE,
              sent DATE,
              kind TEXT, rate INTEGER);
        """)
        people = [
            (n, f"Ann Boe{n}", f"a{n}@b.test", f"19{n % 90 + 10}-01-01", "" if n % 3 else None) for n in range(300)
        ]
        connection.executemany("INSERT INTO client VALUES (?, ?, ?, ?, ?)", people)
        rows = [
            (n, n % 300, f"2020-01-{n % 28 + 1:02d}", f"2020-02-{n % 28 + 1:02d}", "abc"[n % 3], n % 3)
            for n in range(2_000)
        ]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", rows)
    return f"sqlite:///{path}"


POLICY = """
version: 1
data: {{kind: database, source: "{source}", memory: {memory}}}
columns:
  client.id: {{role: replaced, domain: {{integers: [1, 9999]}}}}
  client.name: {{role: replaced, domain: {{fakes: name}}}}
  client.mail: {{role: replaced, domain: {{fakes: email}}}}
  orders.placed: {{role: replaced, domain: {{dates: [2019-01-01, 2020-01-31]}}}}
keep: ["orders.placed <= orders.sent", "orders.kind determines orders.rate", "orders.rate in {{0, 1, 2}}"]
"""


def test_a_release_does_not_depend_on_the_memory(shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.kinds.testdata.methods.relational._CODE", 0)
    for memory in ("1.5 MB", "2 GB"):
        (tmp_path / "p.yaml").write_text(POLICY.format(source=shop, memory=memory))
        out = tmp_path / memory[0]
        done = sfumato("publish", str(tmp_path / "p.yaml"), "--out", str(out), "--seed", str(SEED), "--no-report")
        assert done.returncode == 0, done.stderr
    told = [sfumato("verify", str(tmp_path / "1"), "--json", *more).stdout for more in ([], ["--memory", "1.5 MB"])]
    assert told[0] == told[1] != ""
    wrong = sfumato("verify", str(tmp_path / "1"), "--memory", "much")
    assert wrong.returncode == 2 and "'800 MB'" in wrong.stderr
    for name in ("client.csv", "orders.csv", "certificate.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_too_little_memory_is_refused_before_anything_is_made(shop: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POLICY.format(source=shop, memory="1 MB"))
    done = sfumato("check", str(tmp_path / "p.yaml"))
    assert done.returncode == 2
    assert "write 'memory:" in done.stderr
    assert "1 MB are allowed" in done.stderr


def test_broken_rules_are_counted_alike_in_pieces(shop: str) -> None:
    keep = ["orders.placed > orders.sent", "orders.kind determines orders.client", "orders.client in {1, 5}"]
    keep.append("unique(orders.client)")
    text = POLICY.format(source=shop, memory="2 GB").partition("keep:")[0]
    policy = Policy.parse({**_tree(text), "keep": keep})
    data = read_rows(shop, read_schema(shop))
    counts = [[source_seen(policy, data).judge(rule) for rule in source_seen(policy, data).bound.keep]]
    with memory_bound(TINY):
        counts.append([source_seen(policy, data).judge(rule) for rule in source_seen(policy, data).bound.keep])
    rows = data.tables["orders"].frame.to_pylist()
    first = {row["kind"]: row["client"] for row in reversed(rows)}
    meant = [
        sum(row["placed"] <= row["sent"] for row in rows),
        sum(first[row["kind"]] != row["client"] for row in rows),
        sum(row["client"] not in ("1", "5") for row in rows),
        len(rows) - len({row["client"] for row in rows}),
    ]
    assert counts == [meant, meant]


def _tree(text: str) -> dict[str, object]:
    import yaml

    found: dict[str, object] = yaml.safe_load(text)
    return found


def test_several_tables_are_loaded_at_once(fresh: Callable[[], str]) -> None:
    source, target, other = fresh(), fresh(), fresh()
    with session(source) as connection:
        for n in range(6):
            connection.execute(
                f"CREATE TABLE t{n} (id integer PRIMARY KEY, up integer REFERENCES t0 (id), CHECK (id < 90))"
            )
            connection.execute(f"INSERT INTO t{n} SELECT n, 1 FROM generate_series(1, 80) n")
    data = whole(source)
    load(target, data.schema, data.tables, fingerprint="f", jobs=3)
    assert_same_rows(data, whole(target), exactly=True)
    broken = dict(data.tables)
    broken["t4"] = type(broken["t4"])(pa.table({"id": ["95"], "up": ["1"]}))
    with pytest.raises(DataError, match="check constraint"):
        load(other, data.schema, broken, fingerprint="g", jobs=3)


def test_progress_never_goes_back(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, make_shop(tmp_path / "shop.db"), f"sqlite:///{tmp_path}/target.db")
    told: list[tuple[float, str]] = []
    sf.publish(policy, progress=lambda done, what: told.append((done, what))).write(tmp_path / "out")
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert {"reading", "certifying", "constraints"} <= {what for _, what in told}
    told.clear()
    load_release(policy, tmp_path / "out", progress=lambda done, what: told.append((done, what)))
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert max(shares) <= 1
    assert {"judging the target", "looking for old values"} <= {what for _, what in told}
