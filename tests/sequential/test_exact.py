"""The exact decision for three and more releases against enumerated perfect matchings."""

import numpy as np
import pytest

from sfumato.history.judge import full_match_join
from sfumato.history.judge.full_match_join import acyclic, decide_cliques, decomposable, kernel_join, match_join
from sfumato.history.judge.sequence import _worst, judge_sequence
from sfumato.models.k_diversity import KDiversity
from sfumato.models.k_linkability import KLinkability
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.certificate import AT_BEST
from tests.slow import SLOW

from .brute import Records
from .instances import random_instance, record_cliques, sequence_of


@pytest.mark.parametrize("seed", range(10))
def test_decision_equals_enumeration_for_three_and_four_releases(seed):
    rng = np.random.default_rng(200 + seed)
    for _ in range(12 if SLOW else 5):
        columns, published, leaves = random_instance(rng, R=int(rng.integers(3, 5)))
        _compare(columns, published, leaves)


def _compare(columns, published, leaves):
    sequence = sequence_of(columns, published, leaves)
    cliques = kernel_join(sequence)
    verdict = decide_cliques(sequence, cliques)
    assert verdict.undecided == 0
    assert not (verdict.admitted & verdict.excluded).any()
    full = Records(published).full_join()
    assert record_cliques(sequence, cliques[verdict.admitted], published) == full
    return len(cliques) - int(verdict.admitted.sum())


def triangle(rng, N, sizes=(3, 3, 3)):
    """Three releases of two columns each, every pair once: the smallest cyclic schema."""
    leaves = np.stack([rng.integers(0, size, N) for size in sizes], axis=1)
    published = []
    for hidden in range(3):
        lo, hi = leaves.copy(), leaves + 1
        lo[:, hidden], hi[:, hidden] = 0, sizes[hidden]
        published.append((lo, hi))
    from .instances import attributes

    return attributes(list(sizes)), published, leaves


def test_on_cyclic_schemas_the_kernel_is_larger_than_the_truth_and_the_decision_is_not():
    excluded = [_compare(*triangle(np.random.default_rng(seed), N=12, sizes=(4, 4, 4))) for seed in (6, 98, 108, 113)]
    assert excluded == [1, 1, 2, 2]


def test_cliques_asked_one_by_one_are_excluded_as_those_of_a_batch_are(monkeypatch):
    """Without batches every clique has its own program, and an infeasible one excludes it."""
    monkeypatch.setattr(full_match_join, "_ROUNDS", 0)
    excluded = [_compare(*triangle(np.random.default_rng(seed), N=12, sizes=(4, 4, 4))) for seed in (6, 98)]
    assert excluded == [1, 1]


def test_acyclic_schemas_with_equal_cuts_need_no_program():
    rng = np.random.default_rng(3)
    seen = 0
    for _ in range(60):
        sizes = [3, 2, 3, 2]
        leaves = np.stack([rng.integers(0, size, 5) for size in sizes], axis=1)
        published = []
        for told in ((0, 1), (1, 2), (2, 3)):
            lo, hi = np.zeros_like(leaves), np.broadcast_to(np.array(sizes), leaves.shape).copy()
            for m in told:
                lo[:, m], hi[:, m] = leaves[:, m], leaves[:, m] + 1
            published.append((lo, hi))
        from .instances import attributes

        sequence = sequence_of(attributes(sizes), published, leaves)
        assert decomposable(sequence)
        full = Records(published).full_join()
        assert record_cliques(sequence, match_join(sequence), published) == full
        seen += len(full) > 5
    assert seen


def test_a_suppressed_release_over_all_columns_does_not_make_a_cycle_acyclic():
    leaves = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1]])
    published = []
    for hidden in (2, 0, 1, None):
        lo, hi = leaves.copy(), leaves + 1
        columns = range(3) if hidden is None else [hidden]
        for m in columns:
            lo[:, m], hi[:, m] = 0, 2
        published.append((lo, hi))
    from .instances import attributes

    sequence = sequence_of(attributes([2, 2, 2]), published, leaves)
    assert acyclic([{0, 1}, {1, 2}, {0, 2}, {0, 1, 2}])  # by name
    assert not decomposable(sequence)
    assert len(match_join(sequence)) == 4
    assert decide_cliques(sequence, match_join(sequence)).admitted.sum() == 3


def test_a_spent_budget_leaves_cliques_undecided_and_admits_only_the_truth():
    rng = np.random.default_rng(1)
    columns, published, leaves = triangle(rng, N=12)
    sequence = sequence_of(columns, published, leaves)
    verdict = decide_cliques(sequence, kernel_join(sequence), budget=0.0)
    assert verdict.undecided > 0
    assert not verdict.excluded.any()


def test_a_spent_budget_makes_a_finding_at_best_that_does_not_hold():
    columns, published, leaves = triangle(np.random.default_rng(1), N=12)
    sequence, labels = sequence_of(columns, published, leaves), tuple("abc")
    for model in (KLinkability(k=3), KDiversity(k=1.5)):
        claim = PrivacyRequirement(model, ("a0", "a1"), ("s",))
        spent = judge_sequence(sequence, claim, labels, budget=0.0)
        finding = _worst(claim, [spent], "over 3 release(s)")
        assert (spent.grade, finding.holds) == (AT_BEST, False)
        assert spent.undecided > 0
        assert f"{spent.undecided} possible links could not be excluded" in finding.reason
        assert judge_sequence(sequence, claim, labels).grade == "exact"
