"""Blocks in the house, judged by listing every way the secret could have been drawn."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from random_baskets import random_sets

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.baskets import Baskets
from sfumato.data.table import Table
from sfumato.kinds.baskets.checks import BlocksAlike
from sfumato.kinds.baskets.methods import blocks as forecasting
from sfumato.kinds.baskets.methods.blocks import _matched, forecast, published_rows_of
from sfumato.kinds.baskets.methods.record_order import BlockEffort, partition
from sfumato.kinds.baskets.published_baskets import from_table
from sfumato.release.folder import provenance_path
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from tests.command_line import run
from tests.secret import secret


def people(count: int = 120, labels: int = 9, seed: int = 1, density: float = 0.4) -> Baskets:
    rng = np.random.default_rng(seed)
    names = tuple(f"item{i}" for i in range(12))
    drawn = {"label": rng.integers(0, labels, count).astype(str).astype(object)}
    return Baskets(random_sets(rng, count, 12, density), names, drawn)


def policy(*protect: object, **method: object) -> sf.Policy:
    tree = {"version": 1, "data": {"kind": "baskets"}, "columns": {"label": "sensitive"}, "protect": list(protect)}
    return sf.Policy.parse(tree | ({"method": {"blocks": method}} if method else {}))


CLAIMS = [
    [{"k-anonymity": {"k": 5}}],
    [{"l-diversity": {"l": 3, "kind": "frequency"}}],
    [{"l-diversity": {"l": 3}}],
    [{"k-anonymity": {"k": 7}}, {"l-diversity": {"l": 2, "kind": "frequency"}}],
    [{"p-sensitivity": {"p": 2}}],
    [{"alpha-k-anonymity": {"alpha": 0.4, "k": 4}}],
    [{"km-anonymity": {"k": 4, "m": 2}}],
]
WAYS: list[dict[str, object]] = [
    {},
    {"items": "dealt"},
    {"items": "vote", "insiders": 1},
    {"items": "vote", "labels": "whole"},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("protect", CLAIMS, ids=str)
def test_what_is_promised_holds_by_the_certificate_and_by_verify(
    protect: list[object], way: dict[str, object], tmp_path: Path
) -> None:
    baskets = people(160, seed=2)
    publication = sf.publish(policy(*protect, **way), data=baskets, seed=secret(2))
    assert publication.plan.method.name == "blocks"
    assert publication.certificate.holds
    assert all(finding.grade == "exact" for finding in publication.findings[: len(protect)])
    folder = publication.write(tmp_path / "out", report=False)
    assert sf.verify(folder, original=baskets).holds
    provenance_path(folder).unlink()
    audit = sf.verify(folder, original=baskets)
    assert not audit.violated
    assert all("private provenance" in finding.reason for finding in audit.open)
    assert not [finding for finding in sf.verify(folder).findings if not finding.holds]


def known_everything(sets: Baskets, size: int, shows: str) -> dict[tuple[object, ...], list[tuple[int, ...]]]:
    """What is published for every permutation of each block and every way to give out labels, for whoever knows all
    sets.

    Returns, for each release, the rows of all people (as place numbers) that lead to it; labels are one of each kind
    per person."""
    blocks = partition(sets.sets, size)
    rows = published_rows_of(sets.sets, blocks, shows)  # type: ignore[arg-type]
    groups = [blocks.order[a:b] for a, b in zip(blocks.starts[:-1], blocks.starts[1:], strict=True)]
    seen = defaultdict(list)
    for labels in product("xy", repeat=len(sets)):
        for ways in product(*(permutations(group.tolist()) for group in groups)):
            behind = [record for way in ways for record in way]
            shown = tuple(labels[record] for record in behind)
            at = [0] * len(behind)
            for place, record in enumerate(behind):
                at[record] = place
            content = tuple((tuple(rows.base.row(place).tolist()), shown[place]) for place in range(len(behind)))
            seen[content].append(tuple(at))
    return seen


@pytest.mark.parametrize("shows", ["vote", "dealt"])
@pytest.mark.parametrize(("count", "size"), [(4, 2), (5, 2), (6, 3)])
def test_whoever_knows_everything_but_the_draw_finds_a_row_once_in_g(count: int, size: int, shows: str) -> None:
    """0, 1 and more insiders: with m known matches of the same block exactly 1/(g − m), with any number in others
    1/g."""
    sets = people(count, seed=count)
    blocks = partition(sets.sets, size)
    block = dict(zip(blocks.order.tolist(), blocks.block.tolist(), strict=True))
    for stories in known_everything(sets, size, shows).values():
        for insiders in ((), (0,), (0, 1)):
            told = defaultdict(list)
            for at in stories:
                told[tuple(at[who] for who in insiders)].append(at)
            for listed in told.values():
                for person in set(range(count)) - set(insiders):
                    often = Counter(at[person] for at in listed)
                    left = int(blocks.sizes[block[person]]) - sum(block[who] == block[person] for who in insiders)
                    assert max(often.values()) / len(listed) == pytest.approx(1 / left)


def test_on_more_records_a_tenth_of_insiders_finds_no_more_than_promised() -> None:
    """Sampled: rows guessed at random among those left in the block; 0, 1 and 10 % insiders."""
    baskets = people(600, seed=5)
    release = sf.publish(policy({"k-anonymity": {"k": 5}}, insiders=1), data=baskets, seed=secret(5)).release
    block = np.array(release.parts["data"]["block"].to_pylist())
    behind = release.trace.rows["data"]
    rng = np.random.default_rng(1)
    for share in (0.0, 1 / 600, 0.1):
        insider = rng.permutation(600) < share * 600
        hits, chance = 0, 0.0
        for number in np.unique(block):
            rows = np.flatnonzero(block == number)
            unknown = rows[~insider[behind[rows]]]
            if len(rows) - len(unknown) <= 1:
                assert len(unknown) >= 5
            hits += int((rng.permutation(unknown) == unknown).sum())
            chance += 1.0 if len(unknown) else 0.0
        assert abs(hits - chance) < 5 * np.sqrt(chance)


def test_rows_are_matched_uniformly() -> None:
    """All 6 permutations of a block of three equally often, and independently of the other block."""
    baskets = people(6, labels=6, seed=3)
    often: Counter[tuple[int, ...]] = Counter()
    draws = 1440
    blocks = partition(baskets.sets, 3)
    for seed in range(draws):
        often[tuple(_matched(blocks, Randomness(secret(seed)).permutation(6)).tolist())] += 1
    assert len(often) == 36
    assert sum((count - draws / 36) ** 2 / (draws / 36) for count in often.values()) < 85  # chi-square, 35 df, 1e-5


def test_numbers_of_blocks_and_order_of_rows_say_nothing() -> None:
    baskets = people(300)
    release = sf.publish(policy({"k-anonymity": {"k": 3}}), data=baskets, seed=secret(5)).release
    behind = release.trace.rows["data"]
    assert abs(np.corrcoef(behind, np.arange(300))[0, 1]) < 0.25


SPOILED = {
    "too small a block": lambda rows: [[("999" if n < 2 else row[0]), *row[1:]] for n, row in enumerate(rows)],
    "another row": lambda rows: [[rows[0][0], "item0 item1 item2 item3 item4", *rows[0][2:]], *rows[1:]],
    "tight": lambda rows: [[*row[:3], "0", *row[4:]] for row in rows],
    "moved": lambda rows: [[rows[-1][0], *rows[0][1:]], *rows[1:]],
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_breaking_a_release_is_noticed(spoil: str, tmp_path: Path) -> None:
    baskets = people()
    folder = sf.publish(policy({"k-anonymity": {"k": 5}}, items="vote"), data=baskets, seed=secret(1)).write(
        tmp_path / "out", report=False
    )
    head, *lines = [
        [cell.strip('"') for cell in line.split(",")] for line in (folder / "data.csv").read_text().splitlines()
    ]
    shutil.copytree(folder, tmp_path / "copy")
    spoiled = "\n".join(",".join(row) for row in [head, *SPOILED[spoil](lines)]) + "\n"
    (tmp_path / "copy" / "data.csv").write_text(spoiled)
    wrong = {finding.model for finding in sf.verify(tmp_path / "copy", original=baskets).findings if not finding.holds}
    assert wrong - {"files", "certificate"}


def test_rows_that_are_true_baskets_are_not_dealt() -> None:
    """Whoever publishes everybody's own basket as dealt rows is found out: rows of even size, every count kept."""
    baskets = people(60, density=0.3)
    publication = sf.publish(policy({"k-anonymity": {"k": 5}}, items="dealt"), data=baskets, seed=secret(1))
    release = publication.release
    exhibit = ReleaseView(release.form, release.parts, publication.policy, original=baskets, trace=release.trace)
    assert BlocksAlike().examine(exhibit).holds
    own = [" ".join(sorted(baskets.set_of(int(record)))) for record in release.trace.rows["data"]]
    table = release.parts["data"].table
    table = table.set_column(table.column_names.index("items"), "items", [own])
    forged = replace(exhibit, parts={"data": Part(table)})
    assert not BlocksAlike().examine(forged).holds


