"""Random small histories: people come and go, columns of all roles come and go, under both settings of cohorts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.core.errors import LedgerError
from tests.judges.histories import HistoryJudge, Release, TooManyWorlds, at_release, read_release
from tests.secret import secret

TREE = {"*": {"a01": ["a0", "a1"], "a23": ["a2", "a3"]}}
FLAT = {"*": ["b0", "b1"]}
ALL_A, ALL_B = frozenset({"a0", "a1", "a2", "a3"}), frozenset({"b0", "b1"})
COVERS = {
    "a": {"*": ALL_A, "a01": frozenset({"a0", "a1"}), "a23": frozenset({"a2", "a3"})},
    "b": {"*": ALL_B},
}
KNOWN = frozenset({"a", "b"})
RECODING = ("mondrian", "clustering", "refined", "global")
METHODS = (
    "mondrian",
    "mondrian",
    "clustering",
    "refined",
    "global",
    "anatomy",
    "single-attribute",
    "utility-aware",
    "guardian",
)


@dataclass
class HistoryCase:
    """One history: the people, and what is published of them release by release."""

    people: list[dict[str, str]]
    releases: list[dict[str, Any]]
    """Per release: who is in the table, the published columns, the method."""
    cohorts: str
    level: int
    kind: str
    leaving: str
    changing: tuple[str, ...] = ()
    """Columns whose values may change from release to release, which the policy allows."""

    @classmethod
    def draw(cls, rng: random.Random, *, methods: tuple[str, ...] = METHODS) -> HistoryCase:
        """A random case of four to seven people."""
        many = rng.randint(4, 7)
        few = rng.random() < 0.5
        people = [
            {
                "id": f"p{i}",
                "a": f"a{rng.randrange(2 if few else 4)}",
                "b": f"b{rng.randrange(2)}",
                "s": f"s{rng.randrange(3)}",
            }
            | {"o": f"o{i}" if rng.random() < 0.7 else f"o{rng.randrange(2)}"}
            for i in range(many)
        ]
        case = cls(
            people,
            [],
            rng.choice(["known", "unknown"]),
            2,
            rng.choice(["distinct", "distinct", "frequency"]),
            "withhold",
        )
        case.leaving = rng.choice(["withhold", "withhold", "counterfeits"])
        stays, method = rng.choice([0.6, 0.8, 1.0]), rng.choice(methods)
        for _ in range(rng.randint(2, 3)):
            here = [i for i in range(many) if rng.random() < stays] or list(range(many))
            names = [name for name in "ab" if rng.random() < 0.75] or ["a"]
            method = method if rng.random() < 0.8 else rng.choice(methods)
            told = rng.random() < 0.65 or method not in RECODING
            names += [name for name, wanted in (("s", told), ("o", rng.random() < 0.5)) if wanted]
            case.releases.append({"here": here, "columns": names, "method": method})
        if case.leaving == "withhold" and rng.random() < 0.3:
            case.changing = rng.choice([("s",), ("a",), ("a", "s")])
            for number, release in enumerate(case.releases):
                release["changed"] = {
                    i: {name: f"{name}{rng.randrange(3)}" for name in case.changing}
                    for i in range(many)
                    if number and rng.random() < 0.4
                }
        return case

    def person(self, i: int, release: dict[str, Any]) -> dict[str, str]:
        """Somebody's values at a release."""
        changed: dict[int, dict[str, str]] = release.get("changed", {})
        return self.people[i] | changed.get(i, {})

    def in_all(self, releases: list[dict[str, Any]]) -> list[dict[str, str]]:
        """Everybody's values at all releases: those of columns that change have the number of the release."""
        return [
            person
            | {f"{name}@{n}": self.person(i, each)[name] for n, each in enumerate(releases) for name in self.changing}
            for i, person in enumerate(self.people)
        ]

    def policy(self, release: dict[str, Any]) -> dict[str, Any]:
        """The policy of one release."""
        told = release["columns"]
        columns: dict[str, Any] = {"id": "identifier"}
        columns["a"] = {"role": "quasi-identifier", "hierarchy": TREE, "publish": "a" in told}
        columns["b"] = {"role": "quasi-identifier", "hierarchy": FLAT, "publish": "b" in told}
        columns["s"] = {"role": "sensitive", "publish": "s" in told}
        columns["o"] = {"role": "other", "publish": "o" in told}
        recoded = release["method"] in RECODING
        protect: list[dict[str, Any]] = [{"k-anonymity": {"k": 2}}] if recoded else []
        protect += [{"l-diversity": {"l": self.level, "kind": self.kind}}] if "s" in told else []
        series: dict[str, Any] = {"cohorts": self.cohorts, "leaving": self.leaving}
        if self.changing:
            series["changes"] = dict.fromkeys(self.changing, "free")
        return {
            "version": 1,
            "key": "id",
            "columns": columns,
            "protect": protect,
            "series": series,
            "method": release["method"],
        }

    def table(self, release: dict[str, Any]) -> dict[str, list[str]]:
        """The original of one release."""
        rows = [self.person(i, release) for i in release["here"]]
        return {name: [row[name] for row in rows] for name in self.people[0]}


