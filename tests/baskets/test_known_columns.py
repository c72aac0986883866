"""Quasi-identifiers beside items: k over both and k^m, judged from the published file by brute force and by listing
secrets."""

from __future__ import annotations

import csv
import shutil
from collections import Counter, defaultdict
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError, SfumatoError
from sfumato.data.baskets import Baskets
from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.baskets.attacks import play_blocks
from sfumato.kinds.baskets.known_columns import generalization_and_codes, items_with_known_columns, of_values
from sfumato.kinds.baskets.methods.blocks import BasketBlocking, _cells, published_rows_of
from sfumato.kinds.baskets.methods.record_order import partition
from sfumato.release.view import ReleaseView
from sfumato.workflow.estimate import answer, parse_question
from tests.secret import secret

ITEMS = ("bread", "milk", "beer", "nappies", "wine", "tea")
REGIONS = {"*": {"north": ["n1", "n2"], "south": ["s1", "s2", "s3"]}}

REGION = {"role": "quasi-identifier", "hierarchy": REGIONS}


def people(count: int = 90, seed: int = 3) -> Baskets:
    rng = np.random.default_rng(seed)
    rows = [[item for item in ITEMS if rng.random() < 0.45] for _ in range(count)]
    columns = {
        "age": [str(int(age)) for age in rng.integers(18, 80, count)],
        "region": rng.choice(["n1", "n2", "s1", "s2", "s3"], count).tolist(),
        "illness": [f"i{number}" for number in rng.integers(0, 9, count)],
    }
    return Baskets.of(rows, columns, names=ITEMS)


def policy(*protect: object, **method: object) -> sf.Policy:
    tree = {
        "version": 1,
        "data": {"kind": "baskets"},
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": "ranges"},
            "region": REGION,
            "illness": "sensitive",
        },
        "protect": list(protect),
        "method": {"blocks": method},
    }
    return sf.Policy.parse(tree)


def covers(cell: str, value: str) -> bool:
    """Whether a published cell of age or region stands for the value, as a reader would say."""
    inner = {"*": ["n1", "n2", "s1", "s2", "s3"], "north": ["n1", "n2"], "south": ["s1", "s2", "s3"]}
    if cell in inner or value[0] in "ns":
        return value in inner.get(cell, [cell])
    low, _, high = cell.partition("-")
    return int(low) <= int(value) <= int(high or low)


def holds(row: dict[str, str], known: frozenset[str], whole: bool) -> bool:
    """Whether a set with these items (exactly these, or these and more) is one that the row may stand for."""
    base, doubt = set(row["items"].split()), set(row["distance_items"].split())
    for size in range(min(len(doubt), int(row["threshold"])) + 1):
        for turned in combinations(sorted(doubt), size):
            world = base ^ set(turned)
            if world == known if whole else known <= world:
                return True
    return False


def candidates(folder: Path, baskets: Baskets, m: int | None) -> list[int]:
    """For everybody the fewest rows left to whoever knows the columns and all items, or any m of them."""
    rows = list(csv.DictReader((folder / "data.csv").read_text(encoding="utf-8").splitlines()))
    left = []
    for person in range(len(baskets)):
        mine = [
            row for row in rows if all(covers(row[name], baskets.labels[name][person]) for name in ("age", "region"))
        ]
        items = baskets.set_of(person)
        few = (
            [items] if m is None else [frozenset(some) for n in range(m + 1) for some in combinations(sorted(items), n)]
        )
        left.append(min(sum(holds(row, known, m is None) for row in mine) for known in few))
    return left


CLAIMS = [
    [{"k-anonymity": {"k": 4}}],
    [{"km-anonymity": {"k": 4, "m": 2}}],
    [{"k-anonymity": {"k": 3}}, {"km-anonymity": {"k": 6, "m": 2}}],
    [{"l-diversity": {"l": 2, "kind": "frequency"}}],
]


