"""Brute force over people: small tables with one to six rows per person, every method that counts people, every claim.

    python -m benchmarks.people_enumerations [--tables 1000] [--first 1000000] [--only mondrian]

Every release is held against plain enumeration (`tests/people`): all ways to hand the published rows out to records,
for whoever knows one row of a person, all of them, or everybody's; for linked files all ways to hand pseudonyms out to
people; for anatomies all ways to hand rows and values out; for sub-tables all ways to put the tables together; for
suppressed cells every choice of known columns; for histories with a ledger all ways to hand bundles of rows out, or,
where pseudonyms tie them, chains of them. Then the same tables with a method that counts rows (the audit must refuse),
and with a method and an audit that both count rows (the floor must refuse); and linked histories with a method that
forgets the past, beside an audit as it is (which must refuse), one that judges releases one by one, and one that counts
rows in joint classes (both of which the enumeration must find). Results: ``results/people-enumerations.csv``."""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.kinds.person_evidence import PersonCount
from sfumato.kinds.tables.methods.row_multisets import PastRecords
from tests.people import linked_worlds_over_releases as of_chains
from tests.people import test_anatomy_by_enumeration as of_anatomy
from tests.people import test_averages_of_people as of_averages
from tests.people import test_linked_by_enumeration as of_linked
from tests.people import test_people_by_enumeration as of_rows
from tests.people import test_related_tables as of_related
from tests.people import test_subtables_by_enumeration as of_subtables
from tests.people import test_suppressed_cells_of_people as of_cells
from tests.people import worlds_over_releases as of_releases
from tests.people.worlds_of_people import Row, linked_violations, people_violations, random_people

RESULTS = Path(__file__).parent / "results" / "people-enumerations.csv"
Judged = tuple[sf.Publication | None, list[str], list[Row]]


def unlinked(method: tuple[str, dict[str, Any]], seed: int) -> Judged:
    policy, records = random_people(seed)
    publication = of_rows.made(policy, records, method)
    return (
        publication,
        [] if publication is None else of_rows.found_by_enumeration(publication, records, policy),
        records,
    )