def test_a_chance_of_hiding_that_is_too_small_is_noticed() -> None:
    """Labels hidden only where blocks break: the audit counts what that says, from the law of labels."""
    rng = np.random.default_rng(2)
    labels = rng.choice(list("abcd"), p=[0.46, 0.3, 0.14, 0.1], size=600).astype(object)
    baskets = Baskets(random_sets(rng, 600, 10), tuple("ABCDEFGHIJ"), {"label": labels})
    claim = {"l-diversity": {"l": 2, "kind": "frequency"}}
    publication = sf.publish(policy(claim, labels="whole", items="vote"), data=baskets, seed=secret(4))
    release = publication.release
    assert all(chance > 0 for chance in release.trace.chances["label"].values())
    exhibit = ReleaseView(release.form, release.parts, publication.policy, original=baskets, trace=release.trace)
    assert certify(exhibit)[0].holds
    careless = {"label": dict.fromkeys(release.trace.chances["label"], 0.0)}
    assert not certify(replace(exhibit, trace=replace(release.trace, chances=careless)))[0].holds


def test_sparse_baskets_are_dealt_and_check_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    lines = [
        " ".join(map(str, sorted({int(i) for i in rng.zipf(1.3, 6) if i < 400} | {int(rng.integers(400))})))
        for _ in range(1500)
    ]
    (tmp_path / "market.dat").write_text("\n".join(lines) + "\n")
    (tmp_path / "policy.yaml").write_text(
        "version: 1\ndata: {kind: baskets, source: market.dat}\nprotect:\n  - k-anonymity: {k: 8}\n"
    )
    said = json.loads(run("check", str(tmp_path / "policy.yaml"), "--json").stdout)["sentences"]
    assert any("empty" in sentence and "error rate" in sentence for sentence in said)
    assert any("dealt" in sentence and "majority" in sentence for sentence in said)
    publication = sf.publish(tmp_path / "policy.yaml", seed=secret(1))
    assert publication.release.form.shows == "dealt"
    worlds = from_table(Table(publication.release.parts["data"].table), " ", beside=("block",))
    assert (worlds.base.sizes > 0).all()
    assert Counter(worlds.base.items.tolist()).most_common(1)[0][1] == publication.original.sets.support().max()


