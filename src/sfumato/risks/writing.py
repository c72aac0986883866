"""The risk of a table in words, and the risk of its records as a file."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow.csv as pa_csv

from sfumato.risks.people import PeopleAtRisk
from sfumato.risks.report import RiskReport

_SHOWN = 8


def sentences(found: RiskReport) -> Iterator[tuple[str, list[str]]]:
    """Headings with what is to be said below them."""
    chosen = "chosen by names and looks; name them with --qi" if found.guessed else "as given"
    yield "quasi-identifiers", [f"{', '.join(found.quasi_identifiers)} ({chosen})"]
    yield (
        "people who look alike" if found.people is None else "rows that look alike",
        [
            f"k = {found.k}: {found.rows:,} records in {found.classes:,} classes, {found.uniques:,} of them alone",
            *(f"{each.column}: l = {each.l_distinct:g}, t = {each.t:.3g} in the worst class" for each in found.diversity),
        ],
    )
    if found.people is not None:
        yield "people in several rows", people_sentences(found.people)
    yield (
        "attackers",
        [
            f"{each.name}: right about {each.average:.2%} on average, {each.highest:.1%} at best"
            for each in (found.prosecutor, found.journalist, found.marketer)
        ]
        + [f"{each.records:,} records have a risk above {each.threshold:.0%}" for each in found.prosecutor.at_risk],
    )
    if found.population is not None:
        one = found.population
        yield "population", [f"about {one.uniques:,.0f} of {one.population:,} people are unique in it ({one.chosen})"]
    best = found.combinations.found[:_SHOWN]
    yield "columns that identify", [f"{', '.join(each.columns)}: {each.separation:.4%} of pairs told apart" for each in best]
    if found.special is not None and found.special.records:
        counts = ", ".join(f"{count:,} of {size}" for size, count in found.special.by_size.items())
        yield "special uniques", [f"{found.special.records:,} records are unique in few values (sets by size: {counts})"]
    personal = [f"{each.name}: {each.kind} (HIPAA {each.hipaa})" for each in found.columns if each.kind]
    if personal:
        yield "personal columns", personal
    if found.notes:
        yield "assumed", list(found.notes)


def people_sentences(one: PeopleAtRisk) -> list[str]:
    """What classes of rows come to for people."""
    return [
        f"{one.people:,} people, {one.several:,} of them in several rows; the fewest in a class are {one.fewest:,}",
        f"{one.alone:,} have a class for themselves, {one.alone_by_all_rows:,} are alone by all their rows together",
        f"a row of a class is one person's with up to {one.highest:.1%}, with {one.average:.2%} on average over people",
    ]


def records_text(found: RiskReport) -> bytes:
    """The risk of every record as CSV, in the order of the table."""
    file = io.BytesIO()
    pa_csv.write_csv(found.records(), file)
    return file.getvalue()
