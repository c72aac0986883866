"""Random recoding problems in two forms: as `RecodingProblem`, and as plain records for the literal transcription and
the judge."""

from dataclasses import dataclass

import numpy as np
from literal import Line, Tree

from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Sensitive


@dataclass
class Drawn:
    problem: RecodingProblem
    columns: list
    """Trees and lines of the transcription, in the problem's order."""

    def records(self, tie_order, sensitive):
        """``(leaves, sensitive values, rank)`` in the order of ties; columns in `tie_order`, only the named sensitive
        ones."""
        problem = self.problem
        codes = np.stack(problem.codes, axis=1)[:, tie_order]
        values = [np.stack([c.codes for c in problem.sensitive], axis=1)] if problem.sensitive else []
        keys = np.concatenate([codes, *values], axis=1)
        order = sorted(range(len(keys)), key=lambda row: tuple(keys[row]))
        names = [column.name for column in problem.sensitive]
        wanted = [names.index(name) for name in sensitive]
        leaves = [[self.leaf(j, problem.codes[j][row]) for j in tie_order] for row in order]
        shown = [tuple(int(problem.sensitive[j].codes[row]) for j in wanted) for row in order]
        return [(tuple(a), b, rank, row) for rank, (a, b, row) in enumerate(zip(leaves, shown, order, strict=True))]

    def leaf(self, j, code):
        label = self.problem.domains[j].leaves[int(code)]
        return int(label) if isinstance(self.columns[j], Line) else label


def draw(source, *, rows, columns, sensitive, bounded, requirements=(), values=4, lines=True):
    domains, twins, codes = [], [], []
    for j in range(columns):
        domain, twin = line(source) if lines and source.random() < 0.25 else tree(source, f"q{j}", bounded)
        domains.append(domain)
        twins.append(twin)
        codes.append(source.integers(0, min(domain.size, int(source.integers(1, 12))), rows).astype(np.int32))
    labels = tuple(map(str, range(values)))
    hidden = tuple(
        Sensitive(f"s{j}", source.integers(0, values, rows).astype(np.int32), labels) for j in range(sensitive)
    )
    names = tuple(f"q{j}" for j in range(columns))
    return Drawn(RecodingProblem(names, tuple(domains), tuple(codes), hidden, tuple(requirements)), twins)


def line(source):
    numbers = sorted({int(x) for x in source.integers(0, 30, int(source.integers(2, 9)))} | {0})
    return Ranges(tuple(map(str, numbers))), Line(numbers)


def tree(source, name, bounded):
    """A random tree, unbalanced, with chains of only children now and then."""
    parent, fringe, count = {}, [f"{name}.0"], 1
    for _ in range(int(source.integers(1, 7))):
        above = fringe.pop(int(source.integers(0, len(fringe))))
        for _ in range(int(source.integers(1, 5))):
            parent[f"{name}.{count}"] = above
            fringe.append(f"{name}.{count}")
            count += 1
    leaves = [node for node in parent if node not in parent.values()]
    twin = Tree(parent)
    hierarchy = Hierarchy.from_paths([twin.path(leaf) for leaf in leaves])
    if bounded and source.random() < 0.7:
        nodes = [str(node) for node in source.choice(list(hierarchy.names), int(source.integers(1, 4)))]
        hierarchy = hierarchy.bounded(nodes)
        twin.ceilings = frozenset(nodes)
    return hierarchy, twin
