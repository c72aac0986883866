"""Plain enumeration over several releases: who could stand behind the rows of people who have several, all releases
together.

A *bundle* is what the releases show of one record, release by release. A world hands bundles out to records that fit
them: the cells cover the record, the record is in the data of every release that shows the bundle, and in that of
another one only if that one left records out. Nothing here is taken from the product but the numbers of a policy."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.core.errors import SfumatoError
from tests.people.worlds_of_people import Row, Worlds, asked, fits, labels_of, ways
from tests.secret import SEED

Bundle = tuple[Row | None, ...]
"""What each release shows of a record; nothing where it does not."""


def random_history(
    seed: int, releases: int = 2, many: tuple[int, int] = (8, 11)
) -> tuple[dict[str, Any], list[Row], list[list[int]]]:
    """A policy, records of people with one to four rows, and per release those in its data: they come, leave and come
    back."""
    draw = random.Random(seed)
    columns: dict[str, Any] = {"key": "identifier", "id": "identifier"}
    values: dict[str, list[str]] = {}
    for i in range(draw.randint(1, 2)):
        leaves = [f"{i}{letter}" for letter in "abcd"[: draw.randint(2, 4)]]
        values[f"q{i}"], cut = leaves, draw.randint(1, len(leaves) - 1)
        tree = {f"all{i}": {f"low{i}": leaves[:cut], f"high{i}": leaves[cut:]}}
        columns[f"q{i}"] = {"role": "quasi-identifier", **({"hierarchy": tree} if draw.random() < 0.8 else {})}
    columns["s0"] = {"role": "sensitive", "persistent": False}
    values["s0"] = [str(j) for j in range(draw.randint(2, 4))]
    records: list[Row] = []
    total = draw.randint(*many)
    while len(records) < total:
        rows = min(draw.choice([1, 1, 1, 1, 2, 2, 3, 4]), total - len(records))
        person = str(len(records))
        records += [
            {"id": person, **{name: draw.choice(options) for name, options in values.items()}} for _ in range(rows)
        ]
    draw.shuffle(records)
    for key, record in enumerate(records):
        record["key"] = f"r{key}"
    claims: list[dict[str, Any]] = [
        {"k-anonymity": {"k": 2}},
        {"p-sensitivity": {"p": 2}},
        {"l-diversity": {"l": 2, "kind": "distinct"}},
        {"l-diversity": {"l": 2, "kind": "frequency"}},
        {"alpha-k-anonymity": {"alpha": 0.75, "k": 2}},
    ]
    protect = draw.sample(claims, draw.choice([1, 1, 2]))
    policy = {"version": 1, "columns": columns, "protect": protect, "person": "id", "key": "key"}
    return {**policy, "utility": {"suppress_at_most": 0.6}}, records, _comings(draw, len(records), releases)


def _comings(draw: random.Random, records: int, releases: int) -> list[list[int]]:
    """Per release who is in its data."""
    way, everybody = draw.random(), list(range(records))
    if way < 0.4:  # records only come
        return [everybody[: records * (release + 3) // (releases + 2)] for release in range(releases)]
    if way < 0.6:  # records only leave
        return [everybody[records * release // (releases + 2) :] for release in range(releases)]
    if way < 0.75:  # the same again
        return [everybody] * releases
    return [[i for i in everybody if draw.random() < 0.8] or everybody for _ in range(releases)]


def published(
    folder: Path,
    policy: dict[str, Any],
    records: Sequence[Row],
    here: Sequence[Sequence[int]],
    method: tuple[str, dict[str, Any]],
) -> list[sf.Publication]:
    """The releases that could be made, with one ledger; of data for which none could be made there is none."""
    made: list[sf.Publication] = []
    for place, mine in enumerate(here):
        data = {name: [records[i][name] for i in mine] for name in records[0]}
        said = sf.Policy.parse({**policy, "method": dict([method])})
        try:
            one = sf.publish(said, data=data, seed=SEED + place, ledger=folder / "book", new_ledger=not made)
            one.write(folder / f"release{place}", report=False)
        except SfumatoError:
            if made:
                break
            continue
        made.append(one)
    return made


class Releases:
    """What was published: the bundle of each record, which records were in whose data, and which releases left some
    out."""

    def __init__(self, made: Sequence[sf.Publication], records: Sequence[Row]) -> None:
        self.records = records
        number = {record["key"]: place for place, record in enumerate(records)}
        self.in_data: list[set[int]] = []
        rows: list[dict[int, Row]] = []
        for one in made:
            keys = [one.original.text("key").labels[code] for code in one.original.text("key").codes]
            mine = [number[key] for key in keys]
            shown, behind = one.release.parts["data"].table.to_pylist(), one.release.trace.rows["data"].tolist()
            self.in_data.append(set(mine))
            rows.append({mine[record]: row for row, record in zip(shown, behind, strict=True)})
        self.lossy = [len(shown) < len(mine) for shown, mine in zip(rows, self.in_data, strict=True)]
        self.rows = [list(shown.values()) for shown in rows]
        every = sorted({record for shown in rows for record in shown})
        self.bundles: list[Bundle] = [tuple(shown.get(record) for shown in rows) for record in every]
        self.behind = every

    def fit(self, bundle: Bundle, j: int, labels: dict[str, dict[str, set[str]]]) -> bool:
        for row, mine, lossy in zip(bundle, self.in_data, self.lossy, strict=True):
            if row is None and j in mine and not lossy:
                return False
            if row is not None and (j not in mine or not fits(row, self.records[j], labels)):
                return False
        return True

    def worlds(self, labels: dict[str, dict[str, set[str]]], bundles: Sequence[Bundle] | None = None) -> Worlds:
        """All ways to hand bundles out."""
        bundles = self.bundles if bundles is None else bundles
        worlds = Worlds([], self.records, labels)
        worlds.rows = [next(row for row in bundle if row is not None) for bundle in bundles]
        worlds.fit = [[self.fit(bundle, j, labels) for j in range(len(self.records))] for bundle in bundles]
        return worlds


def look(bundle: Bundle, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(None if row is None else tuple(row[name] for name in names) for row in bundle)


def violations(
    made: Sequence[sf.Publication], records: Sequence[Row], policy: dict[str, Any], unit: str = "id"
) -> list[str]:
    """What all releases say too surely, to whoever is told which rows belong together and knows everybody's records, or
    one's."""
    labels, releases, wrong = labels_of(policy, records), Releases(made, records), []
    worlds = releases.worlds(labels)
    own = {
        name: [j for j, record in enumerate(records) if record[unit] == name] for name in {one[unit] for one in records}
    }
    for claim in policy["protect"]:
        ((model, level),) = claim.items()
        k, of_values, share = asked(model, level)
        for mine in own.values():
            if k > 1 and any(worlds.chance(i, mine) > Fraction(1, k) for i in range(len(worlds.rows))):
                wrong.append(f"{model}: a bundle is somebody's with more than 1/{k}")
            if k > 1 and any(alone(worlds, mine, i) > Fraction(1, k) for i in range(len(worlds.rows))):
                wrong.append(f"{model}: a bundle is with more than 1/{k} somebody's of whom alone rows are known")
            if of_values and any(worlds.certain(mine, "s0", value) for value in {row["s0"] for row in worlds.rows}):
                wrong.append(f"{model}: a value is certain")
        wrong += [f"{model}: too many people have a value"] * crowded(releases, list(labels), share, unit)
    return wrong


