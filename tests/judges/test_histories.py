"""Releases of one ledger, held against all possible worlds: columns and people come and go, cohorts are known or
unknown."""

from __future__ import annotations

import ast
import random
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.history import persistent_classes
from sfumato.history.constrain import unknown_membership
from tests.judges.histories import HistoryJudge, Release, read_release
from tests.judges.history_cases import HistoryCase, HistoryFigures, play
from tests.slow import SLOW

CASES = 400 if SLOW else 60
ROWS = {
    "id": list("01234567"),
    "age": ["30"] * 4 + ["60"] * 4,
    "ward": [f"w{i}" for i in range(8)],
    "disease": ["flu", "flu", "gout", "cold", "flu", "gout", "cold", "flu"],
}


def policy(publish: bool, protect: dict[str, object], cohorts: str = "unknown", **series: object) -> sf.Policy:
    columns = {
        "id": "identifier",
        "age": "quasi-identifier",
        "ward": "other",
        "disease": {"role": "sensitive", "publish": publish},
    }
    tree = {
        "version": 1,
        "key": "id",
        "series": {"cohorts": cohorts, **series},
        "method": "mondrian",
        "columns": columns,
    }
    return sf.Policy.parse({**tree, "protect": [protect]})


def without(people: tuple[int, ...]) -> dict[str, list[str]]:
    return {name: [value for i, value in enumerate(column) if i not in people] for name, column in ROWS.items()}


def judged(place: Path, tables: list[dict[str, list[str]]], known: bool = False) -> list[str]:
    """What the judge says of releases 1, 2, … of these tables."""
    people = [{name: column[i] for name, column in ROWS.items()} for i in range(8)]
    made = []
    for number, table in enumerate(tables):
        rows = read_release(place / f"release-{number + 1}", number, {})
        shown = {dict(row)["ward"] for published in rows for row in published.rows}  # every ward is that of one person
        present = frozenset(
            int(key) for key, ward in zip(table["id"], table["ward"], strict=True) if frozenset({ward}) in shown
        )
        made.append(Release(rows, present))
    return HistoryJudge(people, made, frozenset({"age"}), known).broken([("l-diversity", "disease", 2)], len(made) - 1)


def publish_both(
    place: Path, first: dict[str, list[str]], second: dict[str, list[str]], told: tuple[bool, bool]
) -> None:
    claims = [{"l-diversity": {"l": 2}} if each else {"k-anonymity": {"k": 2}} for each in told]
    book = place / "x.ledger"
    one = sf.publish(policy(told[0], claims[0]), first, ledger=book, new_ledger=True)
    one.write(place / "release-1", report=False)
    sf.publish(policy(told[1], claims[1]), second, ledger=book).write(place / "release-2", report=False)


def test_members_of_a_table_without_the_sensitive_column_keep_what_was_promised(tmp_path):
    """Both people of age 30 in the second release had flu in the first, and their wards link the two."""
    left = without((2, 3))
    publish_both(tmp_path, ROWS, left, (True, False))
    assert judged(tmp_path, [ROWS, left]) == []
    ages = [dict(row)["age"] for row in read_release(tmp_path / "release-2", 1, {})[0].rows]
    assert ages == [frozenset({"60"})] * 4  # the two of age 30 are left out, the others are published


def test_the_sensitive_column_may_come_after_the_table_that_links_to_it(tmp_path):
    """The first release has no sensitive column; the second publishes it of two people of age 30 only, who both have
    flu."""
    left = without((2, 3))
    publish_both(tmp_path, ROWS, left, (False, True))
    assert judged(tmp_path, [ROWS, left]) == []


@pytest.mark.parametrize("audit_too", [False, True])
def test_the_defect_is_found_where_it_is_planted(tmp_path, monkeypatch, audit_too):
    """The method does not look at tables without the sensitive column: the audit has both left out, and the judge finds
    them if the audit does not look either."""
    monkeypatch.setattr(unknown_membership, "values_from_other_tables", lambda *_: iter(()))
    if audit_too:
        monkeypatch.setattr(persistent_classes, "values_from_other_tables", lambda *_: iter(()))
    left = without((2, 3))
    publish_both(tmp_path, ROWS, left, (True, False))
    assert len(judged(tmp_path, [ROWS, left])) == (2 if audit_too else 0)


