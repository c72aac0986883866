"""Boundaries that come and go between releases, and how many records may be left out because of them.

Whatever a method makes beside earlier releases holds, or it is told that nothing can be made: the audit finds nothing
to refuse."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused, Infeasible
from tests.slow import SLOW

TOLD = {
    10: "part of a lineage left out",
    37: "somebody missed beside a stand-in",
    98: "left out by choice, known cohorts",
    133: "part of a lineage left out",
    138: "somebody missed beside a stand-in",
    145: "a lineage beyond a new boundary",
    153: "withheld and beyond a boundary, more than is allowed together",
    160: "a lineage beyond a new boundary, and part of one left out",
    212: "the same by one level for everybody",
}
"""Stories that once ended with a release that the audit refused, and why."""
METHODS = ("mondrian", "clustering", "refined", "sequential", "global")


def quarters(seed: int) -> Iterator[tuple[sf.Policy, dict[str, list[str]]]]:
    """Three tables of a few people who come and go, each with a boundary and a limit of its own."""
    draw = random.Random(seed)
    everybody = [str(number) for number in range(draw.randint(8, 30))]
    known = {key: (str(draw.randint(20, 40)), draw.choice("ab"), draw.choice("xyz")) for key in everybody}
    cohorts, method = draw.choice(["known", "unknown"]), draw.choice(METHODS)
    for quarter in range(3):
        there = [key for key in everybody if quarter == 0 or draw.random() < 0.85]
        there = there[: max(4, len(everybody) * 3 // 4)] if quarter == 0 else there
        age: dict[str, Any] = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
        if quarter and draw.random() < 0.6:
            age["boundary"] = {"level": draw.choice([1, 2])}
        tree = {
            "version": 1,
            "columns": {"id": "identifier", "age": age, "sex": "quasi-identifier", "ill": "sensitive"},
            "protect": [{"k-anonymity": {"k": draw.choice([2, 3])}}],
            "utility": {"suppress_at_most": draw.choice(["0%", "5%", "20%"])},
            "method": {method: {"seconds": 0.1} if method in ("refined", "sequential") else {}},
            "key": "id",
            "series": {"leaving": draw.choice(["withhold", "counterfeits"]), "cohorts": cohorts},
        }
        yield (
            sf.Policy.parse(tree),
            {"id": there}
            | {name: [known[key][place] for key in there] for place, name in enumerate(("age", "sex", "ill"))},
        )


@pytest.mark.parametrize("seed", [*TOLD, *(range(1000, 1300) if SLOW else range(1000, 1006))])
def test_what_is_made_beside_earlier_releases_holds(seed: int, tmp_path: Path) -> None:
    """An audit that refuses raises something else, and fails the test."""
    last: tuple[Path, dict[str, list[str]]] | None = None
    for number, (policy, data) in enumerate(quarters(seed)):
        try:
            made = sf.publish(policy, data=data, ledger=tmp_path / "b.ledger", new_ledger=number == 0)
        except Infeasible:
            if last is None:
                return
            continue
        last = made.write(tmp_path / f"out-{number}", report=False), data
    assert last is not None
    assert sf.verify(last[0], original=last[1], ledger=tmp_path / "b.ledger").holds


def test_who_is_withheld_and_who_has_no_place_are_counted_together(tmp_path: Path) -> None:
    """Either alone would be allowed; the error names the limit, and a larger one is enough."""
    columns: dict[str, Any] = {"id": "identifier", "sex": "quasi-identifier", "ill": "sensitive"}
    first = {"id": list("abcdefghij"), "sex": ["m"] * 4 + ["f"] * 6, "ill": list("xyxyxyxyxy")}
    ages = dict(zip("abcdefghij", ["30", "31", "32", "33", "30", "31", "32", "33", "39", "20"], strict=True))
    there = [place for place, key in enumerate(first["id"]) if key not in "d"]
    second = {name: [values[place] for place in there] for name, values in first.items()}
    second["age"] = [ages[key] for key in second["id"]]
    bounded = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}, "boundary": {"level": 1}}

    def asked(most: str, **more: Any) -> sf.Policy:
        protect = [{"k-anonymity": {"k": 2}}]
        told = {"version": 1, "columns": columns | more, "protect": protect, "utility": {"suppress_at_most": most}}
        return sf.Policy.parse(told | {"method": "mondrian", "key": "id", "series": {"leaving": "withhold"}})

    book = tmp_path / "b.ledger"
    sf.publish(asked("0%"), data=first, ledger=book, new_ledger=True).write(tmp_path / "first", report=False)
    with pytest.raises(Infeasible, match=r"3 of 9 records would be suppressed") as caught:
        sf.publish(asked("25%", age=bounded), data=second, ledger=book)
    assert caught.value.where == "utility.suppress_at_most"
    made = sf.publish(asked("34%", age=bounded), data=second, ledger=book)
    assert made.certificate.records.suppressed == 3


def test_a_cheapest_of_all_is_not_stated_beside_people_who_are_withheld(tmp_path: Path) -> None:
    """The proof speaks of the records that are left, the loss of all of them."""
    columns = {"id": "identifier", "sex": "quasi-identifier", "ill": "sensitive"}
    told = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 2}}], "method": "global", "key": "id"}
    policy = sf.Policy.parse(told | {"series": {"leaving": "withhold"}})
    first = {"id": list("ab"), "sex": list("mm"), "ill": list("xy")}
    second = {"id": list("bcdef"), "sex": list("mmmmm"), "ill": list("yxyxy")}  # all but the first of them are new
    book = tmp_path / "b.ledger"
    sf.publish(policy, data=first, ledger=book, new_ledger=True).write(tmp_path / "first", report=False)
    made = sf.publish(policy, data=second, ledger=book)
    assert made.certificate.records.suppressed == 1
    assert made.exhibit.trace.optimality is None


def columns_that_come_and_go(seed: int) -> Iterator[tuple[sf.Policy, dict[str, list[str]]]]:
    """Four tables with some of the columns each, so that of somebody who left a column may never have been told."""
    draw = random.Random(seed)
    everybody = [str(number) for number in range(draw.randint(8, 24))]
    known = {
        key: {
            "age": str(draw.randint(20, 40)),
            "sex": draw.choice("ab"),
            "zip": draw.choice("pqr"),
            "ill": draw.choice("xyz"),
        }
        for key in everybody
    }
    method = draw.choice(["mondrian", "clustering", "sequential"])
    series = {"leaving": draw.choice(["counterfeits", "counterfeits", "withhold"])}
    series["cohorts"] = draw.choice(["unknown", "unknown", "known"])
    for quarter in range(4):
        there = [key for key in everybody if draw.random() < 0.8]
        names = [name for name in ("age", "sex", "zip") if draw.random() < 0.7] or ["age"]
        columns: dict[str, Any] = {"id": "identifier", **dict.fromkeys(names, "quasi-identifier"), "ill": "sensitive"}
        if "age" in names:
            columns["age"] = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}
            if quarter and draw.random() < 0.7:
                columns["age"]["boundary"] = {"level": draw.choice([1, 2])}
        tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 2}}], "method": method, "key": "id"}
        tree |= {"utility": {"suppress_at_most": draw.choice(["20%", "60%"])}, "series": series}
        yield (
            sf.Policy.parse(tree),
            {"id": there} | {name: [known[key][name] for key in there] for name in (*names, "ill")},
        )


@pytest.mark.parametrize("seed", [22, 73, *(range(2000, 2100) if SLOW else ())])
def test_somebody_is_stood_in_for_of_whom_a_bounded_column_was_never_told(seed: int, tmp_path: Path) -> None:
    """There is no boundary of a value that nobody knows; what cannot be had is refused, and nothing else ends it."""
    book = tmp_path / "b.ledger"
    for number, (policy, data) in enumerate(columns_that_come_and_go(seed)):
        try:
            made = sf.publish(policy, data=data, ledger=book, new_ledger=not book.exists())
        except (Infeasible, AuditRefused):
            continue
        made.write(tmp_path / f"out-{number}", report=False)
    assert book.exists()


@pytest.mark.parametrize("roots", [False, True], ids=["silent", "named"])
@pytest.mark.parametrize("seed", [22, 3014, 3022, 3121, *(range(3100, 3150) if SLOW else ())])
def test_columns_that_come_and_go_are_published_or_told_infeasible(seed: int, roots: bool, tmp_path: Path) -> None:
    """Of somebody who left a column may never have been told: only a cell that says nothing covers them, where there is
    one."""
    book = tmp_path / "b.ledger"
    for number, (policy, data) in enumerate(columns_that_come_and_go(seed)):
        tree = dict(policy.document.tree)
        columns = dict(tree["columns"])
        if roots and "zip" in columns:
            columns["zip"] = {"role": "quasi-identifier", "hierarchy": {"anywhere": ["p", "q", "r"]}}
        if roots and "age" in columns:
            columns["age"] = {"role": "quasi-identifier", "hierarchy": "ranges"}
        try:
            made = sf.publish(
                sf.Policy.parse(tree | {"columns": columns}), data=data, ledger=book, new_ledger=not book.exists()
            )
        except Infeasible:
            continue
        out = made.write(tmp_path / f"out-{number}", report=False)
        assert sf.verify(out, original=data, ledger=book).holds
    assert book.exists()


def _left_untold(folder: Path, zips: Any) -> sf.Publication:
    """Eight people by age; two of those of 30 leave, and the second release also shows where people live."""
    people = {str(i): {"age": "30" if i < 4 else "40", "zip": "pq"[i % 2], "ill": "xyxyxyxy"[i]} for i in range(8)}
    columns: dict[str, Any] = {"id": "identifier", "age": "quasi-identifier", "ill": "sensitive"}
    tree = {"version": 1, "protect": [{"k-anonymity": {"k": 2}}], "method": "mondrian", "key": "id"}
    tree |= {"series": {"cohorts": "unknown"}}
    made = None
    for number, (names, keys) in enumerate(((columns, "01234567"), (columns | {"zip": zips}, "024567"))):
        data = {"id": list(keys)} | {
            name: [people[key][name] for key in keys] for name in ("age", "zip", "ill") if name in names
        }
        policy = sf.Policy.parse(tree | {"columns": names})
        made = sf.publish(policy, data=data, ledger=folder / "b.ledger", new_ledger=not number)
        made.write(folder / f"out-{number}", report=False)
    assert made is not None
    return made


def test_who_stays_beside_somebody_whose_zip_was_never_told_shows_none(tmp_path: Path) -> None:
    """0 and 2 live in p; 1 and 3 left, and whoever knows that these live in q would tell them apart by any cell but
    ``*``."""
    rows = _left_untold(tmp_path, "quasi-identifier").release.parts["data"].table.to_pylist()
    assert sorted((row["age"], row["zip"]) for row in rows) == [("30", "*")] * 2 + [("40", "p")] * 2 + [("40", "q")] * 2


def test_where_no_cell_says_nothing_they_are_withheld(tmp_path: Path) -> None:
    made = _left_untold(tmp_path, {"role": "quasi-identifier", "hierarchy": {"anywhere": ["p", "q"]}})
    assert {row["age"] for row in made.release.parts["data"].table.to_pylist()} == {"40"}
    assert made.certificate.records.suppressed == 2


def test_a_row_that_stands_in_shows_nothing_that_was_never_told_of_its_person(tmp_path: Path, monkeypatch: Any) -> None:
    """What a memory says of somebody, later cells would be taken to cover; a method that does not look is refused."""
    from sfumato.history.constrain.unknown_membership import _LineageBoard

    monkeypatch.setattr(
        _LineageBoard, "_remembered_codes", lambda self, name: np.zeros(self.tied.bundles.people, dtype=np.int64)
    )
    book, refused = tmp_path / "b.ledger", ""
    for number, (policy, data) in enumerate(columns_that_come_and_go(3080)):
        try:
            made = sf.publish(policy, data=data, ledger=book, new_ledger=not book.exists())
        except AuditRefused as error:
            refused += str(error)
            continue
        made.write(tmp_path / f"out-{number}", report=False)
    assert "which was never published for the people they represent" in refused
