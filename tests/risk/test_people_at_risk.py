"""`risk` with people in several rows: counted again by plain dictionaries."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import sfumato as sf
from tests.command_line import run


def test_what_classes_come_to_for_people(tmp_path: object) -> None:
    draw = random.Random(5)
    rows = [(str(draw.randint(0, 30)), draw.choice("abc"), draw.choice("xy")) for _ in range(60)]
    data = {"id": [row[0] for row in rows], "q": [row[1] for row in rows], "r": [row[2] for row in rows]}
    found = sf.risk(data, ["q", "r"], person="id").people
    classes, bags = defaultdict(Counter), defaultdict(Counter)
    for name, *cells in rows:
        classes[tuple(cells)][name] += 1
        bags[name][tuple(cells)] += 1
    assert found.people == len(bags) and found.several == sum(sum(bag.values()) > 1 for bag in bags.values())
    assert found.fewest == min(map(len, classes.values()))
    assert found.alone == len({name for one in classes.values() if len(one) == 1 for name in one})
    alike = Counter(tuple(sorted(bag.items())) for bag in bags.values())
    assert found.alone_by_all_rows == sum(many == 1 for many in alike.values())
    parts = {name: max(classes[cell][name] / classes[cell].total() for cell in bag) for name, bag in bags.items()}
    assert found.highest == max(parts.values()) and abs(found.average - sum(parts.values()) / len(parts)) < 1e-12


def test_the_command_says_it(tmp_path: object) -> None:
    file = f"{tmp_path}/visits.csv"
    with open(file, "w", encoding="utf-8") as out:
        out.write("id,age,sex\n1,30,f\n1,30,f\n2,30,f\n3,41,m\n")
    said = run("risk", file, "--qi", "age,sex", "--person", "id", "--out", f"{tmp_path}/page.html")
    assert "3 people, 1 of them in several rows" in said.stdout and "up to 100 %" in said.stdout, said.stderr
    with open(f"{tmp_path}/page.html", encoding="utf-8") as page:
        assert "People with several rows" in page.read()
    assert sf.risk(file, ["age", "sex"]).people is None
