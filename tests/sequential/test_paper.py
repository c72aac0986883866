"""The examples of the paper, with its misprints corrected."""

from collections import Counter
from fractions import Fraction

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.history.judge.full_match_join import decide_cliques, kernel_join, match_join
from sfumato.history.judge.sequence import diversity, linkability, linkage_of
from sfumato.history.release_sequence import Attribute, ReleaseSequence
from sfumato.kinds.tables.methods.sequential_search import specialize
from sfumato.kinds.tables.methods.sequential_state import Goal, SequelProblem, Taxonomy

from .brute import Records
from .instances import record_cliques

STAR = "*"


def boxes(rows, sizes):
    """Rows of leaves, (lo, hi) pairs or stars."""
    cells = [
        [
            (0, size) if cell == STAR else cell if isinstance(cell, tuple) else (cell, cell + 1)
            for cell, size in zip(row, sizes, strict=True)
        ]
        for row in rows
    ]
    table = np.array(cells, dtype=np.int64)
    return table[:, :, 0].copy(), table[:, :, 1].copy()


def sequence(attributes, published, leaves):
    return ReleaseSequence.of_records(attributes, published, (leaves, leaves + 1))


def joins(seq, published):
    kernel = kernel_join(seq)
    full = kernel[decide_cliques(seq, kernel).admitted]
    return [record_cliques(seq, cliques, published) for cliques in (match_join(seq), kernel, full)]


def test_example_1_1_two_safe_releases_together_give_everybody_away():
    sizes = (2, 2, 4)  # age 20 30, gender male female, disease measles hepatitis flu angina
    attributes = [
        Attribute("age", 2, "quasi-identifier"),
        Attribute("gender", 2, "quasi-identifier"),
        Attribute("disease", 4, "sensitive"),
    ]
    leaves = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 2], [1, 1, 3]])
    first = boxes([(a, STAR, d) for a, _, d in leaves.tolist()], sizes)
    second = boxes([(STAR, g, d) for _, g, d in leaves.tolist()], sizes)
    for published, level in (([first], 2), ([second], 2), ([first, second], 1)):
        seq = sequence(attributes, published, leaves)
        link = linkage_of(seq, kernel_join(seq), tuple("mhfa"))
        assert (linkability(link), diversity(link)) == (level, level)
    trees = {m: Taxonomy.of_intervals([(0, 1), (1, 2), (0, 2)]) for m in (0, 1)}
    made = specialize(SequelProblem.of_records(attributes, [first], leaves, [1, 2], trees), Goal(2), Randomness(1))
    seq = sequence(attributes, [first, (made.lo, made.hi)], leaves)
    assert linkability(linkage_of(seq, kernel_join(seq), tuple("mhfa"))) >= 2
    assert made.loss > 0  # the second release had to be generalized


def zipcodes():
    """Example 2.1: zip codes 53120, 53425, 53764, 53890 as leaves 0 1 2 3, with 53*** as their root."""
    sizes = (3, 4, 4, 4)
    attributes = [
        Attribute(n, s, r)
        for n, s, r in zip(
            ("age", "zip", "job", "disease"), sizes, ("quasi-identifier",) * 3 + ("sensitive",), strict=True
        )
    ]
    leaves = np.array([[0, 0, 0, 0], [0, 1, 1, 1], [1, 3, 2, 2], [2, 2, 3, 3]])
    first = boxes([(a, z, STAR, STAR) for a, z, _, _ in leaves.tolist()], sizes)
    second = boxes([(STAR, 0, STAR, 0), (STAR, STAR, STAR, 1), (STAR, 3, 2, 2), (STAR, STAR, 3, 3)], sizes)
    return attributes, [first, second], leaves


def test_example_2_2_ten_edges_of_which_six_are_admissible():
    attributes, published, leaves = zipcodes()
    seq = sequence(attributes, published, leaves)
    match, kernel, full = joins(seq, published)
    assert (len(match), len(kernel), len(full)) == (10, 6, 6)
    # the second perfect matching of equation (2), corrected: {1,1} {2,4} {3,3} {4,2}
    assert full == {(0, 0), (1, 1), (2, 2), (3, 3), (1, 3), (3, 1)} == Records(published).full_join()


