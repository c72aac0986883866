"""Twelve foreign schemas, three commands each, and eighty rules at a given number of rows: what they cost and what was seen.

python -m benchmarks.foreign_databases databases > benchmarks/results/foreign_databases.txt
python -m benchmarks.foreign_databases rules 10000 > benchmarks/results/eighty_rules.txt
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS / "databases"), str(TESTS / "obfuscation"), str(TESTS.parent)]
KEYS = ("id", "ID", "_id")


def databases() -> None:
    import yaml
    from foreign_schemas import NAMES, filled, personal_columns
    from postgres_server import any_server
    from small_shop import sfumato

    from sfumato.io.sql import read_rows, read_schema

    print("schema       tables  rows  CPU s  peak MB  strict  published  personal  seen  keys besides  others besides  accepted")
    with any_server() as server, tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            source, target = filled(name, server.database()), server.database()
            os.environ |= {"SFUMATO_SOURCE": source, "SFUMATO_TARGET": target}
            data = read_rows(source, read_schema(source))
            began = time.process_time()
            text = sfumato("discover", source, "--target", target).stdout
            policy = Path(folder) / f"{name}.yaml"
            policy.write_text(text)
            strict = sfumato("check", str(policy), "--strict").returncode
            done = sfumato("publish", str(policy), "--out", str(Path(folder) / name), "--no-report").returncode
            spent = time.process_time() - began
            tree = yaml.safe_load(text)
            replaced = {*tree["columns"], *(column for group in tree["data"].get("consistent", ()) for column in group)}
            personal, _ = personal_columns(name)
            besides = replaced - personal
            keys = {column for column in besides if column.endswith(KEYS)}
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            row = (len(data.tables), data.rows, f"{spent:.1f}", peak, strict, done, len(personal), len(personal & replaced))
            told = ", ".join(sorted(tree["data"].get("accept", ()))) or "-"
            print(f"{name:12}", *(f"{cell!s:>6}" for cell in row), len(keys), sorted(besides - keys) or "-", told, flush=True)


def rules(count: int) -> None:
    import pyarrow as pa
    from eighty_rules import CASES, table
    from test_eighty_rules import policy_of

    from sfumato.data.table import Table
    from sfumato.errors import Infeasible, PolicyError
    from sfumato.methods.base import Task
    from sfumato.methods.replacing.obfuscation import Obfuscation
    from sfumato.randomness import Randomness

    rows = table(count)
    data = Table(pa.table({column: [row[column] for row in rows] for column in rows[0]}))
    print("rule                                        CPU s  verdict")
    made = true = 0
    for name, case in CASES.items():
        began = time.process_time()
        try:
            release = Obfuscation().run(Task(policy_of(case, rows[0]), data, Randomness()))
            new = [{key: value or "" for key, value in row.items()} for row in release.parts["data"].table.to_pylist()]
            holds = case.judge(new, rows)
            verdict, made, true = ("true" if holds else "WRONG"), made + 1, true + holds
        except (PolicyError, Infeasible) as error:
            verdict = f"refused: {error.what}"
        print(f"{name:42} {time.process_time() - began:6.1f}  {verdict}", flush=True)
    print(f"{len(CASES)} rules, {made} made, {true} of them true by their judge")


if __name__ == "__main__":
    databases() if sys.argv[1] == "databases" else rules(int(sys.argv[2]))
