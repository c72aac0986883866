"""Publishing three and more releases ends in time, and what it publishes then is judged by enumeration or by the
audit's proof."""

import numpy as np
import pytest

from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.history.judge.full_match_join import decide_cliques, kernel_join
from sfumato.history.judge.sequence import cliques_below_level, linkability, linkage_of
from sfumato.history.release_sequence import Attribute, ReleaseSequence
from sfumato.kinds.tables.methods.recoding import RecodingMethod
from sfumato.kinds.tables.methods.sequential_search import specialize
from sfumato.kinds.tables.methods.sequential_state import Goal, SequelProblem, Taxonomy
from sfumato.policy.policy import Policy
from sfumato.workflow.publish import publish as published_as
from sfumato.workflow.verify import verify
from tests.secret import SEED
from tests.slow import SLOW

from .brute import Records, known_tuples

TRIANGLE = [(0, 1), (1, 2), (0, 2)]


def sparse(people, sizes=(40, 12, 20), seed=1):
    """A cyclic schema where most combinations occur once: the hardest case for a proof."""
    rng = np.random.default_rng(seed)
    leaves = np.stack([rng.integers(0, size, people) for size in sizes], axis=1)
    names = [Attribute(n, s, r) for n, s, r in zip("abs", sizes, ["quasi-identifier"] * 2 + ["sensitive"], strict=True)]
    return names, leaves, {m: Taxonomy.halving(sizes[m]) for m in range(2)}


def publish(names, leaves, trees, schema, claim, budget):
    """All releases and what is known of the last one."""
    published = []
    for columns in schema:
        made = specialize(
            SequelProblem.of_records(names, published, leaves, columns, trees), claim, Randomness(1), budget=budget
        )
        published.append((made.lo, made.hi))
    return published, made


@pytest.mark.parametrize("budget", [1e-6, 0.5])
@pytest.mark.parametrize("schema", [TRIANGLE, [*TRIANGLE, (0, 1)]], ids=["three", "four"])
def test_sparse_cycles_end_whatever_the_budget_and_are_proven_by_the_audit(budget, schema):
    names, leaves, trees = sparse(120)
    published, made = publish(names, leaves, trees, schema, Goal(3), budget)
    sequence = ReleaseSequence.of_records(names, published, (leaves, leaves + 1))
    cliques = kernel_join(sequence)
    verdict = decide_cliques(sequence, cliques, wanted=cliques_below_level(sequence, cliques, 3), budget=20.0)
    assert linkability(linkage_of(sequence, cliques[verdict.admitted], tuple(map(str, range(20))))) >= 3
    if budget < 0.1:
        assert made.programs == 0  # nothing but what needs no program was proven


@pytest.mark.parametrize("goal", ["linkability", "diversity"])
@pytest.mark.parametrize("budget", [1e-6, 0.02, 5.0])
def test_whatever_the_budget_small_sequences_are_safe_by_enumeration(goal, budget):
    rungs, level = set(), 2 if goal == "linkability" else 1.25
    for seed in range(12 if SLOW else 6):
        names, leaves, trees = sparse(5, (4, 3, 3), seed)
        schema = [TRIANGLE, [(0, 2), (0, 1), (1, 2)], [(0, 1), (0, 2), (0, 1, 2)]][seed % 3]
        try:
            published, made = publish(names, leaves, trees, schema, Goal(level, goal), budget)
        except Infeasible:
            rungs.add("refused")
            continue
        rungs.add(made.rung)
        records = Records(published)
        gamma, delta = records.levels(records.full_join(), known_tuples(leaves), [0, 1], 2)
        assert (gamma if goal == "linkability" else delta) >= level
    assert rungs - {"refused"}


def test_when_nothing_can_be_proven_in_time_the_release_is_refused():
    """Diversity counts every link, so the three earlier releases of a cycle stay open without any time to decide
    them."""
    names, leaves, trees = sparse(60, (12, 6, 8), seed=4)
    whole = []
    for columns in TRIANGLE:  # published by somebody without care: leaves
        lo, hi = np.zeros_like(leaves), np.broadcast_to([12, 6, 8], leaves.shape).copy()
        lo[:, columns], hi[:, columns] = leaves[:, columns], leaves[:, columns] + 1
        whole.append((lo, hi))
    task = SequelProblem.of_records(names, whole, leaves, (0, 1), trees)
    with pytest.raises(Infeasible, match="could not be proven"):
        specialize(task, Goal(1.0, "diversity"), Randomness(1), budget=1e-6)


def _office(rng, people=300):
    return {
        "who": [f"p{i}" for i in range(people)],
        "age": [str(n) for n in rng.integers(20, 60, people)],
        "sex": rng.choice(list("mf"), people).tolist(),
        "s": [f"v{n}" for n in rng.integers(0, 12, people)],
    }


def _three(folder, table, **more):
    """(age, sex), (sex, s), (age, s) by the paper's search, with hardly any time."""
    roles = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}, "sex": "quasi-identifier"}
    method = {"sequential": {"by": "join", "budget": 1e-6} | more}
    for number, names in enumerate((["age", "sex"], ["sex", "s"], ["age", "s"])):
        columns = {name: role for name, role in roles.items() if name in names} | {"who": "identifier"}
        columns["s"] = {"role": "sensitive", "publish": "s" in names}
        tree = {
            "version": 1,
            "columns": columns,
            "protect": [{"k-linkability": {"k": 3}}],
            "key": "who",
            "method": method,
        }
        shown = {name: table[name] for name in {*names, "who", "s"}}
        made = published_as(Policy.parse(tree), shown, seed=SEED, ledger=folder / "book", new_ledger=not number)
        made.write(folder / f"r{number}", report=False)
    assert verify(folder / "r2", ledger=folder / "book", original=shown).holds
    return made


def test_a_spent_budget_costs_a_little_and_never_a_column(tmp_path):
    made = _three(tmp_path, _office(np.random.default_rng(3)))
    ages = made.release.parts["data"].table.column("age").to_pylist()
    assert ages.count("*") < len(ages) / 10
    assert any("joint classes were formed instead" in note for note in made.certificate.assumptions)


def test_where_joint_classes_cannot_be_had_the_column_is_suppressed(tmp_path, monkeypatch):
    def nothing(self, task):
        raise Infeasible("no")

    monkeypatch.setattr(RecodingMethod, "run", nothing)
    made = _three(tmp_path, _office(np.random.default_rng(3)))
    assert set(made.release.parts["data"].table.column("age").to_pylist()) == {"*"}
