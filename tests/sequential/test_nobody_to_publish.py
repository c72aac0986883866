"""Releases of a ledger in which somebody, or everybody, cannot be published: they wait, or the error says that nobody
can be."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import LedgerError
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from tests.secret import secret

METHODS = (
    "mondrian",
    "clustering",
    "refined",
    "global",
    "anatomy",
    "single-attribute",
    "utility-aware",
    "guardian",
    "multi-sensitive",
)
FIRST = {
    "id": ["p0", "p1", "p2", "p3"],
    "a": ["a0", "a1", "a1", "a0"],
    "s": ["x", "y", "x", "y"],
    "t": ["u", "v", "v", "u"],
}
SECOND = {
    "one comes": {
        "id": ["p0", "p1", "p2", "p3", "p4"],
        "a": ["a0", "a1", "a1", "a0", "a0"],
        "s": list("xyxyx"),
        "t": list("uvvuu"),
    },
    "one stays": {"id": ["p0"], "a": ["a0"], "s": ["x"], "t": ["u"]},
    "alike come": {"id": ["p0", "p5", "p6", "p7"], "a": ["a0"] * 4, "s": list("xxxx"), "t": list("uuuu")},
    "two leave": {"id": ["p1", "p3"], "a": ["a1", "a0"], "s": ["y", "y"], "t": ["v", "u"]},
    "others come": {
        "id": ["p0", "p1", "p2", "p3", "p8", "p9"],
        "a": ["a0", "a1", "a1", "a0", "a2", "a2"],
        "s": list("xyxyxy"),
        "t": list("uvvuvu"),
    },
}


def policy(method: str, names: str, **more: object) -> sf.Policy:
    columns = {"id": "identifier", "a": "quasi-identifier"} | dict.fromkeys(names, "sensitive")
    tree = {"version": 1, "key": "id", "columns": columns, "method": method, "protect": [{"l-diversity": {"l": 2}}]}
    return sf.Policy.parse(tree | more)


def table(data: dict[str, list[str]], names: str) -> dict[str, list[str]]:
    return {name: column for name, column in data.items() if name in ("id", "a", *names)}


@pytest.mark.parametrize("case", SECOND)
@pytest.mark.parametrize("method", METHODS)
def test_who_cannot_be_published_waits(tmp_path: Path, method: str, case: str) -> None:
    """With both settings of cohorts, one or two sensitive columns, after a release by the same or by another method."""
    for place, (first, cohorts, names) in enumerate(
        product((method, "guardian", "mondrian"), ("known", "unknown"), ("s", "st"))
    ):
        book, series = tmp_path / f"{place}.ledger", {"series": {"cohorts": cohorts}}
        try:
            made = sf.publish(
                policy(first, names, **series), table(FIRST, names), ledger=book, new_ledger=True, seed=secret(place)
            )
        except (sf.Infeasible, sf.PolicyError):
            continue
        made.write(tmp_path / f"{place}-1", report=False)
        later = table(SECOND[case], names)
        try:
            again = sf.publish(policy(method, names, **series), later, ledger=book, seed=secret(place + 1))
        except (sf.Infeasible, sf.PolicyError, LedgerError):
            continue
        folder = again.write(tmp_path / f"{place}-2", report=False)
        assert again.certificate.records.published > 0
        assert not sf.verify(folder, ledger=book, original=later).violated
        assert not sf.verify(folder).violated


@pytest.mark.parametrize("method", ["single-attribute", "utility-aware", "guardian", "anatomy", "mondrian"])
def test_one_newcomer_alone_waits_by_every_method(tmp_path: Path, method: str) -> None:
    """Four people are published again; the fifth, who came alone, is left for a later release."""
    book = tmp_path / "x.ledger"
    sf.publish(policy(method, "s"), table(FIRST, "s"), ledger=book, new_ledger=True).write(tmp_path / "1", report=False)
    again = sf.publish(policy(method, "s"), table(SECOND["one comes"], "s"), ledger=book)
    assert again.certificate.records.suppressed == 1


def test_a_release_of_nobody_is_infeasible(tmp_path: Path) -> None:
    for place, method in enumerate(METHODS):
        book = tmp_path / f"{place}.ledger"
        sf.publish(policy(method, "s"), table(FIRST, "s"), ledger=book, new_ledger=True).write(
            tmp_path / str(place), report=False
        )
        for case in ("one stays", "two leave"):
            with pytest.raises(sf.Infeasible):
                sf.publish(policy(method, "s"), table(SECOND[case], "s"), ledger=book)


def baskets(ids: str, items: list[str], labels: str) -> Baskets:
    bits = np.array([[item in mine for item in "rst"] for mine in items])
    told = {"label": np.array(list(labels), dtype=object), "who": np.array([f"p{i}" for i in ids], dtype=object)}
    return Baskets(Sets.from_dense(bits), ("r", "s", "t"), told)


def basket_policy() -> sf.Policy:
    tree = {
        "version": 1,
        "data": {"kind": "baskets"},
        "columns": {"label": "sensitive", "who": "identifier"},
        "key": "who",
    }
    protect = [{"k-anonymity": {"k": 2}}, {"l-diversity": {"l": 2, "kind": "frequency"}}]
    return sf.Policy.parse(
        tree | {"protect": protect, "method": {"blocks": {"items": "dealt", "correlated": "accepted", "spread": 1}}}
    )


def test_a_finding_without_a_level_is_not_compared_by_its_level(tmp_path: Path) -> None:
    """Labels that may follow from items are measured only: such a finding has no level."""
    releases = [baskets("0125", ["rst", "rst", "rt", "st"], "xwyx"), baskets("0345", ["rt", "rst", "rst", "s"], "xywx")]
    for seed in range(8):
        book = tmp_path / f"{seed}.ledger"
        for number, data in enumerate(releases):
            made = sf.publish(
                basket_policy(), data, ledger=book, new_ledger=not number, seed=secret(10 * seed + number)
            )
            made.write(tmp_path / f"{seed}-{number}", report=False)


def test_random_baskets_with_a_ledger_never_end_in_the_audit(tmp_path: Path) -> None:
    for seed in range(25):
        rng = random.Random(seed)
        labels, book = [rng.choice("xyw") for _ in range(7)], tmp_path / f"{seed}.ledger"
        for number in range(2):
            ids = sorted(rng.sample(range(7), rng.randint(2, 6)))
            items = ["".join(item for item in "rst" if rng.random() < 0.6) or "r" for _ in ids]
            data = baskets("".join(map(str, ids)), items, "".join(labels[i] for i in ids))
            try:
                made = sf.publish(basket_policy(), data, ledger=book, new_ledger=not book.exists(), seed=secret(seed))
            except (sf.Infeasible, LedgerError):
                continue
            made.write(tmp_path / f"{seed}-{number}", report=False)


def test_a_release_that_earlier_ones_do_not_bind_leaves_lineages_as_they_are(tmp_path: Path) -> None:
    """The third release shares no sensitive column with the others: who shared a class before still does."""
    rows = {
        "id": [f"p{i}" for i in range(6)],
        "a": ["a3", "a0", "a3", "a0", "a1", "a0"],
        "b": ["b1", "b0", "b1", "b1", "b0", "b1"],
    }
    rows["s"], trees = (
        ["s1", "s1", "s0", "s2", "s1", "s1"],
        {"a": {"*": {"a01": ["a0", "a1"], "a23": ["a2", "a3"]}}, "b": {"*": ["b0", "b1"]}},
    )
    for number, (here, shown) in enumerate([(range(6), "abs"), ((0, 3, 4), "as"), (range(5), "b")]):
        columns = {
            name: {"role": "quasi-identifier", "hierarchy": trees[name], "publish": name in shown} for name in "ab"
        }
        columns |= {"id": "identifier", "s": {"role": "sensitive", "publish": "s" in shown}}
        protect = [{"k-anonymity": {"k": 2}}, *([{"l-diversity": {"l": 2}}] if "s" in shown else [])]
        tree = {
            "version": 1,
            "key": "id",
            "columns": columns,
            "protect": protect,
            "series": {"cohorts": "unknown"},
            "method": "global",
        }
        data = {name: [column[i] for i in here] for name, column in rows.items()}
        made = sf.publish(sf.Policy.parse(tree), data, ledger=tmp_path / "x.ledger", new_ledger=not number)
        made.write(tmp_path / str(number), report=False)
    assert made.certificate.records.suppressed == 0


def test_what_is_proved_of_some_records_is_not_said_of_all(tmp_path: Path) -> None:
    """Records that wait are left out of the problem, so its bound is about the others alone."""
    from sfumato.kinds.tables.form import Optimality, RecodedProvenance

    said = Optimality(objective="loss", lower_bound=0.0, proven_optimal=True, space="all", proof="tried")
    whole = RecodedProvenance({"data": np.array([1, 0, -1])}, optimality=said, lasting=True)
    some = whole.among(np.array([4, 7]))
    assert some.rows["data"].tolist() == [7, 4, -1]
    assert isinstance(some, RecodedProvenance)
    assert some.optimality is None
    assert not some.lasting
