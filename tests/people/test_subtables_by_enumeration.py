"""Sub-tables of small tables of people: what every way to put the tables together says about somebody.

A world gives every record a row of each table, so that known values agree, columns that tables share agree, and the
values that a bucket lists are handed out among its rows. Worlds are counted record by record; rows that look alike are
one kind with a count."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.kinds.subtables.guardian_normal_form import SubTable, bucket_table_of, explain
from sfumato.kinds.subtables.methods.buckets import PersonBuckets
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.policy.privacy_rules import PrivacyRule
from tests.people.worlds_of_people import Row, asked
from tests.slow import SLOW

CASES = 600 if SLOW else 6
METHODS = ("guardian", "utility-aware", "single-attribute", "multi-sensitive")
RULES = (
    [("q0", "s0")], [("q0,q1", "s0")], [("q0", "s0"), ("q1", "s1")], [("q0,q1", "s0"), ("q0,q1", "s1")],
    [("q0,s1", "s0"), ("q1", "s1")], [("q0", "s0"), ("s0", "s1")],
)  # fmt: skip
Kind = tuple[tuple[tuple[str, str], ...], str]
"""What a row shows, and its bucket."""


def case(seed: int) -> tuple[dict[str, Any], list[Row]]:
    draw = random.Random(seed)
    records: list[Row] = []
    while len(records) < 6:
        person = str(len(records))
        for _ in range(min(draw.choice([1, 1, 1, 1, 2, 2, 3, 6]), 7 - len(records))):
            cells = {name: draw.choice(draw.choice(["ab", "abc"])) for name in ("q0", "q1", "s0", "s1")}
            records.append({"id": person, **cells})
    draw.shuffle(records)
    sensitive = {"role": "sensitive", "persistent": False}
    columns = {"id": "identifier", "q0": "quasi-identifier", "q1": "quasi-identifier", "s0": sensitive, "s1": sensitive}
    by = draw.choice([{"p-sensitivity": {"p": 2}}, {"l-diversity": {"l": 2, "kind": "frequency"}}])
    protect = [{"given": given.split(","), "hide": hide, "by": by} for given, hide in RULES[seed % len(RULES)]]
    return {"version": 1, "columns": columns, "protect": protect, "person": "id"}, records


def made(policy: dict[str, Any], records: list[Row], method: str) -> sf.Publication | None:
    data = {name: [record[name] for record in records] for name in records[0]}
    try:
        return sf.publish(sf.Policy.parse({**policy, "method": method}), data=data)
    except (sf.Infeasible, sf.PolicyError):
        return None


class TablesTogether:
    """All worlds of published tables."""

    def __init__(self, parts: dict[str, list[Row]], records: list[Row], given: list[str]) -> None:
        self.records, self.given, self.tables, self.lists = records, given, [], []
        for name, rows in parts.items():
            if not name.endswith("-sensitive"):
                hides = f"{name}-sensitive" in parts
                self.tables.append(Counter(_kind(row) for row in rows))
                self.lists.append(_listed(parts[f"{name}-sensitive"]) if hides else Counter())

    def count(self, own: frozenset[int], column: str, value: str, bucket: tuple[int, str] | None) -> int:
        """Worlds in which none of these records has a value; with a bucket of a table, none of those that stand
        there."""

        @cache
        def ways(i: int, left: tuple[Any, ...], listed: tuple[Any, ...]) -> int:
            if i == len(self.records):
                return 1
            found = 0
            for chosen in product(
                *(self._choices(i, dict(rows), dict(one)) for rows, one in zip(left, listed, strict=True))
            ):
                whole, weight = self._record(i, chosen)
                there = bucket is None or chosen[bucket[0]][0][1] == bucket[1]
                if weight and not (i in own and there and whole.get(column) == value):
                    rest = tuple(_less(rows, one[0]) for rows, one in zip(left, chosen, strict=True))
                    values = tuple(_less(one, pick[1]) for one, pick in zip(listed, chosen, strict=True))
                    found += weight * ways(i + 1, rest, values)
            return found

        return ways(0, tuple(map(_frozen, self.tables)), tuple(map(_frozen, self.lists)))

    def _choices(self, i: int, rows: dict[Kind, int], listed: dict[Any, int]) -> list[tuple[Kind, Any, int]]:
        """A kind of row that fits the known values, and one of its bucket's values, with how many there are."""
        found: list[tuple[Kind, Any, int]] = []
        for kind, many in rows.items():
            if all(self.records[i][name] == cell for name, cell in kind[0] if name in self.given):
                values = [entry for entry in listed if entry[0] == kind[1]]
                found += [(kind, entry, many * listed[entry]) for entry in values] if kind[1] else [(kind, None, many)]
                found += [(kind, None, many)] if kind[1] == "*" else []
        return found

    def _record(self, i: int, chosen: tuple[tuple[Kind, Any, int], ...]) -> tuple[dict[str, str], int]:
        whole, weight = {name: self.records[i][name] for name in self.given}, 1
        for kind, entry, many in chosen:
            for name, cell in (*kind[0], *(entry[1] if entry else ())):
                if whole.setdefault(name, cell) != cell:
                    return whole, 0
            weight *= many
        return whole, weight


def _kind(row: Row) -> Kind:
    return tuple((name, cell) for name, cell in row.items() if name != "bucket"), row.get("bucket", "")