def triangle():
    attributes = [
        Attribute("A1", 2, "quasi-identifier"),
        Attribute("A2", 2, "quasi-identifier"),
        Attribute("A3", 2, "sensitive"),
    ]
    leaves = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1]])
    published = [
        boxes([(a, x, STAR) for a, x, _ in leaves.tolist()], (2, 2, 2)),
        boxes([(STAR, x, s) for _, x, s in leaves.tolist()], (2, 2, 2)),
        boxes([(a, STAR, s) for a, _, s in leaves.tolist()], (2, 2, 2)),
    ]
    return attributes, published, leaves


def test_example_3_1_cuts_of_three_releases_have_a_clique_too_many():
    attributes, published, leaves = triangle()
    match, _, full = joins(sequence(attributes, published, leaves), published)
    assert full == {(0, 0, 0), (1, 1, 1), (2, 2, 2)}
    assert match - full == {(0, 1, 2)}


def test_example_3_2_cells_of_two_releases_have_two_edges_too_many():
    attributes = [
        Attribute(n, 3, r) for n, r in (("A1", "quasi-identifier"), ("A2", "quasi-identifier"), ("A3", "sensitive"))
    ]
    leaves = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2]])
    published = [
        boxes([(0, 0, STAR), (1, 1, STAR), (2, 2, STAR)], (3, 3, 3)),
        boxes([(STAR, STAR, 0), (STAR, 1, 1), (STAR, 2, 2)], (3, 3, 3)),
    ]
    match, _, full = joins(sequence(attributes, published, leaves), published)
    assert full == {(0, 0), (1, 1), (2, 2)}
    assert match - full == {(1, 0), (2, 0)}


def test_example_3_3_the_kernel_drops_the_edges_of_no_clique_and_then_the_clique():
    attributes, published, leaves = triangle()
    records = Records(published)
    assert records.edge[0, 1][1][
        0
    ]  # e1 = {S2 of T1, S1 of T2}: an edge of no clique (printed as the true edge {S1, S1})
    assert not any(c[0] == 1 and c[1] == 0 for c in records.match_join())
    _, kernel, full = joins(sequence(attributes, published, leaves), published)
    assert kernel == full == {(0, 0, 0), (1, 1, 1), (2, 2, 2)}


CLIQUES_42 = [
    [((30, 41), (0, 1)), ((30, 36), (0, 2)), ((0, 100), (0, 2))],
    [((30, 41), (0, 1)), ((0, 100), (0, 2)), ((0, 100), (0, 1))],
    [((31, 32), (0, 2)), ((30, 36), (0, 2)), ((0, 100), (0, 2))],
    [((31, 32), (0, 2)), ((0, 100), (0, 2)), ((0, 100), (0, 1))],
]


def contains(clique, age, sex):
    return all(lo <= x < hi for node in clique for (lo, hi), x in zip(node, (age, sex), strict=True))


def test_example_4_1_only_cliques_whose_rows_all_contain_the_tuple_count():
    first = CLIQUES_42[0]
    second = [((40, 51), (0, 1)), ((0, 100), (0, 2)), ((0, 100), (0, 1))]
    assert contains(first, 31, 0)
    assert not contains(second, 31, 0)


def test_example_4_2_three_values_but_flu_twice():
    values = [
        "flu",
        "angina",
        "flu",
        "measles",
    ]  # C4's records are others than C2's, though the paper gives them the same names
    found = Counter(v for clique, v in zip(CLIQUES_42, values, strict=True) if contains(clique, 31, 0))
    assert len(found) == 3
    assert Fraction(sum(found.values()), max(found.values())) == 2


def test_example_4_2_as_a_sequence():
    """The same situation with real releases: a tuple in three values, one of them in half of its cliques."""
    attributes = [
        Attribute("age", 2, "quasi-identifier"),
        Attribute("sex", 2, "quasi-identifier"),
        Attribute("disease", 3, "sensitive"),
    ]
    leaves = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 0]])
    published = [
        boxes([(a, s, STAR) for a, s, _ in leaves.tolist()], (2, 2, 3)),
        boxes([(STAR, STAR, d) for _, _, d in leaves.tolist()], (2, 2, 3)),
    ]
    seq = sequence(attributes, published, leaves)
    link = linkage_of(seq, kernel_join(seq), ("flu", "angina", "measles"))
    assert (linkability(link), diversity(link)) == (3, 2.0)
