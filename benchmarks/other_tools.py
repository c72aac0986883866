"""Levels as pycanon measures them and releases as anjana makes them, beside this project, on Adult and on diabetes.

    python -m benchmarks.other_tools tables FOLDER            # releases of this project, as csv files OTHER/bin/python
    benchmarks/other_tools.py theirs FOLDER  # an interpreter with pycanon and anjana, without this project python -m
    benchmarks.other_tools compare FOLDER           # levels of the same files by the models of this project

The two tools are measured, not used: nothing of the project imports them. pycanon 1.3.5 and anjana 1.2.3. Results:
``results/other-tools.csv``.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "other-tools.csv"
FILES = {"sex": "sex", "age": "age", "race": "race", "marital-status": "marital-status", "education": "education",
         "native-country": "native-country", "workclass": "workclass", "income": "salary-class"}  # fmt: skip
ASKED = {
    "k": 5, "alpha-k": {"k": 5, "alpha": 0.8}, "l": {"k": 5, "l": 3}, "entropy-l": {"k": 5, "l": 2},
    "recursive-l": {"k": 5, "c": 2, "l": 3}, "t": {"k": 5, "t": 0.5}, "basic-beta": {"k": 5, "beta": 5},
    "enhanced-beta": {"k": 5, "beta": 5}, "delta": {"k": 5, "delta": 3},
}  # fmt: skip
"""What anjana is asked for on Adult, 5 % suppressed at most, occupation hidden."""
Entry = dict[str, Any]


def hierarchy(name: str) -> list[list[str]]:
    path = SHARED / "adult" / "hierarchies_arx" / f"adult_hierarchy_{FILES[name]}.csv"
    return [line.split(";") for line in path.read_text(encoding="utf-8").splitlines() if line]


def adult() -> list[dict[str, str]]:
    with gzip.open(SHARED / "adult" / "adult_30162.csv.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


# -- this project ------------------------------------------------------------------------------------------------------


def tables(folder: Path) -> None:
    """Releases as csv files, and which columns are given and hidden in each."""
    import sfumato as sf
    from benchmarks import people

    columns: Entry = {
        name: {
            "role": "quasi-identifier",
            "hierarchy": str(SHARED / "adult" / "hierarchies_arx" / f"adult_hierarchy_{file}.csv"),
        }
        for name, file in FILES.items()
    }
    columns |= {"occupation": "sensitive", "hours-per-week": "sensitive"}
    rows = adult()
    data = {name: [row[name] for row in rows] for name in columns}
    plain = {
        "version": 1,
        "columns": columns,
        "protect": [{"k-anonymity": {"k": 5}}],
        "utility": {"suppress_at_most": "5%"},
    }
    index = {}
    for name, method in (("adult-global", {"global": {}}), ("adult-mondrian", {"mondrian": {}})):
        made = sf.publish(sf.Policy.parse({**plain, "method": method}), data=data)
        index[name] = {
            "given": list(FILES),
            "hide": ["occupation", *(["hours-per-week"] if name == "adult-global" else [])],
        }
        written(folder / f"{name}.csv", made.release.parts["data"].table.to_pylist())
    visits = people.encounters()
    made = sf.publish(people.policy(5, {"mondrian": {}}), data=visits)
    index["diabetes-mondrian"] = {"given": [*people.CONSTANT, *people.EVENT], "hide": ["chapter"]}
    written(folder / "diabetes-mondrian.csv", made.release.parts["data"].table.to_pylist())
    (folder / "index.json").write_text(json.dumps(index))


def written(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def levels(path: Path, given: list[str], hidden: str) -> Entry:
    """Every level that pycanon has, by the models of this project."""
    from sfumato.core.registry import find
    from sfumato.data.equivalence_classes import equivalence_classes_of
    from sfumato.data.linkage import Linkage
    from sfumato.io.table_source import TableSource
    from sfumato.models.base import Model

    table = TableSource().read(path)
    classes, text = (
        equivalence_classes_of([table.text(name).codes for name in given], rows=table.rows),
        table.text(hidden),
    )
    seen = Linkage.of_groups(classes.of, {hidden: (text.codes, text.labels)})

    def reached(model: str, key: str, **level: Any) -> Any:
        return find("models", Model, model)(**level).achieved(seen).get(key)

    numbers = hidden == "hours-per-week"
    distinct = reached("l-diversity", "l", l=1)
    return {
        "k": reached("k-anonymity", "k", k=1), "alpha": reached("alpha-k-anonymity", "alpha", alpha=1, k=1),
        "l": distinct,
        "entropy l": reached("l-diversity", "l", l=1, kind="entropy"),
        "recursive c": least_c(classes.of, text.codes, distinct),
        "t": reached("t-closeness", "t", t=1, distance="ordered" if numbers else "equal"),
        "basic beta": reached("beta-likeness", "beta", beta=1000),
        "enhanced beta": reached("beta-likeness", "beta", beta=1000, kind="enhanced"),
        "delta": reached("delta-disclosure", "delta", delta=100),
    }  # fmt: skip


def least_c(of: Any, codes: Any, l: int) -> float:
    """The least c of recursive (c, l)-diversity, from its definition: r₁ < c (r_l + … + r_m) in every class."""
    import numpy as np

    worst = 0.0
    counts = np.zeros((int(of.max()) + 1, int(codes.max()) + 1), dtype=np.int64)
    np.add.at(counts, (of, codes), 1)
    for row in counts:
        there = np.sort(row[row > 0])[::-1]
        worst = max(worst, there[0] / there[l - 1 :].sum())
    return worst


def loss_of(rows: list[dict[str, str]], everybody: int) -> float:
    """The mean over cells of (leaves that a label covers − 1) / (leaves − 1); a suppressed record loses all."""
    total = 0.0
    for name in FILES:
        tree = hierarchy(name)
        covered: dict[str, int] = {}
        for line in tree:
            for label in dict.fromkeys(line):
                covered[label] = covered.get(label, 0) + 1
        total += sum((covered[row[name]] - 1) / max(len(tree) - 1, 1) for row in rows) + (everybody - len(rows))
    return total / len(FILES) / everybody


def compare(folder: Path) -> None:
    """Theirs and ours side by side."""
    theirs = json.loads((folder / "theirs.json").read_text())
    found: list[Entry] = []
    for one in theirs["levels"]:
        given = json.loads((folder / "index.json").read_text())[one["table"]]["given"]
        mine = levels(folder / f"{one['table']}.csv", given, one["hidden"])
        for model, figure in one["found"].items():
            found.append(
                {
                    "what": one["table"],
                    "hidden": one["hidden"],
                    "level": model,
                    "theirs": figure,
                    "ours": _short(mine[model]),
                }
            )
    for one in theirs["made"]:
        path = folder / f"{one['release']}.csv"
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []
        entry = {"what": one["release"], "hidden": "occupation", "level": json.dumps(one["asked"]), "cpu": one["cpu"]}
        if rows:
            entry |= {"rows": len(rows), "loss": round(loss_of(rows, 30162), 4)}
            entry["ours"] = json.dumps(
                {key: _short(value) for key, value in levels(path, list(FILES), "occupation").items()}
            )
        found.append(entry | {"theirs": one["said"]})
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for entry in found for key in entry)))
        writer.writeheader()
        writer.writerows(found)
    for entry in found:
        print(entry)


def _short(figure: Any) -> Any:
    return float(f"{figure:.6g}") if isinstance(figure, float) else figure


# -- the other interpreter ---------------------------------------------------------------------------------------------


def theirs(folder: Path) -> None:
    """pycanon on our releases, anjana on Adult."""
    import pandas as pd
    from pycanon import anonymity as measured

    found = []
    for table, said in json.loads((folder / "index.json").read_text()).items():
        frame = pd.read_csv(folder / f"{table}.csv", dtype=str, keep_default_na=False)
        for hidden in said["hide"]:
            if hidden == "hours-per-week":
                frame[hidden] = frame[hidden].astype(int)
            levels = _measured(measured, frame, said["given"], hidden)
            found.append({"table": table, "hidden": hidden, "found": levels})
            print(table, hidden, levels, flush=True)
    made: list[Entry] = []
    for name, asked in ASKED.items():
        made.append(_made(folder, name, asked))
        (folder / "theirs.json").write_text(json.dumps({"levels": found, "made": made}))


def _measured(tool: Any, frame: Any, given: list[str], hidden: str) -> Entry:
    side = (frame, given, [hidden])
    c, l = tool.recursive_c_l_diversity(*side)
    figures = {
        "k": tool.k_anonymity(frame, given), "alpha": tool.alpha_k_anonymity(*side)[0], "l": l,
        "entropy l": tool.entropy_l_diversity(*side), "recursive c": c, "t": tool.t_closeness(*side),
        "basic beta": tool.basic_beta_likeness(*side), "enhanced beta": tool.enhanced_beta_likeness(*side),
        "delta": tool.delta_disclosure(*side),
    }  # fmt: skip
    return {
        name: None if math.isnan(float(figure)) else float(f"{float(figure):.6g}") for name, figure in figures.items()
    }


def _made(folder: Path, name: str, asked: Any) -> Entry:
    """One release of Adult by anjana, written as it is."""
    import pandas as pd
    from anjana import anonymity as making

    frame = pd.DataFrame(adult())[[*FILES, "occupation"]]
    trees = {column: dict(enumerate(map(list, zip(*hierarchy(column), strict=True)))) for column in FILES}
    level = asked if isinstance(asked, dict) else {"k": asked}
    methods = {
        "k": making.k_anonymity, "alpha-k": making.alpha_k_anonymity, "l": making.l_diversity,
        "entropy-l": making.entropy_l_diversity, "recursive-l": making.recursive_c_l_diversity, "t": making.t_closeness,
        "basic-beta": making.basic_beta_likeness, "enhanced-beta": making.enhanced_beta_likeness,
        "delta": making.delta_disclosure,
    }  # fmt: skip
    told = {("l_div" if key == "l" else key): value for key, value in level.items()}
    if name != "k":
        told["sens_att"] = "occupation"
    before, said = time.process_time(), ""
    try:
        made = methods[name](data=frame, ident=[], quasi_ident=list(FILES), supp_level=5, hierarchies=trees, **told)
        made.to_csv(folder / f"anjana-{name}.csv", index=False) if len(made) else None
        said = f"{len(made)} rows"
    except Exception as error:  # what another tool does is written down, whatever it is
        said = f"{type(error).__name__}: {error}"[:200]
    entry = {"release": f"anjana-{name}", "asked": asked, "said": said, "cpu": round(time.process_time() - before, 1)}
    print(entry, flush=True)
    return entry


if __name__ == "__main__":
    {"tables": tables, "theirs": theirs, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