def test_a_forecast_is_near_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasting, "_LOOKED_AT", 2_000)
    baskets = people(2600, seed=4)
    seen = forecast(baskets.sets, 5)
    assert seen.looked_at < 2600
    blocks = partition(baskets.sets, 5, effort=BlockEffort(piece=600, steps=60))
    voted = published_rows_of(baskets.sets, blocks, "vote")
    mine = baskets.sets.take(blocks.order)
    rate = (mine.hamming(voted.base) / np.maximum(mine.sizes, 1)).mean()
    assert seen.vote.error_rate == pytest.approx(rate, rel=0.15)
    assert seen.advice == "vote"


def test_infeasible_has_a_reason() -> None:
    with pytest.raises(Infeasible, match="candidates"):
        sf.publish(policy({"k-anonymity": {"k": 500}}), data=people(40))
    with pytest.raises(Infeasible, match="different labels"):
        sf.publish(policy({"l-diversity": {"l": 8}}), data=people(100, labels=3))
    with pytest.raises(Infeasible, match="more frequent"):
        sf.publish(policy({"l-diversity": {"l": 3, "kind": "frequency"}}), data=_lopsided())


def _lopsided() -> Baskets:
    baskets = people(100, labels=5)
    labels = baskets.labels["label"].copy()
    labels[:60] = "1"
    return Baskets(baskets.sets, baskets.names, {"label": labels})


