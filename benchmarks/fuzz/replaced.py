"""Replaced tables: every rule evaluated by a function of its own, domains by their words, beliefs by listing all legal
tables."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.domains import inside
from benchmarks.fuzz.story import Kind, Rows, Story, columns_of, rows_of
from sfumato.kinds.testdata.methods.obfuscation import Obfuscation
from tests.house import brute
from tests.house.cases import random_claims, settings_of

Check = Callable[[Rows, Rows], bool]
"""New and old rows, in the order of the original."""
SETTINGS = list(settings_of(Obfuscation, 0.0))
DEAR = [4.0] + [1.0 if "engine" not in setting and "variety" not in setting else 0.4 for setting in SETTINGS[1:]]
DOMAINS: list[tuple[dict[str, Any], list[str]]] = [
    ({"integers": [0, 2]}, ["0", "1", "2"]),
    ({"integers": [-1, 1]}, ["-1", "0", "1"]),
    ({"values": ["0", "2", "1"]}, ["0", "1", "2"]),
    ({"decimals": [0, 1], "places": 0}, ["0", "1"]),
]
WIDE: list[tuple[dict[str, Any], list[str]]] = [
    ({"integers": [0, 1000]}, [str(n) for n in range(0, 1000, 37)]),
    ({"dates": ["2020-01-01", "2020-12-31"]}, ["2020-03-01", "2020-05-06"]),
    ({"pattern": "[A-C]{2}[0-9]{3}"}, ["AB123", "CC000"]),
]


class ReplacedKind(Kind):
    """New values under rules, by exact samplers and by the solver."""

    name: ClassVar[str] = "replaced"
    form: ClassVar[str] = "replaced table"
    weight: ClassVar[float] = 2.5

    def draw(self, rng: random.Random, place: Path) -> Story:
        count = rng.randint(2, 4)
        replaced = {name: rng.choice(DOMAINS) for name in "ab"[: rng.randint(1, 2)]}
        if rng.random() < 0.2:
            replaced["w"] = rng.choice(WIDE)
        records = [
            {"g": rng.choice("xy"), "n": str(rng.randint(0, 2))}
            | {name: rng.choice(values) for name, (_, values) in replaced.items()}
            for _ in range(count)
        ]
        keep = _rules(rng, [name for name in replaced if name != "w"], records)
        if "w" in replaced and rng.random() < 0.5:
            keep.append(("unique(w)", lambda new, old: len({row["w"] for row in new}) == len(new)))
        (setting,) = rng.choices(SETTINGS, DEAR)
        columns = {"g": "other", "n": "other"} | {
            name: {"role": "replaced", "domain": dom} for name, (dom, _) in replaced.items()
        }
        tree: dict[str, Any] = {"version": 1, "columns": columns, "keep": [text for text, _ in keep]}
        tree["method"] = {"obfuscation": {**setting, "block": rng.choice([2, 3, 200])}}
        if rng.random() < 0.35:
            hide, given = (
                rng.choice([name for name in replaced if name != "w"]),
                rng.sample(["g", "n"], rng.randint(1, 2)),
            )
            model = rng.choice(["p-sensitivity", "distinct", "frequency", "entropy"])
            tree["protect"] = [{"given": given, "hide": hide, "by": random_claims(rng, [model])[0]}]
        story = Story(tree, columns_of(records), columns_of(records), records, "obfuscation")
        story.known["checks"] = keep
        return story

    def learn(self, story: Story, made: sf.Publication) -> None:
        story.known["rows"] = made.release.trace.rows["data"].tolist()
        story.known["parts"] = made.release.form.parts

    def judge(self, story: Story, folder: Path) -> list[str]:
        published = rows_of(folder / "data.csv")
        wrong = kept_as_they_were(published, story)
        if wrong:
            return wrong
        new: Rows = [{} for _ in published]
        for row, record in zip(published, story.known["rows"], strict=True):
            new[record] = row
        wrong = [text for text, check in story.known["checks"] if not check(new, story.records)]
        return wrong + self._beliefs(story, new)

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """Nobody keeps which row was which record, so rules that need to know are not demanded."""
        checks, claims = story.known["checks"], story.tree.get("protect", [])
        known = {
            "checks": [
                (text, check) for text, check in checks if "[" not in text and not re.search(r"[=<>] original", text)
            ]
        }
        told = replace(story, known=story.known | known, tree=story.tree | {"protect": []})
        return super().judge_spoilt(told if claims or known["checks"] != checks else story, folder)

    def _beliefs(self, story: Story, new: Rows) -> list[str]:
        """Parts that are blind to the original: every legal table is equally likely."""
        wrong = []
        for claim in story.tree.get("protect", []):
            ((model, level),) = claim["by"].items()
            made = next(part for part in story.known["parts"] if claim["hide"] in part.columns)
            if made.heuristic or made.learned or "w" in made.columns:
                continue  # estimated there, and graded so
            for belief in beliefs(story, new, claim["hide"], list(made.columns), made.engine == "shuffle"):
                if not brute.believed(0, [belief], [belief], model, level):
                    wrong.append(model)
                    break
        return wrong

    def refused_falsely(self, story: Story) -> str:
        """A table that obeys every rule and lies in all domains, found by trying all of them."""
        if (
            story.tree.get("protect")
            or len(story.known["checks"]) > 1
            or "engine" in story.tree["method"]["obfuscation"]
        ):
            return ""  # solver blocks search near the original, and say so
        columns = [name for name in "ab" if name in story.tree["columns"]]
        found = next(
            legal(story, columns, [check for text, check in story.known["checks"] if text != "unique(w)"]), None
        )
        return "" if found is None else f"a legal table exists: {found}"


def kept_as_they_were(published: Rows, story: Story) -> list[str]:
    """Columns that are not replaced stand beside each other as before, and new values lie in their domains."""
    columns = brute.columns_of(story.tree)
    names = list(columns)
    if len(published) != len(story.records) or any(list(row) != names for row in published):
        return ["rows and columns"]
    kept = [name for name in names if columns[name]["role"] != "replaced"]
    if Counter(tuple(row[n] for n in kept) for row in published) != Counter(
        tuple(r[n] for n in kept) for r in story.records
    ):
        return ["kept columns"]
    return [
        f"domain of {name}"
        for name, column in columns.items()
        if column["role"] == "replaced" and not all(inside(row[name], column["domain"]) for row in published)
    ]


def legal(story: Story, columns: list[str], checks: list[Check]) -> Any:
    """All tables over these columns that the checks let pass, the other columns as they were."""
    values = {name: next(v for d, v in DOMAINS if d == story.tree["columns"][name]["domain"]) for name in columns}
    cells = [list(product(*(values[name] for name in columns)))] * len(story.records)
    for rows in product(*cells):
        new = [record | dict(zip(columns, row, strict=True)) for record, row in zip(story.records, rows, strict=True)]
        if all(check(new, story.records) for check in checks):
            yield new


def beliefs(story: Story, new: Rows, hidden: str, columns: list[str], shuffled: bool) -> list[Counter[str]]:
    """For everybody how many legal tables give them each value; with shuffled values those that show the same ones."""
    mine = [(text, check) for text, check in story.known["checks"] if set(columns) & _named(text)]
    checks = [check for text, check in mine if not text.startswith("same_multiset")]
    if shuffled:
        shown = {name: Counter(row[name] for row in new) for name in columns}
        checks.append(lambda made, old: all(Counter(row[name] for row in made) == shown[name] for name in columns))
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for table in legal(story, [name for name in columns if name != "w"], checks):
        for person, row in enumerate(table):
            found[person][row[hidden]] += 1
    return list(found.values())


def _named(text: str) -> set[str]:
    """The replaced columns that a rule speaks of."""
    return set(re.findall(r"\b[ab]\b", text))


def _number(text: str) -> Fraction:
    return Fraction(text)


SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    "=": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    ">=": lambda x, y: x >= y,
}


def _rules(rng: random.Random, names: list[str], records: Rows) -> list[tuple[str, Check]]:
    """Up to three rules, each with the function that says what it means."""
    found: list[tuple[str, Check]] = []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
        found.append(_rule(rng, rng.choice(names), rng.choice(names), records))
    return found


def _rule(rng: random.Random, one: str, two: str, records: Rows) -> tuple[str, Check]:
    sign, total = rng.choice(list(SIGNS)), rng.randint(-1, 5)
    test = SIGNS[sign]
    options: list[tuple[str, Check]] = [
        (f"{one} {sign} {two}", lambda new, old: all(test(_number(r[one]), _number(r[two])) for r in new)),
        (f"{one} {sign} n", lambda new, old: all(test(_number(r[one]), _number(r["n"])) for r in new)),
        (f"{one} + {two} {sign} 1", lambda new, old: all(test(_number(r[one]) + _number(r[two]), 1) for r in new)),
        (
            f'if g = "x" then {one} {sign} 1',
            lambda new, old: all(r["g"] != "x" or test(_number(r[one]), 1) for r in new),
        ),
        (f"{one} in {{0, 1}}", lambda new, old: all(r[one] in ("0", "1") for r in new)),
        (
            f"{one} {sign} original.{one}",
            lambda new, old: all(test(_number(r[one]), _number(o[one])) for r, o in zip(new, old, strict=True)),
        ),
        (f"unique({one})", lambda new, old: len({r[one] for r in new}) == len(new)),
        (f"sum({one}) {sign} {total}", lambda new, old: test(sum(_number(r[one]) for r in new), total)),
        (
            f"sum({one}) = sum(original.{one})",
            lambda new, old: sum(_number(r[one]) for r in new) == sum(_number(o[one]) for o in old),
        ),
        (
            f"count({one} = 1) {sign} {max(total, 0)}",
            lambda new, old: test(sum(r[one] == "1" for r in new), max(total, 0)),
        ),
        (f"max({one}) = 1", lambda new, old: max(_number(r[one]) for r in new) == 1),
        (f"same_multiset({one})", lambda new, old: Counter(r[one] for r in new) == Counter(o[one] for o in old)),
        (f"g determines {one}", lambda new, old: all(len({r[one] for r in new if r["g"] == g}) < 2 for g in "xy")),
        (f"at_least(2, {one})", lambda new, old: all(n >= 2 for n in Counter(r[one] for r in new).values())),
        (
            f"sum({one} by g) = sum(original.{one} by g)",
            lambda new, old: all(
                sum(_number(r[one]) for r in new if r["g"] == g) == sum(_number(o[one]) for o in old if o["g"] == g)
                for g in "xy"
            ),
        ),
        (f"{one}[1] {sign} {one}[2]", lambda new, old: test(_number(new[0][one]), _number(new[1][one]))),
    ]
    return rng.choice(options)


class WalkedKind(Kind):
    """New numbers by a random walk in which linear properties stay true."""

    name: ClassVar[str] = "walked"
    form: ClassVar[str] = "replaced table"
    weight: ClassVar[float] = 1.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        count, high = rng.randint(2, 8), rng.choice([3, 20, 60])
        names = "vw"[: rng.randint(1, 2)]
        records = [{name: str(rng.randint(0, high)) for name in names} | {"s": rng.choice("abc")} for _ in range(count)]
        keep = [rule for rule in (_linear(rng, records, names) for _ in range(rng.randint(0, 3))) if rule is not None]
        columns = {name: {"role": "replaced", "domain": {"integers": [0, high]}} for name in names} | {"s": "sensitive"}
        method = {"steps": rng.choice([20, 200]), "walks": 2, "range": rng.choice(["domain", "partition"])}
        tree = {
            "version": 1,
            "columns": columns,
            "keep": [text for text, _ in keep],
            "method": {"pattern-walk": method},
        }
        story = Story(tree, columns_of(records), columns_of(records), records, "pattern-walk")
        story.known["checks"] = keep
        return story

    learn = ReplacedKind.learn

    def judge(self, story: Story, folder: Path) -> list[str]:
        published = rows_of(folder / "data.csv")
        wrong = kept_as_they_were(published, story)
        if wrong:
            return wrong
        new: Rows = [{} for _ in published]
        for row, record in zip(published, story.known["rows"], strict=True):
            new[record] = row
        return [text for text, check in story.known["checks"] if not check(new, story.records)]

    def refused_falsely(self, story: Story) -> str:
        """The original itself obeys every rule that was drawn."""
        return "the original obeys every rule"


def _linear(rng: random.Random, records: Rows, names: str) -> tuple[str, Check] | None:
    """A linear property that the original has."""
    one, two = rng.choice(names), rng.choice(names)
    i, j = rng.randrange(len(records)), rng.randrange(len(records))
    options: list[tuple[str, Check]] = [
        (
            f"sum({one}) = sum(original.{one})",
            lambda new, old: sum(int(r[one]) for r in new) == sum(int(o[one]) for o in old),
        ),
        (f"{one} <= {two}", lambda new, old: all(int(r[one]) <= int(r[two]) for r in new)),
        (f"{one}[{i + 1}] <= {two}[{j + 1}]", lambda new, old: int(new[i][one]) <= int(new[j][two])),
        (f"{one}[{i + 1}] - {two}[{j + 1}] <= 4", lambda new, old: int(new[i][one]) - int(new[j][two]) <= 4),
        (f"localities({one})", lambda new, old: _near(new, old, one)),
    ]
    text, check = rng.choice(options)
    return (text, check) if check(records, records) else None


def _near(new: Rows, old: Rows, name: str) -> bool:
    """Which of two values is closer to a third stays true, for values that differ."""
    after, before = ([int(row[name]) for row in rows] for rows in (new, old))
    people = range(len(new))
    for i, j, k in product(people, people, people):
        if before[i] < before[j] < before[k]:
            wide = before[j] - before[i] >= before[k] - before[j]
            narrow = before[j] - before[i] <= before[k] - before[j]
            gap = abs(after[j] - after[i]) - abs(after[k] - after[j])
            if (wide and not narrow and gap < 0) or (narrow and not wide and gap > 0):
                return False
    return all(after[i] == after[j] for i, j in product(people, people) if before[i] == before[j])
