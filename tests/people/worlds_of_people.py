"""Plain enumeration: who could stand behind the published rows, for whoever knows the quasi-identifiers of everybody's
rows.

A *world* hands every published row out to a record of its own that fits it. Worlds are counted over sets of records
that are taken, so nothing is assumed about classes. Nothing here is taken from the product but the numbers of a policy.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from fractions import Fraction
from functools import cache
from typing import Any

Row = dict[str, str]


def fits(row: Row, record: Row, labels: dict[str, dict[str, set[str]]]) -> bool:
    """Whether a published row may be about a record, by its quasi-identifiers."""
    return all(row[name] in allowed[record[name]] for name, allowed in labels.items())


class Worlds:
    """All ways to hand rows out to records."""

    def __init__(self, rows: Sequence[Row], records: Sequence[Row], labels: dict[str, dict[str, set[str]]]) -> None:
        self.rows, self.records = rows, records
        self.fit = [[fits(row, record, labels) for record in records] for row in rows]

    def count(self, forbidden: Set[tuple[int, int]] = frozenset(), fixed: tuple[int, int] | None = None) -> int:
        """Worlds without some pairs of a row and a record, and with one of them."""

        @cache
        def ways(i: int, taken: int) -> int:
            if i == len(self.rows):
                return 1
            return sum(
                ways(i + 1, taken | 1 << j)
                for j in range(len(self.records))
                if self.fit[i][j]
                and not taken >> j & 1
                and (i, j) not in forbidden
                and (fixed is None or (fixed[0] == i) == (fixed[1] == j))
            )

        return ways(0, 0)

    def chance(self, i: int, own: Sequence[int]) -> Fraction:
        """How likely row i is one of these records, all worlds being equally likely."""
        return Fraction(sum(self.count(fixed=(i, j)) for j in own), self.count())

    def certain(self, own: Sequence[int], name: str, value: str) -> bool:
        """Whether in every world one of these records stands in a row with the value."""
        having = {(i, j) for i, row in enumerate(self.rows) if row[name] == value for j in own}
        return not self.count(forbidden=having)


def somewhere(rows: Sequence[Row], own: Sequence[Row], labels: dict[str, dict[str, set[str]]], i: int) -> Fraction:
    """How likely row i is one of a person's records for whoever knows nobody else's: all ways to put them into rows
    that fit."""
    fitting = [tuple(place for place, row in enumerate(rows) if fits(row, record, labels)) for record in own]
    placed = tuple(places for places in fitting if places)
    everything = ways(placed, 0)
    return Fraction(everything - ways(placed, 1 << i), everything) if everything else Fraction(0)


@cache
def ways(placed: tuple[tuple[int, ...], ...], taken: int) -> int:
    """How many ways there are to choose a place of its own for each record."""
    return sum(ways(placed[1:], taken | 1 << place) for place in placed[0] if not taken >> place & 1) if placed else 1


def chain(tree: Any, above: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """leaf → everything it may be published as."""
    if isinstance(tree, dict):
        return {leaf: labels for label, below in tree.items() for leaf, labels in chain(below, (label, *above)).items()}
    return {leaf: {leaf, *above} for leaf in tree}


def labels_of(policy: dict[str, Any], records: Sequence[Row]) -> dict[str, dict[str, set[str]]]:
    found = {}
    for name, column in policy["columns"].items():
        if isinstance(column, dict) and column["role"] == "quasi-identifier":
            plain = {record[name]: {record[name], "*"} for record in records}
            found[name] = chain(column["hierarchy"]) if column.get("hierarchy") else plain
    return found


def people_violations(
    rows: Sequence[Row], behind: Sequence[int], records: Sequence[Row], policy: dict[str, Any], unit: str = "id"
) -> list[str]:
    """What a release of rows that nothing ties says too surely about somebody, by enumeration.

    To whoever knows the quasi-identifiers of everybody's rows, of all rows of one person, or of one row.
    """
    labels = labels_of(policy, records)
    worlds = Worlds(rows, records, labels)
    wrong: list[str] = []
    for claim in policy["protect"]:
        ((model, level),) = claim.items()
        k, l, share = asked(model, level)
        for person in {record[unit] for record in records}:
            own = [j for j, record in enumerate(records) if record[unit] == person]
            if k > 1 and any(worlds.chance(i, own) > Fraction(1, k) for i in range(len(rows))):
                wrong.append(f"{model}: a row is somebody's with more than 1/{k}")
            mine = [records[j] for j in own]
            looks = {tuple(row[name] for name in labels): i for i, row in enumerate(rows)}
            known = [mine, *([record] for record in mine)] if k > 1 else []
            if any(somewhere(rows, some, labels, i) > Fraction(1, k) for some in known for i in looks.values()):
                wrong.append(
                    f"{model}: a row is with more than 1/{k} somebody's of whom rows are known, and nothing of others"
                )
            for name in ("s0",) if l else ():
                if any(worlds.certain(own, name, value) for value in {row[name] for row in rows}):
                    wrong.append(f"{model}: a value is certain")
        wrong += [f"{model}: too many people have a value"] * crowded(rows, behind, records, list(labels), share, unit)
    return wrong


def linked_violations(rows: Sequence[Row], records: Sequence[Row], policy: dict[str, Any]) -> list[str]:
    """What an outsider who knows all rows of everybody is too sure of."""
    labels = labels_of(policy, records)
    called, own = defaultdict(list), defaultdict(list)
    for row in rows:
        called[row["person"]].append(row)
    for record in records:
        own[record["id"]].append(record)
    people = list(own)
    could = [[bool(Worlds(bag, own[person], labels).count()) for person in people] for bag in called.values()]
    values = [{row["s0"] for row in bag} for bag in called.values()]
    wrong = []
    for claim in policy["protect"]:
        ((model, level),) = claim.items()
        k, of_values, share = asked(model, level)
        for person in range(len(people)):
            everything, with_value, found = linked_worlds(could, person, values)
            if any(count > Fraction(everything, k) for count in found):
                wrong.append(f"{model}: a pseudonym is somebody's with more than 1/{k}")
            if of_values and any(count >= everything or count > share * everything for count in with_value.values()):
                wrong.append(f"{model}: a value is too sure")
    return wrong


def linked_worlds(
    could: list[list[bool]], person: int, values: list[set[str]]
) -> tuple[int, dict[str, int], list[int]]:
    """All worlds, those in which the person has each value, and those in which each pseudonym is the person's."""

    @cache
    def ways(i: int, taken: int, fixed: int) -> int:
        if i == len(could):
            return 1
        return sum(
            ways(i + 1, taken | 1 << j, fixed)
            for j in range(len(could[i]))
            if could[i][j] and not taken >> j & 1 and (fixed < 0 or (fixed == i) == (j == person))
        )

    found = [ways(0, 0, i) for i in range(len(could))]
    having = {
        value: sum(count for i, count in enumerate(found) if value in values[i]) for value in set().union(*values)
    }
    return ways(0, 0, -1), having, found


