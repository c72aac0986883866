"""The first ten minutes, measured: install, first and later runs, with an empty cache and with a home that cannot be
written.

    python benchmarks/cold_start.py [--extras all] > benchmarks/results/cold_start.md

Makes a clean copy of the committed tree and a fresh environment in a temporary folder. CPU seconds are those of the
process and its children (user + system); megabytes are those of the environment's packages on disk."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEOPLE = """
import csv, random
draw = random.Random(7)
with open("people.csv", "w", newline="") as file:
    sheet = csv.writer(file)
    sheet.writerow(["name", "age", "zip", "sex", "illness"])
    for number in range(3000):
        ill = draw.choice(["flu", "asthma", "diabetes", "none", "none"])
        sheet.writerow([f"p{number}", draw.randint(18, 90), f"{draw.randint(70000, 71999)}", draw.choice("fm"), ill])
"""
POLICY = """version: 1
data: {kind: table, source: people.csv}
columns:
  name: identifier
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  zip: {role: quasi-identifier, hierarchy: {prefix: 5}}
  sex: quasi-identifier
  illness: sensitive
protect: [k-anonymity: {k: 5}, l-diversity: {l: 2}]
"""


def spent(command: list[str], folder: Path, **settings: str) -> tuple[float, int]:
    """CPU seconds of a command with its children, and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **settings}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(done.stderr[-1500:], file=sys.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def megabytes(folder: Path) -> int:
    return int(subprocess.run(["du", "-sm", str(folder)], capture_output=True, text=True, check=True).stdout.split()[0])


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--extras", default="", help="install these extras too")
    extras = options.parse_args().extras
    with tempfile.TemporaryDirectory(prefix="sfumato-cold-") as name:
        folder, copy, home = Path(name), Path(name) / "copy", Path(name) / "home"
        copy.mkdir()
        home.mkdir(mode=0o700)
        subprocess.run(f"git -C {ROOT} archive HEAD | tar -x -C {copy}", shell=True, check=True)
        print("| what | CPU seconds | exit code |\n| --- | --- | --- |")

        def row(what: str, command: list[str], where: Path, **settings: str) -> None:
            seconds, code = spent(command, where, **{"HOME": str(home), "XDG_CACHE_HOME": "", **settings})
            print(f"| {what} | {seconds:.1f} | {code} |", flush=True)

        row("python -m venv", [sys.executable, "-m", "venv", str(folder / "env")], folder)
        python, sfumato = str(folder / "env/bin/python"), str(folder / "env/bin/sfumato")
        wanted = f".[{extras}]" if extras else "."
        row(
            f"pip install '{wanted}'",
            [python, "-m", "pip", "install", "--quiet", "-c", "constraints.txt", wanted],
            copy,
        )
        packages = next((folder / "env/lib").glob("python*")) / "site-packages"
        size, tools = (
            megabytes(packages),
            sum(megabytes(packages / one) for one in ("pip", "setuptools") if (packages / one).exists()),
        )
        (folder / "people.py").write_text(PEOPLE, encoding="utf-8")
        (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
        subprocess.run([python, "people.py"], cwd=folder, check=True)
        row("demo, first run", [sfumato, "demo", "--out", "first"], folder)
        row("demo, second run", [sfumato, "demo", "--out", "second"], folder)
        row("publish of 3,000 rows", [sfumato, "publish", "policy.yaml", "--out", "release"], folder)
        row("verify of it", [sfumato, "verify", "release", "--original", "people.csv"], folder)
        row("verify without the original", [sfumato, "verify", "release"], folder)
        row("check", [sfumato, "check", "policy.yaml"], folder)
        row("--help", [sfumato, "--help"], folder)
        nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
        row(
            "publish, home cannot be written",
            [sfumato, "publish", "policy.yaml", "--out", "without-home"],
            folder,
            **nowhere,
        )
        row("warm-up", [sfumato, "warm-up"], folder)
        print(
            f"\npackages on disk: {size} MB, {size - tools} MB without pip and setuptools; in the home then:"
            f" {megabytes(home)} MB"
        )


if __name__ == "__main__":
    main()
