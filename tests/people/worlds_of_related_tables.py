"""A judge of two related tables, people and their rows: who could stand behind which pseudonym, by enumeration."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tests.people.worlds_of_people import Row, Worlds, asked, labels_of, linked_worlds

CLAIMS: list[dict[str, Any]] = [
    {"k-anonymity": {"k": 2}}, {"p-sensitivity": {"p": 2}}, {"l-diversity": {"l": 2, "kind": "frequency"}},
    {"alpha-k-anonymity": {"alpha": 0.5, "k": 2}},
]  # fmt: skip


def random_related(seed: int) -> tuple[dict[str, Any], list[Row], list[Row]]:
    """A policy, people and their rows; every third time the hidden column is one of people."""
    draw = random.Random(seed)
    columns: dict[str, Any] = {
        "id": "identifier",
        "q0": {"role": "quasi-identifier"},
        "q1": {"role": "quasi-identifier"},
        "s0": "sensitive",
    }
    if draw.random() < 0.6:
        columns["q1"]["hierarchy"] = {"all": {"low": ["a", "b"], "high": ["c", ""]}}
    hides_people = seed % 3 == 0
    people = [
        {"id": str(i), "q0": draw.choice("xy"), **({"s0": draw.choice("123")} if hides_people else {})}
        for i in range(9)
    ]
    rows = [
        {
            "id": person["id"],
            "q1": draw.choice(["a", "b", "c", ""]),
            **({} if hides_people else {"s0": draw.choice("123")}),
        }
        for person in people
        for _ in range(draw.choice([0, 0, 0, 1, 1, 1, 2, 2, 3, 6]))
    ] or [{"id": "0", "q1": "a", **({} if hides_people else {"s0": "1"})}]
    draw.shuffle(rows)
    protect, person = draw.sample(CLAIMS, draw.randint(1, 2)), {"columns": "id", "rows": "linked"}
    data = {"source": "rows.csv", "people": "people.csv"}
    return {"version": 1, "data": data, "columns": columns, "protect": protect, "person": person}, people, rows


def related_violations(
    parts: Mapping[str, list[Row]], whole: bool, policy: dict[str, Any], people: list[Row], rows: list[Row]
) -> list[str]:
    """What an adversary who knows all quasi-identifiers of everybody is too sure of; how many rows there are is
    known.

    `parts` are the published tables, and `whole` says that nothing was suppressed.
    """
    joined = [{**person, **row} for person in people for row in rows if row["id"] == person["id"]]
    labels = labels_of(policy, [{**row, **person} for person in people for row in rows])
    own = {person["id"]: [record for record in joined if record["id"] == person["id"]] for person in people}
    could, values = [], []
    for line in parts["people"]:
        bag = [{**row, "q0": line["q0"]} for row in parts["rows"] if row["person"] == line["person"]]
        could.append([_could(line, bag, person, own[person["id"]], labels, whole) for person in people])
        values.append({row["s0"] for row in (bag if "s0" in rows[0] else [line])})
    wrong = []
    for claim in policy["protect"]:
        ((model, level),) = claim.items()
        k, of_values, share = asked(model, level)
        for place in range(len(people)):
            everything, having, found = linked_worlds(could, place, values)
            if any(count > Fraction(everything, k) for count in found):
                wrong.append(f"{model}: a pseudonym is somebody's with more than 1/{k}")
            if of_values and any(count >= everything or count > share * everything for count in having.values()):
                wrong.append(f"{model}: a value is too sure")
    return wrong


def _could(line: Row, bag: list[Row], person: Row, own: list[Row], labels: dict[str, Any], whole: bool) -> bool:
    """Whether a line and its rows may be about somebody; rows may be missing only where some were suppressed."""
    fits = line["q0"] in labels["q0"][person["q0"]] and (len(bag) == len(own) if whole else len(bag) <= len(own))
    return fits and bool(Worlds(bag, own, labels).count())