def alone(worlds: Worlds, own: Sequence[int], i: int) -> Fraction:
    """How likely bundle i is one of a person's records for whoever knows nobody else's."""
    fitting = [tuple(place for place in range(len(worlds.rows)) if worlds.fit[place][j]) for j in own]
    placed = tuple(places for places in fitting if places)
    everything = ways(placed, 0)
    return Fraction(everything - ways(placed, 1 << i), everything) if everything else Fraction(0)


def crowded(releases: Releases, names: Sequence[str], share: Fraction, unit: str) -> int:
    """Joint classes in which more than a share of the people has a value."""
    classes: dict[tuple[Any, ...], set[tuple[str, str]]] = {}
    for bundle, record in zip(releases.bundles, releases.behind, strict=True):
        row = next(row for row in bundle if row is not None)
        classes.setdefault(look(bundle, names), set()).add((row["s0"], releases.records[record][unit]))
    found = 0
    for members in classes.values():
        people = {person for _, person in members}
        found += share < 1 and any(
            many > share * len(people) for many in Counter(value for value, _ in members).values()
        )
    return found


def untold(
    made: Sequence[sf.Publication], records: Sequence[Row], policy: dict[str, Any], *, believing: bool
) -> Fraction:
    """The surest that anybody is of whose a row of two releases is who is not told which rows belong together, times k.

    All ways to tie the rows of two releases in which hidden values agree; `believing` leaves out those an audit would
    have refused."""
    labels, releases = labels_of(policy, records), Releases(made, records)
    k = max(asked(*next(iter(claim.items())))[0] for claim in policy["protect"])
    own = {name: [j for j, one in enumerate(records) if one["id"] == name] for name in {one["id"] for one in records}}
    total, mine = 0, Counter[tuple[int, int, str]]()
    for tied in ties(releases.rows):
        bundles = [tuple(None if at is None else releases.rows[r][at] for r, at in enumerate(pair)) for pair in tied]
        worlds = releases.worlds(labels, bundles)
        every = worlds.count()
        if not every or (believing and not _passes(worlds, bundles, own, k, list(labels))):
            continue
        weight = every  # each world once
        total += weight
        for i, pair in enumerate(tied):
            for name, js in own.items():
                count = sum(worlds.count(fixed=(i, j)) for j in js)
                for r, at in enumerate(pair):
                    if at is not None:
                        mine[r, at, name] += count
    return max((Fraction(many * k, total) for many in mine.values()), default=Fraction(0))


def ties(rows: Sequence[Sequence[Row]]) -> Iterator[list[tuple[int | None, int | None]]]:
    """All ways to tie rows of two releases in pairs, or leave them alone, in which hidden values agree."""
    first, second = (range(len(some)) for some in rows)
    for many in range(min(len(first), len(second)) + 1):
        for chosen in combinations(first, many):
            for partner in permutations(second, many):
                if all(rows[0][a]["s0"] == rows[1][b]["s0"] for a, b in zip(chosen, partner, strict=True)):
                    lone = [(a, None) for a in first if a not in chosen]
                    yield [*zip(chosen, partner, strict=True), *lone, *((None, b) for b in second if b not in partner)]


def _passes(worlds: Worlds, bundles: Sequence[Bundle], own: dict[str, list[int]], k: int, names: Sequence[str]) -> bool:
    """k·M ≤ n in every class of bundles that look alike, from the definition."""
    size = Counter(look(bundle, names) for bundle in bundles)
    for i, bundle in enumerate(bundles):
        most = max(sum(worlds.fit[i][j] for j in js) for js in own.values())
        if k * most > size[look(bundle, names)]:
            return False
    return True