@pytest.mark.parametrize("items", ["vote", "dealt"])
@pytest.mark.parametrize("protect", CLAIMS, ids=str)
def test_what_is_promised_over_both_holds_by_brute_force(
    protect: list[dict[str, dict[str, int]]], items: str, tmp_path: Path
) -> None:
    baskets = people()
    made = sf.publish(policy(*protect, items=items), data=baskets, seed=secret(1))
    assert made.certificate.holds
    folder = made.write(tmp_path / "out", report=False)
    audit = sf.verify(folder, original=baskets)
    assert not audit.violated and (items == "dealt" or not audit.open or "l-diversity" in protect[0])
    assert not [finding for finding in sf.verify(folder).findings if not finding.holds]
    for ((name, asked),) in (claim.items() for claim in protect):
        if name != "l-diversity":
            assert min(candidates(folder, baskets, asked.get("m"))) >= asked["k"]


def test_cells_are_as_small_as_their_block() -> None:
    baskets, asked = people(), policy({"k-anonymity": {"k": 4}})
    table = sf.publish(asked, data=baskets, seed=secret(2)).release
    block = np.array(table.parts["data"]["block"].to_pylist())
    behind = np.asarray(table.trace.rows["data"])
    for number in np.unique(block):
        rows = np.flatnonzero(block == number)
        ages = sorted(int(baskets.labels["age"][record]) for record in behind[rows])
        wanted = str(ages[0]) if ages[0] == ages[-1] else f"{ages[0]}-{ages[-1]}"
        assert {table.parts["data"]["age"][int(row)].as_py() for row in rows} == {wanted}


@pytest.mark.parametrize("shows", ["vote", "dealt"])
def test_every_secret_is_as_likely_whatever_is_published(shows: str) -> None:
    """Whoever knows all items and columns, and the rows of m others of the block, finds a row with 1/(g − m)."""
    baskets, asked = people(6, seed=8), policy({"k-anonymity": {"k": 3}})
    blocks = partition(items_with_known_columns(asked, baskets), 3)
    rows = published_rows_of(baskets.sets, blocks, shows)  # type: ignore[arg-type]
    cells = [_cells(*generalization_and_codes(asked, baskets, name), blocks).tolist() for name in ("age", "region")]
    groups = [blocks.order[a:b].tolist() for a, b in zip(blocks.starts[:-1], blocks.starts[1:], strict=True)]
    seen = defaultdict(list)
    for labels in product("xy", repeat=6):
        for ways in product(*(permutations(group) for group in groups)):
            behind = [record for way in ways for record in way]
            content = tuple(
                (rows.base.row(place).tobytes(), cells[0][place], cells[1][place], labels[record])
                for place, record in enumerate(behind)
            )
            seen[content].append(tuple(int(place) for place in np.argsort(behind)))
    for stories in seen.values():
        for insiders in ((), (groups[0][0],)):
            told = defaultdict(list)
            for at in stories:
                told[tuple(at[who] for who in insiders)].append(at)
            for listed in told.values():
                for person in set(range(6)) - set(insiders):
                    left = 3 - sum(who in groups[0] and person in groups[0] for who in insiders)
                    assert max(Counter(at[person] for at in listed).values()) / len(listed) == pytest.approx(1 / left)


def test_near_people_stand_together() -> None:
    """Blocks cut from both show narrower cells than blocks cut from items, at little cost in items."""
    baskets, asked = people(400, seed=5), policy({"k-anonymity": {"k": 4}})
    domain, codes = generalization_and_codes(asked, baskets, "age")
    width = []
    for known in (items_with_known_columns(asked, baskets), baskets.sets):
        blocks = partition(known, 4)
        low, high = (side.reduceat(codes[blocks.order], blocks.starts[:-1]) for side in (np.minimum, np.maximum))
        width.append(float(domain.width(low, high + 1).mean()))
    assert width[0] < 0.8 * width[1]


def test_the_program_run_again_finds_no_more_than_promised() -> None:
    baskets = people(120)
    made = sf.publish(policy({"k-anonymity": {"k": 5}}), data=baskets, seed=secret(2))
    figures = play_blocks(ReleaseView(made.release.form, made.release.parts, made.policy, original=baskets), 0.0)
    assert figures["rows_found"] <= 0.2 + 1e-12 and figures["people_beyond_the_promise"] == 0


