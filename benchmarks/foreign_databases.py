"""Twelve foreign schemas, three commands each, and eighty rules at a given number of rows: what they cost and what was
seen.

python -m benchmarks.foreign_databases databases benchmarks/results/foreign_databases.txt python -m
benchmarks.foreign_databases large 1250000 100000 1GB     # rows, rows that discovery looks at (0: all), memory python
-m benchmarks.foreign_databases rules 10000 benchmarks/results/eighty_rules.txt     # goes on where it was stopped"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS / "databases"), str(TESTS / "obfuscation"), str(TESTS.parent)]
KEYS = ("id", "ID", "_id")
HEAD = (
    "schema         tables     rows    CPU s  peak MB    codes   people personal     seen   answers "
    "| other columns replaced | left out of a target that is made, and said"
)


def databases(kept: Path) -> None:
    """Every schema in a process of its own, so that its memory is seen; lines that stand in `kept` already are not made
    again."""
    from foreign_schemas import NAMES

    known = {line.split()[0]: line for line in kept.read_text().splitlines()[1:]} if kept.exists() else {}
    with kept.open("w") as file:
        print(HEAD, file=file)
        for name in NAMES:
            command = [sys.executable, "-m", "benchmarks.foreign_databases", "one", name]
            line = known.get(name) or subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
            print(line, file=file, flush=True)


def one(name: str) -> None:
    """Three commands, unedited, into a target that is made and into a clone; then plain SQL asks both."""
    import yaml
    from foreign_schemas import filled, personal_columns
    from postgres_server import any_server
    from small_shop import sfumato
    from test_foreign_databases import everybody, everything, joins

    from sfumato.io.sql import read_rows, read_schema

    with any_server() as server, tempfile.TemporaryDirectory() as folder:
        source, target, copy = filled(name, server.database()), server.database(), server.database()
        os.environ |= {"SFUMATO_SOURCE": source, "SFUMATO_TARGET": target}
        data = read_rows(source, read_schema(source))
        began = time.process_time()
        text = sfumato("discover", source, "--target", target).stdout
        policy = Path(folder) / f"{name}.yaml"
        policy.write_text(text)
        codes = [sfumato("check", str(policy), "--strict").returncode]
        codes.append(sfumato("publish", str(policy), "--out", str(Path(folder) / name), "--no-report").returncode)
        spent, peak = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        os.environ["SFUMATO_TARGET"] = copy
        policy.write_text(text.replace("target: ${SFUMATO_TARGET}", "target: {url: '${SFUMATO_TARGET}', mode: clone}"))
        codes.append(sfumato("publish", str(policy), "--out", str(Path(folder) / "clone"), "--no-report").returncode)
        people = everybody(source)
        found = sum(person in part for url in (target, copy) for part in everything(url).values() for person in people)
        same = [joins(target) == joins(source), joins(copy) == joins(source), views(copy) == views(source)]
        tree = yaml.safe_load(text)
    replaced = {*tree["columns"], *(column for group in tree["data"].get("consistent", ()) for column in group)}
    personal, _ = personal_columns(name)
    counts = (
        len(data.tables),
        data.rows,
        f"{spent:.1f}",
        peak,
        "/".join(map(str, codes)),
        found,
        len(personal),
        len(personal & replaced),
    )
    told = "; ".join(data.schema.left_out) or "-"
    others = sorted(column for column in replaced - personal if not column.endswith(KEYS))
    answers = "the same" if all(same) else f"DIFFERENT {same}"
    print(f"{name:12}", *(f"{cell!s:>8}" for cell in counts), f"{answers:>9}", f"| {', '.join(others) or '-'} | {told}")


LARGE = """
CREATE TABLE customers (id integer PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, email text UNIQUE,
  born date,
  city text, note text);
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers,
  placed timestamp NOT NULL,
  shipped timestamp, total numeric(10, 2), status text);
CREATE TABLE lines (id integer PRIMARY KEY, order_id integer NOT NULL REFERENCES orders, product text NOT NULL,
  quantity integer NOT NULL, price numeric(8, 2) NOT NULL);
INSERT INTO customers SELECT n, (ARRAY['Ada', 'Bea', 'Cleo', 'Dora', 'Emil', 'Finn', 'Gus'])[n % 7 + 1],
  'Fam' || md5(n::text),
  'm' || n || '@home.test', date '1950-01-01' + n % 18000, (ARRAY['Utrecht', 'Gent', 'Aarhus'])[n % 3 + 1],
  CASE WHEN n % 10 = 0 THEN 'likes tea ' || n END FROM generate_series(1, {0}) n;
INSERT INTO orders SELECT n, n % {0} + 1, timestamp '2020-01-01' + n * interval '1 minute',
  CASE WHEN n % 5 > 0 THEN timestamp '2020-01-03' + n * interval '1 minute' END, n % 999 + 0.5,
  (ARRAY['open', 'paid', 'sent'])[n % 3 + 1] FROM generate_series(1, 8 * {0}) n;
INSERT INTO lines SELECT n, n % (8 * {0}) + 1, 'product ' || n % 500, n % 9 + 1, n % 200 + 0.99 FROM generate_series(1,
  16 * {0}) n;