def household(seed: int) -> Judged:
    """Two people of a household are one unit: whoever recognizes one of them learns the other."""
    policy, records = random_people(seed)
    policy["columns"]["home"] = "identifier"
    for record in records:
        record["home"] = str(int(record["id"]) // 2)
    told = {**policy, "person": {"columns": "id", "together": "home"}}
    publication = of_rows.made(told, records, ("mondrian", {}))
    if publication is None:
        return None, [], records
    rows, behind = publication.release.parts["data"].table.to_pylist(), publication.release.trace.rows["data"].tolist()
    return publication, people_violations(rows, behind, records, policy, unit="home"), records


def linked(groups: str, seed: int) -> Judged:
    policy, records = of_linked.linked_case(seed)
    publication = of_linked.publish(policy, records, groups)
    if publication is None:
        return None, [], records
    return publication, linked_violations(publication.release.parts["data"].table.to_pylist(), records, policy), records


def anatomy(seed: int) -> Judged:
    publication, policy, records = of_anatomy.publish(seed)
    return publication, [] if publication is None else of_anatomy.violations(publication, policy, records), records


def averages(seed: int) -> Judged:
    policy, records = of_averages.case(seed)
    publication = of_averages.made(policy, records)
    return publication, [] if publication is None else of_averages.violations(publication, policy, records), records


def cells(seed: int) -> Judged:
    policy, records = of_cells.case(seed)
    publication = of_cells.made(policy, records)
    return publication, [] if publication is None else of_cells.violations(publication, policy, records), records


def related(groups: str, seed: int) -> Judged:
    policy, people, rows = of_related.case(seed)
    publication = of_related.made(policy, people, rows, groups)
    return publication, [] if publication is None else of_related.violations(publication, policy, people, rows), rows


def sub_tables(method: str, seed: int) -> Judged:
    policy, records = of_subtables.case(seed)
    publication = of_subtables.made(policy, records, method)
    return publication, [] if publication is None else of_subtables.violations(publication, policy, records), records


def history(method: tuple[str, dict[str, Any]], seed: int) -> Judged:
    """Two or three releases with one ledger; counted as published when there are at least two."""
    policy, records, here = of_releases.random_history(seed, releases=2 + seed % 2)
    with tempfile.TemporaryDirectory() as folder:
        made = of_releases.published(Path(folder), policy, records, here, method)
    if len(made) < 2:
        return None, [], records
    return made[-1], of_releases.violations(made, records, policy), records


def linked_history(groups: str, seed: int) -> Judged:
    """The same with pseudonyms."""
    policy, records, here = of_chains.linked_history(seed)
    with tempfile.TemporaryDirectory() as folder:
        made = of_releases.published(
            Path(folder), policy, records, here, ("linked", {"groups": groups, "seconds": 0.05})
        )
    if len(made) < 2:
        return None, [], records
    return made[-1], of_chains.linked_violations(made, records, policy), records


def related_history(groups: str, seed: int) -> Judged:
    """The same of two tables."""
    policy, people, rows = of_related.case(seed)
    policy, releases = of_chains.related_history(policy, people, rows, seed)
    with tempfile.TemporaryDirectory() as folder:
        made = of_chains.published_related(Path(folder), policy, releases, groups)
    if len(made) < 2:
        return None, [], rows
    return made[-1], of_chains.related_violations(made, people, rows, policy), rows


def ways() -> Iterator[tuple[str, Callable[[int], Judged]]]:
    """Name, and one table judged."""
    for method in of_rows.METHODS:
        name = "-".join(map(str, (method[0], *(value for key, value in method[1].items() if key != "seconds"))))
        yield f"unlinked, {name}", lambda seed, method=method: unlinked(method, seed)  # type: ignore[misc]
    yield "unlinked, households, mondrian", household
    for groups in ("mondrian", "clustering", "refined"):
        yield f"linked, {groups}", lambda seed, groups=groups: linked(groups, seed)  # type: ignore[misc]
    yield "anatomy", anatomy
    yield "averages", averages
    for groups in ("mondrian", "clustering"):
        yield f"related tables, {groups}", lambda seed, groups=groups: related(groups, seed)  # type: ignore[misc]
    yield "suppressed cells", cells
    for method in of_subtables.METHODS:
        yield f"sub-tables, {method}", lambda seed, method=method: sub_tables(method, seed)  # type: ignore[misc]
    for name in ("mondrian", "clustering", "global", "refined"):
        one = next(method for method in of_rows.METHODS if method[0] == name)
        yield f"several releases, {name}", lambda seed, one=one: history(one, seed)  # type: ignore[misc]
    for groups in ("mondrian", "clustering", "refined"):
        yield f"several linked releases, {groups}", lambda seed, groups=groups: linked_history(groups, seed)  # type: ignore[misc]
    for groups in ("mondrian", "clustering"):
        yield f"several related releases, {groups}", lambda seed, groups=groups: related_history(groups, seed)  # type: ignore[misc]


def counted(name: str, judge: Callable[[int], Judged], seeds: range) -> dict[str, Any]:
    before, found, most = time.process_time(), Counter[str](), 0
    for seed in seeds:
        publication, wrong, records = judge(seed)
        found["tables"] += 1
        found["published"] += publication is not None
        found["violations"] += len(wrong)
        most = max(most, *Counter(record["id"] for record in records).values())
        if wrong:
            print(f"{name}, seed {seed}: {wrong}", flush=True)
    return {"way": name, **found, "rows per person at most": most, "cpu": round(time.process_time() - before, 1)}


def planted(cases: int) -> Iterator[dict[str, Any]]:
    """What is refused, and what is published and only the enumeration finds, when somebody counts rows."""
    for audited in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sfumato.kinds.tables.methods.recoding.person_requirements", lambda *_: ((), ()))
            if not audited:
                patch.setattr(PersonCount, "__init__", of_rows._rows_are_people)
            refused, missed = of_rows.broken_without(patch, cases)
        who = "method" if audited else "method and audit"
        yield {"way": f"planted: {who} count rows", "tables": cases, "refused": refused, "violations": missed}


AUDITS: dict[str, tuple[str, Callable[..., Any]] | None] = {
    "audit as it is": None,
    "audit of each release alone": ("sfumato.audit.certify.together", lambda exhibit, alone: iter(alone)),
    "audit that counts rows": ("sfumato.history.judge.series.links_rows", lambda history: False),
}


def planted_in_histories(cases: int) -> Iterator[dict[str, Any]]:
    """Linked histories by a method that forgets the past: how many the audit lets pass, and in how many too much is
    found."""
    for audit, instead in AUDITS.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "sfumato.kinds.tables.methods.longitudinal.past_records",
                lambda task, policy: PastRecords.none(task.data),
            )
            if instead is not None:
                patch.setattr(*instead)
            judged = [linked_history("mondrian", seed) for seed in range(cases)]
        passed = [wrong for made, wrong, _ in judged if made is not None]
        name = f"planted: linked releases, method forgets the past, {audit}"
        yield {"way": name, "tables": cases, "published": len(passed), "violations": sum(map(bool, passed))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1_000_000, help="the first seed; tests use the first thousands")
    parser.add_argument("--only", default="", help="ways whose name contains this; the others stay as they are written")
    given = parser.parse_args()
    found = []
    for name, judge in (way for way in ways() if given.only in way[0]):
        found.append(counted(name, judge, range(given.first, given.first + given.tables)))
        print(found[-1], flush=True)
        record(found)
    cases = min(given.tables, 500)
    some = [*planted(cases)] if not given.only else []
    some += planted_in_histories(cases) if given.only in "planted: linked releases" else []
    for entry in some:
        found.append(entry)
        print(entry, flush=True)
        record(found)


def record(found: list[dict[str, Any]]) -> None:
    """The results with these instead of older ones of the same way."""
    kept = list(csv.DictReader(RESULTS.read_text(encoding="utf-8").splitlines())) if RESULTS.exists() else []
    new = {entry["way"]: entry for entry in found}
    rows = [new.pop(row["way"], row) for row in kept]
    rows += new.values()
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for entry in rows for key in entry)))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
