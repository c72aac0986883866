"""The same policies on both engines, on Adult and on census rows: claims, certificate and loss side by side.

    python benchmarks/spark_same.py [--master local[2]] [--only anatomy guardian]

Writes ``results/spark-same.csv``: one line per table and method, with whether the findings of all claims are the same
in all figures, whether both certificates hold and have the same checks, how many are suppressed, and the loss of both
releases (where nothing is recoded the divergence of sub-tables, or the error of queries). Methods that are not run keep
the lines that they have."""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

import sfumato as sf
from sfumato.policy.policy import Choice

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
RESULTS = Path(__file__).with_name("results") / "spark-same.csv"
KNOWN = ["age", "gender", "education", "marital", "race", "work_class", "country"]
METHODS = {
    "mondrian": {},
    "clustering": {},
    "refined": {"seconds": 3},
    "global": {},
}
BUCKETS = ["anatomy", "guardian", "single-attribute", "utility-aware"]
"""Methods that hide values in buckets; they get claims on values alone."""


def census(rows: int = 30_000) -> tuple[sf.Policy, pa.Table]:
    table = pa.csv.read_csv(
        SHARED / "data/census_income_kdd/occ_like_148318.csv.gz",
        convert_options=pa.csv.ConvertOptions(column_types={"age": pa.string(), "occupation": pa.string()}),
    ).slice(0, rows)
    columns: dict[str, Any] = {name: {"role": "quasi-identifier"} for name in KNOWN} | {"occupation_group": "sensitive"}
    columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    asked = [{"k-anonymity": {"k": 10}}, {"l-diversity": {"l": 2, "kind": "entropy"}}]
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": asked}), table.drop_columns(["occupation"])


def cases() -> list[tuple[str, sf.Policy, Any]]:
    bounded = sf.Policy.read(SHARED / "policies/adult-boundaries.yaml")
    found = [
        (
            "adult, boundaries",
            bounded,
            pa.csv.read_csv(SHARED / "data/adult/adult_45222.csv.gz", convert_options=_text()),
        )
    ]
    plain = sf.Policy.read(SHARED / "policies/adult-arx.yaml")
    asked, table = census()
    found.append(
        ("adult, k = 5", plain, pa.csv.read_csv(SHARED / "data/adult/adult_30162.csv.gz", convert_options=_text()))
    )
    return [*found, ("census, k = 10, entropy l = 2", asked, table)]


def hiding() -> list[tuple[str, sf.Policy, Any]]:
    """Adult and census rows with one hidden column."""
    adult = pa.csv.read_csv(SHARED / "data/adult/adult_30162.csv.gz", convert_options=_text())
    known = ["age", "sex", "race", "marital-status", "workclass"]
    return [
        ("adult, l = 4", _hidden(known, "occupation", 4), adult),
        ("census, l = 2", _hidden(KNOWN, "occupation_group", 2), census()[1]),
    ]


def _hidden(known: list[str], name: str, l: int) -> sf.Policy:
    columns = dict.fromkeys(known, "quasi-identifier") | {name: "sensitive"}
    asked = [{"given": known, "hide": name, "by": {"l-diversity": {"l": l}}}]
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": asked})


def _text() -> Any:
    names = ["age", "education-num", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week"]
    return pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))


def compared(
    name: str, policy: sf.Policy, table: Any, session: Any, method: str, parameters: dict[str, Any]
) -> list[Any]:
    asked = replace(policy, method=Choice(method, parameters))
    here = sf.publish(asked, data=table)
    there = sf.publish(asked, data=session.createDataFrame(table), engine=session)
    claims = len(asked.claims)
    same = [f.to_json() for f in here.certificate.findings[:claims]] == [
        f.to_json() for f in there.certificate.findings[:claims]
    ]
    checks = {f.model for f in here.certificate.findings} == {f.model for f in there.certificate.findings}
    holds = here.certificate.holds and there.certificate.holds
    figure = next(name for name in ("loss", "kl_divergence", "query_error") if name in here.utility)
    loss = [made.utility[figure] for made in (here, there)]
    gone = here.certificate.records.suppressed, there.certificate.records.suppressed
    line = [name, method, same, checks, holds, *gone, *loss, f"{loss[1] / loss[0] - 1:+.4f}" if loss[0] else "+0.0000"]
    print(line, flush=True)
    return line


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--only", nargs="*", default=[*METHODS, *BUCKETS])
    given = parser.parse_args()
    from sfumato.engines.spark.session import start

    session = start(given.master, **{"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "4"})
    work = [(case, name, parameters) for case in cases() for name, parameters in METHODS.items()]
    work += [(case, name, {}) for case in hiding() for name in BUCKETS]
    for case, name, parameters in work:
        if name in given.only:
            keep(compared(*case, session, name, parameters))


def keep(line: list[Any]) -> None:
    """The line in the place of the one that was there for its table and method."""
    head = ["table", "method", "same_claims", "same_checks", "hold", "suppressed", "suppressed_spark"]
    with RESULTS.open(newline="") as file:
        there = [each for each in csv.reader(file) if each[0] != "table"]
    found = [each for each in there if each[:2] != line[:2]]
    place = next((place for place, each in enumerate(there) if each[:2] == line[:2]), len(there))
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows(
            [[*head, "loss", "loss_spark", "difference"], *found[:place], list(map(str, line)), *found[place:]]
        )


if __name__ == "__main__":
    main()