def asked(model: str, level: dict[str, Any]) -> tuple[int, bool, Fraction]:
    """How many candidates, whether something is asked of values, and the largest share."""
    if model == "k-anonymity":
        return level["k"], False, Fraction(1)
    if model == "alpha-k-anonymity":
        return level["k"], True, Fraction(str(level["alpha"]))
    if model == "p-sensitivity":
        return 1, True, Fraction(1)
    return 1, True, Fraction(1, level["l"]) if level["kind"] == "frequency" else Fraction(1)


def crowded(
    rows: Sequence[Row], behind: Sequence[int], records: Sequence[Row], given: list[str], share: Fraction, unit: str
) -> int:
    """Classes in which more than a share of the people has a value."""
    classes: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(rows):
        classes.setdefault(tuple(row[name] for name in given), []).append(i)
    found = 0
    for members in classes.values():
        people = {records[behind[i]][unit] for i in members}
        having = Counter(value for value, _ in {(rows[i]["s0"], records[behind[i]][unit]) for i in members})
        found += share < 1 and any(count > share * len(people) for count in having.values())
    return found


def random_people(seed: int, most: int = 9, frequent: bool = True) -> tuple[dict[str, Any], list[Row]]:
    """A policy without method, and records of people with one to six rows."""
    draw = random.Random(seed)
    columns: dict[str, Any] = {"id": "identifier"}
    values: dict[str, list[str]] = {}
    for i in range(draw.randint(1, 2)):
        leaves = [f"{i}{letter}" for letter in "abcdef"[: draw.randint(2, 6)]]
        values[f"q{i}"] = leaves
        columns[f"q{i}"] = {"role": "quasi-identifier"}
        if draw.random() < 0.8:
            cut = draw.randint(1, len(leaves) - 1)
            columns[f"q{i}"]["hierarchy"] = {f"all{i}": {f"low{i}": leaves[:cut], f"high{i}": leaves[cut:]}}
    columns["s0"] = {"role": "sensitive", "persistent": False}
    values["s0"] = [str(j) for j in range(draw.randint(2, 4))]
    records: list[Row] = []
    while len(records) < most - 2:
        person = str(len(records))
        rows = min(draw.choice([1, 1, 1, 1, 2, 2, 3, 4, 5, 6]), most - len(records))
        for _ in range(rows):
            records.append({"id": person, **{name: draw.choice(options) for name, options in values.items()}})
    draw.shuffle(records)
    claims: list[dict[str, Any]] = [
        {"k-anonymity": {"k": draw.randint(2, 3)}},
        {"p-sensitivity": {"p": 2}},
        {"l-diversity": {"l": 2, "kind": "distinct"}},
        {"l-diversity": {"l": 2, "kind": "frequency"}},
        {"alpha-k-anonymity": {"alpha": draw.choice([0.5, 0.75]), "k": 2}},
    ]
    return {
        "version": 1,
        "columns": columns,
        "protect": draw.sample(claims, draw.randint(1, 2)),
        "person": "id",
    }, records