def test_rows_of_several_tables_are_not_traded_without_the_rest_of_their_release(tmp_path):
    """Who is absent from a release is absent from all its tables: p2 alone left, and the ages of the second release say
    so."""
    first = {"id": ["1", "2", "5"], "a": ["a1", "a3", "a0"], "s": ["s0", "s1", "s1"], "o": ["o1", "o2", "o5"]}
    second = {
        "id": ["0", "1", "4", "5"],
        "a": ["a0", "a1", "a0", "a0"],
        "s": ["s0", "s0", "s2", "s1"],
        "o": ["o0", "o1", "o4", "o5"],
    }
    columns = {"id": "identifier", "a": "quasi-identifier", "s": "sensitive", "o": "other"}
    tree = {
        "version": 1,
        "key": "id",
        "columns": columns,
        "protect": [{"l-diversity": {"l": 2}}],
        "series": {"cohorts": "unknown"},
    }
    book = tmp_path / "x.ledger"
    sf.publish(sf.Policy.parse({**tree, "method": "guardian"}), first, ledger=book, new_ledger=True).write(
        tmp_path / "r1", report=False
    )
    try:
        sf.publish(sf.Policy.parse({**tree, "method": "single-attribute"}), second, ledger=book).write(
            tmp_path / "r2", report=False
        )
    except sf.Infeasible:
        return
    people = [{"a": a} for a in ("a0", "a1", "a3", "a3", "a0", "a0")]
    releases = [
        Release(read_release(tmp_path / f"r{n + 1}", n, {}), frozenset(present))
        for n, present in enumerate([{1, 2, 5}, {0, 1, 4, 5}])
    ]
    assert HistoryJudge(people, releases, frozenset({"a"}), False).broken([("l-diversity", "s", 2)], 1) == []


def test_random_histories_keep_their_promises_in_all_worlds(tmp_path):
    figures = HistoryFigures()
    for number in range(CASES):
        rng = random.Random(f"histories:{number}")
        place = tmp_path / str(number)
        place.mkdir()
        play(HistoryCase.draw(rng), place, rng, figures)
    assert figures.broken == figures.refused == figures.crashes == []
    assert figures.counts["judged"] > CASES


def test_releases_that_were_each_judged_alone_are_found(tmp_path):
    """The judge can fail: without a ledger, releases that are each safe break promises together."""
    figures = HistoryFigures()
    for number in range(40):
        rng = random.Random(f"alone:{number}")
        place = tmp_path / str(number)
        place.mkdir()
        play(HistoryCase.draw(rng, methods=("mondrian", "anatomy")), place, rng, figures, together=False)
    assert figures.counts["broken"] > 5


def test_the_judge_imports_nothing_of_what_it_judges():
    tree = ast.parse((Path(__file__).parent / "histories.py").read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imported for alias in node.names} | {
        getattr(node, "module", None) or "" for node in imported
    }
    assert not any(name.startswith("sfumato") for name in names)


def highest_beliefs(method: str, cases: int, place: Path) -> list[tuple[bool, Fraction]]:
    """Per judged release whether joint classes are apart from each other, and the highest share of all worlds of one
    value."""
    found: list[tuple[bool, Fraction]] = []
    for number in range(cases):
        rng = random.Random(f"beliefs:{number}")
        case = HistoryCase.draw(rng, methods=(method,))
        case.cohorts, case.kind, case.leaving = "known", "frequency", "withhold"
        stays = rng.random() < 0.5
        for release in case.releases:
            release["columns"] = ["a", "s"] if stays else [*(name for name in release["columns"] if name in "ab"), "s"]
            release["here"] = case.releases[0]["here"] if stays else release["here"]
        folder = place / f"{method}-{number}"
        folder.mkdir()
        watch = lambda judge: found.append((judge.classes_are_apart(), judge.highest_belief("s")))  # noqa: E731
        play(case, folder, rng, HistoryFigures(), watch=watch)
    return found


def test_equal_weight_of_all_worlds_is_bounded_where_joint_classes_are_apart(tmp_path):
    """Where a row of a joint class fits somebody of another one, an adversary who weighs all ways of linking alike may
    believe more than 1/l; where none does, shares of worlds are shares in the class."""
    found = highest_beliefs("global", 60, tmp_path) + highest_beliefs("mondrian", 60, tmp_path)
    apart = [share for is_apart, share in found if is_apart]
    assert len(apart) > 30
    assert max(apart) <= Fraction(1, 2)
    assert max(share for _, share in found) > Fraction(1, 2)
