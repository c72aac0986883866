"""Baskets that are published again and again, judged by listing every way labels could be given out."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations, product

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.audit.join_attack import JoinAttack
from sfumato.core.errors import Infeasible, PolicyError
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.history.ledger import Ledger
from sfumato.kinds.baskets.block_history import blocks_of_records, describe_block_violations
from sfumato.release.past_releases import History, PastRelease
from sfumato.workflow.forecast import forecast_publish
from tests.secret import secret
from tests.slow import SLOW


def people(ids, labels, seed=1, items=8):
    """The people with these numbers; who is who, and the labels, stay the same from release to release."""
    ids = np.asarray(list(ids))
    bits = np.random.default_rng(seed).random((1000, items)) < 0.4
    told = {"label": np.array([labels[i] for i in ids], dtype=object), "who": ids.astype(str).astype(object)}
    return Baskets(Sets.from_dense(bits[ids]), tuple(f"item{i}" for i in range(items)), told)


def policy(*protect, leaving="withhold", columns=None, **method):
    tree = {
        "version": 1,
        "data": {"kind": "baskets"},
        "columns": columns or {"label": "sensitive", "who": "identifier"},
    }
    tree |= {"key": "who", "protect": list(protect), "series": {"leaving": leaving}}
    return sf.Policy.parse(tree | ({"method": {"blocks": method}} if method else {}))


SHARE, COUNT, ROWS = (
    {"l-diversity": {"l": 2, "kind": "frequency"}},
    {"l-diversity": {"l": 2}},
    {"k-anonymity": {"k": 3}},
)


def published(tmp_path, crowds, labels, protect, seed=0, **method):
    """All releases of some crowds with one ledger."""
    book, found = tmp_path / f"{seed}.ledger", []
    for r, crowd in enumerate(crowds):
        data = people(crowd, labels)
        one = sf.publish(
            policy(*protect, **method), data=data, ledger=book, new_ledger=not r, seed=secret(100 * seed + r)
        )
        one.write(tmp_path / f"{seed}-{r}", report=False)
        found.append((one, data))
    return book, found


def believed(releases, everybody, alphabet):
    """P(label of a person) over all ways to give out labels that agree with what blocks of these releases show."""
    rules = []
    for past in releases:
        block, shown = blocks_of_records(past)
        text = past.memory.values.text("label")
        true = [text.labels[code] for code in text.codes]
        members = defaultdict(list)
        for place, number in enumerate(block.tolist()):
            members[number].append(place)
        for places in members.values():
            told = Counter(true[place] for place in places if shown["label"][place])
            rules.append(([everybody.index(past.memory.keys[place]) for place in places], told))
    worlds = np.array(list(product(range(len(alphabet)), repeat=len(everybody))), dtype=np.int8)
    for who, told in rules:
        for label, often in told.items():
            worlds = worlds[(worlds[:, who] == alphabet.index(label)).sum(axis=1) >= often]
    shares = [(worlds == place).mean(axis=0) for place in range(len(alphabet))]
    return {(key, label): shares[place][i] for i, key in enumerate(everybody) for place, label in enumerate(alphabet)}


def random_crowds(rng):
    first = list(range(rng.integers(4, 7)))
    second = [i for i in first if rng.random() > 0.12] + list(range(10, 10 + rng.integers(0, 4)))
    third = [i for i in (*first, *second) if rng.random() > 0.1]
    return [first, second, sorted(set(third))][: rng.integers(2, 4)]


@pytest.mark.parametrize("seed", range(24 if SLOW else 12))
def test_several_releases_say_no_more_than_the_one_in_which_somebody_came(seed, tmp_path):
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b", "c"], 1000)
    protect = [[ROWS, COUNT], [{"k-anonymity": {"k": 2}}], [COUNT]][seed % 3]
    try:
        book, _ = published(tmp_path, random_crowds(rng), labels, protect, seed, items=["vote", "dealt"][seed % 2])
    except Infeasible as error:
        pytest.skip(str(error))
    history = Ledger(book).history()
    everybody = sorted({key for past in history.releases for key in past.memory.keys}, key=int)[:9]
    if any(set(past.memory.keys) - set(everybody) for past in history.releases):
        pytest.skip("too many people to list")
    together = believed(history.releases, everybody, "abc")
    for r, past in enumerate(history.releases):
        new = set(past.memory.keys) - {key for before in history.releases[:r] for key in before.memory.keys}
        alone = believed([past], everybody, "abc")
        for key in new:
            for label in "abc":
                assert together[key, label] == pytest.approx(alone[key, label]), "another release told more"


def test_releases_that_forget_each_other_do_say_more(tmp_path):
    """The same counting tells when blocks are cut anew every time, so it can fail."""
    labels, gained = np.random.default_rng(3).choice(["a", "b", "c"], 1000), 0
    everybody = [str(i) for i in range(8)]
    for seed in range(3):
        releases = []
        for r, crowd in enumerate((range(6), range(1, 8))):
            book, data = tmp_path / f"{seed}-{r}.ledger", people(crowd, labels, seed=seed)
            one = sf.publish(
                policy({"k-anonymity": {"k": 2}}), data=data, seed=secret(seed), ledger=book, new_ledger=True
            )
            one.write(tmp_path / f"{seed}-{r}", report=False)
            releases += Ledger(book).history().releases
        alone, both = believed(releases[:1], everybody, "abc"), believed(releases, everybody, "abc")
        gained += max(both[str(i), label] - alone[str(i), label] for i in range(6) for label in "abc") > 0.05
    assert gained


@pytest.mark.parametrize("known", [(), ((1, 0),), ((1, 1),), ((1, 0), (2, 1))])
def test_a_row_is_found_once_in_those_that_are_left(known):
    """Three people at home in two releases with permutations of their own; matches of others may be known in either of
    them."""
    stories = defaultdict(list)
    for labels in product("xy", repeat=3):
        for ways in product(permutations(range(3)), repeat=2):
            seen = tuple(tuple(labels[person] for person in way) for way in ways)
            told = tuple(ways[release].index(person) for person, release in known)
            stories[seen, told].append(ways[0].index(0))
    for rows in stories.values():
        left = 3 - len({person for person, _ in known})
        assert max(Counter(rows).values()) / len(rows) <= 1 / left + 1e-12


def test_everything_holds_and_verifies_and_the_attack_gains_nothing(tmp_path):
    labels = np.random.default_rng(5).integers(0, 6, 1000).astype(str)
    crowds = [range(200), range(240), [*range(4, 243)]]
    book, found = published(tmp_path, crowds, labels, [{"k-anonymity": {"k": 4}}, SHARE])
    for r, (one, data) in enumerate(found):
        assert one.certificate.holds
        assert sf.verify(tmp_path / f"0-{r}", ledger=book, original=data).holds
    assert found[2][0].certificate.records.suppressed == 3  # new, and too few for a block
    played = JoinAttack(ledger=str(book)).run()["label"]
    assert played["people_with_fewer_labels_left"] == 0
    assert played["all releases"]["guesses_right"] == pytest.approx(played["first release alone"]["guesses_right"])
    assert played["all releases"]["guesses_right"] <= 1 / 2
    strays = [row for row in found[2][0].release.parts["data"].table.to_pylist() if row["label"] == ""]
    assert len(strays) >= 4


def forged(history, rows):
    """The history with the rows of its newest release given to other people."""
    *before, last = history.releases
    memory = last.memory.taking(np.arange(len(last.memory.keys)))
    object.__setattr__(memory, "rows", np.asarray(rows))
    return History((*before, PastRelease(last.exhibit, memory, last.number)))


def test_people_who_are_moved_to_other_blocks_are_found(tmp_path):
    labels = np.array(["a", "b", "c", "d"] * 250)
    book, found = published(tmp_path, [range(40), range(44)], labels, [{"k-anonymity": {"k": 4}}])
    history = Ledger(book).history()
    assert not list(describe_block_violations(history))
    block, _ = blocks_of_records(history.releases[-1])
    rows = history.releases[-1].memory.rows.copy()
    one, other = 0, int(np.flatnonzero(block != block[0])[0])
    rows[[one, other]] = rows[[other, one]]
    assert list(describe_block_violations(forged(history, rows)))
    exhibit = found[1][0].exhibit
    object.__setattr__(exhibit, "history", forged(exhibit.history, rows))
    exhibit._kept.clear()
    assert not certify(exhibit, recount=False)[0].holds


def test_labels_that_changed_blocks_that_are_too_small_and_people_who_left_are_refused_before_data_moves(tmp_path):
    labels = np.random.default_rng(5).integers(0, 6, 1000).astype(str)
    book, _ = published(tmp_path, [range(40)], labels, [ROWS])
    other = labels.copy()
    other[3] = "another"
    with pytest.raises(Infeasible, match="not what they were"):
        sf.publish(policy(ROWS), data=people(range(40), other), ledger=book, seed=secret(1))
    with pytest.raises(Infeasible, match="blocks of 3 records, and 5"):
        sf.publish(policy({"k-anonymity": {"k": 5}}), data=people(range(60), labels), ledger=book, seed=secret(1))
    with pytest.raises(Infeasible, match="no longer there"):
        sf.publish(policy(ROWS, leaving="refuse"), data=people(range(1, 60), labels), ledger=book, seed=secret(1))
    for wrong, word in (
        (policy({"km-anonymity": {"k": 3, "m": 2}}, items="vote"), "a few known items"),
        (policy(ROWS, leaving="counterfeits", items="vote"), "leaving: withhold"),
    ):
        with pytest.raises(PolicyError, match=word):
            forecast_publish(wrong, ledger=book)
    tree = policy(ROWS).document.tree | {"method": {"nonreciprocal": {}}}
    with pytest.raises(PolicyError, match="ledger"):
        forecast_publish(sf.Policy.parse(tree), ledger=book)


def test_check_says_who_stays_and_a_file_is_enough(tmp_path):
    labels = np.random.default_rng(5).integers(0, 6, 1000).astype(str)
    book, _ = published(tmp_path, [range(40)], labels, [ROWS])
    data = people(range(2, 50), labels)
    rows = [
        f"{who},{' '.join(sorted(data.set_of(i)))},{data.labels['label'][i]}"
        for i, who in enumerate(data.labels["who"])
    ]
    (tmp_path / "baskets.csv").write_text("who,items,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    tree = policy(ROWS).document.tree | {
        "data": {"kind": "baskets", "source": str(tmp_path / "baskets.csv"), "items": "items"}
    }
    said = " ".join(forecast_publish(sf.Policy.parse(tree), ledger=book).sentences())
    assert "stay in their" in said
    assert "without labels" in said
    assert "10 are new" in said
    second = sf.publish(sf.Policy.parse(tree), ledger=book, seed=secret(2))
    assert second.certificate.holds
