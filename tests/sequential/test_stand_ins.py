"""Rows that stand in for people who left, held against every way to give the published values to everybody.

The outsider knows everybody's age, who is in which release, how many rows of it are counterfeits, and how these are
made: each has the value of somebody who left. A world gives everybody a value, so that in every release whoever is
there has a row of their own that covers them and shows it, and every other row the value of somebody who left."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from sfumato.core.errors import AuditRefused, PolicyError
from sfumato.history.constrain import deletions, unknown_membership
from sfumato.policy.policy import Policy
from sfumato.workflow.plan import plan
from sfumato.workflow.publish import publish
from tests.secret import SEED

VALUES = "abc"


def policy_of(**series):
    roles = {
        "who": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8]}},
        "s": "sensitive",
    }
    tree = {"version": 1, "columns": roles, "key": "who", "protect": [{"l-diversity": {"l": 2}}], "series": series}
    return Policy.parse({**tree, "method": {"sequential": {"seconds": 0.02}}})


def quarters(seed, people=6):
    """Who is there in three releases: some leave, one by one, and somebody may come back."""
    rng = np.random.default_rng(seed)
    everybody = {f"p{i}": (30 + int(rng.integers(0, 8)), VALUES[i % 3]) for i in range(people)}
    names = rng.permutation(list(everybody)).tolist()
    back = names[:1] if rng.random() < 0.5 else []
    return everybody, [names[:6], names[1:6], back + names[2:6]]


def published(folder, everybody, tables, alone=False, **series):
    """Per release the people, the rows as (ages that are covered, value), and how many of these are counterfeits."""
    found = []
    for r, names in enumerate(tables):
        data = {"who": names, "age": [str(everybody[n][0]) for n in names], "s": [everybody[n][1] for n in names]}
        ledger = {"ledger": folder / (f"book{r}" if alone else "book"), "new_ledger": alone or not r}
        made = publish(policy_of(leaving="counterfeits", **series), data, seed=SEED + r, **ledger)
        made.write(folder / f"r{r}", report=False)
        rows = [(ages(row["age"]), row["s"]) for row in made.release.parts["data"].table.to_pylist()]
        memory = made.history.releases[-1].memory
        here = [key for key, fake in zip(memory.keys, memory.counterfeit.tolist(), strict=True) if not fake]
        found.append((here, rows, made.release.form.to_public().get("counterfeits", 0)))
    return found


def ages(label):
    first, _, last = label.partition("-")
    return set(range(30, 38)) if label == "*" else set(range(int(first), int(last or first) + 1))


def seated(who, rows):
    """Whether everybody gets a row of their own that covers them."""
    if not who:
        return True
    return any(who[0] in rows[i] and seated(who[1:], rows[:i] + rows[i + 1 :]) for i in range(len(rows)))


def possible(everybody, releases):
    """Per person the values that some world gives."""
    names, found = list(everybody), {name: set() for name in everybody}
    for values in product(VALUES, repeat=len(names)):
        world = dict(zip(names, values, strict=True))
        if all(_agrees(world, everybody, releases, r) for r in range(len(releases))):
            for name, value in world.items():
                found[name].add(value)
    return found


def _agrees(world, everybody, releases, r):
    here, rows, _ = releases[r]
    gone = {name for earlier, _, _ in releases[:r] for name in earlier} - set(here)
    shown, there = Counter(value for _, value in rows), Counter(world[name] for name in here)
    left = Counter(world[name] for name in gone)
    if any(not there[v] <= shown[v] <= there[v] + left[v] for v in VALUES):
        return False
    return all(
        seated([everybody[n][0] for n in here if world[n] == v], [cells for cells, value in rows if value == v])
        for v in VALUES
    )


def uncovered(everybody, releases):
    """Rows that cover nobody with their value who is there, or ever was."""
    return sum(
        not any(world_age in cells and value == s for world_age, s in everybody.values())
        for _, rows, _ in releases
        for cells, value in rows
    )


def test_whoever_knows_how_stand_ins_are_made_is_left_with_the_values_of_the_claim(tmp_path):
    fakes = narrow = 0
    for seed in range(4):
        (tmp_path / str(seed)).mkdir()
        everybody, tables = quarters(seed)
        releases = published(tmp_path / str(seed), everybody, tables)
        found = possible(everybody, releases)
        assert all(everybody[name][1] in values for name, values in found.items())  # the truth is a world
        assert all(len(found[name]) >= 2 for here, _, _ in releases for name in here)
        fakes += sum(many for _, _, many in releases)
        narrow += uncovered(everybody, releases)
    assert fakes > 3
    assert narrow > 0  # some stand-ins take the place of who stays, not of who left


def test_without_stand_ins_the_same_outsider_finds_somebody(tmp_path):
    told, seed = 0, 0
    while not told and seed < 8:
        (tmp_path / str(seed)).mkdir()
        everybody, tables = quarters(seed)
        found = possible(everybody, published(tmp_path / str(seed), everybody, tables, alone=True))
        told, seed = sum(len(values) < 2 for values in found.values()), seed + 1
    assert told


def test_values_that_change_beside_rows_that_never_do_are_refused_before_data_moves(tmp_path):
    """R1 a b c, then d e and the c of who left: whatever is still there is the counterfeit, and tells what was c."""
    for series in (
        {"leaving": "counterfeits"},
        {"changes": {"s": "free"}},
        {"leaving": "counterfeits", "changes": {"age": "free"}},
    ):
        plan(policy_of(**series), remembering=True)
    with pytest.raises(PolicyError, match="those of counterfeits never do"):
        plan(policy_of(leaving="counterfeits", changes={"s": "free"}), remembering=True)


def _shown_later(folder, cohorts):
    """Twelve people in four rooms; one leaves, and the second release shows a column that the first did not."""
    people = [{"who": f"p{i}", "age": str(30 + i // 3), "s": VALUES[i % 3], "t": VALUES[i % 3]} for i in range(12)]
    roles = {"who": "identifier", "age": "quasi-identifier", "s": "sensitive"}
    tree = {"version": 1, "key": "who", "method": "mondrian", "series": {"cohorts": cohorts, "leaving": "counterfeits"}}
    claim = {"given": ["age"], "hide": "s", "by": {"l-diversity": {"l": 3}}}
    for r, (columns, rows) in enumerate(
        [(roles, people), ({**roles, "t": "other"}, [p for p in people if p["who"] != "p1"])]
    ):
        data = {name: [row[name] for row in rows] for name in ("who", *columns) if name in people[0]}
        made = publish(
            {**tree, "columns": columns, "protect": [claim]},
            data,
            seed=SEED + r,
            ledger=folder / "book",
            new_ledger=not r,
        )
        made.write(folder / f"r{r}", report=False)
    return made


@pytest.mark.parametrize("cohorts", ["known", "unknown"])
def test_nobody_stands_in_with_a_value_that_was_never_told(tmp_path, cohorts):
    made = _shown_later(tmp_path, cohorts)
    assert not made.history.releases[-1].memory.counterfeit.any()
    assert {row["t"] for row in made.release.parts["data"].table.to_pylist()} == set(VALUES)
    assert made.certificate.records.published == 9  # companions are withheld instead


@pytest.mark.parametrize("cohorts", ["known", "unknown"])
def test_the_audit_refuses_a_value_that_was_never_told(tmp_path, monkeypatch, cohorts):
    for module in (deletions, unknown_membership):
        monkeypatch.setattr(
            module, "cannot_be_counterfeited", lambda tied, policy: np.zeros(tied.bundles.people, dtype=bool)
        )
    with pytest.raises(AuditRefused, match="show 't', which was never published for the people"):
        _shown_later(tmp_path, cohorts)
