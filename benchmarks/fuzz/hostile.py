"""Files, policies, rules and folders that were made to do harm: each ends soon, in an answer or in one clear
sentence."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import yaml

import sfumato as sf
from benchmarks.fuzz import junk
from benchmarks.fuzz.story import Hangs, Kind, within
from benchmarks.fuzz.tally import Tally
from sfumato.core.errors import SfumatoError
from sfumato.history.ledger import Ledger
from sfumato.policy.yaml_document import read_yaml
from tests.command_line import run
from tests.secret import secret
from tests.sequential.stories import people, random_generator, release
from tests.trust.every_form import FORMS, redo, release_of

SECONDS = 20
TABLE = {
    "age": ["30", "31", "44", "45"] * 3,
    "sex": list("fm") * 6,
    "pay": [str(n * 7) for n in range(12)],
    "illness": [junk.SECRET, "flu", "cold"] * 4,
}
POLICY = {
    "version": 1,
    "columns": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 2}},
        "sex": "quasi-identifier",
        "pay": {"role": "other"},
        "illness": "sensitive",
    },
    "protect": [
        {"k-anonymity": {"k": 2}},
        {"given": ["age"], "hide": "illness", "by": {"l-diversity": {"l": 2, "kind": "distinct"}}},
    ],
    "keep": ["pay >= 0"],
    "method": {"mondrian": {"blind": False}},
    "utility": {"minimize": "loss", "suppress_at_most": "50%"},
}
REPLACED = {
    "version": 1,
    "columns": {
        "age": {"role": "replaced", "domain": {"integers": [20, 50]}},
        "pay": {"role": "replaced", "domain": {"integers": [0, 99]}},
    },
    "keep": ["age <= 50", "sum(pay) <= 900"],
    "method": {"obfuscation": {}},
}


class HostileKind(Kind):
    """Whatever a stranger may hand in."""

    name: ClassVar[str] = "hostile"
    form: ClassVar[str] = ""
    weight: ClassVar[float] = 0.4

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        sort = rng.choice(list(SORTS))
        tally.attacked(sort)
        try:
            with within(SECONDS):
                SORTS[sort](rng, place)
        except SfumatoError as error:
            _clear(error, tally)
        except Hangs:
            tally.fail("hang", f"hostile {sort}: no answer in {SECONDS} seconds")


def _clear(error: SfumatoError, tally: Tally) -> None:
    """One line that says something and repeats nothing of a person."""
    said = str(error)
    if not error.what.strip() or "\n" in said:
        tally.fail("crash", f"an error in {said.count(chr(10)) + 1} lines: {said!r}")
    if junk.SECRET in said:
        tally.fail("crash", f"an error repeats a value of a person: {said!r}")


def _published(tree: dict[str, Any], data: Any = None) -> None:
    sf.publish(sf.Policy.parse(tree), data=TABLE if data is None else data, seed=secret(1))


def _csv() -> bytes:
    rows = [",".join(TABLE), *(",".join(row) for row in zip(*TABLE.values(), strict=True))]
    return "\n".join(rows).encode() + b"\n"


def tables(rng: random.Random, place: Path) -> None:
    name = rng.choice(["people.csv", "people.tsv", "people.csv.gz", "people.parquet", "people.txt"])
    content = junk.spoilt_bytes(rng, _csv())
    (place / name).write_bytes(gzip.compress(content) if name.endswith("gz") and rng.random() < 0.7 else content)
    _published(rng.choice([POLICY, REPLACED]), place / name)


def packed(rng: random.Random, place: Path) -> None:
    good = gzip.compress(_csv())
    content = rng.choice(
        [
            lambda: junk.spoilt_bytes(rng, good),
            lambda: good + rng.randbytes(20),
            lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 2_000_000),
            lambda: gzip.compress(gzip.compress(_csv())),
            lambda: good[:10],
            lambda: gzip.compress(b""),
        ]
    )()
    (place / "people.csv.gz").write_bytes(content)
    _published(POLICY, place / "people.csv.gz")


def frames(rng: random.Random, place: Path) -> None:
    """Columns of odd lengths, kinds and names."""
    data: dict[Any, Any] = dict(TABLE)
    for _ in range(rng.randint(1, 3)):
        name = rng.choice([*TABLE, junk.word(rng)])
        data[name] = rng.choice(
            [
                lambda: [junk.word(rng) for _ in range(12)],
                lambda: [junk.leaf(rng)] * 12,
                lambda: [1.5, None] * 6,
                lambda: ["x"] * 3,
                lambda: [[1]] * 12,
                lambda: [b"\xff"] * 12,
                lambda: list(range(12)),
                lambda: "text",
                lambda: None,
                lambda: [float("nan")] * 12,
            ]
        )()
    _published(rng.choice([POLICY, REPLACED]), rng.choice([data, data, data, [], "", 3, object()]))


def policies(rng: random.Random, place: Path) -> None:
    """Trees with junk in them, and what becomes of them."""
    tree = junk.spoilt_tree(rng, rng.choice([POLICY, REPLACED]), rng.choice([1, 1, 2, 3]))
    _published(tree if isinstance(tree, dict) else {"version": tree})


def yaml_files(rng: random.Random, place: Path) -> None:
    content = junk.spoilt_bytes(rng, yaml.safe_dump(POLICY).encode())
    if rng.random() < 0.2:
        content = rng.choice(
            [
                b"[" * 50_000,
                b"a: &a [*a]",
                b"a: !!python/object:x {}",
                b"- " * 20_000,
                b"? " * 9000,
                b"a: |\n\tb",
                b"{a: 1, a: 2}",
            ]
        )
    (place / "policy.yaml").write_bytes(content)
    read_yaml(place / "policy.yaml")
    sf.publish(place / "policy.yaml", data=TABLE, seed=secret(1))


def hierarchies(rng: random.Random, place: Path) -> None:
    rows = "".join(f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};*\n" for age in (30, 31, 44, 45))
    (place / "ages.csv").write_bytes(junk.spoilt_bytes(rng, rows.encode()))
    column = {"role": "quasi-identifier", "hierarchy": str(place / "ages.csv")}
    if rng.random() < 0.3:
        column["hierarchy"] = junk.spoilt_tree(rng, {"*": {"30-39": ["30", "31"], "40-49": ["44", "45"]}}, 2)
    _published(POLICY | {"columns": POLICY["columns"] | {"age": column}})  # type: ignore[operator]


def rules(rng: random.Random, place: Path) -> None:
    words = [
        "pay",
        "age",
        "<=",
        "=",
        "!=",
        "+",
        "*",
        "/",
        "(",
        ")",
        "sum(",
        "count(",
        "mean(",
        "if",
        "then",
        "and",
        "or",
        "not",
        "in",
        "{",
        "}",
        "1",
        "0",
        "1e999",
        "unique(",
        'match(pay, "(a|a)*b")',
        "by",
        "where",
        "within",
        "original.pay",
        "[1]",
        "[0]",
        "[99999999999]",
        "determines",
        "references",
        "`",
        '"',
        "localities(",
        "same_multiset(",
        "at_least(",
        "2020-02-31",
        ",",
        ".",
    ]
    rule = " ".join(rng.choices(words, k=rng.randint(1, 9)))
    if rng.random() < 0.2:
        rule = rng.choice(
            [
                "(" * 3000 + "pay" + ")" * 3000 + " <= 1",
                "not " * 3000 + "pay = 1",
                "pay <= " + "9" * 5000,
                "pay" + " + pay" * 3000 + " > 1",
                "-" * 3000 + "pay < 1",
            ]
        )
    _published(rng.choice([POLICY, REPLACED]) | {"keep": [rule]})


def patterns(rng: random.Random, place: Path) -> None:
    signs = [
        "a",
        "b",
        "(",
        ")",
        "[",
        "]",
        "*",
        "+",
        "?",
        "{2}",
        "{2,}",
        "{0,1000}",
        "{1000}",
        "|",
        ".",
        "^",
        "$",
        "\\d",
        "\\1",
        "(?=",
        "(?<!",
        "(?P<x>",
        "[a-z]",
        "[^a]",
        "\\",
        "(a|a)*",
        "(a*)*",
        "é",
        "\\b",
        "(?i)",
        "&",
    ]
    pattern = "".join(rng.choices(signs, k=rng.randint(1, 10)))
    if rng.random() < 0.15:
        pattern = rng.choice(
            [
                "(" * 500 + "a" + ")" * 500,
                "((a{100}){100}){100}",
                "(a|a)*b" * 40,
                "[a-z]" * 500,
                "a{9999999999}",
                "(a?){30}a{30}",
            ]
        )
    if rng.random() < 0.5:
        column = {"role": "replaced", "domain": {"pattern": pattern}}
        _published(REPLACED | {"columns": REPLACED["columns"] | {"sex": column}})  # type: ignore[operator]
    else:
        data = TABLE | {"pay": ["a" * 40 + "!"] * 12}
        _published(POLICY | {"keep": [f'match(pay, "{pattern}")']}, data)


def folders(rng: random.Random, place: Path) -> None:
    """The manifest, certificate, policy or a part of a release with junk in it, its checksums redone."""
    source, original = release_of(rng.choice(FORMS))
    folder = Path(shutil.copytree(source, place / "out"))
    file = rng.choice([file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".html"])
    if file.suffix == ".json" and rng.random() < 0.8:
        tree = junk.spoilt_tree(rng, json.loads(file.read_text()), rng.choice([1, 1, 2, 3]))
        file.write_text(json.dumps(tree))
    else:
        file.write_bytes(junk.spoilt_bytes(rng, file.read_bytes()))
    if file.name != "manifest.json" and rng.random() < 0.7:
        redo(folder)
    sf.verify(folder, original=original if rng.random() < 0.5 else None)
    _commanded(rng, folder)


def _commanded(rng: random.Random, folder: Path) -> None:
    """The same folder on the command line."""
    if rng.random() < 0.7:
        return
    more = rng.choice([["verify"], ["report"], ["query", "SELECT COUNT(*) FROM data"], ["attack", "intersection"]])
    done = run(
        more[0], *([more[1]] if more[0] == "attack" else []), str(folder), *(more[1:] if more[0] == "query" else [])
    )
    said = done.stdout + done.stderr
    if done.returncode not in range(7) or "Traceback" in said or "unexpected" in done.stderr:
        raise AssertionError(f"{more}: exit {done.returncode}: {said[-1500:]}")


def ledgers(rng: random.Random, place: Path) -> None:
    release(place, ["a", "s"], people(random_generator(2), 6) | {"s": ["s0", "s1", "s2", "s3", "s0", "s1"]})
    book = place / "book.ledger"
    content = bytearray(book.read_bytes())
    way = rng.random()
    if way < 0.5:
        for _ in range(rng.randint(1, 30)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        book.write_bytes(bytes(content))
    elif way < 0.8:
        book.write_bytes(junk.spoilt_bytes(rng, bytes(content)))
    else:
        _edited(rng, book)
    _survives(lambda: Ledger(book).verify())
    _survives(lambda: Ledger(book).history())
    sf.verify(place / "release-1", ledger=book)


def _edited(rng: random.Random, book: Path) -> None:
    import sqlite3

    base = sqlite3.connect(book)
    guards = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
    base.executescript("".join(f"DROP TRIGGER {name};" for name in guards))
    base.execute(
        rng.choice(
            [
                "UPDATE entries SET body = '{}'",
                "UPDATE files SET name = '/tmp/' || name",
                "DELETE FROM files",
                "UPDATE entries SET number = 7",
                "CREATE TABLE more (x)",
                "CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM entries; END",
                "UPDATE entries SET body = '[' || body",
                "UPDATE files SET content = zeroblob(1000)",
                "UPDATE entries SET body = 3.5",
            ]
        )
    )
    base.commit()
    base.close()


def _survives(act: Callable[[], Any]) -> None:
    """An error of ours is an answer; the next reader is asked all the same."""
    with suppress(SfumatoError):
        act()


def graphs(rng: random.Random, place: Path) -> None:
    good = rng.choice(
        [b"0\t1\n1\t2\n2\t3\n", b"source,target\na,b\nb,c\n", b"<graphml><graph><node id='a'/></graph></graphml>"]
    )
    name = rng.choice(["ties.tsv", "ties.csv", "ties.graphml", "ties.txt", "ties.txt.gz"])
    (place / name).write_bytes(junk.spoilt_bytes(rng, good))
    tree = {
        "version": 1,
        "data": {"kind": "graph"},
        "protect": [{"k-degree-anonymity": {"k": 2}}],
        "method": {"degree-anonymity": {}},
    }
    _published(tree, place / name)


def baskets(rng: random.Random, place: Path) -> None:
    good = rng.choice([b"1 2 3\n2 3\n1\n4\n", b"items,label\na b,x\nb,y\na,x\n", b"a,b,label\n1,0,x\n0,1,y\n1,1,x\n"])
    name = rng.choice(["sets.dat", "sets.csv", "sets.dat.gz", "sets.txt"])
    (place / name).write_bytes(junk.spoilt_bytes(rng, good))
    data = {"kind": "baskets"} | ({"items": "items"} if b"items" in good else {})
    tree = {"version": 1, "data": data, "protect": [{"k-anonymity": {"k": 2}}], "method": {"nonreciprocal": {}}}
    _published(tree, place / name)


SORTS: dict[str, Callable[[random.Random, Path], None]] = {
    sort.__name__.replace("_", " "): sort
    for sort in (
        tables,
        packed,
        frames,
        policies,
        yaml_files,
        hierarchies,
        rules,
        patterns,
        folders,
        ledgers,
        graphs,
        baskets,
    )
}
