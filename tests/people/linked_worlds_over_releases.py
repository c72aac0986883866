"""Plain enumeration over several releases with pseudonyms: who could stand behind which chain of pseudonyms.

A *chain* is what all releases show of one person: its bundles, one per record, each the row of every release or
nothing. A world hands chains out to people, and the bundles of a chain to different records of the person that fit
them: cells cover the record, which is in the data of every release that shows the bundle; a release that left nothing
out shows everything of everybody. All worlds are equally likely. Where people and their rows are two tables, the line
of a person is one more record. Nothing here is taken from the product but the numbers of a policy."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.core.errors import SfumatoError
from tests.people.worlds_of_people import Row, asked, labels_of
from tests.people.worlds_over_releases import Bundle, Releases, random_history
from tests.secret import SEED

Labels = dict[str, dict[str, set[str]]]


@dataclass
class Told:
    """What was published, and what whoever knows everybody's records knows."""

    records: Sequence[Row]
    """Each with the name of its person as ``id``; a record of rows has no column of people, a line none of rows."""
    behind: dict[int, Bundle]
    """By record what was published of it."""
    in_data: Sequence[set[int]]
    lossy: Sequence[bool]


def of_table(made: Sequence[sf.Publication], records: Sequence[Row]) -> Told:
    """One table of rows."""
    releases = Releases(made, records)
    behind = dict(zip(releases.behind, releases.bundles, strict=True))
    return Told(records, behind, releases.in_data, releases.lossy)


def of_two_tables(made: Sequence[sf.Publication], people: Sequence[Row], rows: Sequence[Row]) -> Told:
    """People and their rows: lines first, then rows."""
    records = [*people, *rows]
    line = {person["id"]: place for place, person in enumerate(people)}
    row = {one["key"]: len(people) + place for place, one in enumerate(rows)}
    shown: list[dict[int, Row]] = []
    in_data: list[set[int]] = []
    for one in made:
        original, behind = one.original.frame.to_pylist(), one.release.trace.rows["data"].tolist()
        parts = {name: part.table.to_pylist() for name, part in one.release.parts.items()}
        in_data.append(
            {line[mine["id"]] for mine in original} | {row[mine["key"]] for mine in original if mine["key"] is not None}
        )
        told = {row[original[at]["key"]]: mine for at, mine in zip(behind, parts["rows"], strict=False)}
        named = {mine["person"]: records[at]["id"] for at, mine in told.items()}
        lone = iter(original[at]["id"] for at in behind[len(parts["rows"]) :])
        told |= {line[named.get(mine["person"]) or next(lone)]: mine for mine in parts["people"]}
        shown.append(told)
    every = sorted({record for told in shown for record in told})
    lossy = [len(told) < len(mine) for told, mine in zip(shown, in_data, strict=True)]
    return Told(records, {record: tuple(told.get(record) for told in shown) for record in every}, in_data, lossy)


class Chains:
    """What was published as the chains of people, and all worlds."""

    def __init__(self, told: Told, labels: Labels) -> None:
        self.told, self.labels = told, labels
        chains: dict[str, list[Bundle]] = defaultdict(list)
        for record, bundle in told.behind.items():
            chains[told.records[record]["id"]].append(bundle)
        self.chains = list(chains.values())
        own: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(told.records):
            own[record["id"]].append(place)
        self.own = list(own.values())
        self.ways = [[self._ways(chain, mine) for mine in self.own] for chain in self.chains]
        """Per chain and person the ways to hand its bundles to their records: the record of each bundle."""
        self.may_lack = [not any(self._whole(r, mine) for r in range(len(told.lossy))) for mine in self.own]

    def _whole(self, release: int, mine: Sequence[int]) -> int:
        """How many rows a release must show of somebody."""
        return 0 if self.told.lossy[release] else sum(j in self.told.in_data[release] for j in mine)

    def _ways(self, chain: Sequence[Bundle], mine: Sequence[int]) -> list[tuple[int, ...]]:
        shown = [sum(bundle[r] is not None for bundle in chain) for r in range(len(self.told.lossy))]
        if any(self._whole(r, mine) > many for r, many in enumerate(shown)):
            return []
        fit = [[self._fits(bundle, j) for j in mine] for bundle in chain]

        def handed(i: int, taken: tuple[int, ...]) -> list[tuple[int, ...]]:
            if i == len(chain):
                return [tuple(mine[j] for j in taken)]
            return [way for j in range(len(mine)) if fit[i][j] and j not in taken for way in handed(i + 1, (*taken, j))]

        return handed(0, ())

    def _fits(self, bundle: Bundle, j: int) -> bool:
        there = [(row, mine) for row, mine in zip(bundle, self.told.in_data, strict=True) if row is not None]
        return all(j in mine and self._covers(row, self.told.records[j]) for row, mine in there)

    def _covers(self, row: Row, record: Row) -> bool:
        names = {name for name in self.labels if name in record}
        return names == {name for name in self.labels if name in row} and all(
            row[name] in self.labels[name][record[name]] for name in names
        )

    def worlds(self, chain: int = -1, person: int = -1) -> int:
        """All worlds, or those in which a chain is somebody's."""

        @cache
        def count(i: int, taken: int) -> int:
            if i == len(self.chains):
                return all(taken >> p & 1 or lack for p, lack in enumerate(self.may_lack))
            return sum(
                len(self.ways[i][p]) * count(i + 1, taken | 1 << p)
                for p in range(len(self.own))
                if self.ways[i][p] and not taken >> p & 1 and (chain < 0 or (chain == i) == (person == p))
            )

        return count(0, 0)


