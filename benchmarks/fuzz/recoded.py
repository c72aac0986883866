"""Recoded tables: every method that recodes, every kind of hierarchy, boundaries, nulls, claims on some of the
columns."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.story import Kind, Rows, Story, columns_of, rows_of
from benchmarks.fuzz.tally import Tally
from tests.house import brute
from tests.house.cases import MODELS, nodes, random_claims, random_tree, recoding_variants
from tests.judges.exists import release_exists
from tests.judges.population import broken

SECONDS = 0.02
METHODS = list(recoding_variants(SECONDS))
DEAR = {"optimal": 0.06, "refined": 0.12}
"""Methods that search are asked less often."""


class RecodedKind(Kind):
    """One table with generalized cells."""

    name: ClassVar[str] = "recoded"
    form: ClassVar[str] = "recoded table"
    weight: ClassVar[float] = 8.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        columns, values = random_columns(rng)
        records = [{"id": str(i), **_record(rng, values)} for i in range(rng.randint(1, 14))]
        numeric = [name for name in values if name.startswith("s") and all(value.isdigit() for value in values[name])]
        tree = {"version": 1, "columns": columns, "protect": claims(rng, columns, numeric), "utility": utility(rng)}
        (method,) = rng.choices(METHODS, [DEAR.get(name, 1.0) for name, _ in METHODS])
        tree["method"] = dict([method])
        return Story(tree, columns_of(with_nulls(rng, records)), columns_of(records), records, method[0])

    def judge(self, story: Story, folder: Path) -> list[str]:
        return brute.violations(rows_of(folder / "data.csv"), story.records, story.tree)

    def refused_falsely(self, story: Story) -> str:
        """When everybody's region satisfies every claim, all of them can be published."""
        claims, columns = story.tree["protect"], brute.columns_of(story.tree)
        quasi, hide = brute.published_names(columns, "quasi-identifier"), brute.published_names(columns, "sensitive")
        plain = all(
            set(brute.claim_of(c, columns)[0]) == set(quasi) and brute.claim_of(c, columns)[1] == hide for c in claims
        )
        return (
            "everybody can be published"
            if plain and brute.savable(story.records, story.tree) == len(story.records)
            else ""
        )

    def release_exists(self, story: Story) -> str:
        """Everybody's coarsest row, or none, is a release for some choice of people."""
        columns = brute.columns_of(story.tree)
        quasi = set(brute.published_names(columns, "quasi-identifier"))
        shown = brute.published_names(columns)
        if len(story.records) > 9 or any(columns[name].get("hierarchy") == "ranges" for name in quasi):
            return ""
        coarsest = [
            {name: brute.ceiling(row[name], columns[name]) if name in quasi else row[name] for name in shown}
            for row in story.records
        ]
        limit = story.tree.get("utility", {}).get("suppress_at_most", 1.0)
        most = int(limit * len(story.records) + 1e-9)

        def good(rows: list[Any]) -> bool:
            return not brute.broken_claims(rows, story.tree)

        return "some people can be published as coarsely as allowed" if release_exists(coarsest, good, most) else ""


class PopulationKind(RecodedKind):
    """A sample whose population is known: k-map and delta-presence."""

    name: ClassVar[str] = "population"
    weight: ClassVar[float] = 1.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        columns, values = random_columns(rng)
        columns = {name: column for name, column in columns.items() if _plain(column)}
        values = {name: options for name, options in values.items() if name in columns}
        town = [_record(rng, values) for _ in range(rng.randint(2, 16))]
        records = [{"id": str(i), **row} for i, row in enumerate(rng.sample(town, rng.randint(1, len(town))))]
        quasi = [name for name in columns if name.startswith("q")]
        file = place / "town.csv"
        file.write_text("\n".join([",".join(quasi), *(",".join(row[name] for name in quasi) for row in town)]) + "\n")
        if rng.random() < 0.5:
            claim, method = {"k-map": {"k": rng.randint(1, 4)}}, rng.choice(METHODS)
        else:
            level = {"at_least": rng.choice([0.0, 0.0, 0.1, 0.3]), "at_most": rng.choice([0.4, 0.6, 0.9])}
            claim, method = {"delta-presence": level}, ("global", {})
        tree = {"version": 1, "columns": columns, "protect": [claim], "population": {"file": str(file)}}
        tree["method"] = dict([method])
        story = Story(tree, columns_of(records), columns_of(records), records, f"{method[0]}, population")
        story.known["town"] = town
        return story

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows = rows_of(folder / "data.csv")
        columns = brute.columns_of(story.tree)
        wrong = [] if brute.perfect_matching(rows, story.records, columns) else ["untruthful"]
        ((model, level),) = story.tree["protect"][0].items()
        quasi = {name: column for name, column in columns.items() if name.startswith("q")}
        said = broken(rows, story.known["town"], lambda row, one: brute.covers(row, one, quasi), model, level)
        return wrong + ([f"{model}: {said}"] if said else [])

    def release_exists(self, story: Story) -> str:
        return ""

    def refused_falsely(self, story: Story) -> str:
        return ""

    def alarms(self, rng: random.Random, story: Story, folder: Path, tally: Tally) -> None:
        town = story.tree["population"]["file"]
        if rng.random() < 0.3:
            verdict = sf.verify(folder, original=story.original, population=town)
            tally.alarm("with the population", [one.model for one in verdict.findings if not one.holds or one.open])


