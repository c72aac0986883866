"""Discover, check and publish twelve real files whose columns were labelled by hand before any draft was made.

    python -m benchmarks twelve_files FOLDER [--only NAME] [--effort quick]

FOLDER holds the files that `twelve_sources.csv` lists with their sources. Files that are missing are skipped and named.
`twelve_files.csv` has the roles that a person finds right for each column; several are separated by ``|``, and
*identifier* stands for every column that must not be published. Results: `results/twelve-files.csv` (one line per file)
and `results/twelve-files-roles.csv` (columns whose drafted role is wrong or unprotected).

right        the drafted or proposed role is one of the roles that were found by hand
asked        columns that the draft leaves to a person (role review)
unprotected  an identifying column that the draft publishes, or a sensitive column that it publishes as harmless or as a
             quasi-identifier, and about which the draft does not ask
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
RESULTS = HERE / "results"
HEAD = (
    "file,language,rows,columns,right,right_share,asked,unprotected,discover,check,publish,published,loss,"
    "suppressed_cells,worst_column,worst_suppressed,seconds"
)


def sfumato(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one command."""
    return subprocess.run([sys.executable, "-m", "sfumato", *arguments], capture_output=True, text=True, check=False)


def labels() -> dict[str, dict[str, set[str]]]:
    """Return the roles that are right, by file and column."""
    found: dict[str, dict[str, set[str]]] = {}
    with (HERE / "twelve_files.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["file"], {})[row["column"]] = set(row["roles"].split("|"))
    return found


def drafted(policy: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield name, role and whether the draft asks; a dropped column counts as an identifier."""
    for name, entry in policy["columns"].items():
        role = entry if isinstance(entry, str) else entry["role"]
        asked = role == "review"
        role = entry["proposed"] if asked else role
        yield name, "identifier" if role == "drop" else role, asked


def judged(policy: dict[str, Any], right: dict[str, set[str]]) -> Iterator[dict[str, Any]]:
    """Yield every column with the roles found by hand and by the draft."""
    for name, role, asked in drafted(policy):
        allowed = right[name.strip()]
        hidden = allowed == {"identifier"} and role != "identifier"
        secret = allowed <= {"sensitive", "identifier"} and role in ("other", "quasi-identifier")
        yield {
            "column": name,
            "by_hand": "|".join(sorted(allowed)),
            "drafted": role,
            "asked": asked,
            "right": role in allowed,
            "unprotected": (hidden or secret) and not asked,
        }


def run(folder: Path, source: dict[str, str], right: dict[str, set[str]], effort: str) -> tuple[dict[str, Any], Any]:
    """Take one file from discovery to a release."""
    began = time.monotonic()
    told: dict[str, Any] = {"file": source["file"], "language": source["language"]}
    reading = [word for text in source["reading"].split() for word in ("--read", text)]
    with tempfile.TemporaryDirectory() as work:
        policy, out = str(Path(work) / "policy.yaml"), str(Path(work) / "release")
        found = sfumato("discover", str(folder / source["file"]), *reading, "-o", policy)
        told["discover"] = found.returncode
        if found.returncode:
            return told | {"check": found.stderr.strip()}, []
        draft = yaml.load(Path(policy).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # every value as text
        columns = list(judged(draft, right))
        told |= {
            "columns": len(columns),
            "right": sum(each["right"] for each in columns),
            "right_share": round(sum(each["right"] for each in columns) / len(columns), 4),
            "asked": sum(each["asked"] for each in columns),
            "unprotected": sum(each["unprotected"] for each in columns),
        }
        accepted = ["--accept-roles"] if told["asked"] else []
        told["check"] = sfumato("check", policy, *accepted, "--no-forecast").returncode
        done = sfumato("publish", policy, *accepted, "--effort", effort, "--out", out, "--no-report")
        told["publish"] = done.returncode
        if done.returncode:
            print(done.stderr.strip(), file=sys.stderr)
        else:
            told |= lost(out, draft)
    told["seconds"] = round(time.monotonic() - began, 1)
    return told, columns


def lost(out: str, policy: dict[str, Any]) -> dict[str, Any]:
    """Return what the certificate and the published file say about the release."""
    certificate = json.loads((Path(out) / "certificate.json").read_text())
    records, utility = certificate["records"], certificate["utility"]
    with (Path(out) / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = [name for name, role, _ in drafted(policy) if role == "quasi-identifier" and name in rows[0]]
    stars = {name: sum(row[name] == "*" for row in rows) / max(1, len(rows)) for name in known}
    worst = max(stars, key=lambda name: stars[name], default="")
    return {
        "rows": records["input"],
        "published": records["published"],
        "loss": utility.get("loss"),
        "suppressed_cells": round(sum(stars.values()) / max(1, len(known)), 4),
        "worst_column": worst,
        "worst_suppressed": round(stars.get(worst, 0.0), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks twelve_files")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--effort", default="quick")
    asked = parser.parse_args()
    right = labels()
    with (HERE / "twelve_sources.csv").open(encoding="utf-8", newline="") as file:
        sources = [row for row in csv.DictReader(file) if asked.only in row["file"]]
    sources.sort(
        key=lambda row: (asked.folder / row["file"]).stat().st_size if (asked.folder / row["file"]).is_file() else 0
    )
    lines, wrong = [], []
    for source in sources:
        if not (asked.folder / source["file"]).is_file():
            print(f"missing: {source['file']} ({source['source']})", file=sys.stderr)
            continue
        told, columns = run(asked.folder, source, right[source["file"]], asked.effort)
        lines.append(told)
        wrong += [{"file": source["file"], **each} for each in columns if not each["right"] or each["unprotected"]]
        print({key: told.get(key) for key in HEAD.split(",")}, flush=True)
        for each in columns:
            if not each["right"] or each["unprotected"]:
                print("   ", *each.values(), sep=" · ", flush=True)
        if not asked.only:
            write(RESULTS / "twelve-files.csv", HEAD.split(","), lines)
            write(RESULTS / "twelve-files-roles.csv", list(wrong[0]) if wrong else ["file"], wrong)
    total, good = (sum(line.get(key, 0) for line in lines) for key in ("columns", "right"))
    print(f"{len(lines)} files, {good} of {total} roles right ({good / max(1, total):.1%})")


def write(file: Path, head: list[str], lines: list[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, head, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
