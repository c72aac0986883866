"""People in several rows: all worlds of a small table are listed, with rows that nothing ties and with pseudonyms."""

from __future__ import annotations

import random
from pathlib import Path
from typing import ClassVar

import sfumato as sf
from benchmarks.fuzz.recoded import DEAR, METHODS
from benchmarks.fuzz.story import Kind, Story, columns_of, rows_of
from sfumato.core.registry import catalogue
from sfumato.release.method import Method
from tests.house import brute
from tests.people.worlds_of_people import linked_violations, people_violations, random_people
from tests.people.worlds_of_related_tables import random_related, related_violations

COUNTING = [(name, settings) for name, settings in METHODS if catalogue("methods", Method)[name].counts_people]
GROUPS = ("mondrian", "clustering", "refined")


class PeopleKind(Kind):
    """Rows that nothing ties together, several of one person."""

    name: ClassVar[str] = "people"
    form: ClassVar[str] = "recoded table"
    weight: ClassVar[float] = 2.0
    unit: ClassVar[str] = "id"
    """The column of the unit of protection."""

    def draw(self, rng: random.Random, place: Path) -> Story:
        tree, records = random_people(rng.getrandbits(48))
        (method,) = rng.choices(COUNTING, [DEAR.get(name, 1.0) for name, _ in COUNTING])
        return Story(
            tree | {"method": dict([method])}, columns_of(records), columns_of(records), records, f"{method[0]}, people"
        )

    def learn(self, story: Story, made: sf.Publication) -> None:
        story.known["behind"] = made.release.trace.rows["data"].tolist()

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows = rows_of(folder / "data.csv")
        if not brute.perfect_matching(rows, story.records, brute.columns_of(story.tree)):
            return ["untruthful"]
        return people_violations(rows, story.known["behind"], story.records, story.tree, self.unit)

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """Nobody says who stands behind rows that somebody changed: worlds are counted, shares of people are not."""
        return [what for what in super().judge_spoilt(story, folder) if "too many people" not in what]


class HouseholdKind(PeopleKind):
    """Rows of households: whoever recognizes one member has found the others."""

    name: ClassVar[str] = "households"
    weight: ClassVar[float] = 1.0
    unit: ClassVar[str] = "home"

    def draw(self, rng: random.Random, place: Path) -> Story:
        story = super().draw(rng, place)
        names = sorted({record["id"] for record in story.records})
        homes = {name: f"h{place - place % 2 * (rng.random() < 0.4)}" for place, name in enumerate(names)}
        story.tree["person"] = {"columns": "id", "together": "home"}
        story.tree["columns"] = {"home": "identifier"} | story.tree["columns"]
        records = [{"home": homes[record["id"]]} | record for record in story.records]
        return Story(story.tree, columns_of(records), columns_of(records), records, f"{story.method} in households")


class LinkedKind(Kind):
    """A pseudonym ties the rows of a person."""

    name: ClassVar[str] = "linked"
    form: ClassVar[str] = "linked table"
    weight: ClassVar[float] = 1.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        tree, records = random_people(rng.getrandbits(48), most=12)
        if rng.random() < 0.3:
            tree["columns"]["q0"]["constant"] = True
        tree["person"] = {"columns": "id", "rows": "linked"}
        tree["method"] = {"linked": {"groups": rng.choice(GROUPS), "seconds": 0.02}}
        return Story(tree, columns_of(records), columns_of(records), records, "linked")

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows = rows_of(folder / "data.csv")
        columns = brute.columns_of(story.tree)
        plain = [{name: row[name] for name in row if name in columns} for row in rows]
        if not brute.perfect_matching(plain, story.records, columns):
            return ["untruthful"]
        return linked_violations(rows, story.records, story.tree)


class RelatedKind(Kind):
    """A table of people and one of their rows, tied by a pseudonym."""

    name: ClassVar[str] = "related"
    form: ClassVar[str] = "related tables"
    weight: ClassVar[float] = 1.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        tree, people, rows = random_related(rng.getrandbits(48))
        tree["method"] = {"related": {"groups": rng.choice(GROUPS), "seconds": 0.02}}
        data = {"people": columns_of(people), "rows": columns_of(rows)}
        return Story(tree, data, data, (people, rows), "related")

    def learn(self, story: Story, made: sf.Publication) -> None:
        story.known["whole"] = not made.release.suppressed

    def judge(self, story: Story, folder: Path) -> list[str]:
        parts = {name: rows_of(folder / f"{name}.csv") for name in ("people", "rows")}
        return related_violations(parts, story.known["whole"], story.tree, *story.records)
