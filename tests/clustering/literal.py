"""GreedyCPKA transcribed line by line: single records, exact fractions, no index. Slow on purpose; it shares nothing
with src.

A column is a `Tree` (child → parent) or a `Line` (numbers). A record is ``(quasi-identifier leaves, sensitive values,
rank)``. Records are expected in the order of ties; "one tuple from" is the first."""

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass
class Tree:
    parent: dict
    ceilings: frozenset = frozenset()
    known: dict = field(default_factory=dict)
    """What some values lose together: the tree stays as it is, and the same few are asked for again and again."""

    def path(self, node):
        return [node, *(self.path(self.parent[node]) if node in self.parent else [])]

    def leaves(self, node):
        below = [child for child, above in self.parent.items() if above == node]
        return {node} if not below else set().union(*(self.leaves(child) for child in below))

    def height(self, node):
        """Steps down to the farthest leaf; a step to an only child says nothing new and does not count."""
        below = [child for child, above in self.parent.items() if above == node]
        return max((self.height(child) + (len(below) > 1) for child in below), default=0)

    def loss(self, values):
        together = frozenset(values)
        if together not in self.known:
            self.known[together] = self.counted_loss(sorted(together))
        return self.known[together]

    def counted_loss(self, values):
        common = next(node for node in self.path(values[0]) if all(node in self.path(value) for value in values))
        whole = self.height(self.path(values[0])[-1])
        return Fraction(self.height(common), max(whole, 1))

    def ceiling(self, value):
        path = self.path(value)
        return next((node for node in path if node in self.ceilings), path[-1])


@dataclass
class Line:
    numbers: list

    def loss(self, values):
        span = max(self.numbers) - min(self.numbers)
        return Fraction(max(values) - min(values), span or 1)

    def ceiling(self, value):
        return None


def greedy_cpka(records, columns, p, k, weights, by_growth):
    """The groups, and the records that must be suppressed."""
    regions = {}
    for record in records:
        regions.setdefault(tuple(c.ceiling(v) for c, v in zip(columns, record[0], strict=True)), []).append(record)
    kept, out = [], []
    for region in regions.values():
        if len(region) < k or not sensitive(region, p):
            out += region
        else:
            kept += greedy_pk_clustering(list(region), columns, p, k, weights, by_growth)
    return kept, out


def sensitive(records, p):
    return all(len({record[1][j] for record in records}) >= wanted for j, wanted in enumerate(p))


def diversity(record, others, weights):
    return sum(w for j, w in enumerate(weights) if record[1][j] not in {other[1][j] for other in others})


def loss(records, columns):
    return len(records) * sum((c.loss([r[0][j] for r in records]) for j, c in enumerate(columns)), Fraction(0))


def first_best(candidates, score):
    scores = [score(candidate) for candidate in candidates]
    return scores.index(max(scores))


def cheapest(candidates, group, columns):
    return candidates[first_best(candidates, lambda x: -loss([*group, x], columns))]


def greedy_pk_clustering(left, columns, p, k, weights, by_growth):
    done = []
    seed = left[0]
    while left:
        seed = left.pop(first_best(left, lambda x, seed=seed: diversity(x, [seed], weights)))
        group = [seed]
        while left:
            most = max(diversity(x, group, weights) for x in left)
            diverse = [x for x in left if diversity(x, group, weights) == most]
            group.append(cheapest(diverse, group, columns))
            left.remove(group[-1])
            if sensitive(group, p):
                break
        while len(group) < k and left:
            group.append(cheapest(left, group, columns))
            left.remove(group[-1])
        if len(group) >= k and sensitive(group, p):
            done.append(group)
        else:
            disperse(done, ORDER(group), columns, by_growth)
    return done


def disperse(done, group, columns, by_growth):
    for record in group:

        def price(other, record=record):
            return loss([*other, record], columns) - (loss(other, columns) if by_growth else 0)

        done[first_best(done, lambda other: -price(other))].append(record)


def ORDER(group):
    """Leftovers in the order of ties: records carry their rank as third part."""
    return sorted(group, key=lambda record: record[2])
