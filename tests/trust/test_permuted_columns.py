"""Columns that trade places among rows: found with provenance and without it, unless the result is as true as before.

Whoever writes a folder can permute any columns of any part and redo every checksum. The judges of this file know the
definitions and nothing else: with provenance row i must be the record behind it, in every column; without it some
assignment of rows to records must explain every part."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Provenance, Release
from sfumato.workflow.verify import _opened, audit_of, beside
from tests.secret import secret
from tests.trust import every_form
from tests.trust.every_form import FORMS, read, redo, write

Rows = list[dict[str, str]]


@cache
def published(form: str) -> tuple[Path, Any, Provenance]:
    """A release of this form with its original, and its provenance, whether or not that is kept beside the folder."""
    policy, original = every_form._MAKERS[form]()
    made = sf.publish(policy, data=None if form == "database" else original, seed=secret(5))
    folder = Path(mkdtemp(prefix="sfumato-permuted-")) / "out"
    made.write(folder, report=False)
    return folder, original, made.release.trace


def verdicts(folder: Path, original: Any, provenance: Provenance) -> dict[str, bool | None]:
    try:
        view = replace(beside(_opened(folder), original, None, None), trace=provenance)
        return {finding.model: finding.verdict for finding in audit_of(view).findings}
    except sf.SfumatoError as error:
        assert error.exit_code == 1
        return {"unreadable": False}


def broken(found: Mapping[str, bool | None]) -> set[str]:
    return {name for name, verdict in found.items() if verdict is False}


def sets_of(names: list[str]) -> list[tuple[str, ...]]:
    """Each column, each pair, all of them, and all but what links tables."""
    sets = [(name,) for name in names] + list(combinations(names, 2)) + [tuple(names)]
    return list(dict.fromkeys([*sets, tuple(name for name in names if name not in ("bucket", "person", "block"))]))


def permuted(rows: Rows, names: tuple[str, ...], rng: random.Random) -> Rows:
    order = rng.sample(range(len(rows)), len(rows))
    return [{**row, **{name: rows[place][name] for name in names}} for row, place in zip(rows, order, strict=True)]


def edits(folder: Path, target: Path, seed: int) -> Iterator[tuple[str, Path, Rows]]:
    """Copies of a folder with columns of one part permuted."""
    rng = random.Random(seed)
    for file in sorted(folder.glob("*.csv")):
        rows = read(file)
        for names in sets_of(list(rows[0])) if len(rows) > 1 else ():
            new = permuted(rows, names, rng)
            if new != rows:
                copy = Path(shutil.copytree(folder, target / f"{file.stem}-{'-'.join(names)}"))
                write(copy / file.name, new)
                redo(copy)
                yield file.stem, copy, new


def covers(label: str, value: str) -> bool:
    """Whether a published label may stand for an original value, for the labels that these releases have."""
    ends = [int(end) for end in re.findall(r"\d+", label)]
    return label in (value, "*") or (len(ends) == 2 and value.isdigit() and ends[0] <= int(value) <= ends[1])


def promised(form: str, part: str, policy: sf.Policy, names: list[str]) -> list[str]:
    """Columns of a part whose cells cover the original value of the record behind their row."""
    if form == "microaggregated table":
        names = [name for name in names if name not in policy.quasi_identifiers]
    if form == "perturbed table":
        names = [name for name in names if name not in policy.quasi_identifiers]
    named = {f"{part}.{name}" if form == "database" else name: name for name in names}
    return [name for full, name in named.items() if full in policy.columns and policy.columns[full].role != "replaced"]


@pytest.mark.parametrize("form", FORMS)
def test_permuted_columns_are_found_in_every_form(form: str, tmp_path: Path) -> None:
    folder, original, provenance = published(form)
    policy = _opened(folder).policy
    table = policy.data.read(original) if form not in ("database", "graph", "graph figures") else None
    assert not broken(verdicts(folder, original, provenance))
    assert not broken(verdicts(folder, original, type(provenance)()))
    tried = 0
    for part, copy, rows in edits(folder, tmp_path, 11):
        known, unknown = verdicts(copy, original, provenance), verdicts(copy, original, type(provenance)())
        assert broken(unknown) <= broken(known) | {"unreadable"}, copy.name
        assert not [name for name, verdict in unknown.items() if verdict is True and known.get(name, True) is None], (
            copy.name
        )
        if part in provenance.rows and hasattr(table, "text"):
            names = promised(form, part, policy, list(rows[0]))
            text = {name: table.text(name) for name in names}
            truth = {name: [column.labels[code] for code in column.codes.tolist()] for name, column in text.items()}
            pairs = zip(rows, provenance.rows[part].tolist(), strict=True)
            if not all(covers(row[name], truth[name][at]) for row, at in pairs for name in names):
                assert broken(known), copy.name
                tried += 1
    assert tried or form not in ("recoded table", "anatomy", "sub-tables", "microaggregated table", "replaced table")


SMALL = {"anatomy": None, "guardian": ["age, zip -> ill : 2-diversity"], "utility-aware": ["age -> ill : 2-diversity"]}


def small(method: str, seed: int) -> tuple[sf.Policy, dict[str, list[str]]]:
    rng = random.Random(seed)
    rows = rng.randint(4, 6)
    data = {
        name: [rng.choice(values) for _ in range(rows)]
        for name, values in {"age": "123", "zip": "xy", "ill": "abc"}.items()
    }
    role = {"age": "quasi-identifier", "zip": "quasi-identifier", "ill": "sensitive"}
    if SMALL[method] is None:
        tree = {"columns": role, "protect": [{"l-diversity": {"l": 2}}]}
    else:
        tree = {"columns": dict.fromkeys(role, "other"), "protect": SMALL[method]}
    return sf.Policy.parse({"version": 1, **tree, "method": {method: {}}}), data


def explained(
    rows: Rows, listed: Counter[tuple[str, ...]], data: Mapping[str, list[str]], hidden: list[str], behind: Any
) -> bool:
    """Whether records can stand behind the rows so that cells are theirs and every bucket lists its own rows'
    values."""
    shown = [name for name in rows[0] if name in data]
    people = range(len(data["age"]))
    fits = [[at for at in people if all(row[name] == data[name][at] for name in shown)] for row in rows]
    ways = permutations(people, len(rows)) if behind is None else [tuple(behind)]
    for way in ways:
        if all(at in able for at, able in zip(way, fits, strict=True)):
            told = Counter(
                (row["bucket"], name, data[name][at]) for row, at in zip(rows, way, strict=True) for name in hidden
            )
            if not listed or told == listed:
                return True
    return False


def listing(folder: Path, part: str, anatomy: bool) -> Counter[tuple[str, ...]]:
    file = folder / ("sensitive.csv" if anatomy else f"{part}-sensitive.csv")
    told: Counter[tuple[str, ...]] = Counter()
    for row in read(file) if file.exists() else ():
        told[row["bucket"], row.get("column", "ill"), row["value"]] += int(row["count"])
    return told


def is_true(folder: Path, data: Mapping[str, list[str]], method: str, behind: Mapping[str, Any] | None) -> bool:
    """Every table of a folder can be explained, by provenance where it is at hand."""
    parts = [file.stem for file in folder.glob("*.csv") if "sensitive" not in file.stem]
    for part in parts:
        told = listing(folder, part, method == "anatomy")
        hidden = sorted({column for _, column, _ in told})
        if not explained(read(folder / f"{part}.csv"), told, data, hidden, None if behind is None else behind[part]):
            return False
    return True


@pytest.mark.parametrize("method", SMALL)
def test_small_tables_are_judged_as_all_assignments_of_rows_to_records_judge_them(method: str, tmp_path: Path) -> None:
    found = {True: 0, False: 0}
    for seed in range(60):
        policy, data = small(method, seed)
        try:
            made = sf.publish(policy, data=data)
        except sf.SfumatoError:
            continue
        folder = made.write(tmp_path / f"{seed}", report=False)
        for part, copy, _ in edits(folder, tmp_path / f"edits-{seed}", seed):
            del part
            for provenance in (made.release.trace, Provenance()):
                true = is_true(copy, data, method, provenance.rows or None)
                said = broken(verdicts(copy, data, provenance)) & {
                    "truthful buckets",
                    "agreement",
                    "unreadable",
                    "form",
                    "floor",
                }
                assert bool(said) or true, (seed, copy.name, bool(provenance.rows))
                found[bool(said)] += 1
                if true and not provenance.rows:
                    assert not said & {"truthful buckets"}, (seed, copy.name)
        shutil.rmtree(tmp_path / f"edits-{seed}", ignore_errors=True)
        if found[True] > 60 and found[False] > 10:
            return
    assert found[True] > 20, found


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("graph", "graph figures")])
def test_a_method_that_mixes_up_rows_is_not_certified(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit inside `publish` looks at what the method says stands behind each row."""
    policy, original = every_form._MAKERS[form]()
    assert policy.method is None or policy.method.name in catalogue("methods", Method)
    name = policy.method.name if policy.method is not None else "relational"
    cls = catalogue("methods", Method)[name]
    run = cls.run

    def mixed(self: Method, task: Task) -> Release:
        release = run(self, task)
        parts = dict(release.parts)
        for part in (part if part in parts else "rows" for part in release.trace.rows):
            names = promised(form, part, policy, parts[part].table.column_names)
            columns = {column: parts[part].table.column(column) for column in parts[part].table.column_names}
            order = pa.array(np.roll(np.arange(len(parts[part])), 1))
            chosen = names or [column for column in columns if column not in ("block", "person")]
            parts[part] = Part(
                pa.table(
                    {column: values.take(order) if column in chosen else values for column, values in columns.items()}
                )
            )
        return replace(release, parts=parts)

    monkeypatch.setattr(cls, "run", mixed)
    with pytest.raises(sf.AuditRefused):
        sf.publish(policy, data=None if form == "database" else original, seed=secret(5))


def test_provenance_that_names_a_record_twice_is_found(tmp_path: Path) -> None:
    for form in FORMS:
        folder, original, provenance = published(form)
        if not provenance.rows:
            continue
        twice = {part: np.where(rows == rows[0], rows[1], rows) for part, rows in provenance.rows.items()}
        assert broken(verdicts(folder, original, replace(provenance, rows=twice))), form
        short = {part: rows[1:] for part, rows in provenance.rows.items()}
        assert broken(verdicts(folder, original, replace(provenance, rows=short))), form