def _listed(entries: list[Row]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for entry in entries:
        values = (
            {entry["column"]: entry["value"]}
            if "value" in entry
            else {n: c for n, c in entry.items() if n not in ("bucket", "count")}
        )
        found[str(entry["bucket"]), tuple(values.items())] += int(entry["count"])
    return found


def _frozen(counts: Counter[Any]) -> tuple[Any, ...]:
    return tuple(sorted(counts.items(), key=str))


def _less(counts: tuple[Any, ...], one: Any) -> tuple[Any, ...]:
    return tuple((kind, many - (kind == one)) for kind, many in counts if many - (kind == one))


def violations(publication: sf.Publication, policy: dict[str, Any], records: list[Row]) -> list[str]:
    parts = {name: part.table.to_pylist() for name, part in publication.release.parts.items()}
    wrong = []
    for claim in policy["protect"]:
        ((model, level),) = claim["by"].items()
        share, hidden = asked(model, level)[2], claim["hide"]
        worlds = TablesTogether(parts, records, claim["given"])
        everything = worlds.count(frozenset(), hidden, "", None)
        buckets = [
            (place, bucket)
            for place, table in enumerate(worlds.tables)
            for bucket in {kind[1] for kind in table} - {"", "*"}
            if any(name == hidden for _, values in worlds.lists[place] for name, _ in values)
        ]
        for person in {record["id"] for record in records}:
            own = frozenset(j for j, record in enumerate(records) if record["id"] == person)
            for value in {record[hidden] for record in records}:
                if not worlds.count(own, hidden, value, None):
                    wrong.append(f"somebody certainly has a value of {hidden}")
                if share < 1 and any(
                    1 - Fraction(worlds.count(own, hidden, value, one), everything) > share for one in buckets
                ):
                    wrong.append(f"a value of {hidden} is had with more than {share} in a bucket")
    return wrong


@pytest.mark.parametrize("method", METHODS)
def test_nothing_too_sure_about_anybody(method: str) -> None:
    published = several = 0
    for seed in range(0, CASES, 3 if method == "single-attribute" else 1):
        policy, records = case(seed)
        publication = made(policy, records, method)
        if publication is not None:
            assert violations(publication, policy, records) == [], f"seed {seed}"
            published += 1
            several += max(Counter(record["id"] for record in records).values()) > 1
    assert published >= max(CASES // 12, 1) and several >= max(CASES // 12, 1), (published, several)


def test_a_method_that_counts_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PersonBuckets, "broken", lambda self, bucket: np.zeros(int(bucket.max()) + 1, dtype=bool))
    monkeypatch.setattr("sfumato.kinds.subtables.methods.subtable_method.require_persons_apart", lambda *_: None)
    refused = 0
    for seed in range(24):
        policy, records = case(seed)
        try:
            publication = made(policy, records, METHODS[seed % 2])
        except sf.AuditRefused:
            refused += 1
            continue
        assert publication is None or violations(publication, policy, records) == [], f"seed {seed}"
    assert refused > 3


def test_a_method_and_an_audit_that_count_rows_are_refused_by_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands on the shared numbers of people is wrong with them; the floor has names, and counts them by
    itself."""
    monkeypatch.setattr("sfumato.kinds.subtables.methods.buckets.persons_of_rows", _every_row_somebody)
    monkeypatch.setattr("sfumato.kinds.subtables.evidence.persons_of_rows", _every_row_somebody)
    refused = Counter[str]()
    for seed in range(24):
        policy, records = case(seed)
        method = METHODS[seed % 4]
        try:
            publication = made(policy, records, method)
        except sf.AuditRefused as error:
            assert "said to hold, and" in f"{error}"
            refused[method] += 1
            continue
        assert publication is None or violations(publication, policy, records) == [], f"seed {seed}"
    assert len(refused) == len(METHODS), refused


def _every_row_somebody(table: Any, columns: Any) -> Any:
    return np.arange(table.rows)


def test_tables_that_tell_on_each_other_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the audit does not see that buckets may be dealt anew, nothing is published."""
    monkeypatch.setattr("sfumato.kinds.subtables.evidence.bucket_table_of", lambda *_: None)
    with pytest.raises(sf.AuditRefused, match="people"):
        for seed in range(12):
            made(*case(seed), "guardian")


def test_a_guardian_of_one_hidden_column_trades_it() -> None:
    """Every schema of up to three tables over four columns: condition (iii) of a guardian, and no table telling, are
    the same."""
    subsets = [frozenset(columns) for many in (1, 2, 3) for columns in combinations("qrst", many)]
    rule, both = PrivacyRule(frozenset("q"), frozenset("s"), PSensitivity(p=2)), 0
    for others in combinations(subsets, 2):
        for visible in (columns for columns in subsets if "s" not in columns):
            tables = [SubTable(visible | {"s"}), *map(SubTable, others)]
            (verdict,) = explain(tables, [rule], satisfies=lambda place, needed: place == 0)
            found = bucket_table_of([(visible, frozenset("s")), *((one, frozenset()) for one in others)], "q", "s")
            assert verdict.kept == (found is not None)
            both += verdict.guardian is not None and found == 0
    assert both > 20


def test_what_outsiders_know_is_refused() -> None:
    policy, records = case(0)
    with pytest.raises(sf.PolicyError, match="what outsiders know"):
        sf.publish(sf.Policy.parse({**policy, "knows": ["q0 -> q1"], "method": "guardian"}), data=records)
    with pytest.raises(sf.PolicyError, match="inner: anatomy"):
        sf.publish(sf.Policy.parse({**policy, "method": {"utility-aware": {"inner": "mondrian"}}}), data=records)