SPOILED = {
    "one cell of a block": lambda rows: [rows[0] | {"age": "18-79"}, *rows[1:]],
    "cells that nobody fits": lambda rows: [
        row | ({"age": "18"} if row["block"] == rows[0]["block"] else {}) for row in rows
    ],
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_cells_that_were_changed_are_noticed(spoil: str, tmp_path: Path) -> None:
    baskets = people()
    folder = sf.publish(policy({"k-anonymity": {"k": 4}}), data=baskets, seed=secret(4)).write(
        tmp_path / "out", report=False
    )
    copy = shutil.copytree(folder, tmp_path / "copy")
    rows = list(csv.DictReader((folder / "data.csv").read_text(encoding="utf-8").splitlines()))
    with (copy / "data.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(SPOILED[spoil](rows))
    wrong = {finding.model for finding in sf.verify(copy, original=baskets).findings if not finding.holds}
    assert wrong & {"blocks", "one-to-one"}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"method": {"nonreciprocal": {}}}, "blocks"),
        ({"protect": [{"given": ["illness"], "by": {"k-anonymity": {"k": 2}}}]}, "is none"),
        ({"columns": {"region": REGION | {"boundary": ["north", "south"]}, "illness": "sensitive"}}, "boundary"),
    ],
)  # fmt: skip
def test_what_is_not_promised_is_refused(change: dict[str, object], word: str) -> None:
    tree = policy({"k-anonymity": {"k": 3}}).document.tree | change
    with pytest.raises(SfumatoError, match=word):
        sf.publish(sf.Policy.parse(dict(tree)), data=people(), seed=secret(1))


def test_values_become_items() -> None:
    north = Hierarchy.from_tree(REGIONS)
    codes = np.array([north.code_of[leaf] for leaf in ("n1", "n2", "s1", "n1")])
    sets = of_values(north, codes)
    assert sets.hamming(sets.take([1, 0, 0, 3])).tolist() == [2, 2, 4, 0]  # siblings share their region, others nothing
    ages = Ranges(tuple(str(age) for age in range(20, 60)))
    near = of_values(ages, np.arange(40))
    apart = near.hamming(near.take(np.zeros(40, dtype=np.int64)))
    assert (np.diff(apart) >= 0).all() and apart[-1] == 8


def test_the_width_of_known_columns_is_that_of_their_cells() -> None:
    baskets = people(40)
    made = sf.publish(policy({"k-anonymity": {"k": 4}}), data=baskets, seed=secret(6))
    ages = [[int(end) for end in cell.split("-")] for cell in made.release.parts["data"]["age"].to_pylist()]
    span = max(map(int, baskets.labels["age"])) - min(map(int, baskets.labels["age"]))
    assert made.utility["known_width"]["age"] == pytest.approx(np.mean([ends[-1] - ends[0] for ends in ages]) / span)


def test_items_and_labels_are_counted_and_cells_are_not_taken_for_values() -> None:
    made = sf.publish(policy({"k-anonymity": {"k": 4}}), data=people(40), seed=secret(6))
    assert answer(made.exhibit, parse_question("count where items has bread and illness = i1")).high >= 0
    with pytest.raises(PolicyError, match="a range of 'age'"):
        answer(made.exhibit, parse_question("count where age = 30"))


def test_a_column_that_is_not_there_is_named_before_anything_runs() -> None:
    tree = policy({"k-anonymity": {"k": 3}}).document.tree
    asked = sf.Policy.parse(tree | {"columns": tree["columns"] | {"height": "quasi-identifier"}})
    with pytest.raises(SfumatoError, match="no column 'height'"):
        asked_method(asked).describe(asked, people(20))
    with pytest.raises(SfumatoError, match="no column 'height'"):
        sf.publish(asked, data=people(20), seed=secret(1))


def asked_method(asked: sf.Policy) -> BasketBlocking:
    assert asked.method is not None
    return BasketBlocking(**asked.method.parameters)