def _plain(column: Any) -> bool:
    return isinstance(column, str) or column.get("publish", True)


def random_columns(rng: random.Random) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """What the policy says about each column, and the values it may have."""
    columns: dict[str, Any] = {"id": "identifier"}
    values: dict[str, list[str]] = {}
    for i in range(rng.randint(1, 3)):
        name = f"q{i}"
        values[name], hierarchy, boundary = _quasi(rng, name)
        columns[name] = {"role": "quasi-identifier"} | hierarchy | boundary
        if rng.random() < 0.05:
            columns[name]["publish"] = False
    for i in range(rng.randint(1, 2)):
        columns[f"s{i}"] = "sensitive" if rng.random() < 0.95 else {"role": "sensitive", "publish": False}
        words = (
            [str(j) for j in range(rng.randint(1, 4))]
            if rng.random() < 0.7
            else ["flu", "a, b", 'a "cold"', " gout", "NO", "1.0", ""]
        )
        values[f"s{i}"] = words
    if rng.random() < 0.3:
        columns["note"] = "other"
        values["note"] = ["x", "y", ""]
    return columns, values


def _quasi(rng: random.Random, name: str) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """Values, hierarchy and boundary of a quasi-identifier."""
    missing = [""] if rng.random() < 0.15 else []
    level = {"boundary": {"level": rng.randint(0, 2)}} if rng.random() < 0.4 else {}
    way = rng.random()
    if way < 0.45:
        words = [f"{name}v{j}" for j in range(rng.randint(1, 6))]
        tree = random_tree(rng, list(words), name)
        inner = nodes(tree)
        bound = {"boundary": rng.sample(inner, rng.randint(1, min(3, len(inner))))} if rng.random() < 0.5 else {}
        return words + missing, {"hierarchy": tree}, bound
    if way < 0.6:
        return [str(rng.randint(0, 60)) for _ in range(6)] + missing, {"hierarchy": {"intervals": [10, 20]}}, level
    if way < 0.7:
        return [f"{rng.randint(100, 999)}" for _ in range(5)] + missing, {"hierarchy": {"prefix": 3}}, level
    if way < 0.78:
        days = [f"20{rng.randint(10, 12)}-0{rng.randint(1, 3)}-1{rng.randint(0, 9)}" for _ in range(5)]
        return days + missing, {"hierarchy": {"dates": ["month", "year"]}}, level
    if way < 0.88:
        return [str(rng.randint(-9, 60)) for _ in range(6)], {"hierarchy": "ranges"}, {}
    return [f"{name}v{j}" for j in range(rng.randint(1, 5))] + missing, {}, {}


def _record(rng: random.Random, values: dict[str, list[str]]) -> dict[str, str]:
    return {name: rng.choice(options[: rng.randint(1, len(options))]) for name, options in values.items()}


def with_nulls(rng: random.Random, records: Rows) -> list[dict[str, Any]]:
    """The same records with what is missing as a null, here and there."""
    return [
        {name: None if value == "" and rng.random() < 0.5 else value for name, value in row.items()} for row in records
    ]


def claims(rng: random.Random, columns: dict[str, Any], numeric: list[str]) -> list[Any]:
    """One to three claims, in any of the ways to write them."""
    named = brute.columns_of({"columns": columns})
    quasi, hide = brute.published_names(named, "quasi-identifier"), brute.published_names(named, "sensitive")
    models = [model for model in MODELS if model != "ordered" or set(hide) <= set(numeric)]
    if not hide:
        models = ["k-anonymity"]
    found: list[Any] = random_claims(rng, rng.sample(models, min(len(models), rng.choice([1, 1, 2, 2, 3]))))
    for place, claim in enumerate(found):
        if not quasi or rng.random() < 0.6:
            continue
        given = rng.sample(quasi, rng.randint(0 if rng.random() < 0.05 else 1, len(quasi)))
        (model,) = claim
        if model == "k-anonymity":
            found[place] = {"given": given, "hide": [], "by": claim}
        elif hide:
            found[place] = {"given": given, "hide": [rng.choice(hide)], "by": claim}
        if hide and given and model == "l-diversity" and rng.random() < 0.3:
            found[place] = f"{', '.join(given)} -> {rng.choice(hide)} : {rng.choice([1, 2, 1.5])}-diversity"
    return found


def utility(rng: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"minimize": rng.choice(["loss", "loss", "ntil", "entropy_loss"])}
    if rng.random() < 0.3:
        made["suppress_at_most"] = rng.choice([0.0, 0.1, 0.34, 0.5])
    return made
