"""Junction trees against every perfect matching: what is said to be possible is, and a schema with a cycle is not
believed."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

import sfumato as sf
from sfumato.history import persistent_classes
from sfumato.history.judge import series
from sfumato.history.judge.series import judge_series
from sfumato.history.persistent_classes import HiddenValues, clusters, values_by_tree
from sfumato.history.published_cells import CellTable
from sfumato.release.certificate import Finding
from tests.secret import secret

from .brute import Records

COLUMNS, S = ("a", "b", "c"), "s"


def cell(rng, leaf, exact):
    """A leaf of four, its pair, or everything."""
    kind = 0 if exact else rng.integers(0, 3)
    return [(leaf, leaf + 1), (leaf // 2 * 2, leaf // 2 * 2 + 2), (0, 4)][kind]


def story(rng, schemas, people, exact=False):
    """Published boxes of every release, and the same as tables of people; labels are boxes."""
    leaves = rng.integers(0, 4, (people, len(COLUMNS)))
    hidden = rng.integers(0, 3, people)
    boxes, sheets = [], []
    for r, schema in enumerate(schemas):
        lo, hi = np.zeros((people, 4), dtype=np.int64), np.tile([4, 4, 4, 3], (people, 1))
        cells, labels = {}, {}
        for m, name in enumerate(COLUMNS):
            if name in schema:
                for i in range(people):
                    lo[i, m], hi[i, m] = cell(rng, int(leaves[i, m]), exact)
                kinds, cells[name] = np.unique(lo[:, m] * 10 + hi[:, m], return_inverse=True)
                labels[name] = tuple(map(str, kinds))
        if S in schema:
            lo[:, 3], hi[:, 3] = hidden, hidden + 1
            cells[S], labels[S] = hidden.copy(), ("0", "1", "2")
        boxes.append((lo, hi))
        sheets.append(CellTable((r,), cells, labels, np.ones(people, dtype=np.bool_)))
    return leaves, boxes, SimpleNamespace(sheets=sheets, tables=lambda: sheets)


def possible(leaves, boxes):
    """Per person the values of cliques on some perfect matching all of whose rows cover the person."""
    records = Records(boxes)
    found = [set() for _ in leaves]
    for clique in records.full_join():
        rows = [records.rows[r][n] for r, n in enumerate(clique)]
        told = {row[0][3] for row in rows if row[1][3] - row[0][3] == 1}
        for i, leaf in enumerate(leaves):
            if all(row[0][m] <= leaf[m] < row[1][m] for row in rows for m in range(3)):
                found[i] |= told
    return found


def shown(bundles, people):
    values = HiddenValues.told(bundles.sheets, S, people)
    masks = values_by_tree(bundles, S, values)
    return [{int(values.labels[v]) for v in range(len(values.labels)) if int(mask[0]) >> v & 1} for mask in masks]


def random_schemas(rng):
    drawn = [frozenset(rng.choice(COLUMNS, rng.integers(1, 3), replace=False)) for _ in range(rng.integers(2, 4))]
    told = [schema | {S} if rng.random() < 0.7 else schema for schema in drawn]
    return told if any(S in one for one in told) else [*told[:-1], told[-1] | {S}]


@pytest.mark.parametrize("seed", range(4))
def test_every_value_that_a_tree_shows_is_possible(seed):
    rng, more = np.random.default_rng(seed), 0
    for _ in range(40):
        schemas, people = random_schemas(rng), int(rng.integers(4, 6))
        leaves, boxes, bundles = story(rng, schemas, people, exact=bool(rng.integers(0, 2)))
        truth = possible(leaves, boxes)
        for mine, theirs in zip(shown(bundles, people), truth, strict=True):
            assert mine <= theirs
            more += len(mine) > 1
    assert more > 5


def test_a_cycle_that_is_taken_for_a_tree_is_wrong(monkeypatch):
    """The same test with every table a cluster of its own, on the triangle: it can fail."""
    monkeypatch.setattr(persistent_classes, "clusters", lambda schemas, column: list(schemas))
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(60):
        leaves, boxes, bundles = story(rng, [frozenset("ab"), frozenset("bs"), frozenset("as")], 5, exact=True)
        wrong += any(
            not mine <= theirs for mine, theirs in zip(shown(bundles, 5), possible(leaves, boxes), strict=True)
        )
    assert wrong


def test_people_who_are_not_in_all_tables_or_changed_get_nothing():
    rng = np.random.default_rng(2)
    _, _, bundles = story(rng, [frozenset("as"), frozenset("bs")], 6, exact=True)
    first, second = bundles.sheets
    second.here[0] = False
    for name in second.cells:
        second.cells[name][0] = -1
    second.cells[S][1] = (first.cells[S][1] + 1) % 3
    assert shown(bundles, 6)[:2] == [set(), set()]


def test_clusters_are_acyclic_and_hold_every_table():
    from sfumato.data.join_tree import join_tree

    rng = np.random.default_rng(3)
    for _ in range(200):
        names = [*"abcdef"]
        schemas = [
            frozenset(rng.choice(names, rng.integers(1, 4), replace=False)) | {S} for _ in range(rng.integers(2, 13))
        ]
        found = clusters(schemas, S)
        assert join_tree(found) is not None
        assert all(any(schema <= cluster for cluster in found) for schema in schemas)
        assert not any(one <= other for one, other in combinations(found, 2))


def test_a_join_that_is_not_decided_in_time_leaves_the_proofs(tmp_path, monkeypatch):
    """Two tables that share nothing but the hidden column are a tree: exact values, no joint class with two of them."""
    people = {"who": [f"p{i}" for i in range(8)], "age": ["30", "40"] * 4, "town": [*"nnsseeww"]}
    people["illness"] = ["A", "B", "B", "A", "A", "B", "B", "A"]
    book = tmp_path / "office.ledger"
    for r, column in enumerate(("age", "town")):
        roles = {"who": "identifier", column: "quasi-identifier", "illness": "sensitive"}
        tree = {"version": 1, "columns": roles, "key": "who", "protect": [{"k-linkability": {"k": 2}}]}
        policy = sf.Policy.parse(tree | {"method": {"sequential": {"by": "join"}}})
        data = {name: people[name] for name in roles}
        made = sf.publish(policy, data=data, ledger=book, new_ledger=not r, seed=secret(r))
        made.write(tmp_path / f"r{r}", report=False)
    claim, exhibit = policy.claims[0], made.exhibit
    assert exhibit.data.text("town").labels and "*" not in exhibit.data.text("town").labels
    found = judge_series(exhibit, claim, None)
    assert (found.holds, found.grade) == (True, "exact")
    undecided = Finding(
        claim.model.name, False, claim.model.required(), {}, claim.given, claim.hide, "bound (at best this)"
    )
    monkeypatch.setattr(series, "judge_all_releases", lambda exhibit, claim: undecided)
    found = judge_series(exhibit, claim, None)
    assert found.holds
    assert found.achieved == {"k": 2}
    assert "0 people by joint classes, 8 more by junction trees" in found.reason
    monkeypatch.setattr(persistent_classes, "values_by_tree", None)
    monkeypatch.setattr(series, "values_by_tree", lambda bundles, column, values: np.zeros((8, 1), dtype=np.uint64))
    assert not judge_series(exhibit, claim, None).holds