@dataclass
class HistoryFigures:
    """What became of cases."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)


def play(
    case: HistoryCase,
    place: Path,
    rng: random.Random,
    figures: HistoryFigures,
    *,
    together: bool = True,
    watch: Callable[[HistoryJudge], object] | None = None,
) -> None:
    """Publish the releases of a case one after the other, and judge all of them after each one.

    Where they are not made `together` each of them has a ledger of its own: a defect that the judge must find.
    """
    made: list[Release] = []
    published: list[dict[str, Any]] = []
    claimed = False
    for number, release in enumerate(case.releases):
        figures.counts["tried"] += 1
        ledger = place / ("book.ledger" if together else f"book-{number}.ledger")
        options: dict[str, Any] = {
            "ledger": ledger,
            "new_ledger": not ledger.exists(),
            "seed": secret(rng.getrandbits(60)),
        }
        try:
            publication = sf.publish(sf.Policy.parse(case.policy(release)), case.table(release), **options)
        except sf.Infeasible:
            figures.counts["infeasible"] += 1
            continue
        except sf.AuditRefused as error:
            figures.counts["refused by the audit"] += 1
            figures.refused.append(f"{case}: {error}")
            continue
        except (sf.PolicyError, LedgerError) as error:
            figures.counts[type(error).__name__] += 1
            continue
        except Exception as error:  # a crash is what this looks for
            figures.counts["crashes"] += 1
            figures.crashes.append(f"{case}: {type(error).__name__}: {error}")
            return
        folder = publication.write(place / f"release-{len(made) + 1}", report=False)
        made.append(_published(publication, folder, len(made), case.changing))
        published.append(release)
        claimed = claimed or "s" in release["columns"]
        claims = [("k-anonymity", "", 2)] if publication.plan.method.name in RECODING else []
        numbers = range(len(made))
        secrets = [f"s@{number}" for number in numbers] if "s" in case.changing else ["s"]
        claims += [("l-diversity", name, case.level) for name in secrets if claimed]
        given = {name for name in KNOWN if name not in case.changing}
        given |= {f"{name}@{number}" for name in KNOWN & set(case.changing) for number in numbers}
        try:
            judge = HistoryJudge(case.in_all(published), made, frozenset(given), case.cohorts == "known")
            said = judge.broken(claims, len(made) - 1)
            if watch is not None:
                watch(judge)
        except TooManyWorlds:
            figures.counts["given up"] += 1
            return
        figures.counts["judged"] += 1
        if said:
            figures.counts["broken"] += 1
            figures.broken.append(f"{case}: {said}")


def _published(publication: sf.Publication, folder: Path, number: int, changing: tuple[str, ...]) -> Release:
    memory = publication.history.releases[-1].memory
    there = [bool(row >= 0) for row in memory.rows]
    if memory.places:
        there = [any(rows[i] >= 0 for rows in memory.places.values()) for i in range(len(memory.keys))]
    real = [
        int(key[1:])
        for key, fake, shown in zip(memory.keys, memory.counterfeit, there, strict=True)
        if shown and not fake
    ]
    tables = tuple(at_release(table, changing) for table in read_release(folder, number, COVERS))
    return Release(tables, frozenset(real), int(memory.counterfeit.sum()))
