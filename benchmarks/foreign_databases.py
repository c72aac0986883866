"""Twelve foreign schemas, three commands each, and eighty rules at a given number of rows: what they cost and what was seen.

python -m benchmarks.foreign_databases databases > benchmarks/results/foreign_databases.txt
python -m benchmarks.foreign_databases rules 10000 benchmarks/results/eighty_rules.txt     # goes on where it was stopped
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


def rules(count: int, kept: Path) -> None:
    """Every rule once; lines that stand in `kept` already are not made again, so that a run that was stopped goes on."""
    from eighty_rules import CASES, table

    rows = table(count)
    known = {line[:42].strip(): line for line in kept.read_text().splitlines() if line[50:51] == " "} if kept.exists() else {}
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

    from sfumato.data.table import Table
    from sfumato.errors import Infeasible, PolicyError
    from sfumato.methods.base import Task
    from sfumato.methods.replacing.obfuscation import Obfuscation
    from sfumato.randomness import Randomness

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
    databases() if sys.argv[1] == "databases" else rules(int(sys.argv[2]), Path(sys.argv[3]))