def violations(told: Told, policy: dict[str, Any], labels: Labels) -> list[str]:
    """What all releases say too surely, to whoever is told which pseudonyms are the same person and knows everybody's
    records."""
    chains = Chains(told, labels)
    everything, wrong = chains.worlds(), []
    for person in range(len(chains.own)):
        chance = [Fraction(chains.worlds(i, person), everything) for i in range(len(chains.chains))]
        ever, event = _had(chains, person, chance)
        for claim in policy["protect"]:
            ((model, level),) = claim.items()
            k, of_values, share = asked(model, level)
            if max(chance) > Fraction(1, k):
                wrong.append(f"{model}: a chain is somebody's with more than 1/{k}")
            if of_values and any(often == 1 or often > share for often in ever.values()):
                wrong.append(f"{model}: somebody ever had a value, too surely")
            if of_values and any(often == 1 or often > share for often in event.values()):
                wrong.append(f"{model}: a record has a value, too surely")
    return wrong


def _had(chains: Chains, person: int, chance: Sequence[Fraction]) -> tuple[Counter[str], Counter[tuple[int, str]]]:
    """How likely somebody ever has a value, and how likely each of their records has it."""
    ever, event = Counter[str](), Counter[tuple[int, str]]()
    for i, often in enumerate(chance):
        values = [
            next((row["s0"] for row in bundle if row is not None and "s0" in row), None) for bundle in chains.chains[i]
        ]
        for value in {value for value in values if value is not None}:
            ever[value] += often  # type: ignore[assignment]
        for way in chains.ways[i][person] if often else ():
            for record, value in zip(way, values, strict=True):
                if value is not None:
                    event[record, value] += often / len(chains.ways[i][person])  # type: ignore[assignment]
    return ever, event


def linked_history(seed: int, many: tuple[int, int] = (9, 14)) -> tuple[dict[str, Any], list[Row], list[list[int]]]:
    """Histories of `random_history` with pseudonyms; every third time a column is constant, every other time people
    come whole."""
    policy, records, here = random_history(seed, releases=2 + seed % 2, many=many)
    if seed % 3 == 0:
        policy["columns"]["q0"]["constant"] = True
    if seed % 2:  # people come and leave with all their rows
        whose = [{records[i]["id"] for i in mine} for mine in here]
        here = [[i for i, record in enumerate(records) if record["id"] in names] for names in whose]
    return {**policy, "person": {"columns": "id", "rows": "linked"}}, records, here


def linked_violations(made: Sequence[sf.Publication], records: Sequence[Row], policy: dict[str, Any]) -> list[str]:
    return violations(of_table(made, records), policy, labels_of(policy, records))


def related_history(
    policy: dict[str, Any], people: list[Row], rows: list[Row], seed: int
) -> tuple[dict[str, Any], list[tuple[list[Row], list[Row]]]]:
    """A policy with a ledger, and per release people and rows: some come, some leave, rows of others come later."""
    draw = random.Random(seed)
    for key, row in enumerate(rows):
        row["key"] = f"r{key}"
    told = {
        **policy,
        "columns": {"key": "identifier", **policy["columns"]},
        "key": "key",
        "utility": {"suppress_at_most": 0.7},
    }
    releases = []
    for _ in range(2 + seed % 2):
        mine = [person for person in people if draw.random() < 0.9] or people
        names = {person["id"] for person in mine}
        releases.append((mine, [row for row in rows if row["id"] in names and draw.random() < 0.9]))
    return told, [(mine, some) for mine, some in releases if some]


def published_related(
    folder: Path, policy: dict[str, Any], releases: Sequence[tuple[list[Row], list[Row]]], groups: str
) -> list[sf.Publication]:
    """The releases that could be made, with one ledger."""
    made: list[sf.Publication] = []
    said = sf.Policy.parse({**policy, "method": {"related": {"groups": groups, "seconds": 0.05}}})
    for place, (people, rows) in enumerate(releases):
        data = {"people": _columns(people), "rows": _columns(rows)}
        try:
            one = sf.publish(said, data=data, seed=SEED + place, ledger=folder / "book", new_ledger=not made)
            one.write(folder / f"release{place}", report=False)
        except SfumatoError:
            continue
        made.append(one)
    return made


def _columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def related_violations(
    made: Sequence[sf.Publication], people: list[Row], rows: list[Row], policy: dict[str, Any]
) -> list[str]:
    labels = labels_of(policy, [{**row, **person} for person in people for row in rows])
    return violations(of_two_tables(made, people, rows), policy, labels)
