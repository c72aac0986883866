"""`growth: separative`: the certificate speaks for whoever can tell old rows from new ones, and for whoever cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.kinds.tables.methods import sequential
from tests.sequential.stories import Judge, joined, people, random_generator, release
from tests.slow import SLOW

Table = dict[str, list[str]]
FIRST, LAST = 0 if SLOW else 18, 30
"""Which of the tables are tried: no release can serve most of the first."""


def grown_tables() -> dict[int, tuple[Table, Table]]:
    """Numbered tables that grow once, before and after."""
    rng, found = random_generator(77), []
    for _ in range(LAST):
        first = people(rng, 6)
        found.append((first, joined(first, people(rng, 4, first=50))))
    return dict(list(enumerate(found))[FIRST:])


def stories(path: Path, k: float) -> list[tuple[Path, sf.Publication]]:
    """Tables that grow once, published apart; those that no release can serve are left out."""
    found = []
    for number, (first, grown) in grown_tables().items():
        place = path / str(number)
        place.mkdir()
        try:
            release(place, ["a", "s"], first, model="k-diversity", k=k, growth="separative")
            found.append((place, release(place, ["b", "s"], grown, model="k-diversity", k=k, growth="separative")))
        except sf.Infeasible:
            continue
    return found


def test_diversity_over_all_rows_is_what_was_asked(tmp_path: Path) -> None:
    """Judged by enumeration of every way to pair up the rows; the stated level is never above it."""
    told = stories(tmp_path, 1.5)
    assert len(told) >= 4
    for place, publication in told:
        level = Judge(place).level("diversity")
        assert level is not None and level >= 1.5
        finding = publication.findings[0]
        assert finding.achieved["k"] <= float(level) + 1e-5
        assert "each cohort by itself and all together" in finding.reason


def test_values_that_a_cohort_does_not_have_are_counted_as_everybody_numbers_them(tmp_path: Path) -> None:
    """New people who have s2 and s3 beside old ones with s0, s2 and s3: what is made is safe for all outsiders, or
    nothing is."""
    first = {"id": ["p0", "p1", "p2"], "a": ["a1", "a0", "a0"], "b": ["b0", "b2", "b1"], "s": ["s3", "s2", "s0"]}
    more = {"id": ["p3", "p4"], "a": ["a2", "a0"], "b": ["b2", "b1"], "s": ["s2", "s3"]}
    release(tmp_path, ["a", "s"], first, model="k-diversity", k=2, growth="separative")
    with pytest.raises(sf.Infeasible, match="all rows together"):
        release(tmp_path, ["a", "s"], joined(first, more), model="k-diversity", k=2, growth="separative")


def test_the_audit_refuses_what_only_holds_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The method as it was: it looked at cohorts one by one. Some of its releases fall short for who joins all rows."""
    monkeypatch.setattr(sequential, "require_together", lambda *given: None)
    refused = 0
    for number, (first, grown) in grown_tables().items():
        place = tmp_path / str(number)
        place.mkdir()
        try:
            release(place, ["a", "s"], first, model="k-diversity", k=1.5, growth="separative")
            release(place, ["b", "s"], grown, model="k-diversity", k=1.5, growth="separative")
        except sf.Infeasible:
            continue
        except sf.AuditRefused as error:
            refused += "k-diversity" in error.what
            continue
        assert Judge(place).level("diversity") >= 1.5
    assert refused
