"""Solver blocks in child processes: the same answer for any number of jobs, errors intact, a dead child is an error."""

import multiprocessing
import os
import pickle
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from obfuscation_speed import RULES, toy
from worlds import broken, problem, texts

from sfumato.core.errors import Infeasible, PolicyError, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling import solver_blocks
from sfumato.kinds.testdata.methods.sampling import solver_blocks as crews
from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route, routes, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Divided, SolverProcesses, fallback


class Children(Divided):
    """Tasks that say where they ran, raise, or end their process."""

    name, uniform, reads_original, splits, tasks = "children", False, False, True, 4

    def answer(self, task):
        if task == "infeasible":
            raise Infeasible("no table", where='rule "a"', hint="relax it")
        if task == "policy":
            raise PolicyError("no engine", where="here")
        if task == "dies" and multiprocessing.parent_process() is not None:
            os._exit(7)
        return multiprocessing.parent_process() is not None


@pytest.fixture
def eager(monkeypatch):
    """Children are called in after the first task, however small the work is."""
    monkeypatch.setattr(crews, "_WORTH", 0.0)


@pytest.fixture
def loaded(monkeypatch):
    """Children are copies of one fresh interpreter that has loaded all they need; elsewhere each of them loads it
    itself."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([solver_blocks.__name__])
    begun = {"mp_context": context, "initializer": crews._begin}
    monkeypatch.setattr(crews, "_pool", lambda jobs, engines: ProcessPoolExecutor(jobs, **begun, initargs=(engines,)))


def blocked(asked, heuristic, size):
    return [Route(part, fallback(heuristic, size)(asked, part)) for part in asked.parts]


def start(count):
    made = run(toy(count), routes(toy(count), None), Randomness(seed=1))
    return texts(made)


@pytest.mark.parametrize("heuristic", ["IG", "LM*"])
def test_the_number_of_jobs_does_not_change_what_the_blocks_make(eager, loaded, heuristic):
    asked = toy(36, RULES, start(36))
    made = {}
    for jobs in (1, 2):
        found = blocked(asked, heuristic, 6)
        assert all(route.engine.splits for route in found)
        told = []
        made[jobs] = texts(run(asked, found, Randomness(seed=8), jobs, lambda done, what, told=told: told.append(done)))
        assert told[-1] == 1.0
        assert len(told) > 15
        assert all(before <= after for before, after in pairwise(told))
    assert made[1] == made[2]
    assert broken(asked, made[1]) == [0] * len(RULES)
    other = texts(run(asked, blocked(asked, heuristic, 6), Randomness(seed=9), 1))
    assert other != made[1]


def test_errors_arrive_as_they_were_raised_and_a_dead_child_is_an_error(eager):
    engine = Children()
    with SolverProcesses(2, [engine]) as crew:
        here, *there = crew.each(engine, ["where", "where"])
        assert (here, there) == (False, [True])
        with pytest.raises(Infeasible, match="no table") as caught:
            list(crew.each(engine, ["infeasible"]))
        assert (caught.value.where, caught.value.hint) == ('rule "a"', "relax it")
        with pytest.raises(PolicyError, match="no engine"):
            list(crew.each(engine, ["policy"]))
        with pytest.raises(SfumatoError, match="ended without an answer") as caught:
            list(crew.each(engine, ["dies", "where"]))
        assert "one job" in caught.value.hint


def test_small_work_calls_nobody_in():
    engine = Children()
    with SolverProcesses(2, [engine]) as crew:
        assert list(crew.each(engine, ["where"] * 4)) == [False] * 4
        assert crew._pool is None


def test_a_failing_part_ends_the_others(eager):
    rules = ["unique(a)", "sum(a) = 3", "b < 5"]
    domains = {"a": {"integers": [0, 9]}, "b": {"integers": [0, 9]}}
    asked = problem(domains, rules, 10)
    with pytest.raises(Infeasible, match="no table that obeys"):
        run(asked, blocked(asked, "IG", 5), Randomness(seed=1), jobs=2)


@pytest.mark.parametrize(
    ("rules", "apart"),
    [
        (["b < a"], True),
        (["sum(a) = 45"], True),
        (["mean(a) = 4.5", "b <= a"], True),
        (["sum(a by g) = 20"], False),  # the original's groups have other totals
        (["sum(a by h) = 45"], True),
        (["sum(a) <= 50"], False),
        (["sum(a) = 44"], False),  # the original has another total, the first block must mend it
        (["unique(a)"], False),  # ten values for ten records: blocks would clash
        (["at_least(1, a)"], False),
        (["a determines b"], False),
        (["same_multiset(a)"], True),
    ],
)
def test_which_blocks_are_independent(rules, apart):
    original = {"a": [str(v) for v in range(10)], "b": ["0"] * 10, "g": ["x"] * 5 + ["y"] * 5, "h": ["x"] * 10}
    domains = {"a": {"integers": [0, 9]}, "b": {"integers": [0, 9]}}
    asked = problem(domains, rules, 10, original)
    route = next(route for route in blocked(asked, "LM*", 5) if "a" in route.title)
    assert route.engine.splits is apart
    if rules != ["sum(a by g) = 20"]:
        made = texts(run(asked, [route], Randomness(seed=3)))
        assert broken(asked, {**original, **made}) == [0] * len(rules)


def test_keys_drawn_side_by_side_that_clash_are_drawn_again(monkeypatch):
    """Blocks of three values each out of seven, as if that were plenty: the law must be that of one block after the
    other."""
    monkeypatch.setattr("sfumato.kinds.testdata.methods.sampling.solver_constraints._ROOM", 0)
    asked = problem({"a": {"integers": [0, 6]}}, ["unique(a)"], 6)
    found = blocked(asked, "IG", 3)
    assert found[0].engine.splits
    tables = Counter(tuple(texts(run(asked, found, Randomness(seed=seed)))["a"]) for seed in range(40))
    assert all(len(set(table)) == 6 for table in tables)
    assert len(tables) > 30


def test_ig_blocks_side_by_side_end_like_blocks_one_by_one(monkeypatch):
    asked = problem({"a": {"integers": [0, 9]}}, ["mean(a) = 4.5"], 12)
    apart = texts(run(asked, blocked(asked, "IG", 4), Randomness(seed=5)))["a"]
    monkeypatch.setattr(solver_blocks.Blocks, "splits", False)
    chained = texts(run(asked, blocked(asked, "IG", 4), Randomness(seed=5)))["a"]
    for made in (apart, chained):
        assert np.array(made, dtype=int).reshape(3, 4).sum(axis=1).tolist() == [18, 18, 18]
    assert apart == chained


def test_engines_can_be_sent():
    asked = toy(40, RULES, start(40))
    for route in blocked(asked, "LM*", 20):
        assert pickle.loads(pickle.dumps(route.engine)).name == "LM* blocks of 20"
