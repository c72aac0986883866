"""Two hundred bad inputs: each ends with its exit code and one line that names the place and a way out, and leaves nothing behind.

A row is (what is wrong, command, exit code, a word of the message). The commands run in a folder with the examples of the policy's
page; ``{name}`` files are made from `POLICIES` and `TABLES`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_pages.policy_page import EXAMPLES
from tests.command_line import run

HEAD = "version: 1\ndata: people.csv\n"
COLUMNS = "columns: {name: identifier, age: quasi-identifier, sex: quasi-identifier, illness: sensitive}\n"
CLAIM = "protect: [k-anonymity: {k: 3}]\n"
GOOD = HEAD + COLUMNS + CLAIM


def column(text: str) -> str:
    return HEAD + f"columns: {{name: identifier, age: {text}, illness: sensitive}}\n" + CLAIM


def claim(text: str) -> str:
    return HEAD + COLUMNS + f"protect:\n  - {text}\n"


def method(text: str) -> str:
    return GOOD + f"method: {text}\n"


def domain(text: str) -> str:
    return HEAD + f"columns: {{name: identifier, age: {{role: replaced, domain: {text}}}}}\n"


def keep(text: str) -> str:
    return (
        HEAD
        + f"columns: {{name: identifier, age: {{role: replaced, domain: {{integers: [1, 99]}}}}}}\nkeep: ['{text}']\n"
    )


def data(text: str) -> str:
    return f"version: 1\ndata: {text}\n" + COLUMNS + CLAIM


POLICIES: dict[str, tuple[str, int, str]] = {
    # not a policy at all
    "empty": ("", 2, "version"),
    "a list": ("- a\n- b\n", 2, "mapping"),
    "a word": ("hello\n", 2, "mapping"),
    "bad YAML": ("version: 1\n  data: x\n", 2, "YAML"),
    "open quote": ('version: "1\n', 2, "YAML"),
    "open bracket": ("version: [1\n", 2, "YAML"),
    "tab": ("version: 1\n\tdata: x\n", 2, "YAML"),
    "alias": ("a: &x 1\nb: *x\nversion: 1\n", 2, "alias"),
    "tag": ("version: !!python/name:os.system 1\n", 2, "tag"),
    "two documents": ("version: 1\n---\nversion: 1\n", 2, "YAML"),
    "deep": ("version: 1\nkeep: " + "[" * 60 + "]" * 60 + "\n", 2, "nested"),
    "same key twice": ("version: 1\nversion: 1\n", 2, "twice"),
    "control sign": ("version: 1\ndata: 'a\x07'\n", 2, "YAML"),
    # version and keys
    "no version": ("data: people.csv\n" + COLUMNS, 2, "version: 1"),
    "version 2": (GOOD.replace("version: 1", "version: 2"), 2, "version: 1"),
    "version text": (GOOD.replace("version: 1", "version: one"), 2, "version: 1"),
    "unknown key": (GOOD + "metod: mondrian\n", 2, "did you mean 'method'"),
    "unknown key far": (GOOD + "zzz: 1\n", 2, "unknown key"),
    "capital key": (GOOD.replace("columns", "Columns"), 2, "did you mean 'columns'"),
    # data
    "no file": (data("nobody.csv"), 3, "no such file"),
    "folder as file": (data("."), 3, ""),
    "no source": (data("{kind: table}"), 3, "source"),
    "kind wrong": (data("{kind: tabel, source: people.csv}"), 2, "did you mean 'table'"),
    "kind empty": (data("{kind: '', source: people.csv}"), 2, ""),
    "data key": (data("{kind: table, sorce: people.csv}"), 2, "source"),
    "data list": (data("[people.csv]"), 2, "'data'"),
    "data base": (data("{kind: table, source: people.csv, base: /}"), 2, "unknown key"),
    "line breaks": (data("{kind: table, source: people.csv, line_breaks: maybe}"), 2, "line_breaks"),
    "escape": (data("{kind: table, source: people.csv, escape: all}"), 2, "escape"),
    "decimal comma column": (data("{kind: table, source: people.csv, decimal_comma: [pay]}"), 3, "no column 'pay'"),
    "unknown database": (data('{kind: table, source: "oracle://x/y", table: t}'), 3, ""),
    "no table named": (data('{kind: table, source: "sqlite:///shop.db"}'), 3, "table"),
    "no sqlite file": (data('{kind: table, source: "sqlite:///nobody.db", table: t}'), 3, "SQLite"),
    "server that is not there": (
        data('{kind: table, source: "postgresql://u:p@127.0.0.1:1/x", table: t}'),
        3,
        "no server listens",
    ),
    "baskets from nothing": (
        "version: 1\ndata: {kind: baskets, source: nobody.dat}\nprotect: [k-anonymity: {k: 2}]\n",
        3,
        "no such file",
    ),
    "graph from nothing": (
        "version: 1\ndata: {kind: graph, source: nobody.csv}\nprotect: [k-degree-anonymity: {k: 2}]\n",
        3,
        "no such file",
    ),
    "graph isolated": (
        "version: 1\ndata: {kind: graph, source: ties.csv, isolated: -1}\nprotect: [k-degree-anonymity: {k: 2}]\n",
        2,
        "isolated",
    ),
    "baskets format": (
        "version: 1\ndata: {kind: baskets, source: baskets.csv, format: bags}\nprotect: [k-anonymity: {k: 2}]\n",
        2,
        "format",
    ),
    "baskets column": (
        "version: 1\ndata: {kind: baskets, source: baskets.csv, items: things}\nprotect: [k-anonymity: {k: 2}]\n",
        3,
        "things",
    ),
    "database target": ("version: 1\ndata: {kind: database, source: nowhere}\n", 2, "replaced"),
    # columns
    "columns list": (HEAD + "columns: [age]\n" + CLAIM, 2, "'columns'"),
    "role wrong": (column("quasi"), 2, "role"),
    "role empty": (column("''"), 2, "role"),
    "role missing": (column("{hierarchy: flat}"), 2, "role"),
    "column key": (column("{role: quasi-identifier, hierachy: flat}"), 2, "did you mean 'hierarchy'"),
    "column number": (column("5"), 2, "role"),
    "column list": (column("[quasi-identifier]"), 2, "named parameters"),
    "publish wrong": (column("{role: quasi-identifier, publish: perhaps}"), 2, "publish"),
    "column not there": (
        HEAD + "columns: {agee: quasi-identifier, illness: sensitive}\n" + CLAIM,
        3,
        "did you mean 'age'",
    ),
    "constant without person": (column("{role: quasi-identifier, constant: true}"), 2, "person"),
    "dates without person": (column("{role: other, dates: {shift: 30}}"), 2, "person"),
    # hierarchies
    "hierarchy file": (column("{role: quasi-identifier, hierarchy: nobody.csv}"), 2, "no such hierarchy file"),
    "hierarchy number": (column("{role: quasi-identifier, hierarchy: [1, 2]}"), 2, "hierarchy"),
    "rule wrong": (column("{role: quasi-identifier, hierarchy: {intervalls: [5]}}"), 2, "did you mean 'intervals'"),
    "two rules": (column("{role: quasi-identifier, hierarchy: {intervals: [5], prefix: 2}}"), 2, "one"),
    "no widths": (column("{role: quasi-identifier, hierarchy: {intervals: []}}"), 2, "intervals"),
    "negative width": (column("{role: quasi-identifier, hierarchy: {intervals: [-5]}}"), 2, ""),
    "widths that do not nest": (column("{role: quasi-identifier, hierarchy: {intervals: [5, 7]}}"), 2, ""),
    "width text": (column("{role: quasi-identifier, hierarchy: {intervals: [five]}}"), 2, ""),
    "prefix zero": (column("{role: quasi-identifier, hierarchy: {prefix: 0}}"), 2, "prefix"),
    "prefix text": (column("{role: quasi-identifier, hierarchy: {prefix: two}}"), 2, "prefix"),
    "prefix huge": (column("{role: quasi-identifier, hierarchy: {prefix: 1000000}}"), 2, "prefix"),
    "dates word": (column("{role: quasi-identifier, hierarchy: {dates: [fortnight]}}"), 2, "fortnight"),
    "dates order": (column("{role: quasi-identifier, hierarchy: {dates: [year, month]}}"), 3, "age"),
    "dates on ages": (column("{role: quasi-identifier, hierarchy: {dates: [year]}}"), 3, "age"),
    "tree without a leaf": (column("{role: quasi-identifier, hierarchy: {all: [1, 2, 3]}}"), 3, "age"),
    "tree with twins": (column("{role: quasi-identifier, hierarchy: {all: {a: [1], b: [1]}}}"), 2, ""),
    "intervals on words": (
        HEAD + "columns: {illness: {role: quasi-identifier, hierarchy: {intervals: [5]}}}\n" + CLAIM,
        3,
        "illness",
    ),
    "ranges on words": (
        HEAD + "columns: {illness: {role: quasi-identifier, hierarchy: ranges}}\n" + CLAIM,
        3,
        "illness",
    ),
    # boundaries
    "boundary alone": (column("{role: quasi-identifier, boundary: [a]}"), 2, "boundary"),
    "boundary node": (column("{role: quasi-identifier, hierarchy: {intervals: [5]}, boundary: [nowhere]}"), 2, ""),
    "boundary key": (column("{role: quasi-identifier, hierarchy: {intervals: [5]}, boundary: {levl: 1}}"), 2, "level"),
    "boundary below": (
        column("{role: quasi-identifier, hierarchy: {intervals: [5]}, boundary: {level: -1}}"),
        2,
        "boundary",
    ),
    "boundary text": (
        column("{role: quasi-identifier, hierarchy: {intervals: [5]}, boundary: {level: top}}"),
        2,
        "level 'top'",
    ),
    # claims
    "protect mapping": (HEAD + COLUMNS + "protect: {k-anonymity: {k: 3}}\n", 2, "list"),
    "protect word": (HEAD + COLUMNS + "protect: all\n", 2, "list"),
    "model wrong": (claim("k-anonimity: {k: 3}"), 2, "did you mean 'k-anonymity'"),
    "model far": (claim("safety: {}"), 2, "safety"),
    "k missing": (claim("k-anonymity: {}"), 2, "k"),
    "k zero": (claim("k-anonymity: {k: 0}"), 2, "greater"),
    "k text": (claim("k-anonymity: {k: many}"), 2, "k"),
    "k half": (claim("k-anonymity: {k: 2.5}"), 2, "k"),
    "k list": (claim("k-anonymity: {k: [3]}"), 2, "k"),
    "k twice": (claim("k-anonymity: {k: 3, q: 2}"), 2, "unknown key 'q'"),
    "two models": (claim("{k-anonymity: {k: 3}, l-diversity: {l: 2}}"), 2, "one model"),
    "claim number": (claim("5"), 2, "claim"),
    "claim nothing": (claim("{}"), 2, "model"),
    "l missing": (claim("l-diversity: {}"), 2, "l"),
    "l kind": (claim("l-diversity: {l: 2, kind: entropic}"), 2, "kind"),
    "l zero": (claim("l-diversity: {l: 0}"), 2, "l"),
    "t negative": (claim("t-closeness: {t: -1}"), 2, "t"),
    "t text": (claim("t-closeness: {t: near}"), 2, "t"),
    "p zero": (claim("p-sensitivity: {p: 0}"), 2, "p"),
    "by missing": (claim("{given: [age], hide: illness}"), 2, "by"),
    "by two": (claim("{hide: illness, by: {k-anonymity: {k: 2}, l-diversity: {l: 2}}}"), 2, "by"),
    "by word": (claim("{hide: illness, by: k-anonymity}"), 2, "by"),
    "claim key": (claim("{gven: [age], hide: illness, by: {l-diversity: {l: 2}}}"), 2, ""),
    "given unknown": (claim("{given: [agee], hide: illness, by: {l-diversity: {l: 2}}}"), 2, "did you mean 'age'"),
    "hide unknown": (claim("{given: [age], hide: ilness, by: {l-diversity: {l: 2}}}"), 2, "did you mean 'illness'"),
    "given a mapping": (claim("{given: {age: 1}, hide: illness, by: {l-diversity: {l: 2}}}"), 2, "names columns"),
    "short word": (claim('"age -> illness : 2-diversty"'), 2, "understood"),
    "short arrow": (claim('"age illness : 2-diversity"'), 2, "understood"),
    "short level": (claim('"age -> illness : x-diversity"'), 2, "understood"),
    "short zero": (claim('"age -> illness : 0-diversity"'), 2, ""),
    "short column": (claim('"agee -> illness : 2-diversity"'), 2, "did you mean 'age'"),
    "of graphs": (claim("k-degree-anonymity: {k: 2}"), 2, "table"),
    "nothing to hide": (HEAD + "columns: {age: quasi-identifier}\nprotect: [l-diversity: {l: 2}]\n", 2, "hide"),
    # methods
    "method wrong": (method("mondrain"), 2, "did you mean 'mondrian'"),
    "method list": (method("[mondrian]"), 2, "one method"),
    "method two": (method("{mondrian: {}, refined: {}}"), 2, "one method"),
    "method parameter": (method("{refined: {secs: 1}}"), 2, "unknown key"),
    "method number": (method("{refined: 3}"), 2, "named parameters"),
    "seconds zero": (method("{refined: {seconds: 0}}"), 2, "seconds"),
    "seconds text": (method("{refined: {seconds: long}}"), 2, "seconds"),
    "weight of nothing": (method("{clustering: {weights: {ilness: 2}}}"), 2, "did you mean 'illness'"),
    "disperse": (method("{clustering: {disperse: widely}}"), 2, "disperse"),
    "method of baskets": (method("nonreciprocal"), 2, "nonreciprocal"),
    "method of graphs": (method("edge-perturbation"), 2, "edge-perturbation"),
    # utility, ledger, key, person, accept
    "utility key": (GOOD + "utility: {minimise: loss}\n", 2, "did you mean 'minimize'"),
    "utility word": (GOOD + "utility: {minimize: pain}\n", 2, "minimize"),
    "utility list": (GOOD + "utility: [loss]\n", 2, "utility"),
    "share above one": (GOOD + "utility: {suppress_at_most: 3}\n", 2, "share"),
    "share text": (GOOD + "utility: {suppress_at_most: few}\n", 2, "share"),
    "share negative": (GOOD + "utility: {suppress_at_most: -1%}\n", 2, "share"),
    "share above hundred": (GOOD + "utility: {suppress_at_most: 101%}\n", 2, "share"),
    "ledger without key": (GOOD + "ledger: {file: x.ledger, new: true}\n", 2, "key"),
    "ledger not there": (GOOD + "ledger: x.ledger\nkey: patient\n", 2, "no such ledger"),
    "ledger key": (GOOD + "ledger: {path: x}\nkey: patient\n", 2, ""),
    "ledger list": (GOOD + "ledger: [x]\nkey: patient\n", 2, "ledger"),
    "key not there": (GOOD + "ledger: {file: x.ledger, new: true}\nkey: nobody\n", 3, "nobody"),
    "person not there": (GOOD + "person: nobody\n", 3, "nobody"),
    "person rows": (GOOD + "person: {columns: patient, rows: tied}\n", 2, "rows"),
    "person key": (GOOD + "person: {column: patient}\n", 2, "columns"),
    "person published": (GOOD + "person: age\n", 2, "age"),
    "person of a graph": (
        "version: 1\ndata: {kind: graph, source: ties.csv}\nprotect: [k-degree-anonymity: {k: 2}]\nperson: a\n",
        2,
        "person",
    ),
    "accept of a graph": (
        "version: 1\ndata: {kind: graph, source: ties.csv}\nprotect: [k-degree-anonymity: {k: 2}]\naccept: [x]\n",
        2,
        "accept",
    ),
    # domains and rules
    "domain word": (domain("integers"), 2, "mapping"),
    "domain kind": (domain("{figures: [1, 2]}"), 2, "one kind"),
    "domain numbering": (domain("{numbers: [1, 2]}"), 2, "one numbering system"),
    "domain two": (domain("{integers: [1, 2], values: [a]}"), 2, "one kind"),
    "domain bounds": (domain("{integers: [1]}"), 2, "bounds"),
    "domain upside down": (domain("{integers: [9, 1]}"), 2, "lower"),
    "domain text": (domain("{integers: [a, b]}"), 2, "bound"),
    "domain places": (domain("{decimals: [1, 2], places: 40}"), 2, "places"),
    "domain day": (domain("{dates: [2020-13-01, 2021-01-01]}"), 2, "bound"),
    "domain step": (domain("{timestamps: [2020-01-01, 2021-01-01], step: year}"), 2, "step"),
    "domain pattern": (domain('{pattern: "[a"}'), 2, ""),
    "domain key": (domain("{integers: [1, 2], place: 3}"), 2, "place"),
    "domain weights": (domain("{integers: [1, 2], weights: real}"), 2, "weights"),
    "domain like": (domain("{like: nobody}"), 2, "nobody"),
    "domain fakes": (domain("{fakes: shoe}"), 2, "shoe"),
    "no domain": (HEAD + "columns: {age: replaced}\n", 2, "domain"),
    "rule of nothing": (keep("agee < 50"), 2, "agee"),
    "rule open": (keep("age <"), 2, ""),
    "rule brackets": (keep("(age < 50"), 2, ""),
    "rule nonsense": (keep("age is nice"), 2, ""),
    "rule function": (keep("variance(age) = 5"), 2, "variance"),
    "rule code": (keep("__import__(1) = 1"), 2, ""),
    "rule deep": (keep("(" * 80 + "age" + ")" * 80 + " < 5"), 2, ""),
    "rule impossible": (keep("age > 200"), 4, ""),
    "rule twice impossible": (keep("mean(age) = 500"), 4, ""),
    "too few values": (
        HEAD + "columns: {age: {role: replaced, domain: {integers: [1, 9]}}}\nkeep: ['unique(age)']\n",
        4,
        "",
    ),
    "knows nonsense": (
        HEAD
        + COLUMNS.replace("quasi-identifier", "other")
        + "protect: ['age -> illness : 2-diversity']\nknows: ['zip']\n",
        2,
        "",
    ),
    # what no release can give
    "k above the rows": (claim("k-anonymity: {k: 5000}"), 4, ""),
    "l above the values": (claim("l-diversity: {l: 50}"), 4, ""),
    "k above the rows, boundaries": (
        HEAD
        + "columns: {age: {role: quasi-identifier, hierarchy: {intervals: [5]}, boundary: {level: 0}}}\nprotect: [k-anonymity: {k: 100}]\n",
        4,
        "",
    ),
}

TABLES: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 3, ""),
    "header only": (b"age,illness\n", 3, "rows"),
    "ragged": (b"age,illness\n1,a\n2\n3,c\n", 3, ""),
    "too wide": (b"age,illness\n1,a,b\n", 3, ""),
    "same name twice": (b"age,age\n1,2\n", 3, ""),
    "no name": (b"age,\n1,2\n", 3, "name"),
    "damaged UTF-8": ("age,illness\n1,café\n".encode() + b"2,caf\xe9 \xe2\x82\xac\n", 3, "UTF-8"),
    "open quote": (b'age,illness\n1,"a\n2,b\n', 3, ""),
    "zero byte": (b"age,illness\n1,a\x00b\n", 3, ""),
    "binary": (bytes(range(256)) * 4, 3, ""),
    "line break inside": (b'age,illness\n1,"a\nb"\n2,c\n', 3, ""),
    "other columns": (b"x,y\n1,2\n", 3, "age"),
}

COMMANDS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no such command": (("publsh", "good.yaml"), 2, "publsh"),
    "no such option": (("publish", "good.yaml", "--outt", "x"), 2, "outt"),
    "out missing": (("publish", "good.yaml"), 2, "--out"),
    "no such policy": (("publish", "nobody.yaml", "--out", "x"), 2, "no such file"),
    "policy is a folder": (("publish", ".", "--out", "x"), 2, ""),
    "jobs zero": (("publish", "good.yaml", "--out", "x", "--jobs", "0"), 2, "jobs"),
    "jobs text": (("publish", "good.yaml", "--out", "x", "--jobs", "all"), 2, "jobs"),
    "format": (("publish", "good.yaml", "--out", "x", "--format", "xml"), 2, "format"),
    "seed": (("publish", "good.yaml", "--out", "x", "--seed", "abcxyz"), 2, "seed"),
    "key not there": (("publish", "good.yaml", "--out", "x", "--sign", "nobody.pem"), 2, "no such signing key"),
    "key is no key": (("publish", "good.yaml", "--out", "x", "--sign", "people.csv"), 2, "signing key"),
    "other data not there": (("publish", "good.yaml", "--data", "nobody.csv", "--out", "x"), 3, "no such file"),
    "other data of another kind": (("publish", "good.yaml", "--data", "baskets.csv", "--out", "x"), 3, "known: items"),
    "out exists": (("publish", "good.yaml", "--out", "."), 3, "exists already"),
    "out is a file": (("publish", "good.yaml", "--out", "people.csv"), 3, "exists already"),
    "out below a file": (("publish", "good.yaml", "--out", "people.csv/x"), 8, "folder"),
    "out nowhere": (("publish", "good.yaml", "--out", "/proc/x"), 8, "written"),
    "ledger nowhere": (
        ("publish", "good.yaml", "--out", "x", "--ledger", "/proc/x.ledger", "--new-ledger"),
        8,
        "written",
    ),
    "ledger is a table": (("publish", "keyed.yaml", "--out", "x", "--ledger", "people.csv"), 6, ""),
    "verify nothing": (("verify", "nobody"), 8, "no such folder"),
    "verify a file": (("verify", "people.csv"), 8, "folder"),
    "verify another folder": (("verify", "."), 1, "manifest"),
    "measure nothing": (("measure", "nobody", "--original", "people.csv"), 8, "folder"),
    "measure without": (("measure", "nobody"), 2, "original"),
    "report nothing": (("report", "nobody"), 8, "folder"),
    "attack wrong": (("attack", "minimalty", "nobody"), 2, "minimal"),
    "attack nothing": (("attack", "minimality", "nobody", "--original", "people.csv"), 8, "folder"),
    "ledger list nothing": (("ledger", "list", "nobody.ledger"), 6, ""),
    "ledger verify a table": (("ledger", "verify", "people.csv"), 6, ""),
    "ledger what": (("ledger", "burn", "x"), 2, "burn"),
    "query nothing": (("query", "nobody", "age = 3"), 8, "folder"),
    "discover nothing": (("discover", "nobody.csv"), 3, "no such file"),
    "discover a URL": (("discover", "sqlite:///nobody.db"), 3, ""),
    "demo wrong": (("demo", "--scenario", "hospitl"), 2, "did you mean 'hospital'"),
    "preview nothing": (("preview", "nobody.yaml"), 2, "no such file"),
    "check nothing": (("check", "nobody.yaml"), 2, "no such file"),
    "check two": (("check", "good.yaml", "good.yaml"), 2, ""),
    "verify signer": (("verify", "nobody", "--signer", "nobody.pem"), 2, "signer"),
}


def rows() -> Iterator[tuple[str, str, int, str]]:
    for kind, table in (("policy", POLICIES), ("table", TABLES), ("command", COMMANDS)):
        for name, (_, code, word) in table.items():
            yield kind, name, code, word


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A folder for one row alone: a release that should not have been made must not fail the rows after it."""
    for path in EXAMPLES.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "keyed.yaml").write_text(GOOD + "key: patient\n", encoding="utf-8")
    return tmp_path


