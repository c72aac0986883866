"""m-invariance and m-distinctness by listing: outsiders who know in which published group everybody is, in every
release.

The outsider of m-invariance (Xiao, Tao 2007) knows everybody's quasi-identifiers, who is in which release, and so the
group of each; a guess of a value must be right with probability at most 1/m. The outsider of m-distinctness (Li, Zhou
2008) knows besides to which values a value can change (its candidate update set); at every time at least m values must
be left. Both are played here by writing down every way to give the published values of all groups to their people."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from sfumato.policy.policy import Policy
from sfumato.workflow.publish import publish
from tests.secret import SEED

M = 2
ILLNESSES = [*"abcd"]


def policy_of(**series):
    roles = {
        "who": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8]}},
        "s": "sensitive",
    }
    claims = [{"l-diversity": {"l": M, "kind": "frequency"}}]
    method = {"sequential": {"seconds": 0.05}}
    return Policy.parse(
        {"version": 1, "columns": roles, "key": "who", "protect": claims, "series": series, "method": method}
    )


def registry(rng, people):
    ages = [str(30 + age) for age in rng.integers(0, 8, people)]
    values = [ILLNESSES[i % len(ILLNESSES)] for i in rng.permutation(people)]
    return {f"p{i}": (ages[i], values[i]) for i in range(people)}


def published(folder, declared, tables, alone=False):
    """Per release the groups: their people, and the values that are published for them."""
    found = []
    for r, table in enumerate(tables):
        data = {
            "who": list(table),
            "age": [age for age, _ in table.values()],
            "s": [value for _, value in table.values()],
        }
        ledger = {"ledger": folder / (f"book{r}" if alone else "book"), "new_ledger": alone or not r}
        made = publish(declared, data, seed=SEED + r, **ledger)
        made.write(folder / f"r{r}", report=False)
        memory, shown = made.history.releases[-1].memory, made.release.parts["data"].table.to_pylist()
        groups = {}
        for key, row in zip(memory.keys, memory.rows.tolist(), strict=True):
            people, values = groups.setdefault(shown[row]["age"], ([], []))
            people.append(key)
            values.append(shown[row]["s"])
        found.append(list(groups.values()))
    return found


def ways(groups):
    """Every way to give the values of one release to its people."""
    each = [[dict(zip(people, way, strict=True)) for way in set(permutations(values))] for people, values in groups]
    for some in product(*each):
        yield {key: value for one in some for key, value in one.items()}


def worlds(releases, may):
    """Every way to give the values of all releases to their people in which values only change as they may."""
    found = [[]]
    for groups in releases:
        found = [
            [*world, way]
            for world in found
            for way in ways(groups)
            if all(_follows(world, way, key, may) for key in way)
        ]
    return found


def _follows(world, way, key, may):
    before = next((earlier[key] for earlier in reversed(world) if key in earlier), None)
    return before is None or (before, way[key]) in may


def histories(rng, people=8):
    """Three releases in which people come and leave in pairs, so that something is there to be published."""
    everybody = registry(rng, people)
    names = list(everybody)
    last = names[2:] if rng.random() < 0.5 else names
    return [{key: everybody[key] for key in some} for some in (names[:6], names, last)]


STAYS = {(value, value) for value in ILLNESSES}


def surest(releases):
    """The largest probability of a value of anybody, all worlds alike."""
    every = worlds(releases, STAYS)
    people = {key for groups in releases for some, _ in groups for key in some}
    said = {key: Counter(next(way[key] for way in world if key in way) for world in every) for key in people}
    return max(max(counts.values()) / len(every) for counts in said.values())


@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_guessed_more_surely_than_one_in_m_over_all_releases(tmp_path, seed):
    tables = histories(np.random.default_rng(seed))
    assert surest(published(tmp_path, policy_of(leaving="withhold"), tables)) <= 1 / M + 1e-12


def test_releases_that_are_judged_alone_are_found_out(tmp_path):
    """The control: the same releases, each with a ledger of its own, tell somebody's value more surely than that."""
    told, seed = 0.0, 0
    while told <= 1 / M + 0.1 and seed < 6:
        (tmp_path / str(seed)).mkdir()
        tables = histories(np.random.default_rng(seed))
        told = surest(published(tmp_path / str(seed), policy_of(leaving="withhold"), tables, alone=True))
        seed += 1
    assert told > 1 / M + 0.1


@pytest.mark.parametrize("seed", range(3))
def test_who_knows_how_values_change_is_left_with_m_of_them_at_every_time(tmp_path, seed):
    """The candidate update sets are the tightest there are: what really became of each value."""
    rng = np.random.default_rng(seed)
    first = registry(rng, 6)
    second = {
        key: (age, ILLNESSES[rng.integers(len(ILLNESSES))] if rng.random() < 0.5 else value)
        for key, (age, value) in first.items()
    }
    may = {(first[key][1], second[key][1]) for key in first}
    releases = published(tmp_path, policy_of(changes={"s": "free"}), [first, second])
    there = [{key for people, _ in groups for key in people} for groups in releases]
    assert len(there[0]) == 6
    assert len(there[1]) > 1
    every = worlds(releases, may)
    truth = [{key: table[key][1] for key in some} for table, some in zip((first, second), there, strict=True)]
    assert truth in every
    for time, some in enumerate(there):
        assert all(len({world[time][key] for world in every}) >= M for key in some)