@pytest.mark.parametrize("claim", [{"p-sensitivity": {"p": 2}}, {"l-diversity": {"l": 2}}], ids=str)
def test_labels_that_are_hidden_everywhere_may_be_any_of_the_data(claim: dict[str, object], tmp_path: Path) -> None:
    """One block of four with a label twice: the shares ask for hiding all, and what is counted then is what the data
    have."""
    sets = [["item0", "item1"], ["item2"], ["item1"], ["item0", "item3"]]
    baskets = Baskets.of(sets, {"label": ["a", "b", "c", "a"]})
    asked = policy({"l-diversity": {"l": 2, "kind": "frequency"}}, claim, labels="whole")
    publication = sf.publish(asked, data=baskets, seed=secret(3))
    assert set(publication.release.parts["data"]["label"].to_pylist()) == {""}
    folder = publication.write(tmp_path / "out", report=False)
    assert sf.verify(folder, original=baskets).holds
    provenance_path(folder).unlink()
    audit = sf.verify(folder, original=baskets)
    assert not audit.violated
    assert all("private provenance" in finding.reason for finding in audit.open)
    assert not [finding for finding in sf.verify(folder).findings if not finding.holds]


def test_a_size_of_blocks_that_is_hidden_whole_is_judged_by_that_rule() -> None:
    """Shares of a half, a quarter and a quarter: sparing the copies of one label helps no block of four, so all are
    hidden."""
    sets = [["item0", "item1"], ["item2"], ["item1"], ["item0", "item3"]]
    baskets = Baskets.of(sets, {"label": ["a", "b", "c", "a"]})
    made = sf.publish(
        policy({"l-diversity": {"l": 2, "kind": "frequency"}}, labels="sparing"), data=baskets, seed=secret(3)
    )
    assert made.certificate.holds and made.findings[0].grade == "exact"


def test_a_stricter_claim_on_the_same_labels_sets_the_rule_by_which_all_are_judged() -> None:
    """Two different labels ask for l = 2, so blocks are hidden by that rule; the share of 1.5 is judged with it, not by
    its own."""
    rng = np.random.default_rng(8)
    asked = policy({"l-diversity": {"l": 1.5, "kind": "frequency"}}, {"p-sensitivity": {"p": 2}}, correlated="accepted")
    for seed in range(12):
        sets = Baskets.of([[f"item{i}" for i in range(4) if rng.random() < 0.5] for _ in range(5)],
                          {"label": list("aabbc")}, names=[f"item{i}" for i in range(4)])  # fmt: skip
        assert sf.publish(asked, data=sets, seed=secret(seed)).certificate.holds


def test_baskets_with_nothing_in_them_are_published() -> None:
    baskets = Baskets.of([[], []], {"label": ["a", "b"]}, names=["item0", "item1"])
    made = sf.publish(policy({"k-anonymity": {"k": 2}}, items="vote"), data=baskets, seed=secret(1))
    assert made.certificate.holds