def arguments(kind: str, name: str, folder: Path) -> tuple[str, ...]:
    if kind == "command":
        return COMMANDS[name][0]
    if kind == "policy":
        (folder / "bad.yaml").write_text(POLICIES[name][0], encoding="utf-8")
        return ("publish", "bad.yaml", "--out", "new-release")
    (folder / "bad.csv").write_bytes(TABLES[name][0])
    policy = "version: 1\ndata: bad.csv\ncolumns: {age: quasi-identifier, illness: sensitive}\n" + CLAIM
    (folder / "bad.yaml").write_text(policy, encoding="utf-8")
    return ("publish", "bad.yaml", "--out", "new-release")


@pytest.mark.parametrize(
    ("kind", "name", "code", "word"), list(rows()), ids=lambda value: str(value) if isinstance(value, str) else ""
)
def test_a_bad_input_ends_plainly(kind: str, name: str, code: int, word: str, prepared: Path) -> None:
    given = arguments(kind, name, prepared)
    before = sorted(path.name for path in prepared.iterdir())
    done = run(*given, cwd=prepared)
    said = done.stderr.strip().splitlines()
    assert done.returncode == code, done.stderr
    assert said, "nothing was said"
    assert all(line.startswith("error: ") for line in said), said
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert "error: unexpected" not in done.stderr
    if kind == "policy" and code == 2:
        assert "bad.yaml" in done.stderr or "nobody.csv — nobody.csv" in done.stderr, "which file?"
    if kind != "command":
        assert all(" — " in line for line in said), f"no place and no way out: {said}"
    assert sorted(path.name for path in prepared.iterdir()) == before, "something was left behind"
    assert "Traceback" not in done.stdout


def test_there_are_two_hundred() -> None:
    assert len(list(rows())) >= 200
