"""The definitions taken literally, on records: enumeration of cliques and perfect matchings, no classes, no flows."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np


def consistent(a, b):
    """a, b: (lo, hi) rows of two records."""
    return all(x < w and y < z for x, z, y, w in zip(a[0], a[1], b[0], b[1], strict=True))


class Records:
    """Releases as lists of record boxes in the order of the table."""

    def __init__(self, published):
        self.rows = [[(tuple(lo[n]), tuple(hi[n])) for n in range(len(lo))] for lo, hi in published]
        self.R, self.N = len(self.rows), len(self.rows[0])
        self.edge = {
            (r, q): [[consistent(a, b) for b in self.rows[q]] for a in self.rows[r]]
            for r, q in combinations(range(self.R), 2)
        }

    def match_join(self):
        return {c for c in product(range(self.N), repeat=self.R) if self._is_clique(c, self.edge)}

    def _is_clique(self, c, edge):
        return all(edge[r, q][c[r]][c[q]] for r, q in combinations(range(self.R), 2))

    def full_join(self):
        """Union of all perfect matchings, found by trying every way to pair up the records."""
        cliques = sorted(self.match_join())
        by_first = [[c for c in cliques if c[0] == n] for n in range(self.N)]
        admissible = set()

        def extend(n, used, chosen):
            if len(admissible) == len(cliques):
                return  # every clique has its matching
            if n == self.N:
                admissible.update(chosen)
                return
            for c in by_first[n]:
                if all(c[r] not in used[r] for r in range(1, self.R)):
                    extend(n + 1, [u | {c[r]} for r, u in enumerate(used)], [*chosen, c])

        extend(0, [frozenset()] * self.R, [])
        return admissible

    def kernel_join(self):
        edge = {pair: [row[:] for row in matrix] for pair, matrix in self.edge.items()}
        while True:
            before = str(edge)
            for pair, matrix in edge.items():
                edge[pair] = [[matrix[a][b] and _is_match(matrix, a, b) for b in range(self.N)] for a in range(self.N)]
            cliques = {c for c in product(range(self.N), repeat=self.R) if self._is_clique(c, edge)}
            for r, q in edge:
                kept = {(c[r], c[q]) for c in cliques}
                edge[r, q] = [[(a, b) in kept for b in range(self.N)] for a in range(self.N)]
            if str(edge) == before:
                return cliques

    def multiset(self, join, q, quasi, sensitive):
        """S(q) of Definition 4.1; q is a (lo, hi) pair over all attributes."""
        found = Counter()
        for c in join:
            rows = [self.rows[r][c[r]] for r in range(self.R)]
            if all(row[0][m] <= q[0][m] and q[1][m] <= row[1][m] for row in rows for m in quasi):
                narrow = min(rows, key=lambda row: row[1][sensitive] - row[0][sensitive])
                found[narrow[0][sensitive]] += 1
        return found

    def levels(self, join, known, quasi, sensitive):
        """(γ, δ) over all tuples that occur."""
        sets = [self.multiset(join, q, quasi, sensitive) for q in known]
        return min(len(s) for s in sets), min(Fraction(sum(s.values()), max(s.values())) for s in sets)


def _is_match(matrix, a, b):
    """Deletion and augmenting paths: is there a perfect matching through (a, b)?"""
    size = len(matrix)
    partner = {}

    def augment(x, seen):
        for y in range(size):
            if y != b and matrix[x][y] and y not in seen:
                seen.add(y)
                if y not in partner or augment(partner[y], seen):
                    partner[y] = x
                    return True
        return False

    return all(augment(x, set()) for x in range(size) if x != a)


def known_tuples(leaves):
    return [(tuple(row), tuple(row + 1)) for row in np.unique(leaves, axis=0)]