ANALYZE;
"""


def large(rows: int, most: int, memory: str) -> None:
    """A shop of so many rows: every command in a process of its own, with its CPU seconds and its memory."""
    from postgres_server import any_server, session

    with any_server() as server, tempfile.TemporaryDirectory() as folder:
        source, target = server.database(), server.database()
        os.environ |= {"SFUMATO_SOURCE": source, "SFUMATO_TARGET": target}
        with session(source) as connection:
            connection.execute(LARGE.format(rows // 25))
        policy, out = f"{folder}/policy.yaml", f"{folder}/out"
        some = ["--most-rows", str(most)] if most else []
        text = timed("discover", source, "--target", target, *some)
        Path(policy).write_text(text.replace("  kind: database\n", f"  kind: database\n  memory: {memory}\n"))
        timed("check", policy, "--strict")
        timed("publish", policy, "--out", out, "--no-report")
        timed("verify", out, "--target", target, "--memory", memory)


def timed(*words: str) -> str:
    """A command, with what it cost: CPU seconds, the most memory of its own, the most pages of mapped files, the most
    disk."""
    code = (
        "import sys, resource, atexit; from sfumato.ui.cli import main; atexit.register(lambda:"
        " print(resource.getrusage("
    )
    code += "resource.RUSAGE_SELF), file=sys.stderr)); main(sys.argv[1:])"
    began, free = time.monotonic(), shutil.disk_usage(tempfile.gettempdir()).free
    with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen([sys.executable, "-c", code, *words], stdout=told, stderr=complained)
        own = mapped = disk = 0
        while process.poll() is None:
            now = _resident(process.pid)
            own, mapped = max(own, now["RssAnon"]), max(mapped, now["RssFile"])
            disk = max(disk, free - shutil.disk_usage(tempfile.gettempdir()).free)
            time.sleep(0.05)
        for file in (told, complained):
            file.seek(0)
        out, errors = told.read(), complained.read()
    passed = time.monotonic() - began
    found = dict(part.split("=") for part in errors.rpartition("resource.struct_rusage(")[2].rstrip(")\n").split(", "))
    spent, peak = float(found["ru_utime"]) + float(found["ru_stime"]), int(found["ru_maxrss"]) // 1024
    figures = (
        f"{spent:6.1f} CPU s  {passed:6.1f} s  own {own:5} MB  mapped {mapped:5} MB  together {peak:5} MB  disk"
        f" {disk >> 20:6} MB"
    )
    print(f"{words[0]:10} exit {process.returncode}  {figures}", flush=True)
    if process.returncode:
        print(errors.rpartition("resource.struct_rusage(")[0], flush=True)
    return out


def _resident(process: int) -> dict[str, int]:
    """Megabytes of a process in memory, by kind; none when it has just ended."""
    with contextlib.suppress(OSError):
        lines = [line.split() for line in Path(f"/proc/{process}/status").read_text().splitlines()]
        return {"RssAnon": 0, "RssFile": 0} | {
            words[0][:-1]: int(words[1]) // 1024 for words in lines if words[0].startswith("Rss")
        }
    return {"RssAnon": 0, "RssFile": 0}


def views(url: str) -> dict[str, int]:
    """How many rows the views of an application answer with."""
    from postgres_server import session

    asked = "SELECT format('%I.%I', schemaname, {0}name) FROM pg_{0}s WHERE schemaname !~ '^(pg_|information_)'"
    with session(url) as connection:
        names = [name for kind in ("view", "matview") for (name,) in connection.execute(asked.format(kind)).fetchall()]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


def rules(count: int, kept: Path) -> None:
    """Every rule once; lines that stand in `kept` already are not made again, so that a run that was stopped goes
    on."""
    from eighty_rules import CASES, table

    rows = table(count)
    known = (
        {line[:42].strip(): line for line in kept.read_text().splitlines() if line[50:51] == " "}
        if kept.exists()
        else {}
    )
    lines = [known.get(name, "") for name in CASES]
    with kept.open("w") as file:
        print("rule                                        CPU s  verdict", file=file)
        for place, name in enumerate(CASES):
            lines[place] = lines[place] or judged(name, rows)
            print(lines[place], file=file, flush=True)
        made = [line for line in lines if "  refused: " not in line]
        true = [line for line in made if line.endswith("  true")]
        print(f"{len(CASES)} rules, {len(made)} made, {len(true)} of them true by their judge", file=file)


def judged(name: str, rows: list[dict[str, str]]) -> str:
    """One rule: what it costs to make, and whether its judge finds it true; refusals come before anything is drawn."""
    import pyarrow as pa
    from eighty_rules import CASES
    from test_eighty_rules import policy_of

    from sfumato.core.errors import Infeasible, PolicyError
    from sfumato.core.randomness import Randomness
    from sfumato.data.table import Table
    from sfumato.kinds.testdata.methods.obfuscation import Obfuscation
    from sfumato.release.method import Task

    data = Table(pa.table({column: [row[column] for row in rows] for column in rows[0]}))
    began = time.process_time()
    try:
        policy = policy_of(CASES[name], rows[0])
        Obfuscation().describe(policy, data)
    except (PolicyError, Infeasible) as error:
        return f"{name:42} {time.process_time() - began:6.1f}  refused: {error.what}"
    release = Obfuscation().run(Task(policy, data, Randomness()))
    spent = time.process_time() - began
    new = [{key: value or "" for key, value in row.items()} for row in release.parts["data"].table.to_pylist()]
    holds = CASES[name].judge(new, [rows[place] for place in release.trace.rows["data"].tolist()])
    return f"{name:42} {spent:6.1f}  {'true' if holds else 'WRONG'}"


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(sys.argv[2])
    elif sys.argv[1] == "large":
        large(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else "2GB")
    elif sys.argv[1] == "databases":
        databases(Path(sys.argv[2]))
    else:
        rules(int(sys.argv[2]), Path(sys.argv[3]))
